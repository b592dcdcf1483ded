import type { Properties } from './properties.ts'

const KiB = 1024
const MiB = 1024 * KiB

/**
 * The free-form properties that the driver honours, with the names that Hadoop's ABFS connector gave them and whole
 * numbers as text. Any other is refused by name: a setting that does nothing is worse than none. Bounds are inclusive.
 */
export const azureProperties = {
  'fs.azure.account.hns.enabled': {
    meaning:
      'Whether the account has a hierarchical namespace; default: the account is queried, which requires a permission (docs/AZURE.md)',
    values: ['', 'true', 'false'],
    default: '',
  },
  'fs.azure.io.retry.max.retries': {
    meaning: 'Maximum number of retries after throttling, a server error or a network error',
    unit: 'retries',
    default: 4,
    min: 0,
    max: 30,
  },
  'fs.azure.io.retry.min.backoff.interval': {
    meaning:
      'Delay before the first retry; doubled for each further retry, and shortened randomly by up to half',
    unit: 'ms',
    default: 250,
    min: 1,
    max: 60_000,
  },
  'fs.azure.io.retry.max.backoff.interval': {
    meaning: 'Maximum delay between retries, even if the store requests a longer one',
    unit: 'ms',
    default: 8_000,
    min: 1,
    max: 300_000,
  },
  'fs.azure.http.connection.timeout': {
    meaning: 'Timeout for establishing a connection',
    unit: 'ms',
    default: 10_000,
    min: 100,
    max: 300_000,
  },
  'fs.azure.http.read.timeout': {
    meaning: 'Timeout for a request without data sent or received',
    unit: 'ms',
    default: 60_000,
    min: 100,
    max: 600_000,
  },
  'fs.azure.write.request.size': {
    meaning:
      'Maximum size of a file written with one request, and part size of larger files unless that needs too many parts',
    unit: 'bytes',
    default: 8 * MiB,
    min: 16 * KiB,
    max: 100 * MiB,
  },
  'fs.azure.read.request.size': {
    meaning: 'Maximum number of bytes per read request',
    unit: 'bytes',
    default: 16 * MiB,
    min: 16 * KiB,
    max: 100 * MiB,
  },
  'fs.azure.list.max.results': {
    meaning: 'Maximum number of entries per page of a listing',
    unit: 'entries',
    default: 5_000,
    min: 1,
    max: 5_000,
  },
  'fs.azure.concurrentRequestCount.out': {
    meaning: 'Maximum number of concurrent requests and open connections per thread',
    unit: 'requests',
    default: 16,
    min: 1,
    max: 256,
  },
} as const satisfies Properties

/**
 * Properties that people have in their configuration, and that change nothing here: the kind of filesystem, its options and
 * the service decide.
 */
export const azureIneffectiveProperties = [
  'fs.abfs.impl',
  'fs.abfss.impl',
  'fs.AbstractFileSystem.abfs.impl',
  'fs.AbstractFileSystem.abfss.impl',
  'fs.azure.account.auth.type',
  'fs.azure.account.oauth.provider.type',
  'fs.azure.always.use.https',
  'fs.azure.block.location.impersonatedhost',
  'fs.azure.block.upload.active.blocks',
  'fs.azure.block.upload.buffer.dir',
  'fs.azure.buffer.dir',
  'fs.azure.cluster.name',
  'fs.azure.cluster.type',
  'fs.azure.createRemoteFileSystemDuringInitialization',
  'fs.azure.data.blocks.buffer',
  'fs.azure.disable.outputstream.flush',
  'fs.azure.enable.autothrottling',
  'fs.azure.enable.check.access',
  'fs.azure.enable.flush',
  'fs.azure.enable.readahead',
  'fs.azure.enable.conditional.create.overwrite',
  'fs.azure.ignore.authentication.privileges',
  'fs.azure.io.read.tolerate.concurrent.append',
  'fs.azure.read.alwaysReadBufferSize',
  'fs.azure.readahead.range',
  'fs.azure.readaheadqueue.depth',
  'fs.azure.skipUserGroupMetadataDuringInitialization',
  'fs.azure.ssl.channel.mode',
  'fs.azure.use.upn',
  'fs.azure.user.agent.prefix',
  'fs.azure.write.max.concurrent.requests',
  'fs.azure.write.max.requests.to.queue',
  'fs.ignore-authentication-privileges',
]

/** The same for one account: `<name>.<account>.dfs.core.windows.net`. */
const accountFamilies = [
  'fs\\.azure\\.account\\.(?:auth\\.type|oauth\\.provider\\.type)\\.[a-z0-9]{3,24}(?:\\.[a-z0-9.-]{1,200})?',
]

/** Properties of Hadoop that hold or name credentials, also for one account, and the option that takes their place: secrets are sealed in options alone. */
export const azureCredentialProperties: Readonly<Record<string, string>> = {
  'fs.azure.account.key': 'sharedKey (adls2/shared-key)',
  'fs.azure.account.keyprovider': 'sharedKey (adls2/shared-key)',
  'fs.azure.shellkeyprovider.script': 'sharedKey (adls2/shared-key)',
  'fs.azure.account.oauth2.client.id': 'oauthClientId (adls2/oauth2)',
  'fs.azure.account.oauth2.client.secret': 'oauthClientSecret (adls2/oauth2)',
  'fs.azure.account.oauth2.client.endpoint': 'oauthClientEndpoint (adls2/oauth2)',
  'fs.azure.account.oauth2.user.name':
    'oauthClientId and oauthClientSecret (adls2/oauth2); signing in as a user is not supported',
  'fs.azure.account.oauth2.user.password':
    'oauthClientId and oauthClientSecret (adls2/oauth2); signing in as a user is not supported',
  'fs.azure.account.oauth2.refresh.token':
    'oauthClientId and oauthClientSecret (adls2/oauth2); signing in as a user is not supported',
  'fs.azure.account.oauth2.refresh.token.endpoint': 'oauthClientEndpoint (adls2/oauth2)',
  'fs.azure.sas.fixed.token': 'sasToken (adls2/sas)',
  'fs.azure.sas.token.provider.type': 'sasToken (adls2/sas)',
  'fs.azure.client-provided-encryption-key':
    'none: customer-provided keys are not supported, use keys of the account',
  'fs.azure.encryption.encoded.client-provided-key':
    'none: customer-provided keys are not supported, use keys of the account',
}

/** Names that have the name of an account in them, and those of credentials, which the driver refuses with the option to use. */
export const azurePropertyFamilies = [
  ...accountFamilies,
  ...Object.keys(azureCredentialProperties).map(
    (name) => `${name.replaceAll('.', '\\.')}(?:\\.[A-Za-z0-9.-]{1,250})?`,
  ),
]

/** Where one of these names is given, alone or with an account behind it: what to use instead. */
export function azureCredentialOption(name: string): string | undefined {
  const known = Object.entries(azureCredentialProperties)
    .filter(([property]) => name === property || name.startsWith(`${property}.`))
    .toSorted(([a], [b]) => b.length - a.length)
  return known[0]?.[1]
}
