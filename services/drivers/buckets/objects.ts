import type { Digests, Entry, FileAttributes } from '../contract/driver.ts'
import type { Taker } from '../http/transport.ts'
import type { Asked } from '../http/requests.ts'

/** Names operation and object for a message. */
export type What = () => string

/** An object as its service tells it. */
export interface StoredObject {
  readonly sizeBytes: number
  /** Names this content at the service, for conditions. */
  readonly tag: string
  /** Equal for equal versions, metadata among them. */
  readonly version: string
  /** The time is that of the last change where none was given to it. */
  readonly attributes: FileAttributes
  /** Whether a time was given to it. */
  readonly hasOwnTime: boolean
  readonly times: Pick<Entry, 'createdMs' | 'changedMs'>
  readonly digests?: Digests | undefined
}

/** What is to be listed. */
export interface ListedPrefix {
  readonly prefix: string
  readonly maxKeys: number
  /** Goes on with a listing. */
  readonly token?: string | undefined
  /** Begins the listing after this key, or at it. */
  readonly startAfter?: string
  /** Keys that have it after the prefix are told by what is before it; empty for none. Default: a slash */
  readonly delimiter?: string
}

export interface ObjectPage {
  readonly objects: readonly { readonly key: string; readonly sizeBytes: number }[]
  readonly prefixes: readonly string[]
  /** Empty at the end. */
  readonly nextToken: string
}

/** The calls to one bucket that a driver is made of. All throw StoreErrors; the bucket missing is `gone`. */
/** What a bucket keeps of objects that are replaced or removed. */
export interface Keeping {
  readonly versions: boolean
  /** Seconds for which they can be restored; 0 for not at all. */
  readonly softDeleteSeconds?: number
}

export interface ObjectBucket<O extends StoredObject = StoredObject> {
  /** Resolves when the bucket is there and the key is taken. */
  check(what: What, options?: Pick<Asked, 'signal' | 'retries' | 'isProbe'>): Promise<void>
  /** What the bucket keeps of objects that are replaced or removed. */
  keeping(what: What, signal: AbortSignal): Promise<Keeping>
  /** What stands under the very key, undefined when nothing does. */
  properties(key: string, what: What, signal?: AbortSignal): Promise<O | undefined>
  /** Like `properties`, with the first bytes of the content, at most `bytes`. */
  readHead(
    key: string,
    bytes: number,
    what: What,
    signal?: AbortSignal,
  ): Promise<{ readonly object: O; readonly head: Buffer } | undefined>
  /**
   * Hands over what is at an offset of the content of this tag, as much as is taken. Throws `changed` for another one.
   * @returns how many bytes are there
   */
  readRange(
    key: string,
    tag: string,
    offset: number,
    taker: Taker,
    what: What,
    signal?: AbortSignal,
  ): Promise<number>
  /** One page of what stands below a prefix, up to the next delimiter of each key. */
  listPage(of: ListedPrefix, what: What, signal?: AbortSignal): Promise<ObjectPage>
  /** Whether anything stands below a prefix, the marker of the folder among it. */
  hasAny(prefix: string, what: What, signal?: AbortSignal): Promise<boolean>
  /** Writes a whole object, its content checked by the service. */
  put(key: string, body: Buffer, attributes: FileAttributes, what: What): Promise<void>
  /** The same where nothing stands under the key; false when something does. Only where the service makes sure of that. */
  putNew?(key: string, body: Buffer, attributes: FileAttributes, what: What): Promise<boolean>
  /** Deletes this object. Throws `changed` where another stands there, as far as the service can make sure of that. */
  delete(key: string, there: O, what: What): Promise<void>
  /** Adds to the attributes of this object, or replaces some, and leaves its content. Throws `gone`, `changed`. */
  giveAttributes(key: string, there: O, attributes: FileAttributes, what: What): Promise<void>
}
