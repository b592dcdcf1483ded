import type { NatsConnection } from '@nats-io/transport-node'
import type { ClientConnection } from '../subjects/contract.ts'
import type { Identity } from './identity.ts'

/** The server lists a connection in a millisecond. */
const timeoutMs = 2_000

interface DisconnectEvent {
  server: { name: string }
  client: { id: number; start: string }
}

/**
 * Tells of every connection of a user that has closed, on any server, as the servers say.
 * @param system a connection in the SYS account
 */
export function watchDisconnects(
  system: NatsConnection,
  identity: Pick<Identity, 'GANTRY'>,
  onDisconnect: (connection: ClientConnection) => void,
): { stop(): Promise<void> } {
  const subject = `$SYS.ACCOUNT.${identity.GANTRY.account.getPublicKey()}.DISCONNECT`
  const subscription = system.subscribe(subject, {
    callback: (error, message) => {
      if (error !== null) return
      const { server, client } = message.json<DisconnectEvent>()
      onDisconnect({ server: server.name, id: client.id, started: client.start })
    },
  })
  return { stop: () => subscription.drain() }
}

/**
 * Whether a server still has a connection; true also when the one that had it does not say.
 * @param system a connection in the SYS account
 */
export async function isConnected(system: NatsConnection, connection: ClientConnection): Promise<boolean> {
  const request = JSON.stringify({ cid: connection.id, server_name: connection.server })
  try {
    const reply = await system.request('$SYS.REQ.SERVER.PING.CONNZ', request, { timeout: timeoutMs })
    const { data } = reply.json<{ data?: { connections?: { start: string }[] } }>()
    return data?.connections?.some(({ start }) => start === connection.started) ?? true
  } catch {
    // Then its silence will tell.
    return true
  }
}

export const isSameConnection = (one: ClientConnection, other: ClientConnection): boolean =>
  one.id === other.id && one.started === other.started && one.server === other.server
