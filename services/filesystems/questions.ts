import type { FilesystemSpec } from '../../subjects/filesystems/kinds.ts'
import type { StoreBounds } from '../drivers/contract/bounds.ts'
import { type Driver, type Entry, openDriver, type Side } from '../drivers/index.ts'
import { type CheckLine, checkStore } from './check.ts'
import { type RemovalAsked, type Removed, removeAt } from './removal.ts'

/** What a store can be asked, and the answer. Plain data: it crosses to a worker thread and back. */
export type Question =
  | { readonly kind: 'probe'; readonly spec: FilesystemSpec }
  | {
      readonly kind: 'list'
      readonly spec: FilesystemSpec
      readonly folder: Uint8Array
      /** Name of the last entry of the page before. */
      readonly after: Uint8Array | undefined
      readonly limit: number
    }
  | { readonly kind: 'check'; readonly spec: FilesystemSpec; readonly side: Side }
  | { readonly kind: 'stat'; readonly spec: FilesystemSpec; readonly path: Uint8Array }
  | ({ readonly kind: 'remove'; readonly spec: FilesystemSpec; readonly path: Uint8Array } & Omit<
      RemovalAsked,
      'path'
    >)

/** The entries that were asked for; none where nothing stands at a path. What came of a probe or a removal. */
export type Answered =
  | { readonly entries: Entry[] }
  | { readonly notice: string | undefined }
  | { readonly removed: Removed }
  | { readonly checks: CheckLine[] }

/** Asks a store, with calls that may block. Throws GantryError NOT_ACCEPTED for its options, StoreError. */
export async function answer(question: Question, bounds?: StoreBounds): Promise<Answered> {
  const side = question.kind === 'check' ? question.side : question.kind === 'remove' ? 'target' : 'source'
  const driver = await openDriver(question.spec, side, bounds)
  // Nothing ends the work from within: a thread whose answer nobody awaits is ended as a whole.
  const { signal } = new AbortController()
  try {
    if (question.kind === 'remove')
      return { removed: await removeAt(driver, { ...question, path: Buffer.from(question.path) }) }
    if (question.kind === 'check') return { checks: await checkStore(driver, side, signal) }
    if (question.kind === 'list') return { entries: await firstEntries(driver, question, signal) }
    if (question.kind === 'stat') {
      const entry = await driver.stat(Buffer.from(question.path))
      return { entries: entry === undefined ? [] : [entry] }
    }
    await driver.probe(signal)
    return { notice: driver.capabilities.notice }
  } finally {
    await driver.close()
  }
}

/** The `limit` first entries of a folder by the bytes of their names, those up to `after` left out. */
async function firstEntries(
  driver: Driver,
  { folder, after, limit }: Extract<Question, { kind: 'list' }>,
  signal: AbortSignal,
): Promise<Entry[]> {
  let kept: Entry[] = []
  for await (const { entries } of driver.list(Buffer.from(folder), signal)) {
    kept.push(...(after === undefined ? entries : entries.filter(({ name }) => name.compare(after) > 0)))
    // A folder may have millions of entries; no more than a few pages of them are in memory.
    if (kept.length > 4 * limit) kept = firstByName(kept, limit)
  }
  return firstByName(kept, limit)
}

const firstByName = (entries: Entry[], limit: number): Entry[] =>
  entries.toSorted((a, b) => a.name.compare(b.name)).slice(0, limit)
