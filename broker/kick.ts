import type { NatsConnection } from '@nats-io/transport-node'

/** A connection list or a kick takes the server a few milliseconds. */
const timeoutMs = 2_000
/** One page of the server's list; a key with more connections is kicked page by page. */
const pageLength = 1_024

interface Connz {
  data?: { connections?: { cid: number }[] }
  error?: { description?: string }
}

/**
 * Drops every live connection of a key: native, WebSocket and those of the edge. Resolves when the server has closed
 * them. @param system a connection in the SYS account
 */
export async function kickKey(system: NatsConnection, keyId: string): Promise<void> {
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
    await Promise.all(
      connections.map(({ cid }) =>
        system.request(`$SYS.REQ.SERVER.${server}.KICK`, JSON.stringify({ cid }), { timeout: timeoutMs }),
      ),
    )
    if (connections.length < pageLength) return
  }
}
