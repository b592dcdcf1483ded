import * as client from 'openid-client'
import { personOf } from './claims.ts'
import type { Flow } from './flow.ts'
import type { ClientKind, IdentityProvider } from './identity-provider.ts'
import { verifyToken } from './oidc-token.ts'
import { ofProvider, personOfTokens, rulesOf, type VerifiedIdentity } from '../verified-identity.ts'

/** PKCE: what shows the provider later that whoever has the verifier began. */
export const challengeOf = async (verifier: string) => ({
  code_challenge: await client.calculatePKCECodeChallenge(verifier),
  code_challenge_method: 'S256',
})

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
    ...(await challengeOf(verifier)),
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
): Promise<VerifiedIdentity> {
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
  return personOfTokens(provider, discovered, kind, tokens)
}

/** Whom the holder of a token is, by the token alone. @throws Refused, Unreachable, GantryError UNAVAILABLE */
export async function exchangeToken(provider: IdentityProvider, token: string): Promise<VerifiedIdentity> {
  const claims = await verifyToken(token, rulesOf(provider, await provider.known()))
  return { person: personOf(claims.sub, [claims], provider.config.groupsClaim), grant: undefined }
}

/**
 * Page of the provider that ends the session there; undefined when it has none, or has not been asked yet.
 * @param idToken some providers end none without, others ask the person first
 */
export function endSessionUrl(
  { lastKnown, config: { postLogoutRedirectUri } }: IdentityProvider,
  idToken: string | undefined,
): string | undefined {
  const configured = lastKnown?.clients.ui
  if (configured?.serverMetadata().end_session_endpoint === undefined) return undefined
  // The development provider comes back, and knows its own tokens only until it is started again.
  if (postLogoutRedirectUri !== undefined)
    return client.buildEndSessionUrl(configured, { post_logout_redirect_uri: postLogoutRedirectUri }).href
  return client.buildEndSessionUrl(configured, idToken === undefined ? {} : { id_token_hint: idToken }).href
}
