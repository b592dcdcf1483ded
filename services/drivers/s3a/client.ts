import { hash } from 'node:crypto'
import type { AwsCredentials } from '../aws-credentials/host-credentials.ts'
import { type ClockOffset, digestNames, type PartBody, piecesOf } from '../contract/driver.ts'
import { digestOf, startDigest } from '../digests/running-digest.ts'
import { nameOf } from '../http/connection.ts'
import { type Asked, request, type RetryLimits, type Service } from '../http/requests.ts'
import type { Renewable } from '../http/renewed.ts'
import type { StoreAddress } from '../http/store-address.ts'
import { StoreClock } from '../http/store-clock.ts'
import { type Receiver, Transport, type TransportLimits, UnreadableBody } from '../http/transport.ts'
import { type Checksum, type ContentDigest, headerOf, textLength } from './digests.ts'
import type { BucketEndpoint } from './endpoint.ts'
import { failed, type S3Answer, s3Service } from './errors.ts'
import { emptyHash, encodeKey, encodeS3, S3Signer, signingTime, streamedPayload } from './signing.ts'
import { readFields } from './xml.ts'

export interface S3Request extends Asked {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
  /** The object's key; without it the request is for the bucket. */
  readonly key?: string
  /** Parameters, not percent-encoded. */
  readonly query?: Readonly<Record<string, string>>
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer | PartBody
  /** Against which the service is to check the body, and which it is to keep; without it only against the signature. */
  readonly digest?: ContentDigest
  readonly receiver?: Receiver
  /** Statuses that are answers to the caller and no errors, besides 2xx; not where the bucket is missing. */
  readonly accept?: readonly number[]
}

interface Unsigned {
  readonly method: S3Request['method']
  readonly key?: string | undefined
  /** Those of one name in the order of their values. */
  readonly query: readonly (readonly [name: string, value: string])[]
  readonly headers: Readonly<Record<string, string>>
  /** Digest of the body, or what stands for it. */
  readonly payload: string
  readonly time: string
}

/** Requests to one bucket: signed, retried, sent to the region that the bucket is in, errors classified. */
export class S3Client {
  readonly #transport: Transport
  readonly #credentials: Renewable<AwsCredentials> | undefined
  #signer: S3Signer | undefined
  readonly #retry: RetryLimits
  readonly #service: Service<S3Answer>
  readonly #always: Readonly<Record<string, string>>
  readonly #clock = new StoreClock()
  #endpoint: BucketEndpoint

  /** @param always headers that each request has @param credentials undefined for requests that nobody signs */
  constructor(
    endpoint: BucketEndpoint,
    credentials: Renewable<AwsCredentials> | undefined,
    limits: TransportLimits & RetryLimits,
    always: Readonly<Record<string, string>>,
    address?: StoreAddress,
  ) {
    this.#endpoint = endpoint
    this.#credentials = credentials
    this.#transport = new Transport(endpoint, limits, address)
    this.#retry = limits
    this.#service = s3Service(nameOf(endpoint), address)
    this.#always = always
  }

  /**
   * See `requests.ts`: an answer is for the caller if its status is 2xx or accepted. Throws `corrupt` when the service
   * tells another digest than that of the body.
   */
  async request(asked: S3Request): Promise<S3Answer & { readonly isRepeated: boolean }> {
    const accept = ({ status, code }: S3Answer) =>
      (status >= 200 && status < 300) || (asked.accept?.includes(status) === true && code !== 'NoSuchBucket')
    return request(
      this.#service,
      this.#retry,
      asked,
      (signal) => this.#exchange({ ...asked, signal }),
      accept,
    )
  }

