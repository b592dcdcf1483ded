import type { Properties } from './properties.ts'

/** Properties of who asks for tokens, with the names that Hadoop's ABFS connector gave them. */
export const azureTokenProperties = {
  'fs.azure.account.oauth.provider.type': {
    meaning:
      'Who asks: a service principal (ClientCredsTokenProvider), the managed identity of the machine or app (MsiTokenProvider), or the workload identity of the pod (WorkloadIdentityTokenProvider)',
    pattern:
      '^(?:org\\.apache\\.hadoop\\.fs\\.azurebfs\\.oauth2\\.)?(?:ClientCreds|Msi|WorkloadIdentity)TokenProvider$',
    means: 'ClientCredsTokenProvider, MsiTokenProvider or WorkloadIdentityTokenProvider',
    default: 'ClientCredsTokenProvider',
  },
  'fs.azure.account.oauth2.msi.tenant': {
    meaning:
      'Tenant of a workload identity; default that of the service (AZURE_TENANT_ID). A managed identity has its own',
    pattern: '^[A-Za-z0-9.-]{1,100}$',
    means: 'the id or domain of a tenant',
    default: '',
  },
  'fs.azure.account.oauth2.token.file': {
    meaning:
      'File of the host with the token of a workload identity, which the setting hostCredentials names; default that of the service (AZURE_FEDERATED_TOKEN_FILE)',
    pattern: '^/.{1,999}$',
    means: 'an absolute path',
    default: '',
  },
} as const satisfies Properties
