import type { Handlers, Output } from '../../subjects/kit/contract.ts'
import { GantryError, isGantryError, notAccepted } from '../../subjects/kit/errors.ts'
import { type FilesystemKind, filesystemKinds } from '../../subjects/filesystems/kinds.ts'
import {
  type DiscoverableKind,
  discoverableKinds,
  type filesystems,
  isDiscoverable,
} from '../../subjects/filesystems/filesystems.ts'
import type { filesystemsInternal } from '../../subjects/filesystems/internal.ts'
import { inUseText } from '../../subjects/kit/in-use.ts'
import { itOrThem, listed } from '../../subjects/kit/plural.ts'
import { maxPageLength } from '../../subjects/kit/schemas.ts'
import { StoreError, timeOf } from '../drivers/index.ts'
import { product } from '../../subjects/kit/names.ts'
import { shellArgument } from '../../subjects/kit/shell-word.ts'
import { pathFromText } from '../drivers/paths/path-text.ts'
import { openSecrets } from '../drivers/contract/secrets.ts'
import { receivedError } from '../drivers/contract/sent-error.ts'
import { discoverer, discoveryOf } from './discovery.ts'
import { checked, checker, creator, updater } from './change.ts'
import type { CheckLine } from './check.ts'
import type { FilesystemDependencies } from './dependencies.ts'
import { type FilesystemRecord, publicFilesystem, type Role, roleOf } from './record.ts'
import { askerOf, entryPath, logDetail, storeFailure } from './store.ts'
import type { Asker } from '../questions/question-threads.ts'
import { PlaceInUse } from './while-unused.ts'

type Health = Output<(typeof filesystems)['health']>

