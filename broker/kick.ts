import type { Msg, NatsConnection } from '@nats-io/transport-node'
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

async function kick(system: NatsConnection, server: string, cid: number): Promise<void> {
  await system.request(`$SYS.REQ.SERVER.${server}.KICK`, JSON.stringify({ cid }), { timeout: timeoutMs })
}

interface ConnectEvent {
  server: { id: string }
  client: { id: number; user?: string }
}

/**
 * Drops every new connection of whose user `isWelcome` says no, on any node: a key may have been revoked after the
 * broker was told to let it in, and before its connection could be found and kicked.
 */
export function watchConnects(
  system: NatsConnection,
  isWelcome: (user: string) => Promise<boolean>,
  log: Log,
): { stop(): Promise<void> } {
  const judge = async (message: Msg): Promise<void> => {
    const { server, client } = message.json<ConnectEvent>()
    if (client.user === undefined || (await isWelcome(client.user))) return
    log.info({ user: client.user }, 'Dropped a connection whose key is not valid any more.')
    await kick(system, server.id, client.id)
  }
  const subscription = system.subscribe('$SYS.ACCOUNT.*.CONNECT', {
    queue: 'access',
    callback: (error, message) => {
      if (error !== null) return
      judge(message).catch((err: unknown) => log.error({ err }, 'A new connection could not be judged.'))
    },
  })
  return { stop: () => subscription.drain() }
}
