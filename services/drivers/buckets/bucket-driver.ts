import {
  type Driver,
  type Entry,
  type FileAttributes,
  type Losses,
  nothingLost,
  type ReadOptions,
  type StoreCopy,
  type StorePath,
} from '../contract/driver.ts'
import type { Location } from '../contract/location.ts'
import type { Failures } from '../http/failures.ts'
import { nameOf, textFromPath } from '../paths/path-text.ts'
import { BucketPlace, type CopyTarget } from './copies.ts'
import { FolderNames } from './folder-names.ts'
import { ObjectFile } from './object-file.ts'
import type { ObjectBucket, StoredObject, What } from './objects.ts'

const TiB = 1024 ** 4
/** What one object can have, at every service of this kind. */
export const maxObjectBytes = 5 * TiB

/** Most bytes that are read with one request. */
const readBytes = 16 * 1024 * 1024

/** What differs between services. */
export interface BucketStore<O extends StoredObject> {
  readonly bucket: ObjectBucket<O>
  /** For messages: the service, and the bucket at it. */
  readonly service: string
  readonly place: string
  readonly failed: Failures['failed']
  /** Bytes that are read when a file is opened: smaller files need no second request. */
  readonly headBytes: number
  /** The key of what is at a path, or undefined when no object can have it. */
  keyOf(path: StorePath): string | undefined
  /** Why nothing can be written under this path, or undefined. */
  refuseName(path: StorePath): string | undefined
  /** What of attributes no metadata keep. */
  lossesOf(attributes: FileAttributes): Losses
}

/** `probe` answers a person who waits: one more try, then the truth. */
const probeRetries = 1

/**
 * What is the same for every store whose buckets have objects under keys. A folder is what keys begin with; one that is to
 * stay while it is empty, or has attributes, is an empty object with a slash at the end of its key, as most consoles and
 * Hadoop's connectors make it. Listings and uploads in parts are each service's own.
 */
export abstract class BucketDriver<O extends StoredObject> {
  readonly #store: BucketStore<O>
  readonly #bucket: ObjectBucket<O>
  readonly #folders: FolderNames
  /** By the place that they are from, which lives as long as its driver. */
  readonly #copies = new WeakMap<object, StoreCopy>()

  readonly putNew?: NonNullable<Driver['putNew']>

  constructor(store: BucketStore<O>) {
    this.#store = store
    if (store.bucket.putNew !== undefined)
      this.putNew = async (path, bytes, attributes) => {
        const what = this.what('put', path)
        const key = this.writableKey(path, what)
        await this.refuseFolder(key, what)
        if ((await store.bucket.putNew?.(key, bytes, attributes, what)) === false)
          throw store.failed('changed', what(), 'something stands there already')
        return store.lossesOf(attributes)
      }
    this.#bucket = store.bucket
    this.#folders = new FolderNames(store.bucket)
  }

  /**
   * What copies at the service from a bucket to this one; undefined where that is not one of the same service and access.
   * @param direct of the driver of that bucket
   * @param own this one's
   */
  protected copiesFrom<B extends ObjectBucket>(
    direct: object | undefined,
    own: BucketPlace<B>,
    make: (from: B, to: CopyTarget<B>) => StoreCopy,
  ): StoreCopy | undefined {
    if (!(direct instanceof BucketPlace) || direct.access !== own.access) return undefined
    const known = this.#copies.get(direct)
    if (known !== undefined) return known
    const copy = make((direct as BucketPlace<B>).bucket, {
      bucket: own.bucket,
      what: (operation, path) => this.what(operation, path),
      writableKey: async (path, what) => {
        const key = this.writableKey(path, what)
        await this.refuseFolder(key, what)
        return key
      },
    })
    this.#copies.set(direct, copy)
    return copy
  }

  probe(signal: AbortSignal): Promise<void> {
    const what = () => `access to ${this.#store.place}`
    return this.#bucket.check(what, { signal, retries: probeRetries, isProbe: true })
  }

  async describe(signal: AbortSignal): Promise<string | undefined> {
    const what = () => `look at ${this.#store.place}`
    const { versions, softDeleteSeconds = 0 } = await this.#bucket.keeping(what, signal)
    const said = [
      ...(versions
        ? [
            'it keeps versions: of each object the latest is migrated, and what is replaced or removed stays as an older one',
          ]
        : []),
      ...(softDeleteSeconds > 0
        ? [`what is replaced or removed is kept, and billed, for ${softDeleteSeconds} s more (soft delete)`]
        : []),
    ]
    return said.length === 0 ? undefined : said.join('; ')
  }

