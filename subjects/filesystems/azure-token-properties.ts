import type { Properties } from './properties.ts'

/** Properties of who asks for tokens, with the names that Hadoop's ABFS connector gave them. */
export const azureTokenProperties = {
  'fs.azure.account.oauth.provider.type': {
    meaning:
      'Identity that requests tokens: a service principal (ClientCredsTokenProvider), the managed identity of the machine or app (MsiTokenProvider), or the workload identity of the pod (WorkloadIdentityTokenProvider)',
    pattern:
      '^(?:org\\.apache\\.hadoop\\.fs\\.azurebfs\\.oauth2\\.)?(?:ClientCreds|Msi|WorkloadIdentity)TokenProvider$',
    means: 'ClientCredsTokenProvider, MsiTokenProvider or WorkloadIdentityTokenProvider',
    default: 'ClientCredsTokenProvider',
  },
  'fs.azure.account.oauth2.msi.tenant': {
    meaning:
      'Tenant of a workload identity; default: AZURE_TENANT_ID of the service. Not used for managed identities',
    pattern: '^[A-Za-z0-9.-]{1,100}$',
    means: 'the id or domain of a tenant',
    default: '',
  },
  'fs.azure.account.oauth2.token.file': {
    meaning:
      'Token file of a workload identity on the host; must be listed in the setting hostCredentials. Default: AZURE_FEDERATED_TOKEN_FILE of the service',
    pattern: '^/.{1,999}$',
    means: 'an absolute path',
    default: '',
  },
} as const satisfies Properties
