import { sendableError, type SentError } from '../drivers/contract/sent-error.ts'
import { type Driver, type Entry, StoreError, type StorePath } from '../drivers/index.ts'
import { Stop } from '../engine/run/stop.ts'
import { removeTree } from '../engine/tree/remove-tree.ts'

/** What is to be removed. */
export interface RemovalAsked {
  readonly path: StorePath
  /** Whether a folder goes with all that is in it. */
  readonly recursive: boolean
  /** After so long nothing more is begun. */
  readonly budgetMs: number
}

/** What came of a removal: what is gone is gone, whatever the outcome. Plain data. */
export interface Removed {
  /** `absent`: nothing was there. `filled`: a folder that was to be empty is not. `more`: time is over, and something is left. */
  readonly outcome: 'removed' | 'absent' | 'filled' | 'more' | 'failed'
  readonly entries: number
  /** Of files. */
  readonly bytes: number
  /** Of one that failed. */
  readonly error?: SentError
}

/** Removes what stands at a path of a store, no symbolic link followed. Throws StoreErrors only when nothing is gone yet. */
export async function removeAt(
  driver: Driver,
  { path, recursive, budgetMs }: RemovalAsked,
): Promise<Removed> {
  const store = driver.confinedTo?.({ below: [Buffer.alloc(0)], links: 'refused' }) ?? driver
  const entry = await store.stat(path)
  if (entry === undefined) return { outcome: 'absent', entries: 0, bytes: 0 }
  const gone = { entries: 0, bytes: 0 }
  const count = ({ type, sizeBytes }: Entry) => {
    gone.entries += 1
    if (type === 'file') gone.bytes += sizeBytes
  }
  if (entry.type === 'folder' && !recursive) {
    try {
      if (await store.remove(path)) count(entry)
    } catch (error) {
      if (!(error instanceof StoreError) || error.failure !== 'unsupported') throw error
      return { outcome: 'filled', ...gone }
    }
    return { outcome: 'removed', ...gone }
  }
  const stop = new Stop(new Int32Array(1))
  const timer = setTimeout(() => stop.abort(), budgetMs)
  try {
    const left = await removeTree(
      { source: store, target: store, stop },
      { side: 'target', mayRemove: () => true, removed: count },
      { path, origin: path },
      entry,
    )
    if (left === 'nothing') return { outcome: 'removed', ...gone }
    throw new StoreError('unsupported', 'the folder contains an entry whose name cannot be part of a path')
  } catch (error) {
    if (stop.signal.aborted) return { outcome: 'more', ...gone }
    if (gone.entries === 0) throw error
    return { outcome: 'failed', ...gone, error: sendableError(error) }
  } finally {
    clearTimeout(timer)
  }
}
