import type { IncomingMessage } from 'node:http'
import { monotonicMs } from '../../../broker/common/monotonic.ts'
import { StoreError } from '../contract/store-error.ts'
import { type ChangeFeed, type FeedListener, WatchError } from '../feeds/feed.ts'
import type { StoreAddress } from '../http/store-address.ts'
import { changesIn } from '../notifications/changed-objects.ts'
import type { S3Client } from './client.ts'
import { objectsIn } from './object-events.ts'
import { readFields } from './xml.ts'

/** What is listened for: whatever makes an object another one, or takes it away. */
const events = ['s3:ObjectCreated:*', 's3:ObjectRemoved:*'] as const

/** The service sends something so often, seconds, also when nothing happens: its answer begins with the first. */
const pingSeconds = 1
/** Without anything for as long as is set, but not for less than this, it is not there any more, or keeps back what it has to tell. */
const leastSilentMs = 3 * pingSeconds * 1_000
/** What changed so long before something came has come: nodes of a service tell each other first. */
const onTheWayMs = 5_000
/** Longest time for it to begin to answer. */
const answerMs = 30_000

/** A notification is of one change, some KiB; a key has 1,024 bytes. */
const maxLineBytes = 256 * 1024
/** Of an error, which is XML. */
const maxErrorBytes = 64 * 1024

/** Answers that say that the service does not do this, or not for these credentials. */
const lasting = new Set([400, 401, 403, 404, 405, 501])

/**
 * Is told of changes by an answer that does not end (ListenBucketNotification). The service keeps nothing for who does not
 * listen: whatever came while nobody did is found by comparing.
 */
export class ListenFeed implements ChangeFeed {
  readonly detection = 'notified'
  readonly reason = 'notifications that the service sends while it is listened to (ListenBucketNotification)'
  readonly #client: S3Client
  readonly #root: string
  readonly #address: StoreAddress | undefined
  readonly #silentMs: number
  readonly #end = new AbortController()
  /** When something came last (`monotonicMs`). */
  #heardMs = monotonicMs()

  /**
   * @param root path of the folder whose changes count, as latin1
   * @param idleTimeoutMs longest time without a byte
   */
  constructor(
    client: S3Client,
    root: string,
    {
      address,
      idleTimeoutMs,
    }: { readonly address: StoreAddress | undefined; readonly idleTimeoutMs: number },
  ) {
    this.#client = client
    this.#silentMs = Math.max(leastSilentMs, idleTimeoutMs)
    this.#root = root
    this.#address = address
  }

  get toldUntilMs(): number {
    return this.#heardMs - onTheWayMs
  }

  async open(listener: Pick<FeedListener, 'changed' | 'ended'>, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted()
    const answer = await this.#ask(AbortSignal.any([signal, this.#end.signal]))
    this.#heardMs = monotonicMs()
    void this.#read(answer, listener)
    return false
  }

  async close(): Promise<void> {
    this.#end.abort()
    this.#client.close()
  }

