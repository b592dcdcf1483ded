import type { Static, TObject } from 'typebox'
import type { HostIdentity } from '../../../subjects/filesystems/host-identities.ts'
import type {
  awsCredentialsOptions,
  awsCredentialsProviders,
} from '../../../subjects/filesystems/aws-credentials.ts'
import { notAccepted } from '../../../subjects/kit/errors.ts'
import type { StoreBounds } from '../contract/bounds.ts'
import { HostPermission, type Recipient } from '../host-credentials/permission.ts'
import type { Renewable } from '../http/renewed.ts'
import { type AwsCredentials, hostCredentials, identityNames } from './host-credentials.ts'

type Options = Static<TObject<ReturnType<typeof awsCredentialsOptions>>>
type ProviderName = (typeof awsCredentialsProviders)[number]

/** Who signs requests, and whether he may where that depends on the host. */
export interface Credentials {
  /** Undefined for requests that nobody signs. */
  readonly source: Renewable<AwsCredentials> | undefined
  readonly permission?: HostPermission
}

/** In Amazon's order: "Default credentials provider chain". */
const everywhere = ['environment', 'web-identity', 'profile', 'container', 'instance'] as const

/** What providers that are of the host look for. */
const identitiesOf: Readonly<Partial<Record<ProviderName, readonly HostIdentity[]>>> = {
  DefaultAWSCredentialsProviderChain: everywhere,
  DefaultCredentialsProvider: everywhere,
  EnvironmentVariableCredentialsProvider: ['environment'],
  WebIdentityTokenCredentialsProvider: ['web-identity'],
  WebIdentityTokenFileCredentialsProvider: ['web-identity'],
  ProfileCredentialsProvider: ['profile'],
  ProfileAWSCredentialsProvider: ['profile'],
  ContainerCredentialsProvider: ['container'],
  EC2ContainerCredentialsProviderWrapper: ['container', 'instance'],
  IAMInstanceCredentialsProvider: ['container', 'instance'],
  InstanceProfileCredentialsProvider: ['instance'],
}

/**
 * Throws GantryError NOT_ACCEPTED that names what is missing, or does not go together.
 * @param without what to do without accessKey
 */
export function credentialsOf(
  options: Options,
  recipients: readonly Recipient[],
  region: string,
  bounds: StoreBounds | undefined,
  without: string,
): Credentials {
  const { credentialsProvider, accessKey, secretKey, sessionToken, awsProfile, awsCredentialsConfigFile } =
    options
  const provider = credentialsProvider?.replace(/^.*\./, '') as ProviderName | undefined
  const identities = provider && identitiesOf[provider]
  const refuse = (given: Readonly<Record<string, unknown>>) => {
    const [name] = Object.entries(given).find(([, value]) => value !== undefined) ?? []
    if (name !== undefined) throw notAccepted(name, 'is for another credentialsProvider: leave it out')
  }
  if (identities?.includes('profile') !== true) refuse({ awsProfile })
  if (identities?.length !== 1) refuse({ awsCredentialsConfigFile })
  if (identities !== undefined) {
    refuse({ accessKey, secretKey, sessionToken })
    const profileFile = awsCredentialsConfigFile
    const wanted = profileFile === undefined ? identities : [profileFile]
    const field = profileFile === undefined ? 'credentialsProvider' : 'awsCredentialsConfigFile'
    const choice = { identities, profile: awsProfile, profileFile, region }
    const permission = new HostPermission(bounds, wanted, field, recipients, identityNames(choice))
    return { source: hostCredentials(choice, permission), permission }
  }
  const isAnonymous = provider === 'AnonymousAWSCredentialsProvider'
  if (isAnonymous || (provider === undefined && accessKey === undefined && secretKey === undefined)) {
    if (isAnonymous) refuse({ accessKey, secretKey, sessionToken })
    else throw notAccepted('accessKey', `is missing; ${without}`)
    return { source: undefined }
  }
  if (accessKey === undefined) throw notAccepted('accessKey', 'is missing')
  if (secretKey === undefined) throw notAccepted('secretKey', 'is missing')
  if (provider === 'TemporaryAWSCredentialsProvider' && sessionToken === undefined)
    throw notAccepted('sessionToken', 'is missing: temporary credentials have one')
  return { source: staticCredentials({ accessKey, secretKey, sessionToken }) }
}

/** Those that are given hold as long as the filesystem. */
const staticCredentials = (credentials: AwsCredentials): Renewable<AwsCredentials> => ({
  get: () => Promise.resolve(credentials),
})