export function filesystemHandlers(dependencies: FilesystemDependencies): Handlers<typeof filesystems> {
  const { owners, filesystems: stored, usesOf, forgetTarget } = dependencies
  const kinds = Object.keys(filesystemKinds) as FilesystemKind[]
  const perKind = Object.fromEntries(
    kinds.flatMap((kind) => [
      [`create-${kind}`, creator(kind, dependencies)],
      [`update-${kind}`, updater(kind, dependencies)],
      [`check-${kind}`, checker(kind, dependencies)],
    ]),
  ) as unknown as Pick<
    Handlers<typeof filesystems>,
    `create-${FilesystemKind}` | `update-${FilesystemKind}` | `check-${FilesystemKind}`
  >

  const perDiscoverable = Object.fromEntries(
    discoverableKinds.flatMap((kind) => [
      [`discover-${kind}`, discoverer(kind, dependencies)],
      [`discovery-${kind}`, () => discoveryOf(kind)],
    ]),
  ) as unknown as Pick<
    Handlers<typeof filesystems>,
    `discover-${DiscoverableKind}` | `discovery-${DiscoverableKind}`
  >

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
      inUseText(
        fileSystemId,
        uses,
        `delete ${itOrThem(uses)}`,
        (name) => `migrations delete ${shellArgument(name)}`,
      ),
      {
        details: { migrations: uses },
      },
    )
  }
  const remove = async (record: FilesystemRecord): Promise<void> => {
    // First, so that a kill in between leaves no limit of a target that is gone.
    if (!record.isSource) await forgetTarget(record.fileSystemId)
    await stored.delete(record.fileSystemId)
  }

  return {
    ...perKind,
    ...perDiscoverable,
    kinds: () =>
      kinds.map((kind) => ({
        fs: filesystemKinds[kind].path,
        fsDescription: filesystemKinds[kind].summary,
        autoconfigurable: isDiscoverable(kind),
        multipleSourceAllowed: true,
      })),
    list: async ({ role, verbose, limit = maxPageLength, after }) => {
      const isAsked = (record: FilesystemRecord) => role === undefined || roleOf(record) === role
      const page = await stored.list({ after, limit, where: isAsked })
      return page.map((record) => publicFilesystem(record, verbose))
    },
    get: async ({ fileSystemId, role, verbose }) => publicFilesystem(await find(fileSystemId, role), verbose),
    delete: async ({ fileSystemId, role }) => {
      const record = await find(fileSystemId, role)
      await requireUnused(fileSystemId)
      await remove(record)
      return {}
    },
    clear: async ({ role }) => {
      const all = (await stored.all()).filter((record) => roleOf(record) === role)
      for (const { fileSystemId } of all) await requireUnused(fileSystemId)
      for (const record of all) await remove(record)
      return {}
    },
    health: async ({ fileSystemId }, call) => {
      const record = await find(fileSystemId)
      return healthOf(record, dependencies, await askerOf(owners, call, record))
    },
    'check-stored': async ({ fileSystemId }, call) => {
      const record = await find(fileSystemId)
      const spec = openSecrets(record.kind, record.options, dependencies.sealer)
      const asker = await askerOf(owners, call, record)
      const found = await checked(dependencies, spec, roleOf(record), asker)
      if (record.reportedChanges !== true) return found
      const lastMs = await dependencies.reported.lastMs(fileSystemId)
      const checks = found.checks.map((line) => (line.check === 'changes' ? reportedLine(lastMs) : line))
      return { ok: checks.every(({ result }) => result !== 'no'), checks }
    },
    'health-all': async (page, call) => {
      const all = await stored.list(page)
      const asker = await askerOf(owners, call)
      return Promise.all(all.map((record) => healthOf(record, dependencies, asker)))
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
          await askerOf(owners, call, record),
        )
        return entries.map((entry) => ({
          path: entryPath(folder, entry),
          isDirectory: entry.type === 'folder',
          length: entry.sizeBytes,
          modificationTime: Math.round(timeOf(entry) ?? 0),
        }))
      } catch (error) {
        if (error instanceof StoreError && error.failure === 'gone') {
          throw call.fail(
            'NOT_FOUND',
            `there is no folder ${path} in ${fileSystemId}: see "${product} filesystems list-paths ${shellArgument(fileSystemId)} /"`,
          )
        }
        throw storeFailure(error, fileSystemId, roleOf(record))
      }
    },
    'report-changes': async ({ fileSystemId, ...report }, call) => {
      const { reportedChanges } = await find(fileSystemId, 'source')
      if (reportedChanges !== true)
        throw call.fail(
          'NOT_ALLOWED_IN_STATE',
          `live migrations from ${fileSystemId} detect changes automatically: set its reportedChanges to true first`,
        )
      await dependencies.reported.add(fileSystemId, report, await owners.allowanceOf(call.caller))
      dependencies.tellReported(fileSystemId)
      return {}
    },
    'delete-path': async ({ fileSystemId, role, path, recursive = false }, call) => {
      const record = await find(fileSystemId, role)
      const there = pathFromText(path)
      if (there.length === 0)
        throw notAccepted('path', 'is the root of the filesystem, which cannot be removed')
      const spec = openSecrets(record.kind, record.options, dependencies.sealer)
      const asker = await askerOf(owners, call, record)
      const { outcome, entries, bytes, error } = await dependencies
        .whileUnused({ fileSystemId, path }, (signal) =>
          dependencies.stores.remove(spec, there, recursive, {
            ...asker,
            signal: AbortSignal.any([asker.signal, signal]),
          }),
        )
        .catch((failure: unknown) => {
          if (!(failure instanceof PlaceInUse)) throw storeFailure(failure, fileSystemId, roleOf(record))
          const { migrations } = failure
          throw call.fail('IN_USE', inUse(failure, `${path} of ${fileSystemId}`), {
            migrations: [...migrations],
          })
        })
      if (outcome === 'absent') throw call.fail('NOT_FOUND', `there is no ${path} in ${fileSystemId}`)
      if (outcome === 'filled')
        throw call.fail(
          'NOT_ALLOWED_IN_STATE',
          `${path} of ${fileSystemId} is not empty: set recursive to delete the folder with its contents`,
        )
      if (error !== undefined) throw partlyRemoved(receivedError(error), record, entries)
      return { removed: entries, bytes, complete: outcome === 'removed' }
    },
  }
}

/** The line about changes of a check where others report them. */
const reportedLine = (lastMs: number | undefined): CheckLine => ({
  check: 'changes',
  result: lastMs === undefined ? 'untried' : 'yes',
  detail:
    lastMs === undefined
      ? 'no changes have been reported yet: start the program that reports them, or set reportedChanges to false'
      : `reported by other programs, last at ${new Date(lastMs).toISOString()}`,
})

const inUse = ({ migrations, isBegun }: PlaceInUse, place: string): string =>
  isBegun
    ? `${place} is in use by ${listed('migration', migrations)}, which started during the removal: the removal was stopped and may be incomplete`
    : inUseText(
        place,
        migrations,
        `stop ${itOrThem(migrations)}`,
        (name) => `migrations stop ${shellArgument(name)}`,
      )

