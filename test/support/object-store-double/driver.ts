import { hash, randomUUID } from 'node:crypto'
import { BroadcastChannel } from 'node:worker_threads'
import {
  changed,
  type Capabilities,
  type Continuation,
  type Driver,
  type Entry,
  type FileAttributes,
  type Listing,
  type Location,
  type Losses,
  type NewFile,
  nothingLost,
  type Page,
  type PartBody,
  piecesOf,
  type SourceFile,
  StoreError,
  type StorePath,
  type ReadOptions,
  type Upload,
} from '../../../services/drivers/contract/driver.ts'
import { nameOf } from '../../../services/drivers/paths/path-text.ts'
import {
  type Answer,
  listen,
  type ListedPage,
  type Operations,
  type Refusal,
  type Request,
  send,
  type StoredObject,
  type StoredPart,
} from './store.ts'

export interface DoubleOptions {
  /** `ObjectStoreDouble.name`. */
  readonly store: string
  readonly bucket: string
  /** Order of the parts of an upload, each with a receipt where they come in any; default: sequential. */
  readonly parts?: 'any' | 'sequential'
  /** Milliseconds that the times which it is given are rounded down to; default: none. */
  readonly grainMs?: number
}

const KiB = 1024
/** Parts must be multiples of this, as with real stores. */
const partUnitBytes = 256 * KiB
const pageLength = 500
const maxKeyBytes = 1_024
/** Throttling ends, and an answer is not lost over and over. */
const maxTries = 8
/** Ends a request to a store that is gone, as the limits of a real connection do; no answer of a thread takes so long. */
const answerTimeoutMs = 20_000

const failures = {
  'no-bucket': 'gone',
  'no-object': 'gone',
  'other-version': 'changed',
  'out-of-order': 'io',
  incomplete: 'corrupt',
} as const satisfies Record<Refusal, StoreError['failure']>

/** Of an operation that was done, its value, and whether an earlier try of ours may have done it before. */
interface Done<T> {
  readonly value: T
  readonly isRepeated: boolean
}

const keyOf = (path: StorePath): string => path.toString('latin1')
const folderKeyOf = (path: StorePath): string => (path.length === 0 ? '' : `${keyOf(path)}/`)
const unsupported = (problem: string) => new StoreError('unsupported', problem)

/** A driver of an `ObjectStoreDouble`, as one of a real object store is: a client of something elsewhere. */
export class ObjectStoreDoubleDriver implements Driver {
  readonly capabilities: Capabilities
  readonly #store: string
  readonly #bucket: string
  readonly #requests: BroadcastChannel
  readonly #from = randomUUID()
  readonly #answers = new BroadcastChannel(this.#from)
  readonly #waiting = new Map<number, (answer: Answer) => void>()
  #lastId = 0
  #aheadMs = 0

