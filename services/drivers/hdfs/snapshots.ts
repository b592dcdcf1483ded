import { isTemporaryName } from '../paths/temporary-names.ts'
import type { StorePath } from '../contract/driver.ts'
import { StoreError } from '../contract/store-error.ts'
import type { DirtyFolder, Renamed } from '../feeds/dirty-folders.ts'
import { DirtyFolders, renamedBelow } from '../feeds/dirty-folders.ts'
import { problemOfPath } from '../paths/path-text.ts'
import { field, type HdfsClient, type What } from './client.ts'

/** What became of something between two snapshots of a folder; paths below that, as latin1, a character a byte. */
export interface Difference {
  readonly type: 'CREATE' | 'MODIFY' | 'DELETE' | 'RENAME'
  readonly path: string
  /** Of what was renamed. */
  readonly to?: string
}

/** Snapshots of one folder of a cluster, of which only those that begin with a prefix are this one's. Throws StoreErrors. */
export class Snapshots {
  readonly #client: HdfsClient
  readonly #folder: StorePath
  readonly #what: (operation: string) => What

  constructor(client: HdfsClient, folder: StorePath, what: (operation: string) => What) {
    this.#client = client
    this.#folder = folder
    this.#what = what
  }

  async create(name: string): Promise<void> {
    await this.#client.json(
      {
        method: 'PUT',
        op: 'CREATESNAPSHOT',
        ...this.#asked('create a snapshot'),
        params: { snapshotname: name },
      },
      (json) => (typeof field(json, 'Path') === 'string' ? true : undefined),
    )
  }

  /** Nothing happens where it is gone. */
  async remove(name: string): Promise<void> {
    await this.#client.request({
      method: 'DELETE',
      op: 'DELETESNAPSHOT',
      ...this.#asked('delete a snapshot'),
      params: { snapshotname: name },
      accept: ['SnapshotException', 'FileNotFoundException'],
    })
  }

  /** Names of all that there are. */
  async names(): Promise<string[]> {
    return this.#client.json(
      { method: 'GET', op: 'GETSNAPSHOTLIST', ...this.#asked('list the snapshots') },
      (json) => namesIn(field(json, 'SnapshotList')),
    )
  }

  async differences(from: string, to: string): Promise<Difference[]> {
    return this.#client.json(
      {
        method: 'GET',
        op: 'GETSNAPSHOTDIFF',
        ...this.#asked('compare snapshots'),
        params: { oldsnapshotname: from, snapshotname: to },
      },
      (json) => differencesIn(field(field(json, 'SnapshotDiffReport'), 'diffList')),
    )
  }

  #asked(operation: string) {
    return { path: this.#folder, what: this.#what(operation) }
  }
}

/**
 * The folder nearest above another one, or that itself, of which there may be snapshots; undefined without one. A user who is
 * not the superuser sees his own only.
 */
export async function snapshottableAbove(
  client: HdfsClient,
  folder: StorePath,
  what: What,
): Promise<StorePath | undefined> {
  const paths = await client.json(
    { method: 'GET', op: 'GETSNAPSHOTTABLEDIRECTORYLIST', path: Buffer.alloc(0), what },
    (json) => pathsIn(field(json, 'SnapshottableDirectoryList')),
  )
  const own = `/${folder.toString('utf8')}`
  const above = paths.filter((path) => path === '/' || path === own || own.startsWith(`${path}/`))
  const nearest = above.toSorted((one, other) => other.length - one.length)[0]
  return nearest === undefined ? undefined : Buffer.from(nearest.slice(1))
}

/** None is there: JSON of such a list is null, or has nothing. */
function pathsIn(list: unknown): string[] | undefined {
  if (list === null || list === undefined) return []
  if (!Array.isArray(list)) return undefined
  const paths = list.map((one: unknown) => {
    const [parent, name] = [field(one, 'parentFullPath'), field(field(one, 'dirStatus'), 'pathSuffix')]
    if (typeof parent !== 'string' || typeof name !== 'string') return undefined
    return name === '' ? '/' : parent === '/' ? `/${name}` : `${parent}/${name}`
  })
  return paths.every((path) => path !== undefined) ? paths : undefined
}

function namesIn(list: unknown): string[] | undefined {
  if (list === null || list === undefined) return []
  if (!Array.isArray(list)) return undefined
  const names = list.map((one: unknown) => field(field(one, 'dirStatus'), 'pathSuffix'))
  return names.every((name) => typeof name === 'string') ? names : undefined
}

const types: ReadonlySet<unknown> = new Set<Difference['type']>(['CREATE', 'MODIFY', 'DELETE', 'RENAME'])
const bytesOf = (text: string): string => Buffer.from(text, 'utf8').toString('latin1')

