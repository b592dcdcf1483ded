import { type KeyObject, createHmac, createSecretKey } from 'node:crypto'
import type { Renewable } from '../http/renewed.ts'
import type { BlobAnswer } from './errors.ts'

/** What of a request is signed. Header names in lower case, values without line breaks. */
export interface Signable {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'PATCH' | 'DELETE'
  /** Percent-encoded path as it goes into the request line. */
  readonly path: string
  /** Parameters in the order of their names, values not yet percent-encoded. */
  readonly query: readonly (readonly [name: string, value: string])[]
  /** Only those that Shared Key signs one by one; every header that begins with `x-ms-` is in `storeHeaders`. */
  readonly contentLength: number
  readonly contentMd5?: string | undefined
  readonly contentType?: string | undefined
  readonly ifMatch?: string | undefined
  readonly ifNoneMatch?: string | undefined
  /** In the order of their names. */
  readonly storeHeaders: readonly (readonly [name: string, value: string])[]
}

/** What the service reads a blob by that it is to copy. */
export interface SourceAccess {
  /** Goes into the query of the blob's address, percent-encoded. */
  readonly query?: string
  /** Value of a header of its own. */
  readonly authorization?: string
}

/** Gives requests what the service lets them in by. */
export interface Authorizer {
  /** Value of the Authorization header; not there where the query lets a request in. */
  authorization?(request: Signable): string | Promise<string>
  /** What goes into the query of each request, percent-encoded. */
  readonly query?: string
  /**
   * Lets the service read a blob in order to copy it.
   * @param blob `container/name`
   * @param nowMs by the clock of the service
   */
  sourceAccess(blob: string, nowMs: number): SourceAccess | Promise<SourceAccess>
  /** Why an answer refuses a request, and what to do; undefined where it is not known better than for all. */
  refusal?(answer: BlobAnswer): string | undefined
  /** What it gave is not taken any more. Not there where it would give the same again. */
  forget?(): void
  close?(): void
}

/** By the tokens of a service principal or of the host. */
export class TokenAuthorizer implements Authorizer {
  readonly #tokens: Renewable<string> & { close?(): void }
  #last = ''

  constructor(tokens: Renewable<string> & { close?(): void }) {
    this.#tokens = tokens
  }

  async authorization(): Promise<string> {
    this.#last = await this.#tokens.get()
    return `Bearer ${this.#last}`
  }

  async sourceAccess(): Promise<SourceAccess> {
    return { authorization: await this.authorization() }
  }

  forget(): void {
    this.#tokens.forget?.(this.#last)
  }

  close(): void {
    this.#tokens.close?.()
  }
}

/**
 * Signs requests with an account key: Shared Key authorization for the Blob service, version 2015-02-21 and later
 * (an empty body has an empty length in the string to sign). The key is decoded once; the secret leaves this object in no
 * message.
 */
export class SharedKeySigner implements Authorizer {
  readonly #key: KeyObject
  readonly #resource: string
  readonly #scheme: string

  constructor(account: string, sharedKey: string) {
    this.#key = createSecretKey(sharedKey, 'base64')
    this.#resource = `/${account}`
    this.#scheme = `SharedKey ${account}:`
  }

  /** Value of the Authorization header. */
  authorization(request: Signable): string {
    const {
      method,
      contentLength,
      contentMd5 = '',
      contentType = '',
      ifMatch = '',
      ifNoneMatch = '',
    } = request
    const length = contentLength === 0 ? '' : contentLength
    let text = `${method}\n\n\n${length}\n${contentMd5}\n${contentType}\n\n\n${ifMatch}\n${ifNoneMatch}\n\n\n`
    for (const [name, value] of request.storeHeaders) text += `${name}:${value}\n`
    text += this.#resource + request.path
    for (const [name, value] of request.query) text += `\n${name}:${value}`
    return this.#scheme + this.#signed(text)
  }

  /** Only the account itself is let in by its key: the service gets a signature for this blob alone, to read it ("service SAS"). */
  sourceAccess(blob: string, nowMs: number): SourceAccess {
    const end = `${new Date(nowMs + sourceAccessMs).toISOString().slice(0, -5)}Z`
    const resource = `/blob${this.#resource}/${blob}`
    // Permissions, begin, end, blob, policy, addresses, protocols, version, kind, snapshot, encryption, five headers.
    const text = `r\n\n${end}\n${resource}\n\n\n\n${signatureVersion}\nb\n\n\n\n\n\n\n`
    const query = new URLSearchParams({
      sv: signatureVersion,
      se: end,
      sr: 'b',
      sp: 'r',
      sig: this.#signed(text),
    })
    return { query: query.toString() }
  }

  #signed(text: string): string {
    return createHmac('sha256', this.#key).update(text).digest('base64')
  }
}

/** Version of the form of signatures, the first with the fields that are signed here. */
const signatureVersion = '2020-12-06'
/** A copy that is answered later than this has failed, as far as anybody here is concerned. */
const sourceAccessMs = 15 * 60_000
