import * as net from 'node:net'
import * as tls from 'node:tls'
import { AnswerReader, type Receiver, type StoreAnswer } from './answer-reader.ts'

/** Where a store is. */
export interface StoreEndpoint {
  readonly secure: boolean
  /** Without brackets or port. */
  readonly host: string
  readonly port: number
  /** Certificates in PEM of the authorities that vouch for it, in place of those that Node trusts. */
  readonly authorities?: string | undefined
}

/** What people call it: with its port, unless it is the usual one. */
export const nameOf = ({ host, port, secure }: StoreEndpoint): string =>
  port === (secure ? 443 : 80) ? host : `${host}:${port}`

export interface TransportLimits {
  readonly connectTimeoutMs: number
  /** Without a byte in either direction. */
  readonly idleTimeoutMs: number
  readonly connections: number
  /** Longest answer that is read; without it as long as a store's may be. */
  readonly maxAnswerBytes?: number
}

export interface WireRequest {
  readonly method: string
  /** Path and query, percent-encoded. */
  readonly target: string
  /** Names and values by turns, Host included; sent as they are, names of lower case. */
  readonly headers: readonly string[]
  /** A buffer is sent at once, anything else piece by piece as the connection takes it; both with a `content-length`. */
  readonly body?: Buffer | AsyncIterable<Buffer> | undefined
  readonly signal?: AbortSignal | undefined
  /** Takes the body of a 2xx answer that it accepts; saves memory for large reads. */
  readonly receiver?: Receiver | undefined
}

/** A connection was closed by the server while it lay idle, just when it was used again: the request was not begun. */
export const isStaleConnection = (error: unknown): boolean => error instanceof StaleConnection
class StaleConnection extends Error {}

/** What was to be sent could not be read; `cause` says why. */
export class UnreadableBody extends Error {}

/** What is read from the connection at once. */
const readBytes = 64 * 1024
/** A body up to here goes with the head in one piece: it is copied quicker than it is sent by itself. */
const copiedBytes = 32 * 1024
/** The system asks after a peer that says nothing, as Node's own client has it. */
const probeAfterMs = 1_000
/** A connection that the server says to close after some seconds is not used in the last one. */
const spareMs = 1_000

/**
 * From when on an answer that comes on and on has to come at a pace. Services send a blank now and then while they put
 * parts together or copy, which takes them minutes; nothing that is told or read takes so long at this pace.
 */
const unhurriedMs = 15 * 60_000
/** The slowest pace from then on, of all that came, bytes a second. */
const slowestPace = 1024

/** A request that is under way. */
interface Exchange {
  readonly reader: AnswerReader
  readonly resolve: (answer: StoreAnswer) => void
  readonly reject: (error: unknown) => void
  readonly signal: AbortSignal | undefined
  readonly abort: () => void
  /** Whether all of it has been handed to the connection. */
  isSent: boolean
  /** When the answer began, on the clock of `performance`. */
  begunMs: number | undefined
  /** Bytes of the answer that have come. */
  received: number
}

/** One kept-alive connection of HTTP/1.1, with one request on it at a time. */
export class Connection {
  readonly #socket: net.Socket
  readonly #connectTimer: NodeJS.Timeout
  readonly #released: (connection: Connection) => void
  #exchange: Exchange | undefined
  #isReused = false
  #isOpen = true
  #usableUntilMs = Infinity
  readonly #maxAnswerBytes: number | undefined

