import { createHmac, createSecretKey, hash, type KeyObject } from 'node:crypto'
import type { AwsCredentials } from '../aws-credentials/host-credentials.ts'

/** What of a request is signed. */
export interface Signable {
  readonly method: string
  /** Percent-encoded path as it goes into the request line. */
  readonly path: string
  /** Percent-encoded query as it goes into the request line, in the order of the names. */
  readonly query: string
  /** Names in lower case, in their order, `host` among them; all are signed. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Of the body: hex of its SHA-256, or one of the protocol's words. */
  readonly payload: string
  /** `20260102T030405Z`. */
  readonly time: string
}

export const emptyHash = hash('sha256', '')

/** A body that is signed chunk by chunk, its digest after it. */
export const streamedPayload = 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER'

let timeSeconds = NaN
let time = ''

/** `20260102T030405Z`; made once a second, since each request needs it. */
export function signingTime(ms: number): string {
  const seconds = Math.floor(ms / 1_000)
  if (seconds !== timeSeconds) {
    time = new Date(seconds * 1_000).toISOString().replace(/[-:]|\.\d{3}/g, '')
    timeSeconds = seconds
  }
  return time
}

/**
 * Signs requests to one of Amazon's services with one key: AWS Signature Version 4. The key that a day's requests are signed with is made once a
 * day. The secret leaves this object in no message.
 */
export class S3Signer {
  readonly credentials: AwsCredentials
  readonly #service: string
  #region: string
  #day = ''
  /** As an object: of a buffer one is made for each use, which takes seven times as long as the rest. */
  #key: KeyObject | undefined

  /** @param service its name in signatures, such as `sqs` */
  constructor(credentials: AwsCredentials, region: string, service = 's3') {
    this.credentials = credentials
    this.#region = region
    this.#service = service
  }

  get region(): string {
    return this.#region
  }

  set region(region: string) {
    this.#region = region
    this.#day = ''
  }

  get sessionToken(): string | undefined {
    return this.credentials.sessionToken
  }

  /** Value of the Authorization header, and the signature in it. */
  sign({ method, path, query, headers, payload, time }: Signable): {
    authorization: string
    signature: string
  } {
    let signed = ''
    let text = `${method}\n${path}\n${query}\n`
    for (const [name, value] of headers) {
      signed += signed === '' ? name : `;${name}`
      text += `${name}:${value}\n`
    }
    text += `\n${signed}\n${payload}`
    const scope = this.#scope(time)
    const signature = this.#hmac(time, `AWS4-HMAC-SHA256\n${time}\n${scope}\n${hash('sha256', text)}`)
    const credential = `${this.credentials.accessKey}/${scope}`
    return {
      authorization: `AWS4-HMAC-SHA256 Credential=${credential},SignedHeaders=${signed},Signature=${signature}`,
      signature,
    }
  }

  /** Signature of the next chunk of a body. @param before that of the chunk before, or of the request */
  signChunk(time: string, before: string, chunk: Buffer): string {
    const digests = `${emptyHash}\n${hash('sha256', chunk)}`
    return this.#hmac(time, `AWS4-HMAC-SHA256-PAYLOAD\n${time}\n${this.#scope(time)}\n${before}\n${digests}`)
  }

  /** Signature of what comes after the last chunk. @param trailer `name:value`, a line break after it */
  signTrailer(time: string, before: string, trailer: string): string {
    return this.#hmac(
      time,
      `AWS4-HMAC-SHA256-TRAILER\n${time}\n${this.#scope(time)}\n${before}\n${hash('sha256', trailer)}`,
    )
  }

  #scope(time: string): string {
    return `${time.slice(0, 8)}/${this.#region}/${this.#service}/aws4_request`
  }

  #hmac(time: string, text: string): string {
    const day = time.slice(0, 8)
    if (this.#key === undefined || day !== this.#day) {
      const ofDay = hmac(`AWS4${this.credentials.secretKey}`, day)
      this.#key = createSecretKey(hmac(hmac(hmac(ofDay, this.#region), this.#service), 'aws4_request'))
      this.#day = day
    }
    return createHmac('sha256', this.#key).update(text).digest('hex')
  }
}

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()

/** Percent-encodes as the signature wants it: every byte but `A-Z a-z 0-9 - . _ ~`. */
export const encodeS3 = (text: string): string =>
  plain.test(text)
    ? text
    : encodeURIComponent(text).replace(
        /[!'()*]/g,
        (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
      )

/** Most names: nothing to encode, decided in a fraction of the time. */
const plain = /^[\w.~-]*$/

/** A key in a path: its slashes stay. */
export const encodeKey = (key: string): string =>
  plainKey.test(key) ? key : key.split('/').map(encodeS3).join('/')
const plainKey = /^[\w./~-]*$/
