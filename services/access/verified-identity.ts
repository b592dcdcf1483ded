import * as client from 'openid-client'
import { type Claims, groupsIn, personOf } from './sign-in/claims.ts'
import type { ClientKind, Discovered, IdentityProvider } from './sign-in/identity-provider.ts'
import { type TokenRules, verifySigned, verifyToken } from './sign-in/oidc-token.ts'
import { maxIdTokenHintLength, maxRefreshTokenLength } from './keys/keys.ts'
import type { Person } from './roles/people.ts'
import { Refused, Unreachable } from './refused.ts'

/** What the provider gives out for a code, or for a refresh token. */
export type Tokens = Awaited<ReturnType<typeof client.authorizationCodeGrant>>

export const rulesOf = ({ config }: IdentityProvider, { issuer, keys }: Discovered): TokenRules => ({
  config,
  issuer,
  keys,
})

/** What the provider can be asked with later whether it still vouches for somebody. */
export interface Grant {
  readonly client: ClientKind
  readonly refreshToken: string
  /** Milliseconds since 1970, if the provider says so. */
  readonly until: number | undefined
}

export interface VerifiedIdentity {
  readonly person: Person
  /** undefined when the provider gives none out. */
  readonly grant: Grant | undefined
  /** Of a page: what tells the provider at the end whose session is to end there. */
  readonly idToken?: string
}

/** The grant in an answer of the provider. */
export function grantOf(kind: ClientKind, tokens: Tokens): Grant | undefined {
  // No standard has it; Keycloak and others say so, with 0 for a token without end.
  const seconds = Number(tokens['refresh_expires_in'] ?? 0)
  const until = seconds > 0 ? Date.now() + seconds * 1_000 : undefined
  const { refresh_token: refreshToken } = tokens
  if (refreshToken === undefined || refreshToken.length > maxRefreshTokenLength) return undefined
  return { client: kind, refreshToken, until }
}

/** Whom the provider has vouched for with these tokens. @throws Refused, Unreachable */
export async function personOfTokens(
  provider: IdentityProvider,
  discovered: Discovered,
  kind: ClientKind,
  tokens: Tokens,
): Promise<VerifiedIdentity> {
  const rules = rulesOf(provider, discovered)
  const configured = discovered.clients[kind]
  const { groupsClaim } = provider.config
  if (tokens.id_token === undefined) throw new Refused('there is no ID token: add openid to oidc.scopes')
  // The package trusts the connection that an ID token came over; we verify its signature too.
  const identity = await verifyToken(tokens.id_token, rules)
  const sources: Claims[] = [identity]
  const hasGroups = () => sources.some((claims) => groupsIn(claims, groupsClaim) !== undefined)
  if (!hasGroups()) sources.push(...(await accessClaims(tokens.access_token, rules, identity.sub)))
  if (!hasGroups() && configured.serverMetadata().userinfo_endpoint !== undefined) {
    sources.push(
      await ofProvider('the user info', () =>
        client.fetchUserInfo(configured, tokens.access_token, identity.sub),
      ),
    )
  }
  return {
    person: personOf(identity.sub, sources, groupsClaim),
    grant: grantOf(kind, tokens),
    ...(kind === 'ui' && tokens.id_token.length <= maxIdTokenHintLength ? { idToken: tokens.id_token } : {}),
  }
}

/** What the access token says, when it is one that can be read: it came from the provider with the ID token. */
export async function accessClaims(token: string, rules: TokenRules, subject: string): Promise<Claims[]> {
  try {
    const claims = await verifySigned(token, rules)
    return claims.sub === subject ? [claims] : []
  } catch (error) {
    // To us an access token may be any text.
    if (error instanceof Refused) return []
    throw error
  }
}

/**
 * @param isRefusal whether an answer of the provider that is none of success is its last word
 * @throws Refused when the provider refuses or its answer is wrong, Unreachable when it does not answer
 */
export async function ofProvider<T>(
  what: string,
  ask: () => Promise<T>,
  isRefusal: (error: Error) => boolean = () => true,
): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (!isAnswer(error)) throw new Unreachable(what, error)
    const reason = reasonOf(error)
    throw isRefusal(error) ? new Refused(reason) : new Unreachable(what, new Error(reason))
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
