import { lstatSync, realpathSync, watch } from 'node:fs'
import { isErrno } from '../errors.ts'
import type { StoreBounds } from '../../contract/bounds.ts'
import { StoreError } from '../../contract/driver.ts'
import { LocalGuard } from '../guard.ts'
import { openFolder, rawName } from '../list.ts'
import { LocalRoot } from '../root.ts'
import { DirtyFolders } from '../../feeds/dirty-folders.ts'
import type { EventCount } from './event-count.ts'
import {
  childOf,
  detach,
  type FolderNode,
  identityOf,
  isIdentity,
  isFolderThere,
  isWhole,
  markGap,
  newNode,
  pathOf,
  type Seen,
} from './folder-nodes.ts'
import { monotonicMs } from '../../../../broker/common/monotonic.ts'
import { watchError } from './watch-error.ts'
import { WatchError } from '../../feeds/feed.ts'

/** How long changes are collected before they are told: many a change comes in several events. */
const gatherMs = 2
/** After so long of setting watches, events have their turn: the system keeps only so many of them. */
const sliceMs = 5
/** Names read from a folder between two looks at the clock. */
const namesPerStep = 1_000
/** Events that were lost cost a comparison of everything, which comes no more often than this. */
const minRescanMs = 10_000

export interface FolderWatchOptions {
  /** Absolute; a symbolic link is followed. */
  readonly root: Buffer
  /** Folders that may be watched. */
  readonly maxWatches: number
  /** Where it may be; undefined for anywhere. */
  readonly bounds?: StoreBounds | undefined
  /** Of the kernel queue that the watches share with all others of this thread. */
  readonly events: EventCount
  /** There are dirty folders. */
  readonly onDirty: () => void
  /** Nothing is told any more. */
  readonly onEnd: (error: WatchError) => void
}

/** A tree whose folders get watches; `done` is called when all have theirs. */
interface Opening {
  left: number
  readonly done: () => void
}

/**
 * Watches a folder and all below it, one watch for each folder: recursive watches of the runtime are one for each file. A
 * folder is watched before it is listed, so that what is made in it is either told or found.
 */
export class FolderWatch {
  /** What changed; to be taken from after `onDirty`. */
  readonly dirty = new DirtyFolders()
  readonly #options: FolderWatchOptions
  readonly #root = newNode('')
  readonly #work: Generator<void>[] = []
  readonly #endSuspicion: () => void
  readonly #guard: LocalGuard | undefined
  #local: LocalRoot
  #watches = 0
  #isWorking = false
  #isTelling = false
  #rescannedMs = 0
  #rescanTimer: NodeJS.Timeout | undefined
  #isClosed = false
  #fail: (error: WatchError) => void = () => undefined

  constructor(options: FolderWatchOptions) {
    this.#options = options
    this.#endSuspicion = options.events.onSuspect(() => this.#rescanSoon())
    this.#local = new LocalRoot(options.root)
    this.#guard = options.bounds && new LocalGuard(options.root, options.bounds, 'source')
  }

  /** Folders that are watched. */
  get watches(): number {
    return this.#watches
  }

