import type { ClockOffset } from '../contract/driver.ts'
import { nameOf } from '../http/connection.ts'
import { parseJson } from '../http/json.ts'
import { type Asked, request, type RetryLimits, type Service } from '../http/requests.ts'
import type { StoreAddress } from '../http/store-address.ts'
import type { Receiver, StoreEndpoint, TransportLimits } from '../http/transport.ts'
import { type AuthorizedRequest, AuthorizedTransport, type Sent } from './authorized-transport.ts'
import type { TokenSource } from './tokens.ts'
import { failed, type GcsAnswer, gcsService } from './errors.ts'

export interface GcsRequest extends Asked {
  readonly method: AuthorizedRequest['method']
  /** After the bucket: `o`, the name of an object, … Not percent-encoded. */
  readonly path: readonly string[]
  readonly isUpload?: boolean
  /** Parameters, not percent-encoded. */
  readonly query?: Readonly<Record<string, string>>
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: () => Sent
  readonly receiver?: Receiver
  /** Statuses that are answers to the caller and no errors, besides 2xx. */
  readonly accept?: readonly number[]
}

/** Requests to one bucket by the JSON API: with a token, retried, errors classified. */
export class GcsClient {
  readonly #transport: AuthorizedTransport
  readonly bucket: string
  readonly #always: Readonly<Record<string, string>>
  readonly #retry: RetryLimits
  readonly #service: Service<GcsAnswer>

  /** @param tokens undefined for requests of nobody @param always parameters that each request has */
  constructor(
    endpoint: StoreEndpoint,
    bucket: string,
    tokens: TokenSource | undefined,
    limits: TransportLimits & RetryLimits,
    always: Readonly<Record<string, string>>,
    address?: StoreAddress,
  ) {
    this.bucket = bucket
    this.#always = always
    this.#transport = new AuthorizedTransport(endpoint, tokens, limits, address)
    this.#retry = limits
    this.#service = gcsService(nameOf(endpoint), address)
  }

  /** See `requests.ts`: an answer is for the caller if its status is 2xx or accepted. */
  request(asked: GcsRequest): Promise<GcsAnswer & { readonly isRepeated: boolean }> {
    const accept = ({ status }: GcsAnswer) =>
      (status >= 200 && status < 300) || asked.accept?.includes(status) === true
    return request(
      this.#service,
      this.#retry,
      asked,
      (signal) => this.#exchange({ ...asked, signal }),
      accept,
    )
  }

  /** The JSON of an answer. Throws `io` where it is none. */
  async json(asked: GcsRequest): Promise<Readonly<Record<string, unknown>>> {
    return readJson((await this.request(asked)).body, asked.what)
  }

  /** How much the service's clock is ahead of this host's, as far as its answers have told. */
  get aheadMs(): number {
    return this.#transport.aheadMs
  }

  get clockOffset(): ClockOffset | undefined {
    return this.#transport.clockOffset
  }

  close(): void {
    this.#transport.close()
  }

  async #exchange({ method, path, isUpload = false, query, headers, body, receiver, signal }: GcsRequest) {
    const segments = [this.bucket, ...path].map(encodeURIComponent).join('/')
    const parameters = new URLSearchParams({ ...query, ...this.#always }).toString()
    const target = `${isUpload ? '/upload' : ''}/storage/v1/b/${segments}?${parameters}`
    // Objects that are stored compressed are not to be unpacked on the way.
    const all = { 'accept-encoding': 'gzip', ...headers }
    return withError(await this.#transport.exchange({ method, target, headers: all, body, receiver, signal }))
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

/** The JSON of an object. Throws `io` for anything else. */
export function readJson(body: Buffer, what: () => string): Readonly<Record<string, unknown>> {
  try {
    const json = parseJson(body)
    if (typeof json === 'object' && json !== null) return json as Readonly<Record<string, unknown>>
  } catch {
    // It is told below.
  }
  throw failed('io', what(), 'the answer is not the JSON that Cloud Storage sends')
}