  /**
   * @param lookup resolves the endpoint's name
   * @param session of TLS, of an earlier connection
   * @param released called when it is free for another request, and when it has ended
   */
  constructor(
    { secure, host, port, authorities }: StoreEndpoint,
    limits: TransportLimits,
    { lookup, session, onSession }: TlsSession & { readonly lookup: net.LookupFunction | undefined },
    released: (connection: Connection) => void,
  ) {
    this.#released = released
    this.#maxAnswerBytes = limits.maxAnswerBytes
    const onread = {
      buffer: Buffer.allocUnsafe(readBytes),
      callback: (count: number, buffer: Uint8Array) => {
        this.#take(buffer as Buffer, count)
        return true
      },
    }
    const to = { host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: probeAfterMs, onread }
    const options = lookup === undefined ? to : { ...to, lookup }
    this.#socket = secure
      ? tls
          .connect({
            ...options,
            ALPNProtocols: ['http/1.1'],
            ...(net.isIP(host) === 0 && { servername: host }),
            ...(session !== undefined && { session }),
            ...(authorities !== undefined && { ca: authorities }),
          })
          .on('session', onSession)
      : net.connect(options)
    this.#connectTimer = setTimeout(
      () => this.#fail(timedOut('no connection', limits.connectTimeoutMs)),
      limits.connectTimeoutMs,
    )
    this.#socket
      .setTimeout(limits.idleTimeoutMs)
      .once(secure ? 'secureConnect' : 'connect', () => clearTimeout(this.#connectTimer))
      .on('timeout', () => this.#fail(timedOut('no data', limits.idleTimeoutMs)))
      .on('error', (error) => this.#fail(error))
      .on('end', () => this.#ended())
      .on('close', () => this.destroy())
  }

  /** Whether it is there for another request. */
  get isUsable(): boolean {
    return this.#isOpen && this.#exchange === undefined && Date.now() < this.#usableUntilMs
  }

  /** Whether it has not ended. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  /**
   * One exchange, whatever the status. Rejects with the signal's reason when aborted, with UnreadableBody, UntakenBody,
   * MalformedAnswer, else with the network's error (`code` as Node gives it, `ETIMEDOUT` for our own limits).
   * @param head as `headOf` makes it
   */
  send(
    { method, body, receiver, signal }: WireRequest,
    head: string,
    resolve: Exchange['resolve'],
    reject: Exchange['reject'],
  ): void {
    const abort = () => this.#fail(signal?.reason)
    const reader = new AnswerReader(method, receiver, this.#maxAnswerBytes)
    const exchange = { reader, resolve, reject, signal, abort, isSent: true, begunMs: undefined, received: 0 }
    this.#exchange = exchange
    signal?.addEventListener('abort', abort, { once: true })
    this.#socket.ref()
    if (body === undefined) this.#socket.write(head, 'latin1')
    else if (Buffer.isBuffer(body)) this.#sendWhole(head, body)
    else void this.#sendPieces(exchange, head, body)
  }

  #sendWhole(head: string, body: Buffer): void {
    if (body.length <= copiedBytes) {
      const bytes = Buffer.allocUnsafe(head.length + body.length)
      bytes.write(head, 'latin1')
      body.copy(bytes, head.length)
      this.#socket.write(bytes)
      return
    }
    this.#socket.cork()
    this.#socket.write(head, 'latin1')
    this.#socket.write(body)
    this.#socket.uncork()
  }

  /** Sends a body, its next piece once the one before has left; until the request is over. Never rejects. */
  async #sendPieces(exchange: Exchange, head: string, body: AsyncIterable<Buffer>): Promise<void> {
    exchange.isSent = false
    let left = lengthIn(head)
    this.#socket.write(head, 'latin1')
    try {
      for await (const piece of body) {
        if (this.#exchange !== exchange) return
        left -= piece.length
        if (left < 0) break
        exchange.isSent = left === 0
        await new Promise<void>((resolve) => this.#socket.write(piece, () => resolve()))
      }
      if (left !== 0) throw new Error('it is not as long as it was said to be')
    } catch (cause) {
      if (this.#exchange === exchange)
        this.#fail(new UnreadableBody('what is to be sent cannot be read', { cause }))
    }
  }

  #take(buffer: Buffer, count: number): void {
    const exchange = this.#exchange
    // Nobody asked.
    if (exchange === undefined) return this.destroy()
    const { reader } = exchange
    try {
      const hasMore = reader.take(count === buffer.length ? buffer : buffer.subarray(0, count))
      if (reader.isComplete) this.#answered(exchange, hasMore)
      else requirePace(exchange, count)
    } catch (error) {
      this.#fail(error)
    }
  }

  #answered(exchange: Exchange, hasMore: boolean): void {
    this.#finish(exchange)
    const { reader, isSent, resolve } = exchange
    const { answer } = reader
    this.#isReused = true
    // Where it was answered before all of it was sent, nobody wants the rest.
    if (!reader.keepsOpen || hasMore || !isSent) this.destroy()
    else {
      const seconds = Number(
        /(?:^|[\s,])timeout=(\d{1,6})/.exec(String(answer.headers['keep-alive']))?.[1] ?? NaN,
      )
      this.#usableUntilMs = Number.isNaN(seconds) ? Infinity : Date.now() + seconds * 1_000 - spareMs
      // It does not keep the process.
      this.#socket.unref()
      this.#released(this)
    }
    resolve(answer)
  }

  /** The server has closed it, in order. */
  #ended(): void {
    const exchange = this.#exchange
    if (exchange?.reader.end() === true) this.#answered(exchange, false)
    else this.destroy()
  }

  #fail(error: unknown): void {
    const exchange = this.#exchange
    if (exchange !== undefined) {
      this.#finish(exchange)
      const { reader, reject } = exchange
      const isStale = this.#isReused && !reader.hasBegun && isOfClosed(error)
      reject(isStale ? new StaleConnection('connection closed by the server', { cause: error }) : error)
    }
    this.destroy()
  }

  #finish({ signal, abort }: Exchange): void {
    this.#exchange = undefined
    signal?.removeEventListener('abort', abort)
  }

  /** Ends it; a request under way fails. */
  destroy(): void {
    clearTimeout(this.#connectTimer)
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#socket.destroy()
    if (this.#exchange !== undefined) this.#fail(connectionClosed())
    this.#released(this)
  }
}

/** Throws where an answer has been coming for long, too slowly to be waited for. */
function requirePace(exchange: Exchange, count: number): void {
  const nowMs = performance.now()
  exchange.begunMs ??= nowMs
  exchange.received += count
  const tookMs = nowMs - exchange.begunMs
  if (tookMs < unhurriedMs || exchange.received >= (tookMs / 1_000) * slowestPace) return
  throw timedOut(`no more than ${exchange.received} bytes of an answer`, Math.round(tookMs))
}

/** The session of TLS with which connections to the same place save half of the greeting. */
export interface TlsSession {
  readonly session: Buffer | undefined
  readonly onSession: (session: Buffer) => void
}

/** Whether the connection was closed by the other side. */
const isOfClosed = (error: unknown): boolean =>
  error instanceof Error && closedCodes.has((error as NodeJS.ErrnoException).code ?? '')
const closedCodes: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE'])

/** With the code that Node gives where the server closed it. */
export const connectionClosed = () =>
  Object.assign(new Error('the connection was closed before the answer had come'), { code: 'ECONNRESET' })

const timedOut = (what: string, ms: number) =>
  Object.assign(new Error(`${what} for ${ms} ms`), { code: 'ETIMEDOUT' })

const methodOrName = /^[\w!#$%&'*+.^`|~-]+$/
/** Nothing that would end a line, or that is more than a byte. */
const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/
const targetCharacters = /^[\x21-\x7e]+$/
const withBody: ReadonlySet<string> = new Set(['PUT', 'POST'])
const lengthField = '\r\ncontent-length: '

/** A request up to its body. Throws where a part of it would be read as something else. */
export function headOf({ method, target, headers, body }: WireRequest): string {
  if (!methodOrName.test(method) || !targetCharacters.test(target)) throw notSendable('its target')
  let head = `${method} ${target} HTTP/1.1`
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] ?? ''
    const value = headers[at + 1] ?? ''
    if (!methodOrName.test(name) || !fieldValue.test(value)) throw notSendable(`the header ${name}`)
    head += `\r\n${name}: ${value}`
  }
  const hasLength = head.includes(lengthField)
  if (body !== undefined && !hasLength) throw notSendable('a body of no length')
  if (withBody.has(method) && !hasLength) head += `${lengthField}0`
  return `${head}\r\nconnection: keep-alive\r\n\r\n`
}

const lengthIn = (head: string): number =>
  parseInt(head.slice(head.indexOf(lengthField) + lengthField.length), 10)

const notSendable = (what: string) =>
  Object.assign(new Error(`a request cannot be sent with ${what}`), { code: 'ERR_INVALID_CHAR' })