  async stat(path: StorePath, signal?: AbortSignal): Promise<Entry | undefined> {
    const what = this.what('stat', path)
    const key = this.#store.keyOf(path)
    if (key === undefined) return undefined
    const name = nameOf(path)
    if (key === '') {
      await this.#bucket.check(what, { signal })
      return { name, type: 'folder', sizeBytes: 0 }
    }
    const file = await this.#bucket.properties(key, what, signal)
    if (file !== undefined) {
      const { sizeBytes, attributes, times, digests } = file
      return { name, type: 'file', sizeBytes, ...attributes, ...times, ...(digests && { digests }) }
    }
    const folder = await this.#folder(key, what, signal)
    return folder && { name, type: 'folder', sizeBytes: 0, ...folder }
  }

  async attributesOf(path: StorePath, { signal }: ReadOptions = {}): Promise<FileAttributes | undefined> {
    const what = this.what('attributes of', path)
    const key = this.#store.keyOf(path)
    if (key === undefined) return undefined
    if (key === '') return {}
    const file = await this.#bucket.properties(key, what, signal)
    if (file !== undefined) return file.attributes
    const folder = await this.#folder(key, what, signal)
    if (folder === undefined) return undefined
    const { createdMs: _created, changedMs: _changed, ...attributes } = folder
    return attributes
  }

