import * as client from 'openid-client'
import { type Claims, groupsIn, personOf } from './claims.ts'
import type { Flow } from './flow.ts'
import type { ClientKind, Discovered, IdentityProvider } from './identity-provider.ts'
import { type TokenRules, verifySigned, verifyToken } from './oidc-token.ts'
import type { Person } from './people.ts'
import { Refused, Unreachable } from './refused.ts'

/** Where to send the browser, and what only whoever began may know. @throws GantryError UNAVAILABLE */
export async function beginCode(
  provider: IdentityProvider,
  kind: ClientKind,
  redirectUri: string,
): Promise<{ authorizationUrl: string } & Pick<Flow, 'verifier' | 'state' | 'nonce'>> {
  const { clients } = await provider.now()
  const verifier = client.randomPKCECodeVerifier()
  const state = client.randomState()
  const nonce = client.randomNonce()
  const url = client.buildAuthorizationUrl(clients[kind], {
    redirect_uri: redirectUri,
    scope: provider.config.scopes,
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
    nonce,
  })
  return { authorizationUrl: url.href, verifier, state, nonce }
}

/**
 * Whom the provider has vouched for with this callback.
 * @throws Refused, Unreachable, GantryError UNAVAILABLE
 */
export async function completeCode(
  provider: IdentityProvider,
  { client: kind, redirectUri, verifier, state, nonce }: Flow,
  callback: string,
): Promise<Person> {
  const discovered = await provider.known()
  const configured = discovered.clients[kind]
  const url = new URL(redirectUri)
  url.search = callback
  const tokens = await ofProvider('its answer to the code', () =>
    client.authorizationCodeGrant(configured, url, {
      pkceCodeVerifier: verifier,
      expectedState: state,
      expectedNonce: nonce,
      idTokenExpected: true,
    }),
  )
  const rules = rulesOf(provider, discovered)
  const { groupsClaim } = provider.config
  // The package trusts the connection that an ID token came over; we verify its signature too.
  const identity = await verifyToken(tokens.id_token!, rules)
  const sources: Claims[] = [identity]
  const hasGroups = () => sources.some((claims) => groupsIn(claims, groupsClaim) !== undefined)
  if (!hasGroups()) sources.push(...(await accessClaims(tokens.access_token, rules, identity.sub)))
  if (!hasGroups() && configured.serverMetadata().userinfo_endpoint !== undefined) {
    sources.push(
      await ofProvider('what it knows of the person', () =>
        client.fetchUserInfo(configured, tokens.access_token, identity.sub),
      ),
    )
  }
  return personOf(identity.sub, sources, groupsClaim)
}

/** Whom the holder of a token is, by the token alone. @throws Refused, Unreachable, GantryError UNAVAILABLE */
export async function exchangeToken(provider: IdentityProvider, token: string): Promise<Person> {
  const claims = await verifyToken(token, rulesOf(provider, await provider.known()))
  return personOf(claims.sub, [claims], provider.config.groupsClaim)
}

/** Page of the provider that ends the session there; undefined when it has none, or has not been asked yet. */
export function endSessionUrl({ lastKnown }: IdentityProvider): string | undefined {
  const configured = lastKnown?.clients.ui
  if (configured?.serverMetadata().end_session_endpoint === undefined) return undefined
  return client.buildEndSessionUrl(configured).href
}

const rulesOf = ({ config }: IdentityProvider, { issuer, keys }: Discovered): TokenRules => ({
  config,
  issuer,
  keys,
})

/** What the access token says, when it is one that can be read: it came from the provider with the ID token. */
async function accessClaims(token: string, rules: TokenRules, subject: string): Promise<Claims[]> {
  try {
    const claims = await verifySigned(token, rules)
    return claims.sub === subject ? [claims] : []
  } catch (error) {
    // To us an access token may be any text.
    if (error instanceof Refused) return []
    throw error
  }
}

/** @throws Refused when the provider refuses or its answer is wrong, Unreachable when it does not answer */
async function ofProvider<T>(what: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    throw isAnswer(error) ? new Refused(reasonOf(error)) : new Unreachable(what, error)
  }
}

function isAnswer(error: unknown): error is Error {
  if (error instanceof client.AuthorizationResponseError) return true
  if (error instanceof client.ResponseBodyError) return error.status < 500
  if (!(error instanceof client.ClientError)) return false
  return error.code !== 'OAUTH_TIMEOUT' && !(error.cause instanceof Response && error.cause.status >= 500)
}

/** The messages of the error and of its causes, and the provider's own words; the rest of its answer may hold secrets. */
function reasonOf(error: Error): string {
  const { error: code = '', error_description: description = '' } = error as {
    error?: string
    error_description?: string
  }
  const cause = error.cause instanceof Error ? reasonOf(error.cause) : ''
  return [error.message, code, description, cause].filter((part) => part !== '').join(': ')
}
