import type { BlobClient } from '../../azure-blob/client.ts'
import { Container } from '../../azure-blob/container.ts'
import { StoreError } from '../../contract/store-error.ts'
import { WatchError } from '../../feeds/feed.ts'
import { parseJson } from '../../http/json.ts'

/** Of files of a few hundred bytes; one with a thousand shards has some fifty KiB. */
const maxJsonBytes = 256 * 1024
/** Azure writes to a handful at once. */
const maxShards = 1_000
/** Of one shard in an hour: as many as five digits, of which Azure makes the names, can tell apart. */
const maxChunks = 100_000
/** More than two years by the hour: whoever missed so many compares everything sooner than he reads them. */
const maxSegments = 20_000
/** The most that one request gives. */
const listedAtOnce = 5_000

/** Before all that have events: stands for the feed as such. */
export const firstSegment = '1601/01/01/0000'

/** A segment is named by the time at which its hour begins, in UTC. As texts these are in the order of time. */
const segmentForm = /^\d{4}\/\d{2}\/\d{2}\/\d{4}$/
/** By these levels of folders it is found. */
const segmentForms = [/^\d{4}$/, /^\d{4}\/\d{2}$/, /^\d{4}\/\d{2}\/\d{2}$/, segmentForm]
const shardForm = /^\$blobchangefeed\/(log\/\d{1,5}\/\d{4}\/\d{2}\/\d{2}\/\d{4})\/$/
const chunkForm = /^(\d{5})\.avro$/

const index = (segment: string): string => `idx/segments/${segment}/meta.json`

export interface Segment {
  /** Nothing is added to it any more. */
  readonly isFinalized: boolean
  /** Folders of the container, each with the events of other blobs. */
  readonly shards: readonly string[]
}

export interface Chunk {
  readonly blob: string
  readonly sizeBytes: number
}

/** Something is not there any more that was not read. */
export class Missed extends Error {}

/**
 * The files of an account's change feed, as Azure documents them. Throws WatchErrors where it is not enabled, may not be read,
 * or is none that is known; StoreErrors otherwise.
 */
export class ChangeLog {
  readonly name: string
  readonly #client: BlobClient
  readonly #container: Container
  readonly #fix: string
  readonly #what = () => `read the ${this.name}`

  /** @param client at the container of the feed; closed with this */
  constructor(account: string, client: BlobClient) {
    this.name = `blob change feed of account ${account}`
    this.#client = client
    this.#container = new Container(client, { isListed: true, directory: '' })
    this.#fix = `enable it: az storage account blob-service-properties update --account-name ${account} --enable-change-feed true (accounts with hierarchical namespace have none), and wait some minutes`
  }

  /** Milliseconds since 1970 by the clock of the service, as far as it is known. */
  get nowMs(): number {
    return Date.now() + this.#client.aheadMs
  }

  /** Another text for another feed of the same account, such as one that was disabled for a while. */
  async identity(signal: AbortSignal): Promise<string> {
    return this.#ask(
      async () => (await this.#container.creationOf(index(firstSegment), this.#what, signal)) ?? '',
    )
  }

  /** Name of the last segment that is there with all that is before it; undefined as long as there is none. */
  async consumable(signal: AbortSignal): Promise<string | undefined> {
    const file = 'meta/segments.json'
    const json = await this.#json(file, signal)
    if (json === undefined) return undefined
    const { lastConsumable } = json
    const ms = typeof lastConsumable === 'string' ? Date.parse(lastConsumable) : Number.NaN
    const name = Number.isNaN(ms) ? '' : segmentAt(ms)
    if (!segmentForm.test(name)) throw this.notUnderstood(`${file} has no lastConsumable`)
    return name
  }

  /** Names of those that are there after one, in their order. Throws Missed where they are too many. */
  async segments(after: string, signal: AbortSignal): Promise<readonly string[]> {
    let names: readonly string[] = ['']
    for (const form of segmentForms) {
      const below: string[] = []
      for (const above of names)
        for (const name of await this.#ask(() => this.#timesBelow(above, form, signal)))
          if (name >= after.slice(0, name.length) && !firstSegment.startsWith(name)) below.push(name)
      if (below.length > maxSegments) throw new Missed(`more than ${maxSegments} segments are not read yet`)
      names = below
    }
    return names.filter((name) => name > after).toSorted()
  }

  /** What there is in a year, month or day, or of years. */
  async #timesBelow(above: string, form: RegExp, signal: AbortSignal): Promise<readonly string[]> {
    const root = 'idx/segments/'
    const { prefixes } = await this.#list(`${root}${above === '' ? '' : `${above}/`}`, maxSegments, signal)
    return prefixes.map((prefix) => {
      const name = prefix.slice(root.length, -1)
      if (!prefix.startsWith(`${root}${above}`) || !form.test(name))
        throw this.notUnderstood('a folder of segments has another name than a time')
      return name
    })
  }

