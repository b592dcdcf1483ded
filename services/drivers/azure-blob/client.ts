import { setTimeout as delay } from 'node:timers/promises'
import type { BlobEndpoint } from './endpoint.ts'
import { InnerAddressError } from '../../../broker/common/inner-addresses.ts'
import {
  type BlobAnswer,
  answerError,
  foreignAnswer,
  isOfService,
  networkError,
  noEndpoint,
} from './errors.ts'
import { encodeBlobName } from './names.ts'
import { SharedKeySigner } from './signing.ts'
import { StoreClock } from '../http/store-clock.ts'
import type { StoreAddress } from '../http/store-address.ts'
import { Transport, type TransportLimits, isStaleConnection, UnreadableBody } from './transport.ts'
import type { PartBody } from '../contract/driver.ts'

/**
 * Version of the Blob service's protocol. Blocks of 4,000 MiB came with 2019-12-12, names in listings that XML cannot
 * carry (`Encoded`) with 2021-02-12; emulators and gateways lag behind Azure, so nothing newer is asked for.
 */
const protocolVersion = '2021-12-02'

export interface RetryLimits {
  readonly retries: number
  readonly minBackoffMs: number
  readonly maxBackoffMs: number
}

export interface BlobRequest {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'DELETE'
  /** Operation and object for messages, made only when they are needed. */
  readonly what: () => string
  /** The blob's name; without it the request is for the container. */
  readonly blob?: string
  /** Parameters, not percent-encoded. */
  readonly query?: Readonly<Record<string, string>>
  readonly contentMd5?: string
  readonly ifMatch?: string
  readonly ifNoneMatch?: string
  /** Headers that begin with `x-ms-`, but for date and version. */
  readonly store?: Readonly<Record<string, string>>
  readonly body?: Buffer | PartBody
  readonly into?: Buffer
  /**
   * Statuses, and the service's own error codes, that are answers to the caller and no errors, besides 2xx; not where the
   * container is missing.
   */
  readonly accept?: readonly (number | string)[]
  readonly retries?: number
  /** The endpoint is one that nobody has spoken to: what is there if it is no Blob service, is not told. */
  readonly isProbe?: boolean
  readonly signal?: AbortSignal
}

/** Statuses after which the same request may succeed: "Retry policies" of the service's guidance. */
const retryable = new Set([408, 429, 500, 502, 503, 504])

/** Requests to one container: signed, retried, errors classified. */
export class BlobClient {
  readonly #transport: Transport
  readonly #signer: SharedKeySigner
  readonly #host: string
  readonly #containerPath: string
  readonly #retry: RetryLimits
  readonly #clock = new StoreClock()

  constructor(
    endpoint: BlobEndpoint,
    credentials: { readonly accountName: string; readonly sharedKey: string },
    limits: TransportLimits & RetryLimits,
    address?: StoreAddress,
  ) {
    this.#transport = new Transport(endpoint, limits, address)
    this.#signer = new SharedKeySigner(credentials.accountName, credentials.sharedKey)
    this.#host =
      endpoint.port === (endpoint.secure ? 443 : 80) ? endpoint.host : `${endpoint.host}:${endpoint.port}`
    this.#containerPath = endpoint.containerPath
    this.#retry = limits
  }

