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

/** Gives requests what the service lets them in by. */
export interface Authorizer {
  /** Value of the Authorization header; not there where the query lets a request in. */
  authorization?(request: Signable): string | Promise<string>
  /** What goes into the query of each request, percent-encoded. */
  readonly query?: string
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
    return this.#scheme + createHmac('sha256', this.#key).update(text).digest('base64')
  }
}