  /** Begins; resolves when every folder is watched. Rejects with a WatchError. */
  async open(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#fail = reject
    try {
      this.#guard?.requireRoot()
      const real = realpathSync.native(this.#options.root, { encoding: 'buffer' })
      this.#guard?.requireRootAt(real)
      this.#local = new LocalRoot(real)
      this.#openTree(this.#root, resolve)
      await promise
    } catch (error) {
      this.close()
      throw watchError(error)
    }
    this.#fail = (error) => {
      if (this.#isClosed) return
      this.close()
      this.#options.onEnd(error)
    }
  }

  /** Looks for folders without a watch, and says that everything may have changed. */
  rescan(): void {
    const sinceMs = monotonicMs()
    this.#rescannedMs = sinceMs
    this.#openTree(this.#root, () => {
      this.dirty.addFolder('', 'tree', sinceMs)
      this.#tell()
    })
  }

  /** Nothing is told from now on. The watches end in slices of time, as the events of others must be read meanwhile. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#endSuspicion()
    clearTimeout(this.#rescanTimer)
    for (const work of this.#work.splice(0)) work.return(undefined)
    this.#begin(this.#closing(this.#root))
  }

  #onEvent(node: FolderNode, type: string, filename: Buffer | null): void {
    this.#options.events.add()
    const folder = pathOf(this.#root, node)
    if (folder === undefined || this.#isClosed) return
    const name = filename?.toString('latin1')
    if (name === undefined) this.dirty.addFolder(folder, 'folder')
    else if (name === '') {
      // Of any other folder, the one above it is told the same.
      if (node === this.#root && !isIdentity(this.#root.identity, this.#stat('')))
        return this.#fail(new WatchError('the folder of the migration was moved or removed', false))
      if (node === this.#root && node.hasGap) this.#rescanSoon()
      // It may have been closed to us, with all that it holds.
      if (node === this.#root && process.geteuid?.() !== 0) this.dirty.addFolder('', 'folder')
    } else if (type === 'rename') this.#renamed(node, folder, name)
    else {
      this.dirty.addName(folder, name)
      const child = node.children?.get(name)
      // With other permissions it may be one that we can read.
      if (child !== undefined && !isWhole(child)) this.#appeared(node, name)
    }
    this.#tell()
  }

  /** Something came or went under a name, or was replaced. */
  #renamed(node: FolderNode, folder: string, name: string): void {
    const path = folder === '' ? name : `${folder}/${name}`
    const stat = this.#stat(path)
    const child = node.children?.get(name)
    if (stat === 'denied') markGap(node)
    else if (isFolderThere(stat)) {
      // Another mode of a folder is told as if it had been renamed.
      if (child === undefined || !isWhole(child) || !isIdentity(child.identity, stat))
        return this.#appeared(node, name)
    } else if (child !== undefined) {
      this.#forget(child)
      return this.dirty.addName(folder, name, true)
    }
    this.dirty.addName(folder, name)
  }

  /** A folder is new under this name; it is told once all of it is watched. */
  #appeared(node: FolderNode, name: string): void {
    const sinceMs = monotonicMs()
    this.#openTree(childOf(node, name), () => {
      const folder = pathOf(this.#root, node)
      if (folder === undefined) return
      this.dirty.addName(folder, name, true, sinceMs)
      this.#tell()
    })
  }

  #openTree(node: FolderNode, done: () => void): void {
    this.#begin(this.#opening(node, { left: 1, done }))
  }

  #forget(node: FolderNode): void {
    detach(node)
    this.#begin(this.#closing(node))
  }

  /** Sets the watch of a folder, then looks for folders in it. */
  *#opening(node: FolderNode, opening: Opening): Generator<void> {
    const path = pathOf(this.#root, node)
    node.hasGap = false
    if (path !== undefined) {
      try {
        const absolute = this.#absolute(path)
        this.#watch(node, absolute)
        yield* this.#listing(node, absolute, opening)
      } catch (error) {
        this.#notWatched(node, error)
      }
    }
    if (--opening.left === 0 && !this.#isClosed) opening.done()
  }

  *#listing(node: FolderNode, absolute: Buffer, opening: Opening): Generator<void> {
    const gone = new Set(node.children?.keys())
    using folder = openFolder(absolute)
    let step = 0
    for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) {
      if (++step % namesPerStep === 0) yield
      if (!entry.isDirectory()) continue
      const name = rawName(entry).toString('latin1')
      gone.delete(name)
      opening.left++
      this.#work.push(this.#opening(childOf(node, name), opening))
    }
    for (const name of gone) {
      const child = node.children?.get(name)
      // Unless it came back while the folder was read.
      if (child !== undefined && !isFolderThere(this.#stat(pathOf(this.#root, child) ?? '')))
        this.#forget(child)
    }
  }

  #watch(node: FolderNode, absolute: Buffer): void {
    const { maxWatches } = this.#options
    if (node.watcher === undefined && this.#watches >= maxWatches)
      throw new WatchError(`more than ${maxWatches} folders are not watched`, true)
    // Before it is watched: whatever takes its place from now on is told, and is another then.
    const found = lstatSync(absolute)
    this.#guard?.requireEnterable(found)
    node.identity = identityOf(found)
    // Another folder may stand here than the one that was watched: a watch belongs to a folder and not to its name.
    // What is told of the folder itself comes under the last segment of this path, and no child has an empty name.
    const path = Buffer.concat([absolute, Buffer.from('/')])
    const watcher = watch(path, { encoding: 'buffer' }, (type, name) => this.#onEvent(node, type, name))
    watcher.on('error', (error) => this.#fail(watchError(error)))
    if (node.watcher === undefined) this.#watches++
    node.watcher?.close()
    node.watcher = watcher
  }

  #notWatched(node: FolderNode, error: unknown): void {
    const isGone = isErrno(error, 'ENOENT') || isErrno(error, 'ENOTDIR')
    if (isGone && node !== this.#root) return this.#forget(node)
    // It cannot be listed either, which the scan reports.
    const isDenied = isErrno(error, 'EACCES') || isErrno(error, 'EPERM')
    if (isDenied || (error instanceof StoreError && error.failure === 'permission')) return markGap(node)
    this.#fail(watchError(error))
  }

  *#closing(node: FolderNode): Generator<void> {
    const left = [node]
    for (let at = left.pop(); at !== undefined; at = left.pop()) {
      if (at.children !== undefined) for (const child of at.children.values()) left.push(child)
      if (at.watcher === undefined) continue
      at.watcher.close()
      // The queue gets an event for the end of each watch, which nobody is told of.
      this.#options.events.add()
      at.watcher = undefined
      this.#watches--
      yield
    }
  }

  #begin(work: Generator<void>): void {
    this.#work.push(work)
    if (!this.#isWorking) this.#workOn()
  }

  /** Sets and ends watches, for a slice of time at once: events that wait must be read before there are too many. */
  #workOn(): void {
    this.#isWorking = true
    const endMs = performance.now() + sliceMs
    for (let work = this.#work.at(-1); work !== undefined; work = this.#work.at(-1)) {
      if (performance.now() > endMs) {
        setImmediate(() => this.#workOn())
        return
      }
      this.#work.pop()
      if (work.next().done !== true) this.#work.push(work)
    }
    this.#isWorking = false
  }

  #rescanSoon(): void {
    if (this.#rescanTimer !== undefined || this.#isClosed) return
    const waitMs = Math.max(0, this.#rescannedMs + minRescanMs - monotonicMs())
    this.#rescanTimer = setTimeout(() => {
      this.#rescanTimer = undefined
      this.rescan()
    }, waitMs)
  }

  #tell(): void {
    if (this.#isTelling || this.dirty.size === 0) return
    this.#isTelling = true
    setTimeout(() => {
      this.#isTelling = false
      if (!this.#isClosed && this.dirty.size > 0) this.#options.onDirty()
    }, gatherMs)
  }

  #stat(path: string): Seen {
    try {
      return lstatSync(this.#absolute(path), { throwIfNoEntry: false })
    } catch (error) {
      return isErrno(error, 'EACCES') ? 'denied' : undefined
    }
  }

  #absolute(path: string): Buffer {
    return this.#local.absolute(Buffer.from(path, 'latin1'))
  }
}