  async #ask(signal: AbortSignal): Promise<IncomingMessage> {
    const prefix = this.#root === '' ? '' : `${Buffer.from(this.#root, 'latin1').toString('utf8')}/`
    const { endpoint, target, headers } = await this.#client.listening([
      ...events.map((event) => ['events', event] as const),
      ['ping', String(pingSeconds)],
      ['prefix', prefix],
      ['suffix', ''],
    ])
    this.#address?.require()
    const { host, port, secure } = endpoint
    // Only who listens pays for what these load.
    const { request } = secure ? await import('node:https') : await import('node:http')
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const asked = request(
      {
        host,
        port,
        path: target,
        headers,
        setHost: false,
        agent: false,
        signal,
        ...(this.#address !== undefined && { lookup: this.#address.lookup }),
      },
      resolve,
    )
    const late = `the service does not begin to answer within ${answerMs / 1_000} s (bucketNotifications)`
    const timeout = setTimeout(() => asked.destroy(new WatchError(late, true)), answerMs)
    asked.once('error', reject).end()
    try {
      const answer = await promise
      asked.setTimeout(this.#silentMs, () =>
        answer.destroy(new Silence(`nothing came for ${this.#silentMs / 1_000} s`)),
      )
      if (answer.statusCode !== 200) throw await refusal(answer)
      // A service that knows nothing of this lists the bucket.
      if (/\bxml\b/.test(answer.headers['content-type'] ?? '')) {
        answer.destroy()
        throw new WatchError(
          'the service does not let anybody listen to a bucket (bucketNotifications)',
          true,
        )
      }
      return answer
    } catch (error) {
      signal.throwIfAborted()
      throw error instanceof Error && (error instanceof WatchError || error instanceof StoreError)
        ? error
        : unheard(error)
    } finally {
      clearTimeout(timeout)
    }
  }

  async #read(answer: IncomingMessage, listener: Pick<FeedListener, 'changed' | 'ended'>): Promise<void> {
    let line: Buffer = Buffer.alloc(0)
    let hasPings = false
    const version = this.#address?.version
    try {
      for await (const piece of answer as AsyncIterable<Buffer>) {
        // An answer without end outlives what an administrator allows: it is asked for again.
        if (this.#address?.version !== version) throw new Error('where stores may be has changed')
        line = line.length === 0 ? piece : Buffer.concat([line, piece])
        for (let end = line.indexOf(lineEnd); end !== -1; end = line.indexOf(lineEnd)) {
          const text = line.subarray(0, end).toString('utf8').trim()
          if (text === ping) hasPings = true
          else this.#tell(text, listener)
          line = line.subarray(end + 1)
        }
        // Services from before 2023 send blanks, and no ends of lines, when nothing happens.
        if (line.every((byte) => byte === blank)) {
          hasPings ||= line.length > 0
          line = Buffer.alloc(0)
        }
        if (line.length === 0) this.#heardMs = monotonicMs()
        if (line.length > maxLineBytes) throw new Error(`a notification of more than ${maxLineBytes} bytes`)
      }
      throw new Error('the service ended it')
    } catch (error) {
      answer.destroy()
      if (this.#end.signal.aborted) return
      // One that sends what it has at once sends whole lines.
      const isKeptBack = error instanceof Silence && (!hasPings || line.length > 0)
      listener.ended(isKeptBack ? new WatchError(`${keptBack}: ${error.message}`, true) : unheard(error))
    }
  }

  #tell(text: string, { changed }: Pick<FeedListener, 'changed'>): void {
    if (text === '') return
    const notices = objectsIn(text)
    // What nobody understands may be of anything; once it is listened again everything is compared.
    if (notices === undefined) throw new Error('a notification that is none of S3')
    const folders = changesIn(notices, { bucket: this.#client.bucketName, root: this.#root })
    if (folders.length > 0) changed(folders)
  }
}

/** What is sent when nothing happens. */
const ping = '{"Records":null}'

const lineEnd = 0x0a
const blank = 0x20

/** Nothing came for too long. */
class Silence extends Error {}

const keptBack = 'the service keeps notifications back until it has some KiB of them (bucketNotifications)'

const unheard = (cause: unknown): StoreError =>
  new StoreError('unreachable', `notifications of the bucket are not heard: ${(cause as Error).message}`, {
    cause,
    side: 'source',
  })

/** Why it may not be listened to. */
async function refusal(answer: IncomingMessage): Promise<Error> {
  const { statusCode = 0 } = answer
  const code = await errorCode(answer)
  const said = `the service answered ${statusCode}${code === undefined ? '' : ` ${code}`} when it was to be listened to (bucketNotifications)`
  return lasting.has(statusCode) ? new WatchError(said, true) : unheard(new Error(said))
}

async function errorCode(answer: IncomingMessage): Promise<string | undefined> {
  const pieces: Buffer[] = []
  let bytes = 0
  try {
    for await (const piece of answer as AsyncIterable<Buffer>) {
      bytes += piece.length
      if (bytes > maxErrorBytes) return undefined
      pieces.push(piece)
    }
    const code = readFields(Buffer.concat(pieces))['Code']
    return code !== undefined && /^\w{1,100}$/.test(code) ? code : undefined
  } catch {
    return undefined
  } finally {
    answer.destroy()
  }
}
