import { isFolderMarker, readAttributes, storeTimes, type StoreTimes } from './attributes.ts'
import type { ListPage, ListedBlob } from './xml.ts'
import type { Entry, FileAttributes } from '../contract/driver.ts'
import { isName } from '../paths/path-text.ts'

/**
 * Makes the entries of one folder out of the pages of its listing. A folder may show as a marker blob `a`, as the prefix
 * `a/`, or as both, in two places of one page or on two pages; it becomes one entry. Memory is bounded by the page: names
 * come in order, so between `a` and `a/` stand only names that begin with `a`, and only such folders are remembered.
 *
 * A file `a` beside blobs `a/…`, which a flat namespace allows, is listed as both, and a name that no path can have
 * (empty, `.`, `..`, or with a slash) as type `other`: nothing that is there goes unseen.
 */
export class Folding {
  readonly #prefix: string
  readonly #aheadMs: () => number
  /** Folders that may come up again. */
  #folders: Set<string>
  #found = false

  /**
   * @param prefix name of the folder with a slash at its end, empty for the root
   * @param aheadMs how much the store's clock is ahead of this host's
   * @param mayRecur `mayRecur` of whoever had the pages before
   */
  constructor(prefix: string, aheadMs: () => number, mayRecur: readonly string[] = []) {
    this.#prefix = prefix
    this.#aheadMs = aheadMs
    this.#folders = new Set(mayRecur)
  }

  /** Folders that were given and may come up once more on the next page. */
  get mayRecur(): string[] {
    return [...this.#folders]
  }

  /** Whether any blob showed that the folder exists. */
  get found(): boolean {
    return this.#found
  }

  /** The entries of the next page that were not given before. */
  entries({ blobs, prefixes }: ListPage): Entry[] {
    // Nothing passed by, so that what was given may still come up again.
    if (blobs.length + prefixes.length === 0) return []
    this.#found = true
    const entries = [
      ...blobs.map((blob) => this.#blob(blob)),
      ...prefixes.map((prefix) => this.#folder(prefix.slice(this.#prefix.length, -1))),
    ].filter((entry) => entry !== undefined)
    const ends = [blobs.at(-1)?.name ?? '', prefixes.at(-1) ?? '']
    const mayRecur = (name: string) => ends.some((end) => end.startsWith(this.#prefix + name))
    this.#folders = new Set(this.#folders.values().filter(mayRecur))
    return entries
  }

  #blob({
    name: fullName,
    sizeBytes,
    metadata,
    created,
    lastModified,
    md5,
    access,
  }: ListedBlob): Entry | undefined {
    const name = fullName.slice(this.#prefix.length)
    const attributes = {
      ...readAttributes(metadata, lastModified, access),
      ...storeTimes(created, lastModified, this.#aheadMs()),
    }
    if (isFolderMarker(metadata)) return this.#folder(name, attributes)
    // An empty blob `folder/` is how some tools mark a folder: this folder itself.
    if (name === '' && sizeBytes === 0) return undefined
    const bytes = Buffer.from(name)
    return isName(bytes)
      ? {
          name: bytes,
          type: 'file',
          sizeBytes,
          ...attributes,
          ...(md5 !== '' && { digests: { md5 } }),
        }
      : { name: bytes, type: 'other', sizeBytes: 0, ...attributes }
  }

  #folder(name: string, attributes: FileAttributes & StoreTimes = {}): Entry | undefined {
    if (this.#folders.has(name)) return undefined
    this.#folders.add(name)
    const bytes = Buffer.from(name)
    return { name: bytes, type: isName(bytes) ? 'folder' : 'other', sizeBytes: 0, ...attributes }
  }
}
