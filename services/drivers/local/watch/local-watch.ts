import { statfsSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { every, type Task } from '../../../../broker/tasks/tasks.ts'
import type { StoreBounds } from '../../contract/bounds.ts'
import { StoreError } from '../../contract/driver.ts'
import { localError } from '../errors.ts'
import { textFromPath } from '../../paths/path-text.ts'
import type { DirtyFolder } from '../../feeds/dirty-folders.ts'
import { type ChangeFeed, type FeedListener, WatchError } from '../../feeds/feed.ts'
import type { FromWatchThread, ToWatchThread } from './messages.ts'

/**
 * Folders that one process watches for one migration, some 2 KB each. Usually the system's own limit
 * (fs.inotify.max_user_watches) comes first.
 */
export const maxWatches = 300_000

/**
 * File systems of other hosts or programs, by the number that the system knows them by (as `stat` of GNU coreutils has them):
 * their changes tell us nothing.
 */
const remoteFilesystems: Readonly<Record<number, string>> = {
  0x6969: 'NFS',
  0x517b: 'SMB',
  0xfe534d42: 'SMB',
  0xff534d42: 'CIFS',
  0x65735546: 'FUSE',
  0x01021997: '9P',
  0x00c36400: 'Ceph',
  0x5346414f: 'AFS',
  0x73757245: 'Coda',
  0x0bd00bd0: 'Lustre',
  0x47504653: 'GPFS',
  0x01161970: 'GFS2',
  0x7461636f: 'OCFS2',
  0x19830326: 'BeeGFS',
  0x6b414653: 'AFS',
  0xaad7aaea: 'PanFS',
  0xbeefdead: 'StorNext',
  0xa501fcf5: 'VxFS',
  0x013111a8: 'IBRIX',
  0x61636673: 'ACFS',
  0xbacbacbc: 'a shared folder of VMware',
  0x786f4256: 'a shared folder of VirtualBox',
  0x7c7c6673: 'a shared folder of Parallels',
}

/**
 * Why changes of this folder of the host are not told; undefined when they are. Throws StoreErrors for one that is not there
 * or cannot be looked at.
 * @param folder absolute
 */
function unwatchable(folder: Buffer): string | undefined {
  if (process.platform !== 'linux') return 'folders are watched on Linux only'
  // A number of 32 bits, which comes with its sign where the system has it so.
  const name = remoteFilesystems[typeOf(folder) >>> 0]
  return name === undefined ? undefined : `the source is on ${name}, which does not tell of all changes`
}

function typeOf(folder: Buffer): number {
  try {
    return statfsSync(folder).type
  } catch (error) {
    const known = localError(error)
    if (!(known instanceof StoreError)) throw known
    const said = known.failure === 'gone' ? 'is not there' : 'cannot be looked at'
    const message = `its folder ${textFromPath(folder.subarray(1))} ${said}: ${known.message}`
    throw new StoreError(known.failure, message, { cause: error, side: 'source' })
  }
}

/** As `Changes.feed`. @param folder absolute @param bounds where it may be; undefined for anywhere */
export function localFeed(
  folder: Buffer,
  limit: number | undefined,
  bounds: StoreBounds | undefined,
): ChangeFeed | { readonly refusal: string } {
  const refusal = unwatchable(folder)
  return refusal === undefined ? new LocalWatch(folder, limit, bounds) : { refusal }
}

/** Is told of changes by the system. */
export class LocalWatch implements ChangeFeed {
  readonly detection = 'watching'
  readonly compares = true
  readonly #root: Buffer
  readonly #maxWatches: number
  readonly #bounds: StoreBounds | undefined
  #thread: WatchThread | undefined
  #id = 0
  #task: Task | undefined

  /** @param root absolute @param bounds where it may be; undefined for anywhere */
  constructor(root: Buffer, limit = maxWatches, bounds?: StoreBounds) {
    this.#root = root
    this.#maxWatches = limit
    this.#bounds = bounds
  }

  async open(listener: FeedListener, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    let isOpen = false
    const abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    this.#thread = WatchThread.share()
    this.#id = this.#thread.watch(
      { root: this.#root, maxWatches: this.#maxWatches, bounds: this.#bounds },
      {
        open: resolve,
        dirty: (folders) => listener.changed(folders),
        end: (error) => (isOpen ? listener.ended(error) : reject(error)),
      },
    )
    try {
      await promise
      isOpen = true
      // Writes through mapped memory and changes below a mount point are not reported.
      this.#task = every('migrations.rescans', () => this.#thread?.rescan(this.#id))
      return false
    } catch (error) {
      await this.close()
      throw error
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }

  async close(): Promise<void> {
    this.#task?.stop()
    const thread = this.#thread
    this.#thread = undefined
    await thread?.unwatch(this.#id)
  }
}

interface Listener {
  open(): void
  dirty(folders: readonly DirtyFolder[]): void
  end(error: WatchError): void
}

/** The thread of this process that watches; there while it has something to watch. */
class WatchThread {
  static #shared: WatchThread | undefined
  readonly #worker = new Worker(new URL('./watch-thread.ts', import.meta.url), {
    name: 'watch',
    execArgv: [],
  })
  readonly #listeners = new Map<number, Listener>()
  #lastId = 0

  static share(): WatchThread {
    return (this.#shared ??= new WatchThread())
  }

  private constructor() {
    let failure: unknown
    this.#worker.on('message', (message: FromWatchThread) => this.#receive(message))
    this.#worker.on('error', (error) => (failure = error))
    this.#worker.on('exit', () => {
      if (WatchThread.#shared === this) WatchThread.#shared = undefined
      const error = new WatchError('the thread that watches has ended', false, { cause: failure })
      for (const listener of this.#listeners.values()) listener.end(error)
      this.#listeners.clear()
    })
  }

  watch(
    options: Pick<Extract<ToWatchThread, { type: 'watch' }>, 'root' | 'maxWatches' | 'bounds'>,
    listener: Listener,
  ): number {
    const id = ++this.#lastId
    this.#listeners.set(id, listener)
    this.#post({ type: 'watch', id, ...options })
    return id
  }

  rescan(id: number): void {
    this.#post({ type: 'rescan', id })
  }

  async unwatch(id: number): Promise<void> {
    this.#listeners.delete(id)
    this.#post({ type: 'close', id })
    if (this.#listeners.size > 0 || WatchThread.#shared !== this) return
    WatchThread.#shared = undefined
    await this.#worker.terminate()
  }

  #receive(message: FromWatchThread): void {
    const listener = this.#listeners.get(message.id)
    switch (message.type) {
      case 'open':
        listener?.open()
        break
      case 'dirty':
        listener?.dirty(message.folders)
        this.#post({ type: 'taken', id: message.id })
        break
      case 'end':
        this.#listeners.delete(message.id)
        listener?.end(new WatchError(message.message, message.isLimit))
    }
  }

  #post(message: ToWatchThread): void {
    this.#worker.postMessage(message, [])
  }
}
