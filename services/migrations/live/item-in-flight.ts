import type { StorePath } from '../../drivers/contract/driver.ts'
import { DealtPaths, isWithin } from './dealt-paths.ts'

/**
 * Items that are remembered as done while another is worked on, some 10 KB each. Longer than so many take only listings of
 * very large folders, and large files; of those all that fails is looked at again.
 */
const maxOthers = 1_000

/** An item that is done, with those that it did itself, and the paths that it found gone. */
interface DoneItem {
  readonly items: readonly Uint8Array[]
  readonly gone: readonly string[]
}

/** Of known failures, those that an item deals with, and folders that it deals with as a whole. */
export interface Touched {
  readonly paths: ReadonlySet<string>
  readonly trees: ReadonlySet<string>
}

/**
 * An item while it is worked on, with what is to be known when it is done: who else has dealt with its paths meanwhile, and
 * may have seen them later.
 */
export class ItemInFlight implements Disposable {
  /** It, and those that it did itself. */
  readonly items: Uint8Array[]
  /** When it was begun, as the number of failures until then. */
  readonly begunAt: number
  /** Known failures that other items deal with, which it has made: those tell what became of them. */
  readonly handedOn = new Set<string>()
  /** Folders that those deal with as a whole; none while there are no known failures. */
  readonly handedTrees = new Set<string>()
  readonly #touched: (items: readonly Uint8Array[]) => Touched
  readonly #inFlight: Set<ItemInFlight>
  /** Undefined when they were too many. */
  #others: DoneItem[] | undefined = []
  #othersCount = 0

  /**
   * @param inFlight all that are; it is among them until it is disposed of
   * @param touched known failures that items deal with
   */
  constructor(
    item: Uint8Array,
    begunAt: number,
    inFlight: Set<ItemInFlight>,
    touched: (items: readonly Uint8Array[]) => Touched,
  ) {
    this.items = [item]
    this.begunAt = begunAt
    this.#inFlight = inFlight
    this.#touched = touched
    inFlight.add(this)
  }

  /** Other items will tell what became of what they deal with. */
  handOn(items: readonly Uint8Array[]): void {
    const { paths, trees } = this.#touched(items)
    for (const path of paths) this.handedOn.add(path)
    for (const folder of trees) this.handedTrees.add(folder)
  }

  /**
   * It is done: the others in flight have perhaps seen what it dealt with before it did.
   * @param below items of what it dealt with itself besides
   */
  done(gone: readonly string[], below: readonly Uint8Array[]): void {
    this.items.push(...below)
    const { items } = this
    for (const other of this.#inFlight) if (other !== this) other.#remember({ items, gone })
  }

  /**
   * Which of some paths others have dealt with, or brought within reach, meanwhile.
   * @param root path of the migration in its source
   */
  overtaken(paths: readonly string[], root: StorePath): string[] {
    if (paths.length === 0) return []
    const others = this.#others?.map(({ items, gone }) => ({
      dealt: new DealtPaths(items, root),
      gone: new Set(gone),
    }))
    const isDealtWith = (path: string) =>
      others?.some(
        ({ dealt, gone }) => dealt.has(path, true) || dealt.isOnWayTo(path) || isWithin(gone, path),
      ) ?? true
    return paths.filter(isDealtWith)
  }

  #remember(done: DoneItem): void {
    this.#othersCount += done.items.length
    if (this.#othersCount <= maxOthers) this.#others?.push(done)
    else this.#others = undefined
  }

  [Symbol.dispose](): void {
    this.#inFlight.delete(this)
  }
}
