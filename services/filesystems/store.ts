import type { Log } from '../../broker/common/log.ts'
import type { Allowance, Owners } from '../../broker/rpc/owners.ts'
import type { Call, Contract } from '../../subjects/kit/contract.ts'
import { type Entry, StoreError, type StorePath } from '../drivers/index.ts'
import { textFromPath } from '../drivers/paths/path-text.ts'
import { type ErrorCode, GantryError } from '../../subjects/kit/errors.ts'
import type { FilesystemRecord, Role } from './record.ts'
import type { Asker } from '../questions/question-threads.ts'

/** Who asks a store, and shares turns with whom. */
export const askerOf = async (
  owners: Pick<Owners, 'allowanceOf'>,
  { caller, signal }: Pick<Call<Contract>, 'caller' | 'signal'>,
  record?: Pick<FilesystemRecord, 'owner'>,
): Promise<Asker> => askerWith(await owners.allowanceOf(caller), signal, record)

/** The same where it is known what who asks may have. */
export const askerWith = (
  allowance: Allowance | undefined,
  signal: AbortSignal,
  record?: Pick<FilesystemRecord, 'owner'>,
): Asker => ({ owner: allowance?.owner ?? record?.owner ?? '', signal })

/** What a failure of a store means to the caller. */
export function storeFailure(error: unknown, what: string, role: Role): unknown {
  if (!(error instanceof StoreError)) return error
  const unreachable = error.failure === 'unreachable' || error.failure === 'throttled'
  const code: ErrorCode = unreachable ? 'STORE_UNREACHABLE' : 'STORE_REFUSED'
  return new GantryError(code, `${what}: ${error.messageFor(role)}`, {
    cause: error,
    details: { failure: error.failure },
  })
}

/** What callers are not told of a store that is none. */
export function logDetail(error: unknown, fileSystemId: string, log: Log): void {
  if (!(error instanceof StoreError) || error.detail === undefined) return
  log.warn({ fileSystemId, reason: error.detail }, 'The endpoint of a filesystem is not a store of its kind.')
}

/** An entry's path as interfaces show it. */
export const entryPath = (folder: StorePath, entry: Entry): string =>
  textFromPath(folder.length === 0 ? entry.name : Buffer.concat([folder, Buffer.from('/'), entry.name]))
