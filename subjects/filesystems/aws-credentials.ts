import { Type } from 'typebox'
import { form } from '../kit/forms.ts'
import { maxPathLength } from '../kit/schemas.ts'

/** By the names of the classes that Hadoop, and Amazon's SDKs for Java 1 and 2, have for them. */
export const awsCredentialsProviders = [
  'SimpleAWSCredentialsProvider',
  'TemporaryAWSCredentialsProvider',
  'AnonymousAWSCredentialsProvider',
  'DefaultAWSCredentialsProviderChain',
  'DefaultCredentialsProvider',
  'EnvironmentVariableCredentialsProvider',
  'WebIdentityTokenCredentialsProvider',
  'WebIdentityTokenFileCredentialsProvider',
  'ProfileCredentialsProvider',
  'ProfileAWSCredentialsProvider',
  'ContainerCredentialsProvider',
  'EC2ContainerCredentialsProviderWrapper',
  'IAMInstanceCredentialsProvider',
  'InstanceProfileCredentialsProvider',
] as const

const packages = [
  'org.apache.hadoop.fs.s3a.',
  'org.apache.hadoop.fs.s3a.auth.',
  'com.amazonaws.auth.',
  'com.amazonaws.auth.profile.',
  'software.amazon.awssdk.auth.credentials.',
].map((name) => name.replaceAll('.', '\\.'))

/**
 * Options that say who signs requests to a service of Amazon's, or one that speaks its protocol.
 * @param from where credentials are from, for people
 */
export const awsCredentialsOptions = ({
  providers,
  from,
}: {
  readonly providers: readonly string[]
  readonly from: string
}) => ({
  credentialsProvider: Type.Optional(
    Type.String({
      ...form(`^(?:${packages.join('|')})?(?:${providers.join('|')})$`, `one of ${providers.join(', ')}`),
      description: `Source of the credentials: ${from}`,
    }),
  ),
  awsProfile: Type.Optional(
    Type.String({
      ...form('^[A-Za-z0-9_./:@+=-]{1,128}$', '1 to 128 letters, digits and any of _./:@+=-'),
      description: 'Profile with the credentials, for ProfileCredentialsProvider; default: default',
    }),
  ),
  awsCredentialsConfigFile: Type.Optional(
    Type.String({
      maxLength: maxPathLength,
      ...form('^/.+$', 'an absolute path'),
      description:
        'File with the profile on the host, for ProfileCredentialsProvider; must be listed in the setting hostCredentials. Default: the file of the user that runs the service',
    }),
  ),
  accessKey: Type.Optional(
    Type.String({
      ...form('^[!-.0-~]{3,128}$', '3 to 128 characters without spaces and slashes'),
      description: 'Access key id',
    }),
  ),
  secretKey: Type.Optional(
    Type.String({
      ...form('^[!-~]{3,256}$', '3 to 256 characters without spaces'),
      description: 'Secret access key',
    }),
  ),
  sessionToken: Type.Optional(
    Type.String({
      ...form('^[!-~]{1,4096}$', 'up to 4,096 characters without spaces'),
      description: 'Session token of temporary credentials',
    }),
  ),
})

/** Of these options those that are sealed at rest and masked in replies. */
export const awsSecrets = ['secretKey', 'sessionToken'] as const
