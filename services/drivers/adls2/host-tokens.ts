import { azureProperties } from '../../../subjects/filesystems/azure-properties.ts'
import { azureTokenProperties } from '../../../subjects/filesystems/azure-token-properties.ts'
import type { FilesystemOptions } from '../../../subjects/filesystems/kinds.ts'
import { notAccepted } from '../../../subjects/kit/errors.ts'
import type { StoreBounds } from '../contract/bounds.ts'
import { readProperties } from '../contract/properties.ts'
import { askHost, hostFailures, readTokenFile, textsOf, variable } from '../host-credentials/ask-host.ts'
import { HostPermission, ownName, type Recipient } from '../host-credentials/permission.ts'
import { tokenIn } from '../http/client-credentials.ts'
import { type Lease, type Renewable, Renewed } from '../http/renewed.ts'
import type { StoreAnswer } from '../http/transport.ts'

/** What tokens are for, in every cloud of Azure's. */
export const storageResource = 'https://storage.azure.com'

/** Tokens of an identity of the host. */
interface HostTokens {
  readonly tokens: Renewable<string>
  readonly permission: HostPermission
}

/**
 * Undefined where a service principal asks by what it was given.
 * @throws GantryError NOT_ACCEPTED for options that do not go together
 */
export function hostTokens(
  options: FilesystemOptions<'adls2-oauth2'>,
  recipients: readonly Recipient[],
  bounds: StoreBounds | undefined,
): HostTokens | undefined {
  const property = readProperties(azureTokenProperties, options.additionalProperties, (name) =>
    Object.hasOwn(azureProperties, name),
  )
  const field = 'fs.azure.account.oauth.provider.type'
  const provider = property(field).replace(/^.*\./, '')
  const [tenant, file] = [
    property('fs.azure.account.oauth2.msi.tenant'),
    property('fs.azure.account.oauth2.token.file'),
  ]
  const isWorkload = provider === 'WorkloadIdentityTokenProvider'
  if (file !== '' && !isWorkload)
    throw notAccepted(
      'additionalProperties.fs.azure.account.oauth2.token.file',
      `is for ${field} WorkloadIdentityTokenProvider: leave it out`,
    )
  if (provider === 'ClientCredsTokenProvider') return undefined
  for (const name of ['oauthClientSecret', 'oauthClientEndpoint'] as const)
    if (options[name] !== undefined)
      throw notAccepted(name, `is for a service principal: leave it out, or ${field}`)
  const wanted = file !== '' ? file : isWorkload ? 'web-identity' : 'instance'
  const { oauthClientId } = options
  const permission = new HostPermission(bounds, [wanted], `additionalProperties.${field}`, recipients, {
    instance: oauthClientId ?? ownName,
    'web-identity': oauthClientId ?? variable('AZURE_CLIENT_ID') ?? '',
  })
  const tokens = new Renewed(() => {
    permission.use()
    return isWorkload ? workloadToken(oauthClientId, tenant, file) : managedToken(oauthClientId)
  })
  return { tokens, permission }
}

const instanceUrl = 'http://169.254.169.254'

/** Of the machine's managed identity, or the app's: the metadata service gives it, or one that the environment names. */
async function managedToken(clientId: string | undefined): Promise<Lease<string>> {
  const [app, header] = [variable('IDENTITY_ENDPOINT'), variable('IDENTITY_HEADER')]
  const isApp = app !== undefined && header !== undefined
  const what = 'managed identity'
  const fix = 'give the machine or app a managed identity, and oauthClientId where it has several'
  const base = variable('AZURE_POD_IDENTITY_AUTHORITY_HOST') ?? instanceUrl
  const url = URL.parse(isApp ? app : '/metadata/identity/oauth2/token', isApp ? undefined : base)
  if (url === null)
    throw hostFailures(fix).failed('refused', what, 'IDENTITY_ENDPOINT of the service is no URL')
  url.searchParams.set('api-version', isApp ? '2019-08-01' : '2018-02-01')
  url.searchParams.set('resource', storageResource)
  if (clientId !== undefined) url.searchParams.set('client_id', clientId)
  const headers = isApp ? { 'x-identity-header': header } : { metadata: 'true' }
  return leaseOf(await askHost({ url, headers, what, fix, code: errorIn }), what, fix)
}

/** By the token that Kubernetes puts into a file: "Microsoft Entra Workload ID". */
async function workloadToken(
  ofOption: string | undefined,
  ofProperty: string,
  path: string,
): Promise<Lease<string>> {
  const what = 'workload identity'
  const fix =
    'check AZURE_CLIENT_ID, AZURE_TENANT_ID and AZURE_FEDERATED_TOKEN_FILE of the service, and the federated credentials of the identity'
  const { failed } = hostFailures(fix)
  const clientId = ofOption ?? variable('AZURE_CLIENT_ID')
  const tenant = ofProperty === '' ? variable('AZURE_TENANT_ID') : ofProperty
  const file = path === '' ? variable('AZURE_FEDERATED_TOKEN_FILE') : path
  if (clientId === undefined || tenant === undefined || file === undefined)
    throw failed('refused', what, 'the environment of the service has none')
  const authority = variable('AZURE_AUTHORITY_HOST') ?? 'https://login.microsoftonline.com'
  const url = URL.parse(`/${encodeURIComponent(tenant)}/oauth2/v2.0/token`, authority)
  if (url === null) throw failed('refused', what, 'AZURE_AUTHORITY_HOST of the service is no URL')
  const answer = await askHost({
    url,
    method: 'POST',
    body: {
      grant_type: 'client_credentials',
      client_id: clientId,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: await readTokenFile(file, 'AZURE_FEDERATED_TOKEN_FILE', fix),
      scope: `${storageResource}/.default`,
    },
    what,
    fix,
    code: errorIn,
  })
  return leaseOf(answer, what, fix)
}

const errorIn = (answer: StoreAnswer): string | undefined =>
  /^\w{1,100}$/.exec(textsOf(answer)['error'] ?? '')?.[0]

function leaseOf(answer: StoreAnswer, what: string, fix: string): Lease<string> {
  const token = tokenIn(answer)
  if (token === undefined) throw hostFailures(fix).failed('refused', what, 'the answer has no token')
  // Apps are told the end alone, in seconds since 1970.
  const { expires_in: seconds, expires_on: ends } = textsOf(answer)
  return seconds === undefined && Number(ends) > 0 ? { ...token, untilMs: 1_000 * Number(ends) } : token
}
