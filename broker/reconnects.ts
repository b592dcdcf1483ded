import type { NatsConnection } from '@nats-io/transport-node'

const listeners = new WeakMap<NatsConnection, Set<() => void>>()

/** Calls the listener each time that the connection has been made again; returns what ends that. */
export function onReconnect(connection: NatsConnection, listener: () => void): () => void {
  let known = listeners.get(connection)
  if (known === undefined) {
    known = new Set()
    listeners.set(connection, known)
    void follow(connection, known)
  }
  known.add(listener)
  return () => void known.delete(listener)
}

/** Ends with the connection. */
async function follow(connection: NatsConnection, known: ReadonlySet<() => void>): Promise<void> {
  for await (const { type } of connection.status()) {
    if (type === 'reconnect') for (const listener of known) listener()
  }
}
