import * as client from 'openid-client'
import { GantryError } from '../../../subjects/kit/errors.ts'
import { challengeOf } from './code-flow.ts'
import type { DeviceFlow } from './flow.ts'
import type { IdentityProvider } from './identity-provider.ts'
import { ofProvider, personOfTokens, type VerifiedIdentity } from '../verified-identity.ts'

const grantType = 'urn:ietf:params:oauth:grant-type:device_code'
/** What a provider means that does not say how often it may be asked, and by how much it means less often (RFC 8628). */
const defaultIntervalSeconds = 5
const slowerBySeconds = 5

/** What a person is shown, and what only whoever began may know. */
export interface DeviceBegun {
  readonly userCode: string
  readonly verificationUri: string
  readonly verificationUriComplete: string | undefined
  readonly secrets: DeviceFlow
}

/** @throws GantryError UNAVAILABLE, UNSUPPORTED; Refused, Unreachable */
export async function beginDevice(provider: IdentityProvider): Promise<DeviceBegun> {
  const { cli } = (await provider.now()).clients
  if (cli.serverMetadata().device_authorization_endpoint === undefined) {
    throw new GantryError(
      'UNSUPPORTED',
      'the identity provider does not support device codes; sign in with a browser on this host',
    )
  }
  const verifier = client.randomPKCECodeVerifier()
  const asked = { scope: provider.config.scopes, ...(await challengeOf(verifier)) }
  const begun = await ofProvider('a device code', () => client.initiateDeviceAuthorization(cli, asked))
  return {
    userCode: begun.user_code,
    verificationUri: begun.verification_uri,
    verificationUriComplete: begun.verification_uri_complete,
    secrets: {
      deviceCode: begun.device_code,
      verifier,
      intervalSeconds: begun.interval ?? defaultIntervalSeconds,
      expires: Date.now() + begun.expires_in * 1_000,
    },
  }
}

/**
 * Whom the provider vouches for by now, or how many seconds to wait before it is asked again.
 * @throws GantryError UNAVAILABLE; Refused, Unreachable
 */
export async function pollDevice(
  provider: IdentityProvider,
  { deviceCode, verifier, intervalSeconds }: DeviceFlow,
): Promise<VerifiedIdentity | number> {
  const discovered = await provider.known()
  const { cli } = discovered.clients
  const answer = await ofProvider('its answer to the device code', async () => {
    try {
      return await client.genericGrantRequest(cli, grantType, {
        device_code: deviceCode,
        // Where a client must use PKCE, some providers mean device codes as well.
        code_verifier: verifier,
      })
    } catch (error) {
      const code = error instanceof client.ResponseBodyError ? error.error : undefined
      if (code === 'authorization_pending') return intervalSeconds
      if (code === 'slow_down') return intervalSeconds + slowerBySeconds
      throw error
    }
  })
  return typeof answer === 'number' ? answer : personOfTokens(provider, discovered, 'cli', answer)
}
