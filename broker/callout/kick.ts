import type { Msg, NatsConnection, Subscription } from '@nats-io/transport-node'
import type { Log } from '../common/log.ts'
import { nameOfOpening, type Openings, openingMs } from './openings.ts'

/** A connection list or a kick takes the server a few milliseconds. */
const timeoutMs = 2_000
/** One page of the server's list; a key with more connections is kicked page by page. */
const defaultPageLength = 1_024

interface Connz {
  data?: { connections?: { cid: number }[] }
  error?: { description?: string }
}

/**
 * Drops every live connection of a key: native, WebSocket and those of the edge. Resolves when the server has closed
 * them. @param system a connection in the SYS account
 */
export async function kickKey(
  system: NatsConnection,
  keyId: string,
  { pageLength = defaultPageLength }: { pageLength?: number } = {},
): Promise<void> {
  const server = system.info?.server_id ?? ''
  for (;;) {
    const reply = await system.request(
      `$SYS.REQ.SERVER.${server}.CONNZ`,
      JSON.stringify({ user: keyId, auth: true, limit: pageLength }),
      { timeout: timeoutMs },
    )
    const { data, error } = reply.json<Connz>()
    if (error !== undefined)
      throw new Error(`nats-server could not list its connections: ${error.description}`)
    const connections = data?.connections ?? []
    await Promise.all(connections.map(({ cid }) => kick(system, server, cid)))
    if (connections.length < pageLength) return
  }
}

export const kickSubject = (server: string): string => `$SYS.REQ.SERVER.${server}.KICK`

/** Drops a connection. @param server id of the server that has it */
export async function kick(system: NatsConnection, server: string, cid: number): Promise<void> {
  await system.request(kickSubject(server), JSON.stringify({ cid }), { timeout: timeoutMs })
}

interface ConnectEvent {
  server: { id: string }
  client: { id: number; user?: string }
}

/** A key whose connections were dropped a moment ago. */
interface Watched {
  /** Names of its connections that were on their way in then. */
  readonly late: Set<string>
  readonly timer: NodeJS.Timeout
}

/**
 * Drops the connections of keys: those that are there, and those that are on their way in once they are. What these may do
 * was judged before the key was revoked, rotated or narrowed, and before the server could list them; what is judged from
 * then on stays. The server tells of each connection only while there is a key to look out for.
 */
export class KeyDropper {
  readonly #system: NatsConnection
  readonly #openings: Pick<Openings, 'of'>
  readonly #log: Log
  readonly #watched = new Map<string, Watched>()
  #connects: Subscription | undefined

  /** @param system a connection in the SYS account @param openings what the auth callout notes */
  constructor(system: NatsConnection, openings: Pick<Openings, 'of'>, log: Log) {
    this.#system = system
    this.#openings = openings
    this.#log = log
  }

  /** To be called when the key is stored as it is now. Resolves when the connections that are there are closed. */
  drop(keyId: string): Promise<void> {
    // The server takes both in this order: what is not in its list yet, it tells of.
    this.#watch(keyId)
    return kickKey(this.#system, keyId)
  }

  #watch(keyId: string): void {
    const before = this.#watched.get(keyId)
    clearTimeout(before?.timer)
    const late = new Set([...(before?.late ?? []), ...this.#openings.of(keyId)])
    this.#watched.set(keyId, { late, timer: setTimeout(() => this.#forget(keyId), openingMs).unref() })
    this.#connects ??= this.#system.subscribe('$SYS.ACCOUNT.*.CONNECT', {
      callback: (error, message) => {
        if (error !== null) return
        this.#judge(message).catch((err: unknown) =>
          this.#log.error({ err }, 'A new connection could not be checked.'),
        )
      },
    })
  }

  async #judge(message: Msg): Promise<void> {
    const { server, client } = message.json<ConnectEvent>()
    const watched = client.user === undefined ? undefined : this.#watched.get(client.user)
    if (watched?.late.delete(nameOfOpening({ server: server.id, id: client.id })) !== true) return
    this.#log.info({ user: client.user }, 'Closed a connection that was accepted before its key was changed.')
    await kick(this.#system, server.id, client.id)
  }

  #forget(keyId: string): void {
    this.#watched.delete(keyId)
    if (this.#watched.size > 0) return
    this.#connects?.unsubscribe()
    this.#connects = undefined
  }

  stop(): void {
    for (const [keyId, { timer }] of this.#watched) {
      clearTimeout(timer)
      this.#forget(keyId)
    }
  }
}
