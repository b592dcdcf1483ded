import { isDeepStrictEqual } from 'node:util'
import { GantryError } from '../../subjects/errors.ts'
import type { FilesystemKind, FilesystemSpec } from '../../subjects/filesystem-kinds.ts'
import { openSecrets, sealSecrets } from '../drivers/secrets.ts'
import type { FilesystemDependencies } from './dependencies.ts'
import { type FilesystemRecord, publicFilesystem, type Role, roleOf } from './record.ts'
import { storeFailure } from './store.ts'
import type { Stores } from './stores.ts'

type Dependencies = Pick<FilesystemDependencies, 'filesystems' | 'sealer' | 'stores'>

/** Fields of every kind's create and update; the rest are the kind's options. */
interface Place {
  fileSystemId: string
  role?: Role
  scanOnly?: boolean
  listenAndApplySourceChanges?: boolean
}

/** Makes a filesystem of a kind, once its store has been asked. */
export function creator(kind: FilesystemKind, { filesystems, sealer, stores }: Dependencies) {
  return async (input: Place & { role: Role }, call: { signal: AbortSignal }) => {
    const { fileSystemId, role, scanOnly = true, listenAndApplySourceChanges = true, ...options } = input
    refuseForeignFields(input)
    if ((await filesystems.get(fileSystemId)) !== undefined) {
      throw new GantryError('ALREADY_EXISTS', `there is a filesystem ${fileSystemId} already`)
    }
    await requireReachable(stores, { kind, options }, fileSystemId, call.signal)
    const record: FilesystemRecord = {
      fileSystemId,
      isSource: role === 'source',
      isScanOnly: role === 'source' && scanOnly,
      listenAndApplySourceChanges,
      kind,
      options: sealSecrets(kind, options, sealer),
    }
    await filesystems.create(fileSystemId, record)
    return publicFilesystem(record)
  }
}

/** Changes a filesystem of a kind, once its store has been asked. */
export function updater(kind: FilesystemKind, { filesystems, sealer, stores }: Dependencies) {
  return async (input: Place, call: { signal: AbortSignal }) => {
    const { fileSystemId, role, scanOnly, listenAndApplySourceChanges, ...changes } = input
    const current = await filesystems.get(fileSystemId)
    if (current === undefined || (role !== undefined && roleOf(current) !== role)) {
      throw new GantryError('NOT_FOUND', `there is no ${role ?? 'filesystem'} ${fileSystemId}`)
    }
    if (current.kind !== kind) {
      throw new GantryError('NOT_ALLOWED_IN_STATE', `${fileSystemId} is of kind ${current.kind}, not ${kind}`)
    }
    refuseForeignFields({ ...input, role: roleOf(current) })
    const options = { ...openSecrets(current.kind, current.options, sealer).options, ...changes }
    await requireReachable(stores, { kind, options }, fileSystemId, call.signal)
    const record = await filesystems.update(fileSystemId, (stored) => {
      // The store was asked with the options that were there before; nobody has asked it with others.
      if (!isDeepStrictEqual(stored, current)) {
        throw new GantryError('CONFLICT', `${fileSystemId} was changed by somebody else at the same time`)
      }
      return {
        ...stored,
        isScanOnly: scanOnly ?? stored.isScanOnly,
        listenAndApplySourceChanges: listenAndApplySourceChanges ?? stored.listenAndApplySourceChanges,
        options: sealSecrets(kind, options, sealer),
      }
    })
    return publicFilesystem(record)
  }
}

/** Sources and targets share a contract, and two fields belong to one of them. */
function refuseForeignFields({ role, scanOnly, listenAndApplySourceChanges }: Place): void {
  const foreign =
    role === 'source' && listenAndApplySourceChanges !== undefined
      ? 'listenAndApplySourceChanges'
      : role === 'target' && scanOnly !== undefined
        ? 'scanOnly'
        : undefined
  if (foreign === undefined) return
  const problem = `is not a field of a ${role}`
  throw new GantryError('INVALID_INPUT', `input: ${foreign} ${problem}`, {
    details: [{ field: foreign, problem }],
  })
}

async function requireReachable(
  stores: Stores,
  spec: { kind: FilesystemKind; options: object },
  fileSystemId: string,
  signal: AbortSignal,
): Promise<void> {
  try {
    // The kind's schema has been checked by its contract.
    await stores.probe(spec as FilesystemSpec, signal)
  } catch (error) {
    throw storeFailure(error, fileSystemId)
  }
}
