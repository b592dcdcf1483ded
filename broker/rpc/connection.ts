import type { NatsConnection } from '@nats-io/transport-node'
import { keyIdOf } from '../../subjects/access/token.ts'
import { inboxPrefix } from '../../subjects/kit/names.ts'
import { connect } from './transport.ts'

export type { NatsConnection } from '@nats-io/transport-node'

/** The platform's own connections try for ever: a broker that is away comes back, and state is on its disk. */
export const platformReconnect = {
  maxReconnectAttempts: -1,
  reconnectTimeWait: 100,
  reconnectJitter: 100,
} as const

/** The client would make two errors with their stacks for each request, a tenth of its time, in case it fails. */
export const lean = { noAsyncTraces: true } as const

/**
 * Connects with an API token, as users and extensions do. `reconnect: false` for a connection that stands for one
 * caller: a revoked key must not come back by itself; `always` for one that waits for a broker that is away.
 */
export async function connectWithToken(
  url: string,
  token: string,
  options: { name?: string; reconnect?: boolean | 'always'; timeoutMs?: number } = {},
): Promise<NatsConnection> {
  const keyId = keyIdOf(token)
  return connect({
    servers: url,
    token,
    reconnect: options.reconnect !== false,
    ...(options.reconnect === 'always' ? platformReconnect : {}),
    ...lean,
    ...(options.name === undefined ? {} : { name: options.name }),
    ...(options.timeoutMs === undefined ? {} : { timeout: options.timeoutMs }),
    ...(keyId === undefined ? {} : { inboxPrefix: inboxPrefix(keyId) }),
  })
}
