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

/** Proves that the store is there and takes the credentials. @throws GantryError INVALID_INPUT, StoreError */
export const probe = (spec: FilesystemSpec, signal: AbortSignal): Promise<void> =>
  withDriver(spec, (driver) => driver.probe(signal))

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
    }
    return firstByName(kept, limit)
  })
}

const firstByName = (entries: Entry[], limit: number): Entry[] =>
  entries.toSorted((a, b) => a.name.compare(b.name)).slice(0, limit)

/** An entry's path as interfaces show it. */
export const entryPath = (folder: StorePath, entry: Entry): string =>
  textFromPath(folder.length === 0 ? entry.name : Buffer.concat([folder, Buffer.from('/'), entry.name]))
