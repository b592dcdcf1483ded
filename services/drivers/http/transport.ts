import type { Agent, ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http'
import * as https from 'node:https'
import { http } from '../../../broker/common/http.ts'
import type { StoreAddress } from './store-address.ts'

/** Where a store is. */
export interface StoreEndpoint {
  readonly secure: boolean
  /** Without brackets or port. */
  readonly host: string
  readonly port: number
  /** Certificates in PEM of the authorities that vouch for it, in place of those that Node trusts. */
  readonly authorities?: string | undefined
}

/** An answer of a store, read to its end. */
export interface StoreAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

export interface TransportLimits {
  readonly connectTimeoutMs: number
  /** Without a byte in either direction. */
  readonly idleTimeoutMs: number
  readonly connections: number
}

export interface WireRequest {
  readonly method: string
  /** Path and query, percent-encoded. */
  readonly target: string
  /** Names and values by turns, Host included; sent as they are. */
  readonly headers: readonly string[]
  /** A buffer is sent at once, anything else piece by piece as the connection takes it. */
  readonly body?: Buffer | AsyncIterable<Buffer> | undefined
  readonly signal?: AbortSignal | undefined
  /** Receives the body of a 2xx answer if it is exactly as long; saves a copy of large reads. */
  readonly into?: Buffer | undefined
}

/**
 * Largest body that is read into memory: a page of 5,000 entries with long names and metadata stays below a third of it,
 * and so does the largest block list (50,000 blocks of some 150 bytes).
 */
const maxAnswerBytes = 128 * 1024 * 1024

/** A connection was closed by the server while it lay idle, just when it was used again: the request was not begun. */
export const isStaleConnection = (error: unknown): boolean => error instanceof StaleConnection
class StaleConnection extends Error {}

/** What was to be sent could not be read; `cause` says why. */
export class UnreadableBody extends Error {}

/** HTTP to one host over kept-alive connections, one request on each at a time. */
export class Transport {
  #endpoint: StoreEndpoint
  readonly #limits: TransportLimits
  readonly #agent: Agent
  readonly #address: StoreAddress | undefined
  #version: number | undefined
  readonly #request: typeof http.request

  /** @param address where connections may go; without it anywhere */
  constructor(endpoint: StoreEndpoint, limits: TransportLimits, address?: StoreAddress) {
    this.#address = address
    this.#version = address?.version
    this.#endpoint = endpoint
    this.#limits = limits
    const options = { keepAlive: true, maxSockets: limits.connections, scheduling: 'lifo' } as const
    const { secure, authorities: ca } = endpoint
    this.#agent = secure
      ? new https.Agent({ ...options, ...(ca !== undefined && { ca }) })
      : new http.Agent(options)
    this.#request = endpoint.secure ? https.request : http.request
  }

  /**
   * One exchange, whatever the status. Rejects with the signal's reason when aborted, with InnerAddressError where the
   * endpoint may not be, with UnreadableBody, else with the network's error (`code` as Node gives it, `ETIMEDOUT` for our own limits).
   */
  exchange(wire: WireRequest): Promise<StoreAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<StoreAnswer>()
    const { signal } = wire
    if (signal?.aborted === true) return Promise.reject(signal.reason)
    try {
      this.#requireAddress()
    } catch (error) {
      return Promise.reject(error)
    }
    const request = this.#request({
      agent: this.#agent,
      host: this.#endpoint.host,
      port: this.#endpoint.port,
      method: wire.method,
      path: wire.target,
      headers: wire.headers,
      timeout: this.#limits.idleTimeoutMs,
      ...(signal === undefined ? {} : { signal }),
      ...(this.#address === undefined ? {} : { lookup: this.#address.lookup }),
    })
    const fail = (error: Error & { code?: string }) => {
      if (signal?.aborted === true) reject(signal.reason)
      else if (error.code === 'ECONNRESET' && request.reusedSocket) {
        reject(new StaleConnection('connection closed by the server', { cause: error }))
      } else reject(error)
    }
    request.on('error', fail)
    request.on('timeout', () => request.destroy(timedOut('no data', this.#limits.idleTimeoutMs)))
    request.on('socket', (socket) => {
      if (!socket.connecting) return
      const { connectTimeoutMs } = this.#limits
      const timer = setTimeout(
        () => request.destroy(timedOut('no connection', connectTimeoutMs)),
        connectTimeoutMs,
      )
      const clear = () => clearTimeout(timer)
      socket.once(this.#endpoint.secure ? 'secureConnect' : 'connect', clear).once('close', clear)
    })
    const answered = (answer: StoreAnswer) => {
      resolve(answer)
      // It was answered before all of it was sent: nobody wants the rest.
      if (!request.writableEnded) request.destroy()
    }
    request.on('response', (response) => collect(response, wire.into, answered, fail))
    const { body } = wire
    if (body === undefined || Buffer.isBuffer(body)) request.end(body)
    else
      void sendPieces(request, body).catch((cause: unknown) => {
        reject(new UnreadableBody('what is to be sent cannot be read', { cause }))
        request.destroy()
      })
    return promise
  }

  /** Goes to another host from now on, with the same security. */
  moveTo(endpoint: StoreEndpoint): void {
    this.#endpoint = endpoint
  }

  /** Connections that were made before what is allowed was changed are not used any more. */
  #requireAddress(): void {
    if (this.#address === undefined) return
    this.#address.require()
    const { version } = this.#address
    if (version === this.#version) return
    this.#version = version
    for (const socket of Object.values(this.#agent.freeSockets).flat()) socket?.destroy()
  }

  /** Closes all connections; requests under way fail. */
  close(): void {
    this.#agent.destroy()
  }
}

/** Sends a body, its next piece once the one before has left; until the request is over. Throws what reading it throws. */
async function sendPieces(request: ClientRequest, body: AsyncIterable<Buffer>): Promise<void> {
  for await (const piece of body) if (!(await hasLeft(request, piece))) return
  request.end()
}

/** False when the request is over, for whatever reason. */
function hasLeft(request: ClientRequest, piece: Buffer): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  if (request.destroyed) return Promise.resolve(false)
  const over = () => resolve(false)
  request.once('close', over)
  request.write(piece, (error) => {
    request.off('close', over)
    resolve(error === undefined || error === null)
  })
  return promise
}

function collect(
  response: IncomingMessage,
  into: Buffer | undefined,
  resolve: (answer: StoreAnswer) => void,
  reject: (error: Error) => void,
): void {
  const { headers } = response
  const status = response.statusCode ?? 0
  const target =
    into !== undefined && status < 300 && Number(headers['content-length']) === into.length ? into : undefined
  const chunks: Buffer[] = []
  let received = 0
  response.on('data', (chunk: Buffer) => {
    if (target !== undefined) chunk.copy(target, received)
    else chunks.push(chunk)
    received += chunk.length
    if (received > maxAnswerBytes)
      response.destroy(new Error(`the answer is longer than ${maxAnswerBytes} bytes`))
  })
  response.on('error', reject)
  response.on('end', () => {
    const body =
      target ?? (chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks))
    resolve({ status, headers, body })
  })
}

const timedOut = (what: string, ms: number) =>
  Object.assign(new Error(`${what} for ${ms} ms`), { code: 'ETIMEDOUT' })
