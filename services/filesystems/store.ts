import { type Entry, StoreError, type StorePath } from '../drivers/index.ts'
import { textFromPath } from '../drivers/path-text.ts'
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

/** An entry's path as interfaces show it. */
export const entryPath = (folder: StorePath, entry: Entry): string =>
  textFromPath(folder.length === 0 ? entry.name : Buffer.concat([folder, Buffer.from('/'), entry.name]))
