import { hash, randomUUID } from 'node:crypto'
import { BroadcastChannel } from 'node:worker_threads'
import type { FileAttributes } from '../../../services/drivers/contract/driver.ts'

/** An object; its key as latin1, a character a byte. Times by the clock of the store, in whole seconds. */
export interface StoredObject {
  readonly key: string
  readonly sizeBytes: number
  readonly attributes: FileAttributes
  readonly isFolder: boolean
  /** Another one after each change, of attributes too. */
  readonly version: string
  readonly createdMs: number
  readonly sha256?: string
}

/** A page of a listing. It may be empty and have a cursor all the same. */
export interface ListedPage {
  readonly objects: readonly StoredObject[]
  /** Beginnings of keys up to the next slash, with the marker of that folder where there is one. */
  readonly prefixes: readonly { readonly prefix: string; readonly marker?: StoredObject }[]
  readonly cursor: string | undefined
}

export interface Session {
  readonly id: string
  readonly key: string
  readonly sizeBytes: number
  readonly attributes: FileAttributes
}

/** A part of an upload whose parts come in any order. */
export interface StoredPart {
  readonly offset: number
  readonly sizeBytes: number
  /** Another one each time that the part is written; all are wanted at the end. */
  readonly receipt: string
}

/** What can be asked. Conditions are versions; plain data, and so are the answers. */
export interface Operations {
  head(key: string): StoredObject | undefined
  get(key: string, version: string, offset: number, length: number): Uint8Array
  list(prefix: string, cursor: string | undefined, limit: number): ListedPage
  put(key: string, bytes: Uint8Array, attributes: FileAttributes, isFolder: boolean): void
  /** False when nothing is there. */
  delete(key: string, version: string): boolean
  /** Gives an object other attributes: the store makes another version of it. */
  rewrite(key: string, version: string, attributes: FileAttributes): void
  /** Begins an upload, or goes on with the one of this id. Returns how many bytes it has. */
  begin(session: Session): number
  /** Bytes come one after the other; those that are there already may come again. Returns how many there are. */
  append(id: string, offset: number, bytes: Uint8Array): number
  received(id: string): number | undefined
  /** Writes a part, in any order. Returns its receipt. */
  part(id: string, offset: number, bytes: Uint8Array): string
  /** Parts that are written, in the order of the file; undefined when the upload is over. */
  parts(id: string): StoredPart[] | undefined
  /** @param receipts of all parts in the order of the file, where they came in any order */
  finish(id: string, receipts?: readonly string[]): void
  forget(id: string): void
}

export type Refusal = 'no-bucket' | 'no-object' | 'other-version' | 'out-of-order' | 'incomplete'

export class Refused extends Error {
  readonly refusal: Refusal
  constructor(refusal: Refusal) {
    super(refusal)
    this.refusal = refusal
  }
}

/** What is sent to the store, by any thread of this process. */
export interface Request {
  readonly id: number
  /** Name of the channel that the answer is wanted on. */
  readonly from: string
  readonly bucket: string
  readonly operation: keyof Operations
  readonly args: readonly unknown[]
}

export interface Answer {
  readonly id: number
  readonly value?: unknown
  /** `throttled`: nothing was done. `lost`: it may have been done, and the answer did not come. */
  readonly failure?: Refusal | 'throttled' | 'lost'
  /** The clock of the store. */
  readonly nowMs: number
}

/** Calls back with each message. */
export const listen = (channel: BroadcastChannel, take: (message: unknown) => void): void =>
  channel.addEventListener('message', (event) => take('data' in event ? event.data : undefined))

export const send = (channel: BroadcastChannel, message: Request | Answer): void =>
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel of threads has no origin
  channel.postMessage(message)

/** Each so many requests: what real stores do now and then. */
const faults = { throttled: 17, lost: 13, emptyPage: 3 } as const

/** The store's clock is ahead of this host's. */
const aheadMs = 37_000
const secondMs = 1_000

