import { AsyncLocalStorage } from 'node:async_hooks'
import type { Receiver, StoreAnswer, StoreHeaders, Taker } from './answer-reader.ts'
import {
  Connection,
  connectionClosed,
  headOf,
  type StoreEndpoint,
  type TransportLimits,
  type WireRequest,
} from './connection.ts'
import type { StoreAddress } from './store-address.ts'

export type { Receiver, StoreAnswer, StoreHeaders, Taker }
export { takerInto, UntakenBody } from './answer-reader.ts'
export { isStaleConnection, UnreadableBody } from './connection.ts'
export type { StoreEndpoint, TransportLimits, WireRequest }

/** A request that waits for a connection. */
type Waiting = (connection: Connection | undefined) => void

/**
 * HTTP to one host over kept-alive connections, one request on each at a time. Not by Node's own client: of what a small
 * object costs, that took more than half (ADR 66).
 */
export class Transport {
  #endpoint: StoreEndpoint
  readonly #limits: TransportLimits
  readonly #address: StoreAddress | undefined
  #version: number | undefined
  /** The one that was used last is at the end, and used next: the others may end. */
  #free: Connection[] = []
  /** All that are open, with those that are used, each with the generation that it is of. */
  readonly #connections = new Map<Connection, number>()
  /** Connections of an earlier one are not used again. */
  #generation = 0
  readonly #waiting = new Set<Waiting>()
  #session: Buffer | undefined

  /** @param address where connections may go; without it anywhere */
  constructor(endpoint: StoreEndpoint, limits: TransportLimits, address?: StoreAddress) {
    this.#address = address
    this.#version = address?.version
    this.#endpoint = endpoint
    this.#limits = limits
  }

  /**
   * One exchange, whatever the status. Rejects with the signal's reason when aborted, with InnerAddressError where the
   * endpoint may not be, with UnreadableBody, UntakenBody, else with the network's error (`code` as Node gives it, `ETIMEDOUT` for our own limits).
   */
  exchange(wire: WireRequest): Promise<StoreAnswer> {
    const { signal } = wire
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) throw signal.reason
      this.#requireAddress()
      const head = headOf(wire)
      const connection = this.#take()
      if (connection !== undefined) connection.send(wire, head, resolve, reject)
      else this.#wait(signal, reject, (free) => free.send(wire, head, resolve, reject))
    })
  }

  /** A connection that is free, or a new one; undefined where there are as many as may be. */
  #take(): Connection | undefined {
    for (let free = this.#free.pop(); free !== undefined; free = this.#free.pop()) {
      if (free.isUsable) return free
      free.destroy()
    }
    if (this.#connections.size >= this.#limits.connections) return undefined
    const generation = this.#generation
    const connection = new Connection(
      this.#endpoint,
      this.#limits,
      {
        lookup: this.#address?.lookup,
        session: this.#session,
        onSession: (session) => {
          // One of a host that was left may come late.
          if (generation === this.#generation) this.#session = session
        },
      },
      (released) => this.#released(released),
    )
    this.#connections.set(connection, generation)
    return connection
  }

  #wait(
    signal: AbortSignal | undefined,
    reject: (error: unknown) => void,
    send: (connection: Connection) => void,
  ): void {
    // What is sent may be read from a store meanwhile: for who waits, and not for who had the connection.
    const inPlace = AsyncLocalStorage.snapshot()
    const waiting: Waiting = (connection) => {
      this.#waiting.delete(waiting)
      signal?.removeEventListener('abort', abort)
      if (connection === undefined) reject(connectionClosed())
      else inPlace(send, connection)
    }
    const abort = () => {
      this.#waiting.delete(waiting)
      reject(signal?.reason)
    }
    signal?.addEventListener('abort', abort, { once: true })
    this.#waiting.add(waiting)
  }

  /** A connection is free, or has ended. */
  #released(connection: Connection): void {
    if (!connection.isOpen) {
      this.#connections.delete(connection)
      this.#free = this.#free.filter((one) => one !== connection)
    } else if (this.#connections.get(connection) === this.#generation) this.#free.push(connection)
    else return connection.destroy()
    const [next] = this.#waiting
    const free = next && this.#take()
    if (free !== undefined) next?.(free)
  }

  /** Goes to another host from now on, with the same security. */
  moveTo(endpoint: StoreEndpoint): void {
    this.#endpoint = endpoint
    this.#session = undefined
    this.#abandon()
  }

  /** Connections that were made before what is allowed was changed are not used any more. */
  #requireAddress(): void {
    if (this.#address === undefined) return
    this.#address.require()
    const { version } = this.#address
    if (version === this.#version) return
    this.#version = version
    this.#abandon()
  }

  /** Uses none of the connections again: what is under way on them goes to its end. */
  #abandon(): void {
    this.#generation++
    for (const connection of [...this.#free]) connection.destroy()
  }

  /** Closes all connections; requests under way fail. */
  close(): void {
    for (const waiting of [...this.#waiting]) waiting(undefined)
    for (const connection of [...this.#connections.keys()]) connection.destroy()
  }
}
