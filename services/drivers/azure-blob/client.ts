import type { BlobEndpoint } from './endpoint.ts'
import { type BlobAnswer, blobService } from './errors.ts'
import { encodeBlobName } from './names.ts'
import type { Authorizer } from './signing.ts'
import { nameOf } from '../http/connection.ts'
import { StoreClock } from '../http/store-clock.ts'
import type { StoreAddress } from '../http/store-address.ts'
import { type Asked, request, type RetryLimits, type Service } from '../http/requests.ts'
import { type Receiver, Transport, type TransportLimits } from '../http/transport.ts'
import { type ClockOffset, type PartBody, piecesOf } from '../contract/driver.ts'

/**
 * Version of the Blob service's protocol. Blocks of 4,000 MiB came with 2019-12-12, names in listings that XML cannot
 * carry (`Encoded`) with 2021-02-12; emulators and gateways lag behind Azure, so nothing newer is asked for.
 */
const protocolVersion = '2021-12-02'

export interface BlobRequest extends Asked {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'PATCH' | 'DELETE'
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
  readonly receiver?: Receiver
  /**
   * Statuses, and the service's own error codes, that are answers to the caller and no errors, besides 2xx; not where the
   * container is missing.
   */
  readonly accept?: readonly (number | string)[]
}

/** Requests to one container: signed, retried, errors classified. */
export class BlobClient {
  /** Scheme, host and port. */
  readonly service: string
  readonly #transport: Transport
  readonly #authorizer: Authorizer
  readonly #host: string
  readonly #containerPath: string
  readonly #retry: RetryLimits
  readonly #service: Service<BlobAnswer>
  readonly #clock = new StoreClock()

  constructor(
    endpoint: BlobEndpoint,
    authorizer: Authorizer,
    limits: TransportLimits & RetryLimits,
    address?: StoreAddress,
  ) {
    this.#transport = new Transport(endpoint, limits, address)
    this.#authorizer = authorizer
    this.#host = nameOf(endpoint)
    this.service = `${endpoint.secure ? 'https' : 'http'}://${this.#host}`
    this.#containerPath = endpoint.containerPath
    this.#retry = limits
    this.#service = blobService(this.#host, (answer) => authorizer.refusal?.(answer), address)
  }

  /** See `requests.ts`: an answer is for the caller if its status is 2xx or accepted. All requests of this driver are harmless when repeated. */
  request(asked: BlobRequest): Promise<BlobAnswer & { readonly isRepeated: boolean }> {
    const isWanted = (answer: BlobAnswer) => isAccepted(answer, asked.accept)
    return request(this.#service, this.#retry, asked, (signal) => this.#try({ ...asked, signal }), isWanted)
  }

  /** How much the service's clock is ahead of this host's, as far as its answers have told. */
  get aheadMs(): number {
    return this.#clock.aheadMs
  }

  /** What lets requests in by their query, for a request that names a second blob; undefined where a header does. */
  get credentialQuery(): string | undefined {
    return this.#authorizer.query
  }

  /** Names a blob of this container as what the service is to copy. */
  async copySource(blob: string): Promise<Readonly<Record<string, string>>> {
    const container = this.#containerPath.slice(this.#containerPath.lastIndexOf('/') + 1)
    const access = await this.#authorizer.sourceAccess(`${container}/${blob}`, Date.now() + this.aheadMs)
    const { query, authorization } = access
    const url = `${this.service}${this.#containerPath}/${encodeBlobName(blob)}`
    return {
      'x-ms-copy-source': query === undefined ? url : `${url}?${query}`,
      ...(authorization !== undefined && { 'x-ms-copy-source-authorization': authorization }),
    }
  }

  get clockOffset(): ClockOffset | undefined {
    return this.#clock.offset
  }

  close(): void {
    this.#transport.close()
    this.#authorizer.close?.()
  }

  /** One try, and one more with a new token where the one of before is not taken any more. */
  async #try(asked: BlobRequest): Promise<BlobAnswer> {
    const answer = await this.#exchange(asked)
    if (answer.status !== 401 || this.#authorizer.forget === undefined) return answer
    this.#authorizer.forget()
    return this.#exchange(asked)
  }

  async #exchange(asked: BlobRequest): Promise<BlobAnswer> {
    const { method, blob, body, contentMd5, ifMatch, ifNoneMatch, receiver, signal } = asked
    const path = blob === undefined ? this.#containerPath : `${this.#containerPath}/${encodeBlobName(blob)}`
    const query = asked.query === undefined ? [] : sorted(asked.query)
    const storeHeaders = sorted({
      ...asked.store,
      'x-ms-date': httpDate(),
      'x-ms-version': protocolVersion,
    })
    const contentLength = lengthOf(body)
    const contentType = method === 'PUT' || method === 'PATCH' ? 'application/octet-stream' : undefined
    const authorization = await this.#authorizer.authorization?.({
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
    const headers = ['host', this.#host, 'user-agent', 'gantry']
    if (authorization !== undefined) headers.push('authorization', authorization)
    if (contentType !== undefined)
      headers.push('content-length', String(contentLength), 'content-type', contentType)
    if (contentMd5 !== undefined) headers.push('content-md5', contentMd5)
    if (ifMatch !== undefined) headers.push('if-match', ifMatch)
    if (ifNoneMatch !== undefined) headers.push('if-none-match', ifNoneMatch)
    for (const [name, value] of storeHeaders) headers.push(name, value)
    const parameters = query.map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    if (this.#authorizer.query !== undefined) parameters.push(this.#authorizer.query)
    const target = parameters.length === 0 ? path : `${path}?${parameters.join('&')}`
    const askedMs = Date.now()
    const sent = body === undefined || Buffer.isBuffer(body) ? body : piecesOf(body)
    const answer = await this.#transport.exchange({ method, target, headers, body: sent, receiver, signal })
    this.#clock.told(answer.headers.date ?? '', askedMs, Date.now())
    const code = answer.headers['x-ms-error-code']
    return { ...answer, code: typeof code === 'string' ? code : undefined }
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
