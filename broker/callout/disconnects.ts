import type { NatsConnection } from '@nats-io/transport-node'
import type { ClientConnection } from '../../subjects/kit/contract.ts'
import { createInbox } from '../../subjects/kit/unguessable.ts'
import type { Identity } from '../identity/identity.ts'
import { kick, kickSubject } from './kick.ts'
import type { Log } from '../common/log.ts'

/** The server lists a connection in a millisecond. */
const timeoutMs = 2_000

interface DisconnectEvent {
  server: { name: string }
  client: { id: number; start: string }
}

interface ConnectionList {
  server: { id: string }
  data?: { connections?: { start: string }[] }
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
  try {
    return (await look(system, connection)).isThere ?? true
  } catch {
    // Then its silence will tell.
    return true
  }
}

/** Closes a connection, if it is still there. @param system a connection in the SYS account */
export async function disconnect(system: NatsConnection, connection: ClientConnection): Promise<void> {
  const { isThere, server } = await look(system, connection)
  if (isThere === true) await kick(system, server, connection.id)
}

/**
 * Closes a connection, and does not wait for that: while a flood is read, an answer may come late. @param system a
 * connection in the SYS account
 */
export function disconnectAtOnce(system: NatsConnection, connection: ClientConnection, log: Log): void {
  const { server_name, server_id } = system.info ?? {}
  if (server_id !== undefined && connection.server === server_name) {
    // The server does nothing for those who want no reply.
    system.publish(kickSubject(server_id), JSON.stringify({ cid: connection.id }), { reply: createInbox() })
    return
  }
  disconnect(system, connection).catch((err: unknown) =>
    log.error({ err, connection }, 'A connection could not be closed.'),
  )
}

async function look(system: NatsConnection, { id, server: name, started }: ClientConnection) {
  const request = JSON.stringify({ cid: id, server_name: name })
  const reply = await system.request('$SYS.REQ.SERVER.PING.CONNZ', request, { timeout: timeoutMs })
  const { server, data } = reply.json<ConnectionList>()
  return { server: server.id, isThere: data?.connections?.some(({ start }) => start === started) }
}

export const isSameConnection = (one: ClientConnection, other: ClientConnection): boolean =>
  one.id === other.id && one.started === other.started && one.server === other.server
