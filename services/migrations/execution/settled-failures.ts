import { concurrently } from '../../../broker/common/concurrently.ts'
import { isWithin } from '../live/dealt-paths.ts'
import type { FailureLedger, RecordedFailure } from '../failures/failures.ts'
import type { PendingRegion } from '../lifecycle/record.ts'

/** Failures that are read at once. */
const pageLength = 1_000
/** Paths that are in memory at once, some 200 bytes each; a longer list is read several times. */
const maxInMemory = 50_000
/** Entries that are taken out at once: one after the other, thousands of them would take seconds. */
const removedAtOnce = 64

interface Rescan {
  /** Path in the source, as text. */
  readonly path: string
  /** Id of the last failure before it. */
  readonly upTo: number
}

/** The folders that were scanned again, and up to where the list of failures went before. */
export const rescansOf = (regions: readonly PendingRegion[]): Rescan[] =>
  regions.flatMap(({ path, failedUpTo, failures }) =>
    failures === undefined && failedUpTo !== undefined ? [{ path, upTo: failedUpTo }] : [],
  )

/**
 * Puts the list of failures right when folders were scanned again: each path is in it once, with its last failure, and what
 * was looked at again and did not fail is not in it any more. Only paths that are known to have failed are looked at.
 */
export async function settleFailures(
  ledger: Pick<FailureLedger, 'page' | 'count' | 'forget'>,
  workId: string,
  rescans: readonly Rescan[],
): Promise<void> {
  if (rescans.length === 0) return
  const count = await ledger.count(workId)
  if (count === 0) return
  const closed = await closedFolders(ledger, workId, Math.min(...rescans.map(({ upTo }) => upTo)))
  const parts = Math.ceil(count / maxInMemory)
  for (let part = 0; part < parts; part++) {
    const last = new Map<string, number>()
    const over: number[] = []
    for await (const { sequence, entry } of entries(ledger, workId)) {
      if (parts > 1 && partOf(entry.path, parts) !== part) continue
      const before = last.get(entry.path)
      if (before !== undefined) over.push(before)
      last.set(entry.path, sequence)
    }
    for (const [path, sequence] of last) {
      const wasLookedAt = rescans.some((one) => sequence <= one.upTo && isWithin(new Set([one.path]), path))
      if (wasLookedAt && !isWithin(closed, path)) over.push(sequence)
    }
    await concurrently(over, removedAtOnce, (sequence) => ledger.forget(sequence))
  }
}

/** Folders that could not be listed or made since then: nobody has looked at what is below them. */
async function closedFolders(
  ledger: Pick<FailureLedger, 'page'>,
  workId: string,
  upTo: number,
): Promise<ReadonlySet<string>> {
  const closed = new Set<string>()
  for await (const { entry } of entries(ledger, workId, upTo)) {
    if (entry.isFolder === true) closed.add(entry.path)
  }
  return closed
}

async function* entries(
  ledger: Pick<FailureLedger, 'page'>,
  workId: string,
  from = 0,
): AsyncGenerator<{ readonly sequence: number; readonly entry: RecordedFailure }> {
  for (let after = from, more = true; more;) {
    const page = await ledger.page(workId, { after, limit: pageLength })
    yield* page
    after = page.at(-1)?.sequence ?? after
    more = page.length === pageLength
  }
}

/** Spreads paths evenly. */
function partOf(path: string, parts: number): number {
  let hash = 0
  for (let at = 0; at < path.length; at++) hash = (Math.imul(hash, 31) + path.charCodeAt(at)) | 0
  return Math.abs(hash) % parts
}