  get bucketName(): string {
    return this.#endpoint.bucketName
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

  /** One try, and one more where the service says what was wrong with it: the region, credentials that have ended, or our clock. */
  async #exchange(asked: S3Request): Promise<S3Answer> {
    const answer = await this.#send(asked)
    const { region, code } = answer
    if (answer.status < 300 || this.#signer === undefined) return answer
    if (region !== undefined && region !== this.#signer.region && answer.status !== 404) {
      this.#signer.region = region
      this.#endpoint = this.#endpoint.in(region)
      this.#transport.moveTo(this.#endpoint)
      return this.#send(asked)
    }
    if (mayHaveEnded(answer, asked) && this.#credentials?.forget !== undefined) {
      this.#credentials.forget(this.#signer.credentials)
      return this.#send(asked)
    }
    return code === 'RequestTimeTooSkewed' ? this.#send(asked) : answer
  }

  /** Signs with the credentials that hold now; what is under way goes on with those that it began with. */
  async #renewSigner(): Promise<void> {
    const credentials = await this.#credentials?.get()
    if (credentials !== undefined && credentials !== this.#signer?.credentials)
      this.#signer = new S3Signer(credentials, this.#endpoint.region)
  }

  async #send(asked: S3Request): Promise<S3Answer> {
    await this.#renewSigner()
    const { method, key, body, receiver, signal, digest } = asked
    const time = signingTime(Date.now() + this.#clock.aheadMs)
    const headers: Record<string, string> = { ...this.#always, ...asked.headers }
    const isStreamed = body !== undefined && !Buffer.isBuffer(body)
    let payload = emptyHash
    const checksum = digest === undefined || digest === 'md5' ? undefined : digest
    let known: string | undefined
    if (Buffer.isBuffer(body)) {
      const sha256 = hash('sha256', body, 'buffer')
      payload = sha256.toString('hex')
      if (digest === 'sha256') known = sha256.toString('base64')
      else if (digest !== undefined) known = await digestOf(digest, [body])
    } else if (isStreamed && checksum === undefined) {
      known = await md5Of(body)
      payload = 'UNSIGNED-PAYLOAD'
    } else if (isStreamed && this.#signer !== undefined) {
      payload = streamedPayload
      headers['content-encoding'] = 'aws-chunked'
      headers['x-amz-decoded-content-length'] = String(body.sizeBytes)
      if (checksum !== undefined) headers['x-amz-trailer'] = headerOf(checksum)
    }
    if (known !== undefined) headers[checksum === undefined ? 'content-md5' : headerOf(checksum)] = known
    const query = Object.entries(asked.query ?? {})
    const { target, sent, signature } = this.#signed({ method, key, query, headers, payload, time })
    const stream = this.#streamOf(asked, payload, time, signature)
    if (method === 'PUT' || method === 'POST') sent.push('content-length', String(stream.sizeBytes))
    const askedMs = Date.now()
    const answer = await this.#transport.exchange({
      method,
      target,
      headers: sent,
      body: stream.body,
      receiver,
      signal,
    })
    this.#clock.told(answer.headers.date ?? '', askedMs, Date.now())
    if (answer.status < 300 && checksum !== undefined) {
      const echoed = answer.headers[headerOf(checksum)]
      const wanted = known ?? stream.digest?.()
      if (wanted !== undefined && typeof echoed === 'string' && !isOf(echoed, wanted))
        throw failed(
          'corrupt',
          asked.what(),
          `the service has content of ${digestNames[checksum]} ${echoed}, not ${wanted}`,
        )
    }
    return withError(answer, method)
  }