function differencesIn(list: unknown): Difference[] | undefined {
  if (!Array.isArray(list)) return undefined
  const found: Difference[] = []
  for (const one of list as unknown[]) {
    const [type, path, to] = [field(one, 'type'), field(one, 'sourcePath'), field(one, 'targetPath')]
    if (!types.has(type) || typeof path !== 'string') return undefined
    const isMoved = type === 'RENAME' && typeof to === 'string'
    // A cluster has no such paths, and a server may say what it likes.
    if ([path, ...(isMoved ? [to] : [])].some((its) => problemOfPath(Buffer.from(its)) !== undefined))
      return undefined
    found.push({ type: type as Difference['type'], path: bytesOf(path), ...(isMoved && { to: bytesOf(to) }) })
  }
  return found
}

/**
 * Where to look for what became different.
 * @param below the folder whose changes count, as a path below that of the snapshots, as latin1; empty for all of it
 * @param sinceMs when the older snapshot was made (`monotonicMs`)
 */
export function foldersOf(differences: readonly Difference[], below: string, sinceMs: number): DirtyFolder[] {
  const dirty = new DirtyFolders(Number.POSITIVE_INFINITY)
  const above = below === '' ? '' : `${below}/`
  const add = (
    path: string,
    { isTree, isOnlyAttributes }: { isTree: boolean; isOnlyAttributes: boolean },
  ) => {
    if (path === below || above.startsWith(`${path}/`) || path === '') {
      // The folder itself, or one that it is in: another one may stand there. Its attributes alone are not migrated.
      if (!isOnlyAttributes) dirty.addFolder('', 'content', sinceMs)
      return
    }
    if (!path.startsWith(above)) return
    dirty.addPath(path.slice(above.length), isTree, sinceMs)
  }
  for (const { type, path, to } of differences) {
    add(path, { isTree: type === 'CREATE', isOnlyAttributes: type === 'MODIFY' })
    if (to !== undefined) add(to, { isTree: true, isOnlyAttributes: false })
  }
  return dirty.take()
}

/** Paths that are looked at again, at most: of more, a comparison of everything finds what was seen and is no longer. */
const maxAgain = 1_000

/** Whether there is something that is to be looked at again, and not too much. */
export const mayComeAgain = (differences: readonly Difference[]): boolean =>
  differences.length <= maxAgain && differences.some(({ type }) => type !== 'MODIFY')

/**
 * Where to look again once there is another snapshot: under what had gone, and in what had come, somebody may have seen what was
 * there between two snapshots only, which no difference tells of. See `foldersOf`.
 * @param withTrees also in all that is below what had come
 */
export function againIn(
  differences: readonly Difference[],
  below: string,
  sinceMs: number,
  withTrees = true,
): readonly DirtyFolder[] {
  const above = below === '' ? '' : `${below}/`
  const dirty = new DirtyFolders(Number.POSITIVE_INFINITY)
  const add = (path: string, isTree: boolean) => {
    if (!path.startsWith(above) || path.length === above.length) return
    const own = path.slice(above.length)
    dirty.addPath(own, false, sinceMs)
    // What it has is most likely right: its content need not be read.
    if (isTree && withTrees) dirty.addFolder(own, 'tree', sinceMs)
  }
  for (const { type, path, to } of differences) {
    if (type !== 'MODIFY') add(path, type === 'CREATE')
    if (to !== undefined) add(to, true)
  }
  return dirty.take()
}

/** Renamings that are told as such, at most: what else was renamed is copied again. */
const maxRenamed = 1_000

/** Hadoop's own copies have this at the end of their names until they are whole. */
const copyingEnding = '._COPYING_'

const isUnderConstruction = (path: string): boolean =>
  path.endsWith(copyingEnding) || path.split('/').some((name) => isTemporaryName(Buffer.from(name, 'latin1')))

/**
 * What was renamed within a folder, what is above first; see `foldersOf`. Not what only got its name once it was written: the
 * target has nothing of it.
 */
export function renamedIn(differences: readonly Difference[], below: string): Renamed[] {
  const renamed = differences.flatMap(({ path: from, to }) =>
    to === undefined || isUnderConstruction(from) ? [] : [{ from, to }],
  )
  return renamedBelow(below, renamed)
    .toSorted((a, b) => a.to.length - b.to.length)
    .slice(0, maxRenamed)
}

/** Whether there can be no snapshots: not any more, too many, or not by this user. */
export const isRefused = (error: unknown): error is StoreError =>
  error instanceof StoreError &&
  ['gone', 'permission', 'refused', 'full', 'unsupported'].includes(error.failure)
