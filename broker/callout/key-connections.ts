import type { NatsConnection } from '@nats-io/transport-node'
import type { Identity } from '../identity/identity.ts'
import { nameOfOpening, type Opening, openingMs } from './openings.ts'

/**
 * Connections of one key: a person may own 200 prefixes, with a few processes each, on one key, and open as many pages.
 * Each takes some 80 kB of the server.
 */
export const maxConnectionsOfKey = 1_000
/** Of all keys of an owner, who may have many keys: the server takes 65,536 connections from all together. */
export const maxConnectionsOfOwner = 4_000
/** The server lists a key's connections in milliseconds. */
const timeoutMs = 2_000
/** How often the server is asked about a key that has reached the limit. */
const countAgainMs = 1_000

interface Key {
  readonly id: string
  readonly owner: string
}

interface Counted {
  /** When each was let in, by server and number; of `performance.now()`. */
  readonly open: Map<string, number>
  readonly owner: string
  countedMs: number
}

interface ConnectionList {
  data?: { connections?: { cid: number }[] }
}

interface DisconnectEvent {
  server: { id: string }
  client: { id: number; user?: string }
}

/** How many connections each key has, by what it was let in with and what nats-server says has closed. */
export class KeyConnections {
  readonly #system: NatsConnection
  readonly #most: number
  readonly #mostOfOwner: number
  readonly #byKey = new Map<string, Counted>()
  /** Keys with connections. */
  readonly #byOwner = new Map<string, Map<string, Counted>>()
  readonly #stops: (() => void)[]

  /** @param system a connection in the SYS account */
  constructor(
    system: NatsConnection,
    identity: Pick<Identity, 'GANTRY' | 'AGENTS'>,
    most: number = maxConnectionsOfKey,
    mostOfOwner: number = maxConnectionsOfOwner,
  ) {
    this.#mostOfOwner = mostOfOwner
    this.#system = system
    this.#most = most
    this.#stops = [identity.GANTRY, identity.AGENTS].map(({ account }) => {
      const subscription = system.subscribe(`$SYS.ACCOUNT.${account.getPublicKey()}.DISCONNECT`, {
        callback: (error, message) => {
          if (error === null) this.#closed(message.json<DisconnectEvent>())
        },
      })
      return () => subscription.unsubscribe()
    })
  }

  /** Takes note of a connection that is about to be let in. @returns why it must not be, if so */
  async admit({ id: keyId, owner }: Key, opening: Opening): Promise<string | undefined> {
    const known = this.#byKey.get(keyId)
    if (known !== undefined && known.open.size >= this.#most)
      await this.#countAgain(keyId, known, opening.server)
    if (known !== undefined && known.open.size >= this.#most)
      return `more than ${this.#most} connections of one key`
    if (this.#sizeOf(owner) >= this.#mostOfOwner)
      for (const [id, counted] of this.#byOwner.get(owner)!)
        await this.#countAgain(id, counted, opening.server)
    if (this.#sizeOf(owner) >= this.#mostOfOwner)
      return `more than ${this.#mostOfOwner} connections of one owner`
    this.#countedOf(keyId, owner).open.set(nameOfOpening(opening), performance.now())
    return undefined
  }

  #sizeOf(owner: string): number {
    let size = 0
    for (const { open } of this.#byOwner.get(owner)?.values() ?? []) size += open.size
    return size
  }

  #countedOf(keyId: string, owner: string): Counted {
    let counted = this.#byKey.get(keyId)
    if (counted !== undefined) return counted
    counted = { owner, open: new Map(), countedMs: -Infinity }
    this.#byKey.set(keyId, counted)
    const own = this.#byOwner.get(owner) ?? new Map<string, Counted>()
    this.#byOwner.set(owner, own.set(keyId, counted))
    return counted
  }

  /** Forgets connections that the server does not have: those that ended before they were open, and what was not told. */
  async #countAgain(keyId: string, counted: Counted, server: string): Promise<void> {
    const now = performance.now()
    if (now - counted.countedMs < countAgainMs) return
    counted.countedMs = now
    const request = JSON.stringify({ user: keyId, auth: true, limit: this.#most + 1 })
    const reply = await this.#system.request(`$SYS.REQ.SERVER.${server}.CONNZ`, request, {
      timeout: timeoutMs,
    })
    const { data } = reply.json<ConnectionList>()
    const there = new Set(data?.connections?.map(({ cid }) => nameOfOpening({ server, id: cid })))
    for (const [name, sinceMs] of counted.open)
      if (!there.has(name) && now - sinceMs > openingMs) counted.open.delete(name)
  }

  #closed({ server, client }: DisconnectEvent): void {
    const counted = client.user === undefined ? undefined : this.#byKey.get(client.user)
    counted?.open.delete(nameOfOpening({ server: server.id, id: client.id }))
    if (counted?.open.size !== 0) return
    const keyId = client.user!
    this.#byKey.delete(keyId)
    const own = this.#byOwner.get(counted.owner)
    own?.delete(keyId)
    if (own?.size === 0) this.#byOwner.delete(counted.owner)
  }

  stop(): void {
    for (const stop of this.#stops) stop()
  }
}