interface Stored extends StoredObject {
  readonly bytes: Buffer
}

interface Upload extends Session {
  readonly bytes: Buffer
  readonly parts: Map<number, StoredPart>
  received: number
  isFinished: boolean
}

/** A bucket: keys in the order of their bytes. */
class Bucket implements Operations {
  readonly objects = new Map<string, Stored>()
  readonly #sessions = new Map<string, Upload>()
  #pages = 0

  head(key: string): StoredObject | undefined {
    const found = this.objects.get(key)
    return found && withoutBytes(found)
  }

  get(key: string, version: string, offset: number, length: number): Uint8Array {
    return this.#of(key, version).bytes.subarray(offset, offset + length)
  }

  list(prefix: string, cursor: string | undefined, limit: number): ListedPage {
    if (++this.#pages % faults.emptyPage === 0) return { objects: [], prefixes: [], cursor: cursor ?? prefix }
    const objects: StoredObject[] = []
    const prefixes: ListedPage['prefixes'][number][] = []
    const keys = [...this.objects.keys()].filter((key) => key.startsWith(prefix) && key >= (cursor ?? ''))
    let last: string | undefined
    for (const key of keys.toSorted(byCode)) {
      const slash = key.indexOf('/', prefix.length)
      const folder = slash === -1 ? undefined : key.slice(0, slash + 1)
      if (folder !== undefined && folder === last) continue
      if (objects.length + prefixes.length === limit) return { objects, prefixes, cursor: key }
      last = folder
      if (folder === undefined) objects.push(withoutBytes(this.objects.get(key)!))
      else {
        const marker = this.head(folder)
        prefixes.push({ prefix: folder, ...(marker && { marker }) })
      }
    }
    return { objects, prefixes, cursor: undefined }
  }

  put(key: string, bytes: Uint8Array, attributes: FileAttributes, isFolder: boolean): void {
    const own = Buffer.from(bytes)
    this.#store(key, own, { attributes, isFolder, sha256: hash('sha256', own, 'base64') })
  }

  delete(key: string, version: string): boolean {
    if (!this.objects.has(key)) return false
    this.#of(key, version)
    return this.objects.delete(key)
  }

  rewrite(key: string, version: string, attributes: FileAttributes): void {
    const { bytes, isFolder, sha256 } = this.#of(key, version)
    this.#store(key, bytes, { attributes, isFolder, ...(sha256 !== undefined && { sha256 }) })
  }

  begin(session: Session): number {
    const known = this.#sessions.get(session.id)
    if (known !== undefined && !known.isFinished) return known.received
    this.#sessions.set(session.id, {
      ...session,
      bytes: Buffer.alloc(session.sizeBytes),
      parts: new Map(),
      received: 0,
      isFinished: false,
    })
    return 0
  }

  append(id: string, offset: number, bytes: Uint8Array): number {
    const upload = this.#session(id)
    const end = offset + bytes.length
    if (offset > upload.received || end > upload.sizeBytes) throw new Refused('out-of-order')
    if (end <= upload.received) return upload.received
    upload.bytes.set(bytes, offset)
    upload.received = end
    return end
  }

  received(id: string): number | undefined {
    const upload = this.#sessions.get(id)
    return upload?.isFinished === false ? upload.received : undefined
  }

  part(id: string, offset: number, bytes: Uint8Array): string {
    const upload = this.#session(id)
    if (offset + bytes.length > upload.sizeBytes) throw new Refused('out-of-order')
    upload.bytes.set(bytes, offset)
    const receipt = randomUUID()
    upload.parts.set(offset, { offset, sizeBytes: bytes.length, receipt })
    return receipt
  }

  parts(id: string): StoredPart[] | undefined {
    const upload = this.#sessions.get(id)
    if (upload === undefined || upload.isFinished) return undefined
    return upload.parts
      .values()
      .toArray()
      .toSorted((a, b) => a.offset - b.offset)
  }

  finish(id: string, receipts?: readonly string[]): void {
    const upload = this.#session(id)
    if (upload.isFinished) return
    const written = receipts === undefined ? upload.received : this.#joined(id, receipts)
    if (written !== upload.sizeBytes) throw new Refused('incomplete')
    // Put together from parts, it has no digest of the whole.
    this.#store(upload.key, upload.bytes, { attributes: upload.attributes, isFolder: false })
    upload.isFinished = true
  }

  forget(id: string): void {
    if (this.#sessions.get(id)?.isFinished === false) this.#sessions.delete(id)
  }

  /** Bytes of parts without a gap from the beginning, the receipt of each being right. */
  #joined(id: string, receipts: readonly string[]): number {
    let end = 0
    for (const [index, { offset, sizeBytes, receipt }] of (this.parts(id) ?? []).entries()) {
      if (offset !== end || receipt !== receipts[index]) throw new Refused('incomplete')
      end += sizeBytes
    }
    return end
  }

  #session(id: string): Upload {
    const upload = this.#sessions.get(id)
    if (upload === undefined) throw new Refused('no-object')
    return upload
  }

  #of(key: string, version: string): Stored {
    const found = this.objects.get(key)
    if (found === undefined) throw new Refused('no-object')
    if (found.version !== version) throw new Refused('other-version')
    return found
  }

  #store(key: string, bytes: Buffer, rest: Pick<Stored, 'attributes' | 'isFolder' | 'sha256'>): void {
    const createdMs = Math.floor((Date.now() + aheadMs) / secondMs) * secondMs
    this.objects.set(key, { key, bytes, sizeBytes: bytes.length, version: randomUUID(), createdMs, ...rest })
  }
}