  /** Undefined where it is not there. */
  async segment(name: string, signal: AbortSignal): Promise<Segment | undefined> {
    const json = await this.#json(index(name), signal)
    if (json === undefined) return undefined
    const { status, chunkFilePaths: paths } = json
    if (status !== 'Publishing' && status !== 'Finalized')
      throw this.notUnderstood(`segment ${name} is neither Publishing nor Finalized`)
    if (!Array.isArray(paths) || paths.length > maxShards)
      throw this.notUnderstood(`segment ${name} has no chunkFilePaths, or more than ${maxShards}`)
    const shards = paths.map((path) => {
      const shard = typeof path === 'string' ? shardForm.exec(path)?.[1] : undefined
      if (shard === undefined) throw this.notUnderstood(`segment ${name} has a file path of another form`)
      return shard
    })
    return { isFinalized: status === 'Finalized', shards }
  }

  /** The files of a shard by their numbers, which follow one another. */
  async chunks(shard: string, signal: AbortSignal): Promise<ReadonlyMap<number, Chunk>> {
    const { blobs } = await this.#ask(() => this.#list(`${shard}/`, maxChunks, signal))
    const chunks = blobs.map(({ name, sizeBytes }) => {
      const number = chunkForm.exec(name.slice(shard.length + 1))?.[1]
      if (number === undefined || !Number.isSafeInteger(sizeBytes))
        throw this.notUnderstood(`${shard} has a file of another form`)
      return [Number(number), { blob: name, sizeBytes }] as const
    })
    return new Map(chunks)
  }

  /** Undefined where it is not there. */
  async sizeOf({ blob }: Chunk): Promise<number | undefined> {
    return this.#ask(async () => (await this.#container.properties(blob, this.#what))?.sizeBytes)
  }

  /** Exactly so many bytes from an offset. Throws Missed where they are not there. */
  async read({ blob }: Chunk, offset: number, length: number, signal: AbortSignal): Promise<Buffer> {
    const bytes = await this.#ask(() => this.#range(blob, offset, length, signal))
    if (bytes?.length !== length) throw new Missed(`${blob} has become shorter`)
    return bytes
  }

  close(): void {
    this.#client.close()
  }

  /** Of what is no feed that is known here: then everything is compared from time to time. */
  notUnderstood(what: string, cause?: unknown): WatchError {
    return new WatchError(`the ${this.name} is not understood: ${what}`, true, { cause })
  }

  async #json(blob: string, signal: AbortSignal): Promise<Readonly<Record<string, unknown>> | undefined> {
    const bytes = await this.#ask(() => this.#range(blob, 0, maxJsonBytes, signal))
    if (bytes === undefined) return undefined
    let json: unknown
    try {
      json = parseJson(bytes)
    } catch (cause) {
      throw this.notUnderstood(`${blob} is no JSON of up to ${maxJsonBytes} bytes`, cause)
    }
    if (typeof json !== 'object' || json === null) throw this.notUnderstood(`${blob} is no JSON object`)
    const members = json as Readonly<Record<string, unknown>>
    if (members['version'] !== 0)
      throw this.notUnderstood(
        `${blob} is of version ${JSON.stringify(members['version'])?.slice(0, 20)}, and 0 is known`,
      )
    return members
  }

  /** Undefined without such a blob, or where it is not as long. */
  async #range(
    blob: string,
    offset: number,
    length: number,
    signal: AbortSignal,
  ): Promise<Buffer | undefined> {
    const { status, body } = await this.#client.request({
      method: 'GET',
      blob,
      store: { 'x-ms-range': `bytes=${offset}-${offset + length - 1}` },
      accept: [404, 416],
      what: this.#what,
      signal,
    })
    if (status >= 400) return undefined
    if (body.length > length)
      throw this.notUnderstood(`${blob} is answered with more bytes than were asked for`)
    return body
  }

  /** What stands right below a prefix. */
  async #list(prefix: string, most: number, signal: AbortSignal) {
    const blobs: { readonly name: string; readonly sizeBytes: number }[] = []
    const prefixes: string[] = []
    const pages = this.#container.pages({ prefix, maxResults: listedAtOnce }, this.#what, signal)
    for await (const page of pages) {
      for (const blob of page.blobs) blobs.push(blob)
      for (const below of page.prefixes) prefixes.push(below)
      if (blobs.length + prefixes.length > most)
        throw this.notUnderstood(`${prefix} has more than ${most} files`)
    }
    return { blobs, prefixes }
  }

  /** What can be done where it is not there, or may not be read. */
  async #ask<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      const { failure, message } = error
      if (failure === 'gone')
        throw new StoreError('gone', `${this.#what()}: it is not enabled; ${this.#fix}`, { cause: error })
      if (failure !== 'refused' && failure !== 'permission') throw error
      const said = `${message}; changeFeed needs the right to read blobs of the whole account`
      throw new StoreError(failure, said, { cause: error })
    }
  }
}

/** The segment of a time, milliseconds since 1970. */
export function segmentAt(ms: number): string {
  const [, year, month, day, hour, minute] =
    /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})/.exec(new Date(ms).toISOString()) ?? []
  return `${year}/${month}/${day}/${hour}${minute}`
}

/** The time of a segment, milliseconds since 1970. */
export function timeOfSegment(name: string): number {
  const [year = '', month = '', day = '', time = ''] = name.split('/')
  return Date.parse(`${year}-${month}-${day}T${time.slice(0, 2)}:${time.slice(2)}Z`)
}