  /**
   * Where an answer comes from that goes on for as long as both sides want, and the headers of the request for it, signed:
   * names and values in turn.
   */
  async listening(
    query: readonly (readonly [name: string, value: string])[],
  ): Promise<{ readonly endpoint: BucketEndpoint; readonly target: string; readonly headers: string[] }> {
    await this.#renewSigner()
    const time = signingTime(Date.now() + this.#clock.aheadMs)
    const headers = { ...this.#always }
    const { target, sent } = this.#signed({ method: 'GET', query, headers, payload: emptyHash, time })
    return { endpoint: this.#endpoint, target, headers: sent }
  }

  /** What goes before a body. */
  #signed({ method, key, query: given, headers: own, payload, time }: Unsigned): {
    readonly target: string
    readonly sent: string[]
    readonly signature: string | undefined
  } {
    const { bucketPath, host, port, secure } = this.#endpoint
    const path = key === undefined ? bucketPath || '/' : `${bucketPath}/${encodeKey(key)}`
    const query = given
      .toSorted(byName)
      .map(([name, value]) => `${encodeS3(name)}=${encodeS3(value)}`)
      .join('&')
    const token = this.#signer?.sessionToken
    const headers = Object.entries({
      ...own,
      host: port === (secure ? 443 : 80) ? host : `${host}:${port}`,
      'x-amz-date': time,
      'x-amz-content-sha256': payload,
      ...(token !== undefined && { 'x-amz-security-token': token }),
    }).toSorted(byName)
    const signed = this.#signer?.sign({ method, path, query, headers, payload, time })
    const sent = headers.flat()
    if (signed !== undefined) sent.push('authorization', signed.authorization)
    sent.push('user-agent', 'gantry')
    return { target: query === '' ? path : `${path}?${query}`, sent, signature: signed?.signature }
  }

  /** The body as it goes over the wire, its length, and what its digest came to once it is sent. */
  #streamOf(
    { body, digest }: Pick<S3Request, 'body' | 'digest'>,
    payload: string,
    time: string,
    signature: string | undefined,
  ): {
    readonly body: Buffer | AsyncIterable<Buffer> | undefined
    readonly sizeBytes: number
    readonly digest?: () => string | undefined
  } {
    if (body === undefined) return { body, sizeBytes: 0 }
    if (Buffer.isBuffer(body)) return { body, sizeBytes: body.length }
    if (payload !== streamedPayload || this.#signer === undefined || digest === undefined || digest === 'md5')
      return { body: piecesOf(body), sizeBytes: body.sizeBytes }
    let sent: string | undefined
    const told = (its: string) => (sent = its)
    return {
      body: signedChunks(this.#signer, body, { time, signature: signature ?? '', digest }, told),
      sizeBytes: signedLength(body.sizeBytes, digest),
      digest: () => sent,
    }
  }
}

/** Codes of temporary credentials that are not taken any more. */
const endedCodes = new Set(['ExpiredToken', 'ExpiredTokenException', 'InvalidToken', 'TokenRefreshRequired'])

/** Whether new credentials may help; the answer to HEAD has no code. */
const mayHaveEnded = ({ status, code = '' }: S3Answer, { method }: S3Request): boolean =>
  endedCodes.has(code) || (status === 400 && method === 'HEAD')

/** Of a part of an upload the service may say the digest of the digests, with their number. */
const isOf = (echoed: string, wanted: string): boolean => echoed === wanted || echoed.includes('-')

const byName = ([a]: readonly [string, string], [b]: readonly [string, string]): number => (a < b ? -1 : 1)

async function md5Of(body: PartBody): Promise<string> {
  try {
    return await digestOf('md5', piecesOf(body))
  } catch (cause) {
    throw new UnreadableBody('what is to be sent cannot be read', { cause })
  }
}

/** Bytes of a signed chunk: more would only delay the first. */
const chunkBytes = 1024 * 1024
const signatureHead = ';chunk-signature='
const signatureLength = 64
const trailerOf = (kind: Checksum, digest: string) => `${headerOf(kind)}:${digest}`

/** Length of a body in signed chunks, their frames and the digest after them. */
function signedLength(sizeBytes: number, kind: Checksum): number {
  const frame = (length: number) => length.toString(16).length + signatureHead.length + signatureLength + 4
  const whole = Math.floor(sizeBytes / chunkBytes)
  const rest = sizeBytes - whole * chunkBytes
  const ends =
    frame(0) -
    2 +
    trailerOf(kind, '').length +
    textLength(kind) +
    2 +
    'x-amz-trailer-signature:'.length +
    signatureLength +
    4
  return sizeBytes + whole * frame(chunkBytes) + (rest === 0 ? 0 : frame(rest)) + ends
}

/** A body in chunks, each signed together with the one before, and the digest of all after the last. */
async function* signedChunks(
  signer: S3Signer,
  body: PartBody,
  {
    time,
    signature,
    digest: kind,
  }: { readonly time: string; readonly signature: string; readonly digest: Checksum },
  told: (digest: string) => void,
): AsyncGenerator<Buffer> {
  const digest = await startDigest(kind)
  let before = signature
  const head = (chunk: Buffer) => {
    before = signer.signChunk(time, before, chunk)
    return `${chunk.length.toString(16)}${signatureHead}${before}\r\n`
  }
  for await (const chunk of piecesOf(body, chunkBytes)) {
    digest.update(chunk)
    yield Buffer.concat([Buffer.from(head(chunk)), chunk, lineEnd])
  }
  const its = await digest.end()
  told(its)
  const last = head(Buffer.alloc(0))
  const trailer = trailerOf(kind, its)
  const ofTrailer = signer.signTrailer(time, before, `${trailer}\n`)
  yield Buffer.from(`${last}${trailer}\r\nx-amz-trailer-signature:${ofTrailer}\r\n\r\n`)
}

const lineEnd = Buffer.from('\r\n')

/**
 * The answer with the service's own error code. Some operations begin to answer 200 before they know, and then have an
 * error for a body.
 */
function withError(answer: Omit<S3Answer, 'code' | 'region'>, method: string): S3Answer {
  const { status, headers, body } = answer
  const region = regionIn(headers['x-amz-bucket-region'])
  const mayFailLate = status === 200 && method !== 'GET' && body.includes('<Error')
  // HEAD has no body; MinIO says the code beside it.
  const told = headers['x-minio-error-code']
  if ((status < 300 && !mayFailLate) || body.length === 0 || body.length > maxErrorBytes)
    return { ...answer, code: status >= 300 && typeof told === 'string' ? told : undefined, region }
  let fields: Readonly<Record<string, string>> = {}
  try {
    fields = readFields(body)
  } catch {
    // A proxy answers in other languages.
  }
  const { Code: code, Region: its } = fields
  const late = code === 'SlowDown' ? 503 : 500
  const isLate = mayFailLate && code !== undefined
  return { ...answer, status: isLate ? late : status, code, region: region ?? regionIn(its) }
}

/** It becomes a part of a host name: whoever answers must not choose more of that. */
const regionIn = (text: unknown): string | undefined =>
  typeof text === 'string' && /^[a-z0-9-]{1,50}$/.test(text) ? text : undefined

/** An error is a few lines. */
const maxErrorBytes = 64 * 1024
