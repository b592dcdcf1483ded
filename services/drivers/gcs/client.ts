import type { ClockOffset } from '../contract/driver.ts'
import { parseJson } from '../http/json.ts'
import { type Asked, request, type RetryLimits, type Service } from '../http/requests.ts'
import type { StoreAddress } from '../http/store-address.ts'
import { StoreClock } from '../http/store-clock.ts'
import { type StoreEndpoint, Transport, type TransportLimits } from '../http/transport.ts'
import type { TokenSource } from './tokens.ts'
import { failed, type GcsAnswer, gcsService } from './errors.ts'

/** What is sent; made anew for each try. */
export interface Sent {
  readonly sizeBytes: number
  readonly content: Buffer | AsyncIterable<Buffer>
}

export interface GcsRequest extends Asked {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** After the bucket: `o`, the name of an object, … Not percent-encoded. */
  readonly path: readonly string[]
  readonly isUpload?: boolean
  /** Parameters, not percent-encoded. */
  readonly query?: Readonly<Record<string, string>>
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: () => Sent
  readonly into?: Buffer
  /** Statuses that are answers to the caller and no errors, besides 2xx. */
  readonly accept?: readonly number[]
}

/** Requests to one bucket by the JSON API: with a token, retried, errors classified. */
export class GcsClient {
  readonly #transport: Transport
  readonly #endpoint: StoreEndpoint
  readonly #bucket: string
  readonly #tokens: TokenSource | undefined
  readonly #always: Readonly<Record<string, string>>
  readonly #retry: RetryLimits
  readonly #service: Service<GcsAnswer>
  readonly #clock = new StoreClock()

  /** @param tokens undefined for requests of nobody @param always parameters that each request has */
  constructor(
    endpoint: StoreEndpoint,
    bucket: string,
    tokens: TokenSource | undefined,
    limits: TransportLimits & RetryLimits,
    always: Readonly<Record<string, string>>,
    address?: StoreAddress,
  ) {
    this.#endpoint = endpoint
    this.#bucket = bucket
    this.#tokens = tokens
    this.#always = always
    this.#transport = new Transport(endpoint, limits, address)
    this.#retry = limits
    this.#service = gcsService(endpoint.host)
  }

  /** See `requests.ts`: an answer is for the caller if its status is 2xx or accepted. */
  request(asked: GcsRequest): Promise<GcsAnswer & { readonly isRepeated: boolean }> {
    const accept = ({ status }: GcsAnswer) =>
      (status >= 200 && status < 300) || asked.accept?.includes(status) === true
    return request(this.#service, this.#retry, asked, () => this.#exchange(asked), accept)
  }

  /** The JSON of an answer. Throws `io` where it is none. */
  async json(asked: GcsRequest): Promise<Readonly<Record<string, unknown>>> {
    return readJson((await this.request(asked)).body, asked.what)
  }

  /** How much the service's clock is ahead of this host's, as far as its answers have told. */
  get aheadMs(): number {
    return this.#clock.aheadMs
  }

  get clockOffset(): ClockOffset | undefined {
    return this.#clock.offset
  }

  close(): void {
    this.#transport.close()
  }

  /** One try, and one more with a new token: that of before was made by another clock, or has run out. */
  async #exchange(asked: GcsRequest): Promise<GcsAnswer> {
    const token = await this.#token()
    const answer = await this.#send(asked, token)
    if (answer.status !== 401 || token === undefined) return answer
    this.#tokens?.forget(token)
    return this.#send(asked, await this.#token())
  }

  #token(): Promise<string> | undefined {
    return this.#tokens?.get(Date.now() + this.#clock.aheadMs)
  }

  async #send(
    { method, path, isUpload = false, query, headers, body, into, signal }: GcsRequest,
    token: string | undefined,
  ) {
    const { host, port, secure } = this.#endpoint
    const sent = body?.()
    const segments = [this.#bucket, ...path].map(encodeURIComponent).join('/')
    const parameters = new URLSearchParams({ ...query, ...this.#always }).toString()
    const wire = [
      'host',
      port === (secure ? 443 : 80) ? host : `${host}:${port}`,
      'user-agent',
      'gantry',
      // Objects that are stored compressed are not to be unpacked on the way.
      'accept-encoding',
      'gzip',
      ...Object.entries(headers ?? {}).flat(),
    ]
    if (token !== undefined) wire.push('authorization', `Bearer ${token}`)
    if (method !== 'GET') wire.push('content-length', String(sent?.sizeBytes ?? 0))
    const askedMs = Date.now()
    const answer = await this.#transport.exchange({
      method,
      target: `${isUpload ? '/upload' : ''}/storage/v1/b/${segments}?${parameters}`,
      headers: wire,
      body: sent?.content,
      into,
      signal,
    })
    this.#clock.told(answer.headers.date ?? '', askedMs, Date.now())
    return withError(answer)
  }
}

/** An error is a few lines. */
const maxErrorBytes = 64 * 1024

function withError(answer: GcsAnswer): GcsAnswer {
  const { status, body } = answer
  if (status < 300 || body.length === 0 || body.length > maxErrorBytes) return answer
  try {
    const { error } = JSON.parse(body.toString('utf8')) as {
      error?: { message?: unknown; errors?: readonly { reason?: unknown }[] }
    }
    const reason = error?.errors?.[0]?.reason
    const message = typeof error?.message === 'string' ? error.message.slice(0, maxMessageLength) : ''
    return { ...answer, error: { reason: typeof reason === 'string' ? reason : undefined, message } }
  } catch {
    // Downloads are refused in plain text, and proxies answer in other languages.
    return answer
  }
}

const maxMessageLength = 500

function readJson(body: Buffer, what: () => string): Readonly<Record<string, unknown>> {
  try {
    const json = parseJson(body)
    if (typeof json === 'object' && json !== null) return json as Readonly<Record<string, unknown>>
  } catch {
    // It is told below.
  }
  throw failed('io', what(), 'the answer is not the JSON that Cloud Storage sends')
}
