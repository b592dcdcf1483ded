import { realpathSync, statSync } from 'node:fs'
import { realpath, stat } from 'node:fs/promises'
import { GantryError } from '../../../../subjects/kit/errors.ts'
import { type LeavesOut, maxMounts, type Place, type PlaceNow, type Places } from '../../contract/place.ts'
import { StoreError } from '../../contract/store-error.ts'
import { pathFromText, textFromPath } from '../../paths/path-text.ts'
import { isErrno } from '../errors.ts'
import { mountTable, placeOf } from '../mounts.ts'
import type { LocalRoot } from '../root.ts'
import { deviceUuids, found, identityOf, pathIn } from './identity.ts'
import { bornAt, goesByInode, hasSteadyInodes, markText, mountsAt, targetMarkText } from './marks.ts'

/** The folders of a local filesystem as places. */
export const placesBelow = (root: LocalRoot): Places => ({
  asSource: ({ root: path, isWhole, leavesOut }) => {
    const folder = root.absolute(path)
    return new SourcePlace(folder, isWhole ? root.folder : folder, leavesOut)
  },
  asTarget: () => new TargetPlace(root.folder),
})

/** The table of mounts that a mark was found to be right by; its text is the same until something is mounted or unmounted. */
interface Known {
  readonly table: string
  readonly stat: string
}

/** Marks that are remembered in one thread; a forgotten one costs reading the table once more. */
const maxKnown = 64
const known = new Map<string, Known>()

/** Where a source is on this host, and what is mounted below it. */
class SourcePlace implements Place {
  readonly name: string
  readonly #folder: Buffer
  readonly #tree: Buffer
  readonly #leavesOut: LeavesOut | undefined

  /** @param tree whose mounts count */
  constructor(folder: Buffer, tree: Buffer, leavesOut: LeavesOut | undefined) {
    this.name = textFromPath(folder.subarray(1))
    this.#folder = folder
    this.#tree = tree
    this.#leavesOut = leavesOut
  }

  sign(): Promise<string> {
    return signOf(this.#folder)
  }

  async look(paths: readonly string[] = []): Promise<PlaceNow | undefined> {
    const [folder, tree] = [this.#folder, this.#tree]
    // A slash at the end has the system mount what it mounts by itself. What is wrong there is seen below.
    for (const path of paths)
      await stat(Buffer.concat([tree, Buffer.from('/'), pathFromText(path), Buffer.from('/')])).catch(
        () => undefined,
      )
    const root = await found(stat(folder, { bigint: true }))
    if (root === undefined) return undefined
    const [real, realTree] = await Promise.all([
      realpath(folder, { encoding: 'buffer' }),
      realpath(tree, { encoding: 'buffer' }),
    ])
    const mounts = mountsAt(real, realTree, mountTable(), this.#leavesOut)
    const { own, below } = mounts
    if (below.length > maxMounts)
      throw new GantryError(
        'UNSUPPORTED',
        `source: more than ${maxMounts} file systems are mounted below it; migrate its folders separately`,
      )
    const uuids = await deviceUuids([own, ...below])
    const identified = []
    for (const mount of below) {
      // What cannot be looked at, as a mount of another user, is known by its file system alone.
      const its = await stat(Buffer.concat([Buffer.from('/'), mount.at]), { bigint: true }).catch(
        () => undefined,
      )
      identified.push({ path: pathIn(realTree, mount), is: identityOf(its, mount, uuids) })
    }
    return {
      identity: { root: identityOf(root, own, uuids), mounts: identified },
      mark: markText(root, mounts),
      automatic: new Set(below.filter((one) => one.isAutomatic).map((one) => pathIn(realTree, one))),
    }
  }

  require(mark: string): void {
    try {
      const table = mountTable()
      const stats = statSync(this.#folder, { bigint: true })
      const itself = `${stats.dev} ${stats.ino} ${bornAt(stats) ?? ''}`
      const key = `${this.#leavesOut?.key ?? ''}\n${mark}`
      const before = known.get(key)
      if (before?.table === table && before.stat === itself) return
      if (markText(stats, this.#mounts(table)) === mark) {
        if (known.size >= maxKnown) known.clear()
        known.set(key, { table, stat: itself })
        return
      }
    } catch (cause) {
      throw new StoreError('unreachable', 'the folder of the migration cannot be looked at', {
        cause,
        side: 'source',
      })
    }
    throw new StoreError('unreachable', 'its folder, or what is mounted below it, has been replaced', {
      side: 'source',
    })
  }

  mountedBelow(): string[] {
    return this.#mounts(mountTable())
      .below.filter((mount) => !mount.isAutomatic)
      .map((mount) => textFromPath(placeOf(mount).subarray(1)))
  }

  #mounts(table: string) {
    return mountsAt(realPath(this.#folder), realPath(this.#tree), table, this.#leavesOut)
  }
}

/** Which folder a target on this host is. */
class TargetPlace implements Place {
  readonly name: string
  readonly #folder: Buffer

  constructor(folder: Buffer) {
    this.name = textFromPath(folder.subarray(1))
    this.#folder = folder
  }

  sign(): Promise<string> {
    return signOf(this.#folder)
  }

  async look(): Promise<PlaceNow | undefined> {
    const stats = await found(stat(this.#folder, { bigint: true }))
    if (stats === undefined) return undefined
    const real = await realpath(this.#folder, { encoding: 'buffer' })
    const { own } = mountsAt(real, real, mountTable())
    const identity = { root: identityOf(stats, own, await deviceUuids([own])), mounts: [] }
    return { identity, mark: targetMarkText(stats, hasSteadyInodes(own)), automatic: new Set() }
  }

  require(mark: string): void {
    let now: string
    try {
      now = targetMarkText(statSync(this.#folder, { bigint: true }), goesByInode(mark))
    } catch (cause) {
      throw new StoreError('unreachable', 'its folder cannot be looked at', { cause, side: 'target' })
    }
    if (now !== mark) throw new StoreError('unreachable', 'its folder has been replaced', { side: 'target' })
  }

  mountedBelow(): string[] {
    return []
  }
}

const realPath = (path: Buffer): Buffer => realpathSync.native(path, { encoding: 'buffer' })

/** Another text when a folder may be another one than at the last look. Throws system errors. */
async function signOf(folder: Buffer): Promise<string> {
  const table = mountTable()
  try {
    const stats = await stat(folder, { bigint: true })
    return `${stats.dev} ${stats.ino} ${bornAt(stats) ?? ''}\n${table}`
  } catch (error) {
    if (isErrno(error, 'ENOENT') || isErrno(error, 'ENOTDIR')) return ''
    throw error
  }
}
