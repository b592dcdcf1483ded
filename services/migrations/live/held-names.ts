import { textFromPath } from '../../engine/items/paths.ts'
import type { DirtyFolder } from '../../drivers/feeds/dirty-folders.ts'
import { longMs, monotonicMs } from '../../../broker/common/monotonic.ts'

/** Longest delay that a timer of the runtime takes. */
const maxTimerMs = 2 ** 31 - 1

/** What is deferred again comes back within this; it is no longer written to when it does not. */
const toldForMs = 5_000

/**
 * Names that are held at once, some 250 bytes each, and folders in place of more of them. They are looked through whenever
 * one is added; usually there are as many as files that are being written to.
 */
const usualLimits = { names: 20_000, folders: 1_000 } as const

/** A folder whose names there is no room for: all in it is looked at. */
interface HeldFolder {
  readonly untilMs: number
  readonly scope: 'folder' | 'tree'
  readonly sinceMs: number
}

interface Held {
  readonly folder: string
  readonly name: string
  /** `Infinity` until it is released. */
  untilMs: number
  /** It changed, so that it is dirty afterwards. */
  change: { isTree: boolean; sinceMs: number } | undefined
}

/**
 * Names that are not to be looked at for a while: changes of them are kept until then. Where there is no room for a name,
 * its folder is kept in its place, and where there is none for a folder, everything.
 */
export class HeldNames {
  readonly #held = new Map<string, Held>()
  readonly #folders = new Map<string, HeldFolder>()
  readonly #onRelease: (folder: string, name: string, isTree: boolean, sinceMs: number) => void
  readonly #onFolder: (folder: string, scope: HeldFolder['scope'], sinceMs: number) => void
  readonly #limits: { readonly names: number; readonly folders: number }
  #timer: NodeJS.Timeout | undefined
  /** The name that was deferred last of those that have waited for long, and when that was. */
  #late: { readonly key: string; readonly atMs: number } | undefined

  /**
   * @param onRelease called with what is dirty after all
   * @param onFolder the same of a folder; of the root with scope `tree` it is everything
   */
  constructor(
    onRelease: (folder: string, name: string, isTree: boolean, sinceMs: number) => void,
    onFolder: (folder: string, scope: 'folder' | 'tree', sinceMs: number) => void,
    limits: { readonly names: number; readonly folders: number } = usualLimits,
  ) {
    this.#onRelease = onRelease
    this.#onFolder = onFolder
    this.#limits = limits
  }

  /** Changes that are kept back. */
  get changes(): number {
    return this.#held
      .values()
      .reduce((sum, { change }) => sum + (change === undefined ? 0 : 1), this.#folders.size)
  }

  /** When the oldest of them was seen; undefined without any. */
  get oldestMs(): number | undefined {
    const times = this.#held.values().flatMap(({ change }) => (change === undefined ? [] : [change.sinceMs]))
    const all = [...times, ...this.#folders.values().map(({ sinceMs }) => sinceMs)]
    return all.reduce((oldest: number | undefined, time) => Math.min(oldest ?? time, time), undefined)
  }

  /**
   * A path, relative to the migration's, whose change waits for long, as it is written to whenever it is looked at; undefined
   * without any.
   */
  get writtenTo(): string | undefined {
    if (this.#late === undefined || this.#late.atMs < monotonicMs() - toldForMs) return undefined
    return textFromPath(Buffer.from(this.#late.key.replace(/^\//, ''), 'latin1'))
  }

  /** Holds names of a folder. @param untilMs when they are released (`monotonicMs`); without it, by `release` alone */
  hold(folder: DirtyFolder, untilMs = Number.POSITIVE_INFINITY): void {
    for (const [names, isTree] of [
      [folder.names, false],
      [folder.trees, true],
    ] as const) {
      for (const name of names) {
        const key = keyOf(folder.folder, name)
        const held = this.#held.get(key)
        if (held === undefined && this.#held.size >= this.#limits.names) {
          // Without a time it has no change, and one that comes is looked at as any other.
          if (Number.isFinite(untilMs)) this.#holdFolder(folder, isTree ? 'tree' : 'folder', untilMs)
          continue
        }
        const untilThen = Math.max(untilMs, held?.untilMs ?? 0)
        const change = Number.isFinite(untilMs)
          ? earlier(held?.change, { isTree, sinceMs: folder.sinceMs })
          : held?.change
        const atMs = monotonicMs()
        if (Number.isFinite(untilMs) && (change?.sinceMs ?? atMs) < atMs - longMs) this.#late = { key, atMs }
        this.#held.set(key, {
          folder: folder.folder,
          name,
          untilMs: untilThen,
          change,
        })
      }
    }
    this.#wait()
  }

  #holdFolder({ folder, sinceMs }: DirtyFolder, scope: HeldFolder['scope'], untilMs: number): void {
    const hasRoom = this.#folders.has(folder) || this.#folders.size < this.#limits.folders
    const key = hasRoom ? folder : ''
    const held = this.#folders.get(key)
    this.#folders.set(key, {
      // The first of its names decides: others that are deferred all the time would keep it for ever.
      untilMs: Math.min(untilMs, held?.untilMs ?? untilMs),
      scope: !hasRoom || held?.scope === 'tree' ? 'tree' : scope,
      sinceMs: Math.min(sinceMs, held?.sinceMs ?? sinceMs),
    })
  }

  /** Keeps the change of a name that is held; false when it is not. */
  keep(folder: string, name: string, isTree: boolean, sinceMs: number): boolean {
    if (this.#held.size === 0) return false
    const held = this.#held.get(keyOf(folder, name))
    if (held === undefined) return false
    held.change = earlier(held.change, { isTree, sinceMs })
    return true
  }

  /** Names that were held without a time are free. */
  release({ folder, names, trees }: DirtyFolder): void {
    for (const name of [...names, ...trees]) {
      const held = this.#held.get(keyOf(folder, name))
      if (held !== undefined) this.#free(held)
    }
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#held.clear()
    this.#folders.clear()
  }

  #free(held: Held): void {
    this.#held.delete(keyOf(held.folder, held.name))
    const { folder, name, change } = held
    if (change !== undefined) this.#onRelease(folder, name, change.isTree, change.sinceMs)
  }

  #wait(): void {
    clearTimeout(this.#timer)
    let next = Number.POSITIVE_INFINITY
    for (const { untilMs } of this.#held.values()) next = Math.min(next, untilMs)
    for (const { untilMs } of this.#folders.values()) next = Math.min(next, untilMs)
    if (!Number.isFinite(next)) return
    const waitMs = Math.min(Math.max(0, next - monotonicMs()), maxTimerMs)
    this.#timer = setTimeout(() => {
      for (const held of [...this.#held.values()]) if (held.untilMs <= monotonicMs()) this.#free(held)
      for (const [folder, { untilMs, scope, sinceMs }] of [...this.#folders]) {
        if (untilMs > monotonicMs()) continue
        this.#folders.delete(folder)
        this.#onFolder(folder, scope, sinceMs)
      }
      this.#wait()
    }, waitMs)
  }
}

/** Two changes of a name as one: since the first of them. */
const earlier = (
  known: Held['change'],
  { isTree, sinceMs }: NonNullable<Held['change']>,
): NonNullable<Held['change']> => ({
  isTree: isTree || (known?.isTree ?? false),
  sinceMs: Math.min(sinceMs, known?.sinceMs ?? sinceMs),
})

/** No name has a slash. */
const keyOf = (folder: string, name: string): string => `${folder}/${name}`
