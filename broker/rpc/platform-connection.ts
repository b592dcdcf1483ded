import type { ConnectionOptions, NatsConnection } from '@nats-io/transport-node'
import { type AccountName, inboxPrefix } from '../../subjects/kit/names.ts'
import { createKey, type NativeKeyPair } from '../identity/ed25519.ts'
import type { Identity } from '../identity/identity.ts'
import { type Capabilities, userJwt } from '../identity/user-jwt.ts'
import { lean, platformReconnect } from './connection.ts'
import { connect } from './transport.ts'

/** The callout goes first: while it is away, whoever connects waits for the server's patience, and is refused. */
const calloutReconnect = { reconnectTimeWait: 10, reconnectJitter: 0 } as const

/**
 * A connection is made in milliseconds. Where a broker dies in the middle of that, the client notices nothing, and waits for
 * so long before it tries again.
 */
const dialTimeoutMs = 2_000

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
