import { compareKeys, prefixOf } from '../buckets/key-order.ts'
import type { What } from '../buckets/objects.ts'

/** Objects of a folder from a key on, so many at most. */
type ListFrom<O> = (prefix: string, from: string, count: number, what: What) => Promise<readonly O[]>

/** Objects of one listing: about as many as a thread reads in a row before it goes on elsewhere. */
export const listedAtOnce = 64
/**
 * Files of a folder that are asked for by name before it is listed, and again before it is listed once more: where single
 * files are read here and there, listings, which cost more, stay few.
 */
export const namedBeforeListing = 4
/** Objects that are known at once, the oldest go first: one or two megabytes, where others gave each 8 KiB of metadata 16. */
const maxListed = 2_048
/** Folders whose files are counted at once, those that came first go first. */
const maxFolders = 64

/** Files of a folder that were announced together, and are listed with the first that is asked for. */
interface Announced {
  readonly from: string
  readonly count: number
  listing?: Promise<void>
}

/** What was done in a folder of late. */
interface Folder {
  /** Files asked for since its last listing began. */
  asked: number
  /** The listing that is under way, and the key that it begins at. */
  listing?: { readonly from: string; readonly done: Promise<void> } | undefined
}

/**
 * Metadata by listings, for files of a folder that are read one after another in the order of their names: one request for
 * many. Whoever uses what is told here proves first that the object is still the same, and asks by name where nothing is.
 */
export class ListedObjects<O extends { readonly key: string }> {
  readonly #list: ListFrom<O>
  readonly #objects = new Map<string, O>()
  /** By key, until it is asked for. */
  readonly #announced = new Map<string, Announced>()
  /** By prefix. */
  readonly #folders = new Map<string, Folder>()

  constructor(list: ListFrom<O>) {
    this.#list = list
  }

  /** Says which objects of one folder are taken soon. So few that asking for each costs no more are not listed for that. */
  announce(keys: readonly string[]): void {
    const [from] = keys.toSorted(compareKeys)
    if (from === undefined || keys.length <= namedBeforeListing) return
    const announced: Announced = { from, count: keys.length }
    for (const key of keys) {
      this.#announced.delete(key)
      this.#announced.set(key, announced)
    }
    forgetFirst(this.#announced, maxListed)
  }

  /** An object as a listing had it, which is forgotten then; undefined where it is to be asked for by name. Never rejects. */
  async take(key: string, what: What): Promise<O | undefined> {
    const announced = this.#announced.get(key)
    this.#announced.delete(key)
    if (announced !== undefined && !this.#objects.has(key)) {
      announced.listing ??= this.#listFrom(prefixOf(key), announced.from, announced.count, what)
      await announced.listing
    }
    if (!this.#objects.has(key)) await this.#look(key, what)
    else this.#folderOf(prefixOf(key)).asked++
    const object = this.#objects.get(key)
    this.#objects.delete(key)
    return object
  }

  /** Waits for the listing that may have the key, or makes one if it is worth that. */
  async #look(key: string, what: What): Promise<void> {
    const prefix = prefixOf(key)
    const folder = this.#folderOf(prefix)
    folder.asked++
    const { listing } = folder
    if (listing !== undefined) return compareKeys(listing.from, key) <= 0 ? listing.done : undefined
    if (folder.asked <= namedBeforeListing) return
    folder.asked = 0
    folder.listing = { from: key, done: this.#listFrom(prefix, key, listedAtOnce, what) }
    await folder.listing.done
    folder.listing = undefined
  }

  async #listFrom(prefix: string, from: string, count: number, what: What): Promise<void> {
    // What is wrong shows when the object is asked for.
    const objects = await this.#list(prefix, from, count, what).catch(() => [])
    for (const object of objects) {
      this.#objects.delete(object.key)
      this.#objects.set(object.key, object)
    }
    forgetFirst(this.#objects, maxListed)
  }

  #folderOf(prefix: string): Folder {
    const folder = this.#folders.get(prefix) ?? { asked: 0 }
    this.#folders.set(prefix, folder)
    forgetFirst(this.#folders, maxFolders)
    return folder
  }
}

function forgetFirst(known: Map<string, unknown>, most: number): void {
  for (const key of known.keys()) {
    if (known.size <= most) return
    known.delete(key)
  }
}
