import type { Msg, NatsConnection, Subscription } from '@nats-io/transport-node'
import type { Log } from './log.ts'

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
    if (error !== undefined) throw new Error(`the server does not list its connections: ${error.description}`)
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

/** More than a connection takes from our word that it may come in (`authTimeoutSeconds`) to the server's that it has. */
const watchedMs = 10_000

/**
 * Drops connections of keys: those that are there, and of those that come in the next seconds the ones whose key is not
 * `isWelcome` any more, on any node. A key may have been revoked after the broker was told to let it in, and before its
 * connection could be found and kicked. The server tells of each connection only while there is a key to look out for.
 */
export class KeyDropper {
  readonly #system: NatsConnection
  readonly #isWelcome: (keyId: string) => Promise<boolean>
  readonly #log: Log
  /** Keys to look out for, each until its timer. */
  readonly #watched = new Map<string, NodeJS.Timeout>()
  #connects: Subscription | undefined

  /** @param system a connection in the SYS account */
  constructor(system: NatsConnection, isWelcome: (keyId: string) => Promise<boolean>, log: Log) {
    this.#system = system
    this.#isWelcome = isWelcome
    this.#log = log
  }

  /** Resolves when the connections that are there are closed. */
  drop(keyId: string): Promise<void> {
    // The server takes both in this order: what is not in its list yet, it tells of.
    this.#watch(keyId)
    return kickKey(this.#system, keyId)
  }

  #watch(keyId: string): void {
    clearTimeout(this.#watched.get(keyId))
    this.#watched.set(keyId, setTimeout(() => this.#forget(keyId), watchedMs).unref())
    this.#connects ??= this.#system.subscribe('$SYS.ACCOUNT.*.CONNECT', {
      callback: (error, message) => {
        if (error !== null) return
        this.#judge(message).catch((err: unknown) =>
          this.#log.error({ err }, 'A new connection could not be judged.'),
        )
      },
    })
  }

  async #judge(message: Msg): Promise<void> {
    const { server, client } = message.json<ConnectEvent>()
    if (client.user === undefined || !this.#watched.has(client.user)) return
    if (await this.#isWelcome(client.user)) return
    this.#log.info({ user: client.user }, 'Dropped a connection whose key is not valid any more.')
    await kick(this.#system, server.id, client.id)
  }

  #forget(keyId: string): void {
    this.#watched.delete(keyId)
    if (this.#watched.size > 0) return
    this.#connects?.unsubscribe()
    this.#connects = undefined
  }

  stop(): void {
    for (const [keyId, timer] of this.#watched) {
      clearTimeout(timer)
      this.#forget(keyId)
    }
  }
}