  /**
   * The answer of the service, if its status is 2xx or accepted. Throws a StoreError otherwise, after the retries that the kind of
   * failure is worth; the signal's reason when aborted. All requests of this driver are harmless when repeated; the answer
   * to one that was says so, as the service may have done it already at an earlier try whose answer was lost.
   */
  async request(request: BlobRequest): Promise<BlobAnswer & { readonly isRepeated: boolean }> {
    const { signal, accept, what, retries = this.#retry.retries, isProbe = false } = request
    const { maxBackoffMs } = this.#retry
    let isRepeated = false
    for (let attempt = 0; ; isRepeated = true) {
      const outcome = await this.#exchange(request).catch((error: Error) => error)
      signal?.throwIfAborted()
      if (outcome instanceof UnreadableBody) throw outcome.cause
      if (isStaleConnection(outcome)) continue
      const answered = !(outcome instanceof Error)
      const isOurs = answered && isOfService(outcome)
      const accepted = answered && isAccepted(outcome, accept)
      if (isOurs && accepted) return { ...outcome, isRepeated }
      const problem = !answered
        ? networkError(what(), outcome)
        : accepted
          ? foreignAnswer(what(), outcome)
          : answerError(what(), outcome)
      const askedMs = problem.retryAfterMs ?? 0
      const isFinal = answered
        ? !accepted && !retryable.has(outcome.status)
        : !isProbe && outcome instanceof InnerAddressError
      if (attempt >= retries || askedMs > maxBackoffMs || isFinal)
        throw isProbe && !isOurs ? noEndpoint(what(), this.#host, problem) : problem
      const waitMs = Math.max(askedMs, this.#backoffMs(attempt++))
      await delay(waitMs, undefined, signal === undefined ? {} : { signal }).catch(() =>
        signal?.throwIfAborted(),
      )
    }
  }

  /** How much the service's clock is ahead of this host's, as far as its answers have told. */
  get aheadMs(): number {
    return this.#clock.aheadMs
  }

  close(): void {
    this.#transport.close()
  }

  /** Doubles, up to the limit; half of it is random, so that workers that were refused together do not return together. */
  #backoffMs(attempt: number): number {
    const { minBackoffMs, maxBackoffMs } = this.#retry
    return Math.min(minBackoffMs * 2 ** attempt, maxBackoffMs) * (0.5 + Math.random() / 2)
  }

  async #exchange(request: BlobRequest): Promise<BlobAnswer> {
    const { method, blob, body, contentMd5, ifMatch, ifNoneMatch, into, signal } = request
    const path = blob === undefined ? this.#containerPath : `${this.#containerPath}/${encodeBlobName(blob)}`
    const query = request.query === undefined ? [] : sorted(request.query)
    const storeHeaders = sorted({
      ...request.store,
      'x-ms-date': httpDate(),
      'x-ms-version': protocolVersion,
    })
    const contentLength = lengthOf(body)
    const contentType = method === 'PUT' ? 'application/octet-stream' : undefined
    const authorization = this.#signer.authorization({
      method,
      path,
      query,
      contentLength,
      contentMd5,
      contentType,
      ifMatch,
      ifNoneMatch,
      storeHeaders,
    })
    const headers = ['host', this.#host, 'user-agent', 'gantry', 'authorization', authorization]
    if (contentType !== undefined)
      headers.push('content-length', String(contentLength), 'content-type', contentType)
    if (contentMd5 !== undefined) headers.push('content-md5', contentMd5)
    if (ifMatch !== undefined) headers.push('if-match', ifMatch)
    if (ifNoneMatch !== undefined) headers.push('if-none-match', ifNoneMatch)
    for (const [name, value] of storeHeaders) headers.push(name, value)
    let target = path
    for (const [name, value] of query)
      target += `${target === path ? '?' : '&'}${name}=${encodeURIComponent(value)}`
    const askedMs = Date.now()
    const answer = await this.#transport.exchange({ method, target, headers, body, into, signal })
    this.#clock.told(answer.headers.date ?? '', askedMs, Date.now())
    return answer
  }
}

/** A container that is missing is an error for every call, whatever the caller makes of a missing blob. */
const isAccepted = ({ status, code = '' }: BlobAnswer, accept: readonly (number | string)[] = []) =>
  (status >= 200 && status < 300) ||
  ((accept.includes(status) || accept.includes(code)) && code !== 'ContainerNotFound')

const lengthOf = (body: Buffer | PartBody | undefined): number =>
  body === undefined ? 0 : Buffer.isBuffer(body) ? body.length : body.sizeBytes

const sorted = (record: Readonly<Record<string, string>>) =>
  Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1))

let dateMs = 0
let date = ''

/** The current time as HTTP writes it; made once a second, since each request needs it. */
function httpDate(): string {
  const nowMs = Date.now()
  if (nowMs - dateMs >= 1_000 || nowMs < dateMs) {
    dateMs = nowMs
    date = new Date(nowMs).toUTCString()
  }
  return date
}