/** Why a removal broke off after something was gone: callers, and the audit log, are told how much. */
function partlyRemoved(error: Error, record: FilesystemRecord, removed: number): unknown {
  const failure = storeFailure(error, record.fileSystemId, roleOf(record))
  if (!isGantryError(failure)) return failure
  const message = `${failure.message}; ${removed} files and folders were removed before the error`
  return new GantryError(failure.code, message, {
    cause: error,
    details: { ...(failure.details as object | undefined), removed },
  })
}

/** The name of the entry of a folder that a path stands for. @throws GantryError NOT_ACCEPTED for any other path */
function entryOf(folder: Buffer, path: Buffer): Buffer {
  const slash = path.lastIndexOf('/')
  if (path.length > 0 && path.subarray(0, Math.max(0, slash)).equals(folder)) return path.subarray(slash + 1)
  throw notAccepted('after', 'must be the path of an entry in this folder')
}

async function healthOf(
  record: FilesystemRecord,
  { sealer, stores, log }: FilesystemDependencies,
  asker: Asker,
): Promise<Health> {
  const health = { fsId: record.fileSystemId, timeStampEpochMillis: Date.now() }
  try {
    const notice = await stores.probe(openSecrets(record.kind, record.options, sealer), asker)
    return { ...health, healthy: true, healthReason: 'NONE', ...(notice !== undefined && { notice }) }
  } catch (error) {
    logDetail(error, record.fileSystemId, log)
    if (!(error instanceof StoreError) && !isGantryError(error))
      log.error({ err: error }, 'A health check failed.')
    return {
      ...health,
      healthy: false,
      healthReason: reasonOf(error),
      cause: messageOf(error, roleOf(record)).slice(0, 2_000),
    }
  }
}

const messageOf = (error: unknown, role: Role): string =>
  error instanceof StoreError ? error.messageFor(role) : (error as Error).message

function reasonOf(error: unknown): Health['healthReason'] {
  // Options were right when they were stored; only where a root leads to changes.
  if (isGantryError(error, 'NOT_ACCEPTED') && isOfRoot(error.details)) return 'INVALID_FS_ROOT'
  if (!(error instanceof StoreError)) return 'FS_ERROR'
  if (error.failure === 'gone') return 'INVALID_FS_ROOT'
  return error.failure === 'refused' || error.failure === 'permission' ? 'INVALID_CREDENTIALS' : 'FS_ERROR'
}

const isOfRoot = (details: unknown): boolean =>
  Array.isArray(details) && details.some(({ field }: { field?: unknown }) => field === 'fsRoot')

/** For other services of the platform alone. */
export function filesystemInternalHandlers({
  owners,
  filesystems,
  sealer,
  stores,
  reported,
}: FilesystemDependencies): Handlers<typeof filesystemsInternal> {
  const find = async (fileSystemId: string): Promise<FilesystemRecord> => {
    const record = await filesystems.get(fileSystemId)
    if (record === undefined) throw new GantryError('NOT_FOUND', `there is no filesystem ${fileSystemId}`)
    return record
  }
  return {
    look: async ({ fileSystemId, path }, call) => {
      const record = await find(fileSystemId)
      const { kind, options } = record
      try {
        const asker = await askerOf(owners, call, record)
        const entry = await stores.stat(openSecrets(kind, options, sealer), pathFromText(path), asker)
        if (entry === undefined) return {}
        const { type, sizeBytes } = entry
        const modifiedMs = timeOf(entry)
        const time = modifiedMs === undefined ? {} : { modificationTime: Math.round(modifiedMs) }
        return { entry: { type, length: sizeBytes, ...time } }
      } catch (error) {
        throw storeFailure(error, fileSystemId, roleOf(record))
      }
    },
    'reported-changes': ({ fileSystemId, after }) => reported.after(fileSystemId, after),
    resolve: async ({ fileSystemId }) => {
      const record = await find(fileSystemId)
      const {
        isSource,
        isScanOnly,
        listenAndApplySourceChanges,
        reportedChanges = false,
        kind,
        options,
      } = record
      return {
        fileSystemId,
        isSource,
        isScanOnly,
        listenAndApplySourceChanges,
        reportedChanges,
        kind,
        options,
      }
    },
  }
}