  /** Undefined where no folder stands. */
  async #folder(
    key: string,
    what: What,
    signal: AbortSignal | undefined,
  ): Promise<(FileAttributes & Pick<Entry, 'createdMs' | 'changedMs'>) | undefined> {
    const marker = await this.#bucket.properties(`${key}/`, what, signal)
    if (marker !== undefined) return markerAttributes(marker)
    return (await this.#bucket.hasAny(`${key}/`, what, signal)) ? {} : undefined
  }

  async open(path: StorePath, { contentLater = false, signal }: ReadOptions = {}): Promise<ObjectFile<O>> {
    const what = this.what('open', path)
    const key = this.#store.keyOf(path)
    if (key === undefined) throw this.#store.failed('gone', what(), 'no such file')
    if (key === '') throw this.#store.failed('unsupported', what(), 'it is a folder')
    const opened = contentLater
      ? await this.#withoutHead(key, what, signal)
      : await this.#bucket.readHead(key, this.#store.headBytes, what, signal)
    if (opened === undefined) {
      if (await this.#bucket.hasAny(`${key}/`, what, signal))
        throw this.#store.failed('unsupported', what(), 'it is a folder')
      throw this.#store.failed('gone', what(), 'no such file')
    }
    const describe = (operation: string) => this.what(operation, path)()
    return new ObjectFile(this.#bucket, { ...opened, key }, readBytes, describe, this.#store.failed, signal)
  }

  async #withoutHead(
    key: string,
    what: What,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly object: O; readonly head: Buffer } | undefined> {
    const object = await this.#bucket.properties(key, what, signal)
    return object && { object, head: empty }
  }

  refuses(path: StorePath, { type, sizeBytes }: Pick<Entry, 'type' | 'sizeBytes'>): string | undefined {
    const { service } = this.#store
    if (type === 'symlink') return `it is a symbolic link, and ${service} keeps files and folders only`
    if (type === 'other') return `it is neither file nor folder, and ${service} keeps nothing else`
    if (sizeBytes > maxObjectBytes)
      return `it has ${sizeBytes} bytes, the limit of ${service} is ${maxObjectBytes} (5 TiB)`
    return this.#store.refuseName(path)
  }

  async makeFolder(path: StorePath, attributes: FileAttributes): Promise<Losses> {
    const what = this.what('make folder', path)
    if (path.length === 0) {
      await this.#bucket.check(what)
      return nothingLost
    }
    const key = this.writableKey(path, what)
    if ((await this.#bucket.properties(key, what)) !== undefined)
      throw this.#store.failed('unsupported', what(), 'a file stands there')
    await this.#mark(key, attributes, what)
    return this.#store.lossesOf(attributes)
  }

  /** Makes the marker of a folder, or gives the one that is there further attributes. */
  async #mark(key: string, attributes: FileAttributes, what: What): Promise<void> {
    const marker = await this.#bucket.properties(`${key}/`, what)
    this.#folders.made(key)
    if (marker === undefined) await this.#bucket.put(`${key}/`, empty, attributes, what)
    else await this.#bucket.giveAttributes(`${key}/`, marker, attributes, what)
  }

  async put(path: StorePath, bytes: Buffer, attributes: FileAttributes): Promise<Losses> {
    const what = this.what('put', path)
    const key = this.writableKey(path, what)
    await this.refuseFolder(key, what)
    await this.#bucket.put(key, bytes, attributes, what)
    return this.#store.lossesOf(attributes)
  }

  async remove(path: StorePath): Promise<boolean> {
    const what = this.what('remove', path)
    if (path.length === 0) throw this.#store.failed('unsupported', what(), 'it is the root')
    const key = this.#store.keyOf(path)
    if (key === undefined) return false
    this.#folders.removed()
    const file = await this.#bucket.properties(key, what)
    if (file !== undefined) {
      await this.#bucket.delete(key, file, what)
      return true
    }
    const { objects, prefixes } = await this.#bucket.listPage({ prefix: `${key}/`, maxKeys: 2 }, what)
    if (prefixes.length > 0 || objects.some((one) => one.key !== `${key}/` || one.sizeBytes > 0))
      throw this.#store.failed('unsupported', what(), 'the folder is not empty')
    if (objects.length === 0) return false
    const marker = await this.#bucket.properties(`${key}/`, what)
    if (marker !== undefined) await this.#bucket.delete(`${key}/`, marker, what)
    return marker !== undefined
  }

  async version(path: StorePath): Promise<string | undefined> {
    const key = this.#store.keyOf(path)
    if (key === undefined || key === '') return undefined
    return (await this.#bucket.properties(key, this.what('version of', path)))?.version
  }

  async removeVersion(path: StorePath, version: string): Promise<boolean> {
    const what = this.what('remove', path)
    const key = this.#store.keyOf(path)
    if (key === undefined || key === '') return false
    const there = await this.#bucket.properties(key, what)
    if (there === undefined) return false
    if (there.version !== version) throw this.#store.failed('changed', what(), 'it is another version')
    await this.#bucket.delete(key, there, what)
    return true
  }

  async setAttributes(path: StorePath, attributes: FileAttributes): Promise<Losses> {
    const what = this.what('set attributes of', path)
    const key = this.writableKey(path, what)
    const file = await this.#bucket.properties(key, what)
    if (file !== undefined) await this.#bucket.giveAttributes(key, file, attributes, what)
    else if (!(await this.#bucket.hasAny(`${key}/`, what)))
      throw this.#store.failed('gone', what(), 'nothing is there')
    else await this.#mark(key, attributes, what)
    return this.#store.lossesOf(attributes)
  }

  locate(path: StorePath): Location {
    return { own: { device: this.#store.place, path }, mounted: [] }
  }

  /** The key for a write. Throws `name` where nothing can be written under the path. */
  protected writableKey(path: StorePath, what: What): string {
    const reason = path.length === 0 ? 'it is the root' : this.#store.refuseName(path)
    if (reason !== undefined) throw this.#store.failed('name', what(), reason)
    return path.toString('utf8')
  }

  /** Throws `unsupported` where a folder stands. */
  protected async refuseFolder(key: string, what: What): Promise<void> {
    if (await this.#folders.isFolder(key, what))
      throw this.#store.failed('unsupported', what(), 'a folder stands there')
  }

  protected what(operation: string, path: StorePath): What {
    return () => `${operation} ${path.length === 0 ? 'the root' : textFromPath(path)} of ${this.#store.place}`
  }
}

const empty = Buffer.alloc(0)

/** A marker of another tool says nothing of a folder but that it is there: its own time is of no use. */
export function markerAttributes({
  attributes,
  hasOwnTime,
  times,
}: StoredObject): FileAttributes & Pick<Entry, 'createdMs' | 'changedMs'> {
  const { modifiedMs, ...others } = attributes
  return { ...others, ...(hasOwnTime && modifiedMs !== undefined && { modifiedMs }), ...times }
}
