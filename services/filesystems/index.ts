import type { Handlers, Output } from '../../subjects/contract.ts'
import { GantryError, isGantryError } from '../../subjects/errors.ts'
import { type FilesystemKind, filesystemKinds } from '../../subjects/filesystem-kinds.ts'
import type { filesystems, filesystemsInternal } from '../../subjects/filesystems.ts'
import { maxPageLength } from '../../subjects/schemas.ts'
import { StoreError } from '../drivers/index.ts'
import { pathFromText } from '../drivers/path-text.ts'
import { openSecrets } from '../drivers/secrets.ts'
import { creator, updater } from './change.ts'
import type { FilesystemDependencies } from './dependencies.ts'
import { type FilesystemRecord, publicFilesystem, type Role, roleOf } from './record.ts'
import { entryPath, storeFailure } from './store.ts'

type Health = Output<(typeof filesystems)['health']>

export function filesystemHandlers(dependencies: FilesystemDependencies): Handlers<typeof filesystems> {
  const { filesystems: stored, usesOf } = dependencies
  const kinds = Object.keys(filesystemKinds) as FilesystemKind[]
  const perKind = Object.fromEntries(
    kinds.flatMap((kind) => [
      [`create-${kind}`, creator(kind, dependencies)],
      [`update-${kind}`, updater(kind, dependencies)],
    ]),
  ) as unknown as Pick<Handlers<typeof filesystems>, `create-${FilesystemKind}` | `update-${FilesystemKind}`>

  const find = async (fileSystemId: string, role?: Role): Promise<FilesystemRecord> => {
    const record = await stored.get(fileSystemId)
    if (record === undefined || (role !== undefined && roleOf(record) !== role)) {
      throw new GantryError('NOT_FOUND', `there is no ${role ?? 'filesystem'} ${fileSystemId}`)
    }
    return record
  }
  const requireUnused = async (fileSystemId: string): Promise<void> => {
    const uses = await usesOf(fileSystemId)
    if (uses.length === 0) return
    throw new GantryError(
      'IN_USE',
      `${fileSystemId} is needed by the migrations ${uses.join(', ')}; delete them first`,
      {
        details: { migrations: uses },
      },
    )
  }

  return {
    ...perKind,
    kinds: () =>
      kinds.map((kind) => ({
        fs: filesystemKinds[kind].path,
        fsDescription: filesystemKinds[kind].summary,
        autoconfigurable: false,
        multipleSourceAllowed: true,
      })),
    list: async ({ role, verbose, limit = maxPageLength, after }) => {
      // The page is cut from those of the role.
      const all = await stored.all(after)
      return all
        .filter((record) => role === undefined || roleOf(record) === role)
        .slice(0, limit)
        .map((record) => publicFilesystem(record, verbose))
    },
    get: async ({ fileSystemId, role, verbose }) => publicFilesystem(await find(fileSystemId, role), verbose),
    delete: async ({ fileSystemId, role }) => {
      await find(fileSystemId, role)
      await requireUnused(fileSystemId)
      await stored.delete(fileSystemId)
      return {}
    },
    clear: async ({ role }) => {
      const all = (await stored.all()).filter((record) => roleOf(record) === role)
      for (const { fileSystemId } of all) await requireUnused(fileSystemId)
      for (const { fileSystemId } of all) await stored.delete(fileSystemId)
      return {}
    },
    health: async ({ fileSystemId }, call) => healthOf(await find(fileSystemId), dependencies, call.signal),
    'health-all': async (_, call) => {
      const all = await stored.list()
      return Promise.all(all.map((record) => healthOf(record, dependencies, call.signal)))
    },
    'list-paths': async ({ fileSystemId, role, path, limit = maxPageLength, after }, call) => {
      const record = await find(fileSystemId, role)
      const folder = pathFromText(path)
      const last = after === undefined ? undefined : entryOf(folder, pathFromText(after, 'after'))
      try {
        const page = { after: last, limit }
        const entries = await dependencies.stores.firstEntries(
          openSecrets(record.kind, record.options, dependencies.sealer),
          folder,
          page,
          call.signal,
        )
        return entries.map((entry) => ({
          path: entryPath(folder, entry),
          isDirectory: entry.type === 'folder',
          length: entry.sizeBytes,
          modificationTime: Math.round(entry.modifiedMs ?? 0),
        }))
      } catch (error) {
        if (error instanceof StoreError && error.failure === 'gone') {
          throw call.fail('NOT_FOUND', `there is no folder ${path} in ${fileSystemId}`)
        }
        throw storeFailure(error, fileSystemId)
      }
    },
  }
}

/** The name of the entry of a folder that a path stands for. @throws GantryError INVALID_INPUT for any other path */
function entryOf(folder: Buffer, path: Buffer): Buffer {
  const slash = path.lastIndexOf('/')
  if (path.length > 0 && path.subarray(0, Math.max(0, slash)).equals(folder)) return path.subarray(slash + 1)
  const problem = 'is not the path of an entry of that folder'
  throw new GantryError('INVALID_INPUT', `input: after ${problem}`, {
    details: [{ field: 'after', problem }],
  })
}

async function healthOf(
  record: FilesystemRecord,
  { sealer, stores, log }: FilesystemDependencies,
  signal: AbortSignal,
): Promise<Health> {
  const health = { fsId: record.fileSystemId, timeStampEpochMillis: Date.now() }
  try {
    await stores.probe(openSecrets(record.kind, record.options, sealer), signal)
    return { ...health, healthy: true, healthReason: 'NONE' }
  } catch (error) {
    if (!(error instanceof StoreError) && !isGantryError(error))
      log.error({ err: error }, 'A health check failed.')
    return {
      ...health,
      healthy: false,
      healthReason: reasonOf(error),
      cause: (error as Error).message.slice(0, 2_000),
    }
  }
}

function reasonOf(error: unknown): Health['healthReason'] {
  if (!(error instanceof StoreError)) return 'FS_ERROR'
  if (error.failure === 'gone') return 'INVALID_FS_ROOT'
  return error.failure === 'refused' || error.failure === 'permission' ? 'INVALID_CREDENTIALS' : 'FS_ERROR'
}

/** For other services of the platform alone. */
export function filesystemInternalHandlers({
  filesystems,
}: FilesystemDependencies): Handlers<typeof filesystemsInternal> {
  return {
    resolve: async ({ fileSystemId }, call) => {
      const record = await filesystems.get(fileSystemId)
      if (record === undefined) throw call.fail('NOT_FOUND', `there is no filesystem ${fileSystemId}`)
      const { isSource, isScanOnly, listenAndApplySourceChanges, kind, options } = record
      return { fileSystemId, isSource, isScanOnly, listenAndApplySourceChanges, kind, options }
    },
  }
}
