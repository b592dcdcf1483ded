import type { Failures } from '../http/failures.ts'
import { CursorGuard } from '../http/cursor-guard.ts'
import type { ObjectBucket, What } from './objects.ts'

/** Whether anything stands below a prefix. An empty page says nothing about those that follow. */
export async function hasAnyBelow(
  bucket: Pick<ObjectBucket, 'listPage'>,
  prefix: string,
  what: What,
  failed: Failures['failed'],
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const guard = new CursorGuard(failed, what)
  for (let token: string | undefined; ;) {
    const page = await bucket.listPage({ prefix, maxKeys: 1, delimiter: '', token }, what, signal)
    if (page.objects.length + page.prefixes.length > 0) return true
    if (page.nextToken === '') return false
    token = guard.pass(page.nextToken)
  }
}
