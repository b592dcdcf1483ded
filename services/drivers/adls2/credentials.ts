import type { FilesystemOptions } from '../../../subjects/filesystems/kinds.ts'
import { notAccepted } from '../../../subjects/kit/errors.ts'
import { SharedAccessSignature } from '../azure-blob/sas.ts'
import { type Authorizer, SharedKeySigner, TokenAuthorizer } from '../azure-blob/signing.ts'
import type { StoreBounds } from '../contract/bounds.ts'
import type { HostPermission, Recipient } from '../host-credentials/permission.ts'
import { ClientTokens, endpointOf } from '../http/client-credentials.ts'
import { StoreAddress } from '../http/store-address.ts'
import type { TransportLimits } from '../http/transport.ts'
import { proofOf } from './client-proof.ts'
import { hostTokens, storageResource } from './host-tokens.ts'

type Options = FilesystemOptions<'adls2-shared-key' | 'adls2-oauth2' | 'adls2-sas'>

export interface Credentials {
  /** Each is closed by whoever has it. */
  readonly authorizer: () => Authorizer
  /** The signature, where there is one. */
  readonly sas?: SharedAccessSignature
  /** Of those of the host. */
  readonly permission?: HostPermission
  /** Of whoever gives tokens. */
  readonly address?: { readonly address: StoreAddress; readonly field: string }
}

const missing =
  'is missing: give id, secret and endpoint of a service principal, or another fs.azure.account.oauth.provider.type'

/**
 * Throws GantryError NOT_ACCEPTED for an address that would get the secret in the clear, and for what is missing.
 * @param recipients whom tokens are sent to
 */
export function credentialsOf(
  options: Options,
  recipients: readonly Recipient[],
  limits: TransportLimits,
  bounds: StoreBounds | undefined,
): Credentials {
  if ('sharedKey' in options) {
    const signer = new SharedKeySigner(options.accountName, options.sharedKey)
    return { authorizer: () => signer }
  }
  if ('sasToken' in options) {
    const { sasToken, directory = '', insecure = false } = options
    const sas = new SharedAccessSignature(sasToken, { directory, insecure })
    return { authorizer: () => sas, sas }
  }
  const host = hostTokens(options, recipients, bounds)
  if (host !== undefined) {
    const { tokens, permission } = host
    return { authorizer: () => new TokenAuthorizer(tokens), permission }
  }
  const { oauthClientId, oauthClientEndpoint } = options
  if (oauthClientId === undefined) throw notAccepted('oauthClientId', missing)
  if (oauthClientEndpoint === undefined) throw notAccepted('oauthClientEndpoint', missing)
  const field = 'oauthClientEndpoint'
  const endpoint = new URL(oauthClientEndpoint)
  if (endpoint.protocol !== 'https:' && options.insecure !== true)
    throw notAccepted(field, 'is not https: the secret would be sent in the clear')
  const address = bounds && new StoreAddress(endpointOf(endpoint), bounds)
  const credentials = {
    endpoint,
    clientId: oauthClientId,
    proof: proofOf({ ...options, oauthClientId, oauthClientEndpoint }),
    // The two versions of Microsoft's endpoint have their own word for what a token is for.
    fields: endpoint.pathname.includes('/v2.0/')
      ? { scope: `${storageResource}/.default` }
      : { resource: storageResource },
  }
  return {
    authorizer: () => new TokenAuthorizer(new ClientTokens(credentials, limits, address)),
    ...(address !== undefined && { address: { address, field } }),
  }
}
