import type { ConnectionOptions } from '@nats-io/nats-core'
import { GantryError } from '../subjects/kit/errors.ts'
import { inboxPrefix } from '../subjects/kit/names.ts'
import { parseToken, type TokenLocation } from '../subjects/access/token.ts'
import type { ExtensionOptions } from './extension.ts'

export interface ConnectOptions extends ExtensionOptions {
  /** API token; in Node by default that of GANTRY_TOKEN. */
  readonly token?: string
  /** Address of the broker; in Node by default the one in the token. */
  readonly servers?: string | string[]
}

/** An extension comes back whenever the broker does, in time to be registered again within five seconds. */
const reconnect = { maxReconnectAttempts: -1, reconnectTimeWait: 500, reconnectJitter: 500 } as const

/** What a connection is made with. @throws GantryError UNAUTHENTICATED without a token that can be one */
export function connectionOptions(token: string | undefined): {
  readonly location: TokenLocation
  readonly options: ConnectionOptions
} {
  if (token === undefined || token === '')
    throw new GantryError('UNAUTHENTICATED', 'set GANTRY_TOKEN to an API token, or pass it as token')
  const parsed = parseToken(token)
  if (parsed === undefined)
    throw new GantryError(
      'UNAUTHENTICATED',
      'what was passed as token, or is in GANTRY_TOKEN, is no API token of a Gantry platform: give all of what "gantry keys create" printed',
    )
  const { keyId, location } = parsed
  return {
    location,
    // While the platform starts, nobody is there to say that a token is right.
    options: { token, inboxPrefix: inboxPrefix(keyId), ignoreAuthErrorAbort: true, ...reconnect },
  }
}
