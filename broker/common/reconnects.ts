import type { NatsConnection } from '@nats-io/transport-node'

interface Followed {
  readonly listeners: Set<() => void>
  /** How often it was lost, and made again. */
  changes: number
}

const followed = new WeakMap<NatsConnection, Followed>()

function following(connection: NatsConnection): Followed {
  let known = followed.get(connection)
  if (known === undefined) {
    known = { listeners: new Set(), changes: 0 }
    followed.set(connection, known)
    void follow(connection, known)
  }
  return known
}

/** Calls the listener each time that the connection has been made again; returns what ends that. */
export function onReconnect(connection: NatsConnection, listener: () => void): () => void {
  const { listeners } = following(connection)
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/**
 * Tells one life of a connection from another: a number that is no longer the same once the connection was lost, nor when it
 * is made again, maybe to a broker that was restarted.
 */
export function lifeOf(connection: NatsConnection): () => number {
  const known = following(connection)
  return () => known.changes
}

/** Ends with the connection. */
async function follow(connection: NatsConnection, known: Followed): Promise<void> {
  for await (const { type } of connection.status()) {
    if (type === 'disconnect' || type === 'reconnect') known.changes += 1
    if (type === 'reconnect') for (const listener of known.listeners) listener()
  }
}
