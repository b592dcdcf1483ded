import type { ClockOffset } from '../contract/driver.ts'
import type { StoreAddress } from '../http/store-address.ts'
import { StoreClock } from '../http/store-clock.ts'
import {
  type Receiver,
  type StoreAnswer,
  type StoreEndpoint,
  Transport,
  type TransportLimits,
} from '../http/transport.ts'
import type { TokenSource } from './tokens.ts'

/** What is sent; made anew for each try. */
export interface Sent {
  readonly sizeBytes: number
  readonly content: Buffer | AsyncIterable<Buffer>
}

export interface AuthorizedRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Path and query, percent-encoded. */
  readonly target: string
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly body?: (() => Sent) | undefined
  readonly receiver?: Receiver | undefined
  readonly signal?: AbortSignal | undefined
}

/** Exchanges with one of Google's services, each with a token. */
export class AuthorizedTransport {
  readonly #transport: Transport
  readonly #endpoint: StoreEndpoint
  readonly #tokens: TokenSource | undefined
  readonly #clock = new StoreClock()

  /** @param tokens undefined for requests of nobody */
  constructor(
    endpoint: StoreEndpoint,
    tokens: TokenSource | undefined,
    limits: TransportLimits,
    address?: StoreAddress,
  ) {
    this.#endpoint = endpoint
    this.#tokens = tokens
    this.#transport = new Transport(endpoint, limits, address)
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
  async exchange(asked: AuthorizedRequest): Promise<StoreAnswer> {
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
    { method, target, headers, body, receiver, signal }: AuthorizedRequest,
    token: string | undefined,
  ): Promise<StoreAnswer> {
    const { host, port, secure } = this.#endpoint
    const sent = body?.()
    const wire = [
      'host',
      port === (secure ? 443 : 80) ? host : `${host}:${port}`,
      'user-agent',
      'gantry',
      ...Object.entries(headers ?? {}).flat(),
    ]
    if (token !== undefined) wire.push('authorization', `Bearer ${token}`)
    if (method !== 'GET') wire.push('content-length', String(sent?.sizeBytes ?? 0))
    const askedMs = Date.now()
    const answer = await this.#transport.exchange({
      method,
      target,
      headers: wire,
      body: sent?.content,
      receiver,
      signal,
    })
    this.#clock.told(answer.headers.date ?? '', askedMs, Date.now())
    return answer
  }
}
