import { AuthorizationError, type ConnectionOptions, type NatsConnection } from '@nats-io/transport-node'
import { type AccountName, inboxPrefix } from '../../subjects/kit/names.ts'
import { createKey, type NativeKeyPair } from '../identity/ed25519.ts'
import { connect } from './transport.ts'
import type { Identity } from '../identity/identity.ts'
import { authTimeoutSeconds } from '../server/configuration.ts'
import { keyIdOf } from '../identity/token.ts'
import { type Capabilities, userJwt } from '../identity/user-jwt.ts'

export type { NatsConnection } from '@nats-io/transport-node'

/** The platform's own connections try for ever: a broker that is away comes back, and state is on its disk. */
const platformReconnect = { maxReconnectAttempts: -1, reconnectTimeWait: 100, reconnectJitter: 100 } as const

/** The callout goes first: while it is away, whoever connects waits for the server's patience, and is refused. */
const calloutReconnect = { reconnectTimeWait: 10, reconnectJitter: 0 } as const

/**
 * A connection is made in milliseconds. Where a broker dies in the middle of that, the client notices nothing, and waits for
 * so long before it tries again.
 */
const dialTimeoutMs = 2_000

/** The client would make two errors with their stacks for each request, a tenth of its time, in case it fails. */
const lean = { noAsyncTraces: true } as const

const utf8 = new TextEncoder()

/** Signs the server's nonce natively; the client's own authenticator does it in JavaScript. */
function authenticate(jwt: string, key: NativeKeyPair): ConnectionOptions['authenticator'] {
  return (nonce?: string) => ({
    jwt,
    nkey: key.getPublicKey(),
    sig: nonce === undefined ? '' : Buffer.from(key.sign(utf8.encode(nonce))).toString('base64url'),
  })
}

export interface PlatformConnectionOptions {
  readonly url: string
  readonly identity: Identity
  /** For people, in the server's lists. */
  readonly name: string
  readonly capabilities?: Capabilities
  /** Tries once, and does not connect again. */
  readonly once?: true
}

/** Connects a service of the platform with a user of an account that needs no callout, made for this process. */
export async function connectAs(
  account: AccountName,
  { url, identity, name, capabilities, once }: PlatformConnectionOptions,
): Promise<NatsConnection> {
  const key = account === 'AUTH' ? identity.calloutUser : createKey('U')
  const user = {
    publicKey: key.getPublicKey(),
    name,
    ...(capabilities === undefined ? {} : { capabilities }),
  }
  const jwt = userJwt(identity, account, user)
  return connect({
    servers: url,
    name,
    authenticator: authenticate(jwt, key)!,
    // With capabilities it may hear replies in its own inbox alone, like any key.
    ...(capabilities === undefined ? {} : { inboxPrefix: inboxPrefix(name) }),
    ignoreAuthErrorAbort: true,
    waitOnFirstConnect: true,
    timeout: dialTimeoutMs,
    ...lean,
    ...platformReconnect,
    ...(account === 'AUTH' ? calloutReconnect : {}),
    ...(once ? { waitOnFirstConnect: false, reconnect: false } : {}),
  })
}

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

/**
 * Whether a refusal to connect was none of ours: the callout refuses in milliseconds, and the server in its place when
 * it has waited in vain.
 */
export const wasNotJudged = (error: unknown, elapsedMs: number): boolean =>
  error instanceof AuthorizationError && elapsedMs > authTimeoutSeconds * 900
