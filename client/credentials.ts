import type { ConnectionOptions } from '@nats-io/nats-core'
import { GantryError } from '../subjects/kit/errors.ts'
import { inboxPrefix } from '../subjects/kit/names.ts'
import { parseToken, type TokenLocation } from '../subjects/access/token.ts'

/** Clients come back whenever the broker does; an extension in time to be registered again within five seconds. */
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
      'the token passed as an option or in GANTRY_TOKEN is not an API token of a Gantry platform: use the complete token that "gantry keys create" printed',
    )
  const { keyId, location } = parsed
  return {
    location,
    // While the platform starts, nobody is there to say that a token is right.
    options: { token, inboxPrefix: inboxPrefix(keyId), ignoreAuthErrorAbort: true, ...reconnect },
  }
}
