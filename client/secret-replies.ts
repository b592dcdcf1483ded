import type { NatsConnection } from '@nats-io/nats-core'
import { MuxSubscription, type NatsConnectionImpl } from '@nats-io/nats-core/internal'
import { withSecretReplies } from '../subjects/kit/unguessable.ts'

const SecretReplies = withSecretReplies(MuxSubscription)

/** The same connection, with reply subjects that nobody can guess. */
export function secretly(connection: NatsConnection): NatsConnection {
  // Nothing has been asked yet.
  ;(connection as NatsConnectionImpl).protocol.muxSubscriptions = new SecretReplies()
  return connection
}