const withoutBytes = ({ bytes: _bytes, ...object }: Stored): StoredObject => object
const byCode = (a: string, b: string): number => (a < b ? -1 : 1)

/**
 * Stands in for an object store, in memory, as no such service can be had here with all of this at once: folders that are
 * implied, parts one after the other, attributes at the beginning of an upload, pages that are empty, throttling, answers
 * that are lost after they took effect, a clock of its own. All threads of the process reach it by its name.
 */
export class ObjectStoreDouble implements Disposable {
  readonly name = `store${randomUUID().replaceAll('-', '').slice(0, 16)}`
  /** How often each fault came. */
  readonly faults = { throttled: 0, lost: 0 }
  readonly #buckets = new Map<string, Bucket>()
  readonly #channel = new BroadcastChannel(this.name)
  readonly #answering = new Map<string, BroadcastChannel>()
  #requests = 0

  constructor(...buckets: string[]) {
    for (const bucket of buckets) this.#buckets.set(bucket, new Bucket())
    listen(this.#channel, (message) => this.#answer(message as Request))
  }

  [Symbol.dispose](): void {
    this.#channel.close()
    for (const channel of this.#answering.values()) channel.close()
  }

  #answer({ id, from, ...request }: Request): void {
    const channel = this.#answering.get(from) ?? new BroadcastChannel(from)
    this.#answering.set(from, channel)
    const nowMs = Date.now() + aheadMs
    send(channel, { id, nowMs, ...this.#done(request) })
  }

  #done({ bucket, operation, args }: Omit<Request, 'id' | 'from'>): Omit<Answer, 'id' | 'nowMs'> {
    const its = this.#buckets.get(bucket)
    if (its === undefined) return { failure: 'no-bucket' }
    const number = ++this.#requests
    if (number % faults.throttled === 0) {
      this.faults.throttled++
      return { failure: 'throttled' }
    }
    try {
      const value: unknown = (its[operation] as (...all: readonly unknown[]) => unknown).apply(its, [...args])
      if (number % faults.lost !== 0) return { value }
      this.faults.lost++
      return { failure: 'lost' }
    } catch (error) {
      if (error instanceof Refused) return { failure: error.refusal }
      throw error
    }
  }
}
