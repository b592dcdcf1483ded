import { createRemoteJWKSet, decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose'
import type { OidcConfig } from '../../../config/platform.ts'
import { Refused, Unreachable } from '../refused.ts'

/** Signatures that only the provider can make. With HS256 whoever knows a client's secret could. */
const algorithms = ['RS256', 'ES256', 'EdDSA']

/** What an ID token or access token is said to be. Others of the provider, such as those that tell of a sign-out, let nobody in. */
const types = new Set([undefined, 'jwt', 'at+jwt', 'application/at+jwt'])

/** The provider's keys are fetched again when one is unknown, but a caller of made-up keys does not make us ask all the time. */
const keysCooldownMs = 2_000
const keysTimeoutMs = 4_000

export type Claims = JWTPayload & { readonly sub: string }

export interface TokenRules {
  readonly config: Pick<OidcConfig, 'clientId' | 'uiClientId' | 'clockSkewSeconds'>
  readonly issuer: string
  readonly keys: ProviderKeys
}

export type ProviderKeys = ReturnType<typeof providerKeys>

export const providerKeys = (url: string) =>
  createRemoteJWKSet(new URL(url), { cooldownDuration: keysCooldownMs, timeoutDuration: keysTimeoutMs })

/**
 * The claims of a token that the provider has signed for one of our client ids and that is valid now.
 * @throws Refused with the reason, for the log alone
 * @throws Unreachable when the provider's keys cannot be had
 */
export async function verifyToken(token: string, rules: TokenRules): Promise<Claims> {
  const { clientId, uiClientId } = rules.config
  const ours = [clientId, uiClientId]
  const claims = await verifySigned(token, rules, ours)
  const { azp } = claims
  if (azp !== undefined && !ours.includes(azp as string)) throw new Refused('it was issued to another client')
  // Whoever holds such a token must prove more than that; we cannot ask for the proof.
  if (claims['cnf'] !== undefined) throw new Refused('it is bound to a key (cnf), which is not supported')
  if (claims['events'] !== undefined) throw new Refused('it reports events and is not a sign-in token')
  return claims
}

/** The same for a token that came from the provider itself: whom else it is for does not matter. */
export async function verifySigned(
  token: string,
  { config, issuer, keys }: TokenRules,
  audience?: string[],
): Promise<Claims> {
  try {
    const { typ } = decodeProtectedHeader(token)
    if (!types.has(typ?.toLowerCase())) throw new Refused(`its type is ${JSON.stringify(typ)}`)
    const { payload } = await jwtVerify(token, keys, {
      algorithms,
      issuer,
      clockTolerance: config.clockSkewSeconds,
      requiredClaims: ['sub', 'exp', 'iat'],
      ...(audience === undefined ? {} : { audience }),
    })
    if (typeof payload.sub !== 'string') throw new Refused('its subject is not a string')
    return payload as Claims
  } catch (error) {
    if (error instanceof Refused) throw error
    throw isAbout(error) ? new Refused((error as Error).message) : new Unreachable('its keys', error)
  }
}

/** Whether it is the token that is wrong; anything else befell us when we asked for the keys. */
const isAbout = (error: unknown): boolean =>
  (error instanceof errors.JOSEError &&
    !(error instanceof errors.JWKSTimeout) &&
    error.code !== 'ERR_JOSE_GENERIC' &&
    error.code !== 'ERR_JWKS_INVALID') ||
  // A header that is no text at all.
  (error instanceof TypeError && error.message === 'Invalid Token or Protected Header formatting')
