import { setImmediate } from 'node:timers/promises'
import { type Driver, type Entry, openDriver, StoreError, type StorePath } from '../drivers/index.ts'
import { textFromPath } from '../drivers/path-text.ts'
import type { FilesystemSpec } from '../../subjects/filesystem-kinds.ts'
import { type ErrorCode, GantryError } from '../../subjects/errors.ts'

/** What a failure of a store means to the caller. */
export function storeFailure(error: unknown, what: string): unknown {
  if (!(error instanceof StoreError)) return error
  const unreachable = error.failure === 'unreachable' || error.failure === 'throttled'
  const code: ErrorCode = unreachable ? 'STORE_UNREACHABLE' : 'STORE_REFUSED'
  return new GantryError(code, `${what}: ${error.message}`, {
    cause: error,
    details: { failure: error.failure },
  })
}

/** Opens a driver for one piece of work. */
async function withDriver<T>(spec: FilesystemSpec, work: (driver: Driver) => Promise<T>): Promise<T> {
  const driver = openDriver(spec)
  try {
    return await work(driver)
  } finally {
    await driver.close()
  }
}

/** Below the deadline of the calls that ask a store, so that the caller hears of the store and not of the deadline. */
const patienceMs = 25_000

/** Proves that the store is there and takes the credentials. @throws GantryError INVALID_INPUT, StoreError */
export async function probe(spec: FilesystemSpec, signal: AbortSignal, waitMs = patienceMs): Promise<void> {
  const patience = AbortSignal.timeout(waitMs)
  try {
    await withDriver(spec, (driver) => driver.probe(AbortSignal.any([signal, patience])))
  } catch (error) {
    if (error instanceof StoreError) throw named(spec, error)
    if (!patience.aborted) throw error
    throw new StoreError('unreachable', `the store did not answer within ${waitMs / 1000} s`, {
      cause: error,
    })
  }
}

/** What the system says of a folder of the host does not name it. */
const named = ({ kind, options }: FilesystemSpec, error: StoreError): StoreError =>
  kind === 'local'
    ? new StoreError(error.failure, `fsRoot ${options.fsRoot ?? '/'}: ${error.message}`, { cause: error })
    : error

/** The `limit` first entries of a folder by the bytes of their names, those up to `after` left out. */
export function firstEntries(
  spec: FilesystemSpec,
  folder: StorePath,
  { after, limit }: { after: Buffer | undefined; limit: number },
  signal: AbortSignal,
): Promise<Entry[]> {
  return withDriver(spec, async (driver) => {
    let kept: Entry[] = []
    for await (const batch of driver.list(folder, signal)) {
      kept.push(...(after === undefined ? batch : batch.filter(({ name }) => name.compare(after) > 0)))
      // A folder may have millions of entries; no more than a few pages of them are in memory.
      if (kept.length > 4 * limit) kept = firstByName(kept, limit)
      // The calls of some drivers are synchronous; others have their turn between the batches.
      await setImmediate()
    }
    return firstByName(kept, limit)
  })
}

const firstByName = (entries: Entry[], limit: number): Entry[] =>
  entries.toSorted((a, b) => a.name.compare(b.name)).slice(0, limit)

/** An entry's path as interfaces show it. */
export const entryPath = (folder: StorePath, entry: Entry): string =>
  textFromPath(folder.length === 0 ? entry.name : Buffer.concat([folder, Buffer.from('/'), entry.name]))