  constructor({ store, bucket, parts = 'sequential', grainMs }: DoubleOptions) {
    this.#store = store
    this.#bucket = bucket
    this.capabilities = {
      storeName: 'the double of an object store',
      folders: 'implied',
      listsAttributes: true,
      listsInOrder: true,
      symlinks: false,
      modes: true,
      folderTimesMove: false,
      maxPutBytes: partUnitBytes,
      parts: {
        order: parts,
        sizeFor: (_, atMostBytes = 4 * partUnitBytes) =>
          Math.max(1, Math.floor(Math.min(atMostBytes, 4 * partUnitBytes) / partUnitBytes)) * partUnitBytes,
      },
      clock: { ownGrainMs: 1_000, tickMs: 2_000, ...(grainMs !== undefined && { grainMs }) },
      concurrency: 4,
    }
    this.#requests = new BroadcastChannel(store)
    listen(this.#answers, (message) => {
      const answer = message as Answer
      this.#waiting.get(answer.id)?.(answer)
      this.#waiting.delete(answer.id)
    })
  }

  async probe(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    await this.#list('', undefined, 1)
  }

  async *list(folder: StorePath, signal: AbortSignal, { after, limit }: Listing = {}): AsyncIterable<Page> {
    const prefix = folderKeyOf(folder)
    let isThere = prefix === '' || after !== undefined
    let cursor = after
    do {
      signal.throwIfAborted()
      const page = await this.#list(prefix, cursor, Math.min(limit ?? pageLength, pageLength))
      isThere ||= page.objects.length + page.prefixes.length > 0
      const entries = [
        ...page.objects
          .filter(({ key }) => key !== prefix)
          .map((object) => this.#fileEntry(object, prefix.length)),
        ...page.prefixes.map(({ prefix: key, marker }) =>
          this.#folderEntry(key.slice(prefix.length, -1), marker),
        ),
      ]
      cursor = page.cursor
      if (entries.length > 0) yield { entries, ...(cursor !== undefined && { cursor }) }
    } while (cursor !== undefined)
    if (!isThere) throw new StoreError('gone', 'there is no such folder')
  }

  async stat(path: StorePath, signal?: AbortSignal): Promise<Entry | undefined> {
    signal?.throwIfAborted()
    const name = keyOf(nameOf(path))
    const file = await this.#file(path)
    if (file !== undefined) return this.#fileEntry(file, file.key.length - name.length)
    const folder = await this.#folder(path)
    return folder && this.#folderEntry(name, folder.marker)
  }

  async open(path: StorePath, { signal }: ReadOptions = {}): Promise<SourceFile> {
    signal?.throwIfAborted()
    const file = await this.#file(path)
    if (file === undefined) {
      if ((await this.#folder(path)) !== undefined) throw unsupported('it is a folder')
      throw new StoreError('gone', 'there is no such file')
    }
    const { sizeBytes, attributes, version } = file
    return {
      sizeBytes,
      attributes: this.#attributesOf(file, attributes),
      nameCount: 1,
      version,
      read: async (offset, length) => {
        signal?.throwIfAborted()
        if (offset + length > sizeBytes) throw changed()
        return Buffer.from(await this.#read(keyOf(path), version, offset, length))
      },
      verifyUnchanged: async () => {
        signal?.throwIfAborted()
        if ((await this.#file(path))?.version !== version) throw changed()
      },
      close: async () => undefined,
    }
  }

  async attributesOf(path: StorePath, { signal }: ReadOptions = {}): Promise<FileAttributes | undefined> {
    signal?.throwIfAborted()
    const file = await this.#file(path)
    if (file !== undefined) return this.#attributesOf(file, file.attributes)
    const folder = await this.#folder(path)
    return folder && (folder.marker?.attributes ?? {})
  }

  refuses(path: StorePath, { type }: Pick<Entry, 'type' | 'sizeBytes'>): string | undefined {
    if (type === 'symlink') return 'it is a symbolic link, and an object store has none'
    if (type === 'other') return 'it is neither file nor folder'
    // The marker of a folder has a slash more.
    return path.length >= maxKeyBytes ? `the key has more than ${maxKeyBytes} bytes` : undefined
  }

  async makeFolder(path: StorePath, attributes: FileAttributes): Promise<Losses> {
    this.#requireName(path)
    if (path.length === 0) await this.probe(new AbortController().signal)
    else if ((await this.#file(path)) !== undefined) throw unsupported('a file stands there')
    else await this.#mark(path, attributes)
    return lossesOf(attributes)
  }

  async put(path: StorePath, bytes: Buffer, attributes: FileAttributes): Promise<Losses> {
    await this.#requireNoFolder(path)
    await this.#do('put', keyOf(path), Uint8Array.from(bytes), kept(attributes), false)
    return lossesOf(attributes)
  }

  async remove(path: StorePath): Promise<boolean> {
    if (path.length === 0) throw unsupported('it is the root')
    const file = await this.#file(path)
    if (file !== undefined) return this.#delete(file.key, file.version)
    const prefix = folderKeyOf(path)
    const inside = await this.#first(prefix, 2)
    if (inside.some((key) => key !== prefix)) throw unsupported('the folder is not empty')
    const marker = await this.#head(prefix)
    return marker !== undefined && this.#delete(prefix, marker.version)
  }

  async version(path: StorePath): Promise<string | undefined> {
    return (await this.#file(path))?.version
  }

  removeVersion(path: StorePath, version: string): Promise<boolean> {
    return this.#delete(keyOf(path), version)
  }

  async setAttributes(path: StorePath, attributes: FileAttributes): Promise<Losses> {
    const file = await this.#file(path)
    if (file !== undefined) await this.#rewrite(file, attributes)
    else if ((await this.#folder(path)) === undefined) throw new StoreError('gone', 'nothing is there')
    else if (path.length > 0) await this.#mark(path, attributes)
    return lossesOf(attributes)
  }

  async beginUpload(
    path: StorePath,
    { sizeBytes, tag, attributes }: NewFile,
    continuation?: Continuation,
  ): Promise<Upload> {
    await this.#requireNoFolder(path)
    const key = keyOf(path)
    const id =
      continuation === undefined
        ? randomUUID()
        : hash(
            'sha256',
            [key, sizeBytes, tag, continuation.version, continuation.shared?.generation].join('\n'),
          )
    const session = { id, key, sizeBytes, attributes: kept(attributes) }
    await this.#do('begin', session)
    const upload = { token: id, sizeBytes }
    if (continuation === undefined) return upload
    const written = (await this.writtenParts(upload, this.capabilities.parts.sizeFor(sizeBytes))) ?? []
    return { ...upload, written }
  }

  async writePart({ token }: Upload, _index: number, offset: number, body: PartBody): Promise<void> {
    if (this.#isAnyOrder) {
      // Nobody keeps the receipt: the store tells it to whoever puts the parts together.
      await this.#do('part', token, offset, Uint8Array.from(await body.read(0, body.sizeBytes)))
      return
    }
    let position = offset
    for await (const piece of piecesOf(body, partUnitBytes)) {
      await this.#do('append', token, position, Uint8Array.from(piece))
      position += piece.length
    }
  }

  async writtenParts(
    { token, sizeBytes }: Upload,
    partBytes: number,
  ): Promise<readonly number[] | undefined> {
    if (this.#isAnyOrder) {
      const { value: parts } = await this.#do('parts', token)
      const isWhole = ({ offset, sizeBytes: its }: StoredPart) =>
        its === Math.min(partBytes, sizeBytes - offset)
      return parts?.filter(isWhole).map((part) => part.offset / partBytes)
    }
    const { value: received } = await this.#do('received', token)
    return received === undefined ? undefined : partsIn(received, sizeBytes, partBytes)
  }

  /** The attributes were given at the beginning, and cannot be given now. */
  async commitUpload({ token }: Upload, _partCount: number, attributes: FileAttributes): Promise<Losses> {
    if (this.#isAnyOrder) {
      const { value: parts } = await this.#do('parts', token)
      await this.#do('finish', token, parts?.map(({ receipt }) => receipt) ?? [])
    } else await this.#do('finish', token)
    return lossesOf(attributes)
  }

  async abortUpload({ token }: Upload): Promise<void> {
    await this.#do('forget', token)
  }

  locate(path: StorePath): Location {
    return { own: { device: `${this.#store}/${this.#bucket}`, path }, mounted: [] }
  }

  async close(): Promise<void> {
    this.#requests.close()
    this.#answers.close()
  }

  get #isAnyOrder(): boolean {
    return this.capabilities.parts.order === 'any'
  }

  #requireName(path: StorePath): void {
    const problem = this.refuses(path, { type: 'file', sizeBytes: 0 })
    if (problem !== undefined) throw new StoreError('name', problem)
  }

  async #requireNoFolder(path: StorePath): Promise<void> {
    this.#requireName(path)
    if ((await this.#folder(path)) !== undefined) throw unsupported('a folder stands there')
  }

  async #file(path: StorePath): Promise<StoredObject | undefined> {
    return path.length === 0 ? undefined : this.#head(keyOf(path))
  }

  /** A folder is there if something is below it, or its marker. */
  async #folder(path: StorePath): Promise<{ readonly marker?: StoredObject } | undefined> {
    const prefix = folderKeyOf(path)
    const inside = await this.#first(prefix, 1)
    if (inside.length === 0 && prefix !== '') return undefined
    const marker = prefix === '' ? undefined : await this.#head(prefix)
    return { ...(marker && { marker }) }
  }

  /** Makes the marker of a folder, or gives the one that is there other attributes. */
  async #mark(path: StorePath, attributes: FileAttributes): Promise<void> {
    const marker = await this.#head(folderKeyOf(path))
    if (marker === undefined)
      await this.#do('put', folderKeyOf(path), new Uint8Array(), kept(attributes), true)
    else await this.#rewrite(marker, attributes)
  }

  async #rewrite(
    { key, version, attributes: before }: StoredObject,
    attributes: FileAttributes,
  ): Promise<void> {
    const all = { ...before, ...kept(attributes) }
    const answer = await this.#try('rewrite', key, version, all)
    if (answer.failure === undefined) return
    // The version that an earlier try of ours made is another, too.
    const now = answer.isRepeated ? await this.#head(key) : undefined
    if (JSON.stringify(now?.attributes) !== JSON.stringify(all)) throw failed(answer.failure)
  }

  async #delete(key: string, version: string): Promise<boolean> {
    const { value, isRepeated } = await this.#do('delete', key, version)
    // An earlier try of ours may have deleted it.
    return value || isRepeated
  }

  async #head(key: string): Promise<StoredObject | undefined> {
    return (await this.#do('head', key)).value
  }

  async #read(key: string, version: string, offset: number, length: number): Promise<Uint8Array> {
    const answer = await this.#try('get', key, version, offset, length)
    if (answer.failure === undefined) return answer.value
    throw answer.failure === 'no-bucket' ? failed(answer.failure) : changed()
  }

  async #list(prefix: string, cursor: string | undefined, limit: number): Promise<ListedPage> {
    return (await this.#do('list', prefix, cursor, limit)).value
  }

  /** The first keys and prefixes, over pages that are empty. */
  async #first(prefix: string, count: number): Promise<string[]> {
    const found: string[] = []
    let cursor: string | undefined
    do {
      const page = await this.#list(prefix, cursor, count)
      found.push(...page.objects.map(({ key }) => key), ...page.prefixes.map((one) => one.prefix))
      cursor = page.cursor
    } while (cursor !== undefined && found.length < count)
    return found
  }

  #fileEntry(object: StoredObject, prefixLength: number): Entry {
    const { key, sizeBytes, sha256, attributes } = object
    return {
      name: Buffer.from(key.slice(prefixLength), 'latin1'),
      type: 'file',
      sizeBytes,
      ...this.#attributesOf(object, attributes),
      createdMs: object.createdMs - this.#aheadMs,
      ...(sha256 !== undefined && { digests: { sha256 } }),
    }
  }

  #folderEntry(name: string, marker: StoredObject | undefined): Entry {
    return { name: Buffer.from(name, 'latin1'), type: 'folder', sizeBytes: 0, ...marker?.attributes }
  }

  /** A file of which nobody gave a time is as old as the store says. */
  #attributesOf({ createdMs }: StoredObject, attributes: FileAttributes): FileAttributes {
    const { modifiedMs = createdMs - this.#aheadMs } = attributes
    const { grainMs } = this.capabilities.clock
    return {
      ...attributes,
      modifiedMs: grainMs === undefined ? modifiedMs : Math.floor(modifiedMs / grainMs) * grainMs,
    }
  }

  async #do<O extends keyof Operations>(
    operation: O,
    ...args: Parameters<Operations[O]>
  ): Promise<Done<ReturnType<Operations[O]>>> {
    const answer = await this.#try(operation, ...args)
    if (answer.failure !== undefined) throw failed(answer.failure)
    return answer
  }

  async #try<O extends keyof Operations>(
    operation: O,
    ...args: Parameters<Operations[O]>
  ): Promise<
    | (Done<ReturnType<Operations[O]>> & { readonly failure?: undefined })
    | { readonly failure: Refusal; readonly isRepeated: boolean }
  > {
    let isRepeated = false
    for (let tries = 0; tries < maxTries; tries++) {
      const { failure, value } = await this.#ask(operation, args)
      if (failure === 'lost') isRepeated = true
      else if (failure === undefined) return { value: value as ReturnType<Operations[O]>, isRepeated }
      else if (failure !== 'throttled') return { failure, isRepeated }
    }
    throw new StoreError('unreachable', 'the store does not answer')
  }

  #ask(operation: keyof Operations, args: readonly unknown[]): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    const id = ++this.#lastId
    const timer = setTimeout(() => {
      this.#waiting.delete(id)
      reject(new StoreError('unreachable', 'the store does not answer'))
    }, answerTimeoutMs)
    this.#waiting.set(id, (answer) => {
      clearTimeout(timer)
      this.#aheadMs = Math.round((answer.nowMs - Date.now()) / 1_000) * 1_000
      resolve(answer)
    })
    const request: Request = { id, from: this.#from, bucket: this.#bucket, operation, args }
    send(this.#requests, request)
    return promise
  }
}

const failed = (refusal: Refusal) => new StoreError(failures[refusal], `the store says ${refusal}`)

/** Without extended attributes, which it has no room for, and what is not given. */
const kept = ({ extended: _extended, ...attributes }: FileAttributes): FileAttributes =>
  Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined))

const lossesOf = ({ extended }: FileAttributes): Losses =>
  extended === undefined || extended.all.length === 0 ? nothingLost : ['attributes']

/** Indices of the parts that are whole among the first bytes of a file. */
const partsIn = (received: number, sizeBytes: number, partBytes: number): number[] => {
  const count = received === sizeBytes ? Math.ceil(sizeBytes / partBytes) : Math.floor(received / partBytes)
  return Array.from({ length: count }, (_, index) => index)
}
