import { Type } from 'typebox'
import { kerberosOptions } from './kerberos.ts'
import { awsCredentialsOptions, awsCredentialsProviders } from './aws-credentials.ts'
import { azureIneffectiveProperties, azureProperties, azurePropertyFamilies } from './azure-properties.ts'
import { azureTokenProperties } from './azure-token-properties.ts'
import { gcsIneffectiveProperties, gcsProperties } from './gcs-properties.ts'
import { hdfsIneffectiveProperties, hdfsProperties, hdfsPropertyFamilies } from './hdfs-properties.ts'
import { propertiesOption } from './properties.ts'
import { s3IneffectiveProperties, s3Properties } from './s3-properties.ts'
import { form, portPattern } from '../kit/forms.ts'
import { GivenPath, strict } from '../kit/schemas.ts'

/** Kinds of services that speak S3's protocol; `services/drivers/s3a/providers.ts` says what is special about each. */
export const s3Types = [
  'AWS',
  'CEPH',
  'GCS',
  'IBM_COS',
  'MINIO',
  'ORACLE',
  'OSS',
  'R2',
  'SEAWEEDFS',
  'WASABI',
  'S3_COMPATIBLE',
] as const

/** Options that all ways to Azure have. */
const azure = {
  /** What tells live migrations of changes: one of them. */
  tellsOfChanges: ['eventQueue', 'changeFeed'],
  accountName: Type.String({
    ...form('^[a-z0-9]{3,24}$', '3 to 24 lowercase letters and digits'),
    description: 'Storage account name',
  }),
  container: {
    containerName: Type.String({
      ...form(
        '^(?:\\$root|\\$web|[a-z0-9](?:-?[a-z0-9]){2,62})$',
        '3 to 63 lowercase letters, digits and single hyphens between them, or $root or $web',
      ),
      description: 'Container (file system) name',
    }),
    endpoint: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 300,
        ...form(
          `^[A-Za-z0-9.-]+(?::${portPattern})?$`,
          'a host name, optionally with a port from 1 to 65535, such as gateway.example:8443',
        ),
        description: 'Host name of the storage endpoint; default: dfs.core.windows.net',
      }),
    ),
    insecure: Type.Optional(Type.Boolean({ description: 'Use plain HTTP instead of TLS; default: false' })),
    eventQueue: Type.Optional(
      Type.String({
        maxLength: 500,
        ...form(
          `^(?:https?://[A-Za-z0-9.-]+(?::${portPattern})?/(?:[a-z0-9]{3,24}/)?)?[a-z0-9](?:-?[a-z0-9]){2,62}$`,
          'the name of a queue in the same account, or the URL of a queue, such as https://lake.queue.core.windows.net/changes',
        ),
        description:
          'Queue that receives the Event Grid events of the container, used to detect changes for live migrations (docs/AZURE.md)',
      }),
    ),
    changeFeed: Type.Optional(
      Type.Boolean({
        description:
          'Live migrations detect changes with the blob change feed of the account, instead of eventQueue (docs/AZURE.md); default: false',
      }),
    ),
    additionalProperties: propertiesOption(azureProperties, {
      ineffective: azureIneffectiveProperties,
      families: azurePropertyFamilies,
      guide: 'docs/AZURE.md',
    }),
  },
}

/**
 * The kinds of filesystem and their options, as data: routes, flags, forms and documentation are made from them.
 * `path` is the kind's part of the REST path, `fsType` the type in replies, `example` its options on a command line,
 * `place` the options that say where it is, `secrets` the options that are sealed at rest and masked in replies, `sent` those of them that go to the store as they are,
 * or as tokens that others could use, and the options that say where that is. `needed` are options that may be omitted, although
 * what holds then is refused.
 */
export const filesystemKinds = {
  local: {
    path: 'local',
    fsType: 'local',
    summary: 'a folder on the host',
    place: ['fsRoot'],
    example: '--fs-root /srv/data',
    options: {
      fsRoot: Type.Optional(
        GivenPath(
          'Root folder of the filesystem; / is refused, because it contains the platform’s own folders',
        ),
      ),
      additionalProperties: Type.Optional({
        ...strict({}),
        description: 'Local filesystems have no additional properties',
      }),
    },
    needed: ['fsRoot'],
    secrets: [],
  },
  'adls2-shared-key': {
    path: 'adls2/shared-key',
    fsType: 'adls2',
    summary: 'an Azure Data Lake Storage Gen2 or Blob container, with a shared key',
    place: ['accountName', 'containerName'],
    example: '--account-name lake --shared-key bXlrZXk= --container-name data',
    options: {
      accountName: azure.accountName,
      sharedKey: Type.String({
        minLength: 4,
        maxLength: 200,
        ...form('^[A-Za-z0-9+/]+={0,2}$', 'base64, as the portal shows the key'),
        description: 'Account key, base64',
      }),
      ...azure.container,
    },
    secrets: ['sharedKey'],
    // What is signed with it can be passed on by whoever gets it.
    sent: { to: ['endpoint', 'eventQueue', 'insecure'], secrets: ['sharedKey'] },
    alternatives: [azure.tellsOfChanges],
  },
  'adls2-oauth2': {
    path: 'adls2/oauth2',
    fsType: 'adls2',
    summary:
      'an Azure Data Lake Storage Gen2 or Blob container, with a service principal or an identity of the host',
    place: ['accountName', 'containerName'],
    example:
      '--account-name lake --container-name data --oauth-client-id mover --oauth-client-secret top-secret --oauth-client-endpoint https://login.microsoftonline.com/tenant/oauth2/token',
    options: {
      accountName: azure.accountName,
      oauthClientId: Type.Optional(
        Type.String({
          ...form('^[!-~]{1,200}$', '1 to 200 characters without spaces'),
          description:
            'Application (client) id of the service principal, or of the identity to use if the host has several',
        }),
      ),
      oauthClientSecret: Type.Optional(
        Type.String({
          ...form('^[!-~]{1,1024}$', '1 to 1,024 characters without spaces'),
          description: 'Client secret of the service principal; alternative: oauthClientCertificate',
        }),
      ),
      oauthClientCertificate: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 32_768,
          description:
            'Certificate and RSA private key of the service principal: PEM, or a P12 file in base64',
        }),
      ),
      oauthClientCertificatePassword: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 1_024,
          description: 'Password of the P12 file or of the private key, if it has one',
        }),
      ),
      oauthClientEndpoint: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 500,
          ...form(
            `^https?://[A-Za-z0-9.-]+(?::${portPattern})?/[!-"$-~]*$`,
            'a URL such as https://login.microsoftonline.com/<tenant>/oauth2/token',
          ),
          description:
            'Token endpoint: https://login.microsoftonline.com/<tenant>/oauth2/token, or …/oauth2/v2.0/token',
        }),
      ),
      ...azure.container,
      additionalProperties: propertiesOption(
        { ...azureProperties, ...azureTokenProperties },
        {
          ineffective: azureIneffectiveProperties.filter(
            (name) => !Object.hasOwn(azureTokenProperties, name),
          ),
          families: azurePropertyFamilies,
          guide: 'docs/AZURE.md',
        },
      ),
    },
    secrets: ['oauthClientSecret', 'oauthClientCertificate', 'oauthClientCertificatePassword'],
    sent: {
      to: ['oauthClientEndpoint', 'endpoint', 'eventQueue', 'accountName', 'insecure'],
      secrets: ['oauthClientSecret', 'oauthClientCertificate'],
    },
    /** Of each group: a change of one of them, or of several that go together, takes the place of the others. */
    alternatives: [['oauthClientSecret', 'oauthClientCertificate'], azure.tellsOfChanges],
  },
  'adls2-sas': {
    path: 'adls2/sas',
    fsType: 'adls2',
    summary: 'an Azure Data Lake Storage Gen2 or Blob container, with a shared access signature',
    place: ['accountName', 'containerName', 'directory'],
    example:
      "--account-name lake --container-name data --sas-token 'sv=2021-12-02&sr=c&sp=rl&se=2030-01-01&sig=bXlrZXk='",
    options: {
      accountName: azure.accountName,
      sasToken: Type.String({
        minLength: 8,
        maxLength: 4_096,
        ...form(
          "^\\??[A-Za-z0-9=&%._~:/+,'()*!$@;-]+$",
          'only the signature, such as sv=…&sr=c&sp=rl&se=…&sig=…, without the URL before its question mark',
        ),
        description:
          'Shared access signature (SAS) of the account, the container or a directory in it, with or without the question mark',
      }),
      directory: Type.Optional(
        Type.String({
          maxLength: 1_000,
          ...form('^[^/\\\\]+(?:/[^/\\\\]+)*$', 'a path in the container, such as raw/2024'),
          description:
            'Directory in the container to use as the root of the filesystem; required for the SAS of a directory (sr=d), and must be that directory',
        }),
      ),
      ...azure.container,
    },
    secrets: ['sasToken'],
    sent: { to: ['endpoint', 'eventQueue', 'accountName', 'insecure'], secrets: ['sasToken'] },
    alternatives: [azure.tellsOfChanges],
  },
  s3a: {
    path: 's3a',
    fsType: 's3a',
    summary: 'an Amazon S3 or S3-compatible bucket',
    place: ['endpoint', 'bucketName'],
    example: '--bucket-name data --access-key AKIAEXAMPLE --secret-key bXlrZXk=',
    options: {
      bucketName: Type.String({
        ...form(
          '^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$',
          '3 to 63 letters, digits, dots, hyphens and underscores',
        ),
        description: 'Bucket name',
      }),
      endpoint: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 300,
          ...form(
            `^(?:https?://)?[A-Za-z0-9.-]+(?::${portPattern})?/?$`,
            'a host name, optionally with a scheme and a port from 1 to 65535, such as https://minio.example:9000',
          ),
          description: 'Endpoint of the service; default: Amazon S3 in the region of the bucket',
        }),
      ),
      s3type: Type.Optional(
        Type.Enum(s3Types, {
          description:
            'Type of service, which determines how buckets are addressed and which requests the service supports; default: as the endpoint shows',
        }),
      ),
      ...awsCredentialsOptions({
        providers: awsCredentialsProviders,
        from: 'accessKey and secretKey (with sessionToken if they are temporary), none (public buckets), or the host of the service if the setting hostCredentials allows it (docs/S3.md). Default: accessKey and secretKey, if accessKey is given',
      }),
      sqsQueue: Type.Optional(
        Type.String({
          maxLength: 500,
          ...form(
            `^(?:[A-Za-z0-9_-]{1,80}|arn:aws[a-z-]*:sqs:[a-z0-9-]{1,50}:\\d{12}:[A-Za-z0-9_-]{1,80}|https?://[A-Za-z0-9.-]+(?::${portPattern})?/[A-Za-z0-9_/-]{0,200}[A-Za-z0-9_-]{1,80})$`,
            'the name, ARN or URL of a standard SQS queue (not FIFO)',
          ),
          description:
            'SQS queue that receives the notifications of the bucket, used to detect changes for live migrations: name, ARN or URL',
        }),
      ),
      sqsEndpoint: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 300,
          ...form(
            `^(?:https?://)?[A-Za-z0-9.-]+(?::${portPattern})?/?$`,
            'a host name, optionally with a scheme and a port from 1 to 65535, such as https://sqs.example:9324',
          ),
          description:
            'Endpoint of the queue service; default: that of the URL of the queue, else Amazon SQS in the region of the queue or the bucket',
        }),
      ),
      cleanUpSqsQueue: Type.Optional(
        Type.Boolean({
          description: 'Not supported, because Gantry does not create or delete queues; default: false',
        }),
      ),
      bootstrapServers: Type.Optional(
        Type.String({
          maxLength: 1_000,
          ...form(
            `^[A-Za-z0-9.-]+:${portPattern}(?:,[A-Za-z0-9.-]+:${portPattern}){0,9}$`,
            'up to ten brokers as host:port, separated by commas',
          ),
          description:
            'Kafka brokers with the topic that receives the notifications of the bucket, as IBM Cloud Object Storage and Ceph send them. An administrator must list the brokers in storeHosts',
        }),
      ),
      topic: Type.Optional(
        Type.String({
          ...form('^[A-Za-z0-9._-]{1,249}$', 'up to 249 letters, digits, dots, hyphens and underscores'),
          description: 'Kafka topic at bootstrapServers',
        }),
      ),
      kafkaUser: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 500,
          description: 'Kafka user, if the brokers require authentication; requires kafkaPassword',
        }),
      ),
      kafkaPassword: Type.Optional(
        Type.String({ minLength: 1, maxLength: 1_000, description: 'Password of kafkaUser' }),
      ),
      bucketNotifications: Type.Optional(
        Type.Boolean({
          description:
            'Live migrations receive changes from the service itself (ListenBucketNotification of MinIO and compatible services), instead of sqsQueue and bootstrapServers; default: false',
        }),
      ),
      customerKey: Type.Optional(
        Type.String({
          ...form('^[A-Za-z0-9+/]{43}=$', '32 bytes in base64'),
          description: 'Customer-provided encryption key (fs.s3a.encryption.algorithm SSE-C)',
        }),
      ),
      additionalProperties: propertiesOption(s3Properties, {
        ineffective: s3IneffectiveProperties,
        guide: 'docs/S3.md',
      }),
    },
    secrets: ['secretKey', 'sessionToken', 'kafkaPassword', 'customerKey'],
    sent: {
      to: [
        'endpoint',
        'sqsEndpoint',
        'sqsQueue',
        'bootstrapServers',
        'additionalProperties.fs.s3a.connection.ssl.enabled',
      ],
      // What is signed with a key can be passed on by whoever gets it.
      secrets: ['secretKey', 'sessionToken', 'customerKey', 'kafkaPassword'],
    },
    alternatives: [
      [
        ['sqsQueue', 'sqsEndpoint'],
        ['bootstrapServers', 'topic', 'kafkaUser', 'kafkaPassword'],
        'bucketNotifications',
      ],
    ],
  },
  hdfs: {
    path: 'hdfs',
    fsType: 'hdfs',
    summary: 'a Hadoop cluster (HDFS), through WebHDFS or HttpFS',
    place: ['defaultFS'],
    example: '--default-fs hdfs://namenode.example:8020 --user hdfs',
    options: {
      defaultFS: Type.String({
        minLength: 1,
        maxLength: 300,
        ...form(
          `^(?:hdfs|webhdfs|swebhdfs)://[A-Za-z0-9._-]+(?::${portPattern})?/?$`,
          'hdfs://, webhdfs:// or swebhdfs:// with a host or a nameservice, such as hdfs://namenode.example:8020',
        ),
        description:
          'Address of the cluster: hdfs:// as in its configuration, or webhdfs:// or (with TLS) swebhdfs:// with the HTTP address of a name node or of HttpFS',
      }),
      user: Type.Optional(
        Type.String({
          ...form('^[A-Za-z0-9._@-]{1,256}$', '1 to 256 letters, digits, dots, hyphens, underscores and @'),
          description: 'User for all requests, if the cluster uses simple authentication; default: hdfs',
        }),
      ),
      ...kerberosOptions('a cluster'),
      caCertificate: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 65_536,
          contentMediaType: 'application/x-pem-file',
          description: 'CA certificates (PEM) of the cluster, instead of the system’s; with TLS only',
        }),
      ),
      additionalProperties: propertiesOption(hdfsProperties, {
        ineffective: hdfsIneffectiveProperties,
        families: hdfsPropertyFamilies,
        areInSiteFiles: true,
        guide: 'docs/HDFS.md',
      }),
    },
    /** Where the options of a source are found on the host of the platform. */
    discovery: 'the Hadoop configuration (HADOOP_CONF_DIR, or /etc/hadoop/conf)',
    secrets: ['kerberosKeytab'],
    sent: { to: ['defaultFS', 'caCertificate', 'additionalProperties'], secrets: ['kerberosKeytab'] },
    /** Options that have other names on port 18080. */
    wireNames: { kerberosKeytab: 'kerberosKeyTab' },
    /** Fields that clients send there and that change nothing here, each with what they are told of it. */
    wireIneffective: {
      successFile: 'folders are migrated without waiting for a file in them',
    },
  },
  gcs: {
    path: 'gcs',
    fsType: 'gcs',
    summary: 'a Google Cloud Storage bucket',
    place: ['bucketName'],
    example: '--bucket-name data --json-key @key.json',
    options: {
      bucketName: Type.String({
        ...form(
          '^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$',
          '3 to 222 lowercase letters, digits, dots, hyphens and underscores',
        ),
        description: 'Bucket name',
      }),
      endpoint: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 300,
          ...form(
            `^(?:https?://)?[A-Za-z0-9.-]+(?::${portPattern})?/?$`,
            'a host name, optionally with a scheme and a port from 1 to 65535, such as https://storage.example:8443',
          ),
          description: 'Endpoint of the service; default: storage.googleapis.com',
        }),
      ),
      pubSubSubscription: Type.Optional(
        Type.String({
          maxLength: 400,
          ...form(
            '^projects/[a-z0-9.:-]{4,100}/subscriptions/[A-Za-z][A-Za-z0-9._~+%-]{2,254}$',
            'a subscription such as projects/data-platform/subscriptions/changes',
          ),
          description:
            'Pub/Sub subscription that receives the notifications of the bucket, used to detect changes for live migrations (docs/GCS.md)',
        }),
      ),
      pubSubEndpoint: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 300,
          ...form(
            `^(?:https?://)?[A-Za-z0-9.-]+(?::${portPattern})?/?$`,
            'a host name, optionally with a scheme and a port from 1 to 65535, such as https://europe-west1-pubsub.googleapis.com',
          ),
          description: 'Endpoint of Pub/Sub; default: pubsub.googleapis.com',
        }),
      ),
      jsonKey: Type.Optional(
        Type.String({
          maxLength: 16_384,
          description:
            'Key of a service account: the contents of the JSON file from the console, or of a workload identity federation configuration. Alternative: privateKey and clientEmail',
        }),
      ),
      p12Key: Type.Optional(
        Type.String({
          maxLength: 16_384,
          ...form('^[A-Za-z0-9+/\\s]*={0,2}\\s*$', 'base64'),
          description:
            'Key of a service account: a P12 file in base64, with the console’s default password notasecret. Requires clientEmail',
        }),
      ),
      privateKey: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 16_384,
          description: 'Private key of the service account, PEM (private_key in the JSON file)',
        }),
      ),
      privateKeyId: Type.Optional(
        Type.String({
          ...form('^[A-Za-z0-9_-]{1,200}$', 'up to 200 letters, digits, hyphens and underscores'),
          description: 'Id of the private key (private_key_id in the JSON file)',
        }),
      ),
      clientEmail: Type.Optional(
        Type.String({
          ...form('^[^\\s@]{1,200}@[^\\s@]{1,200}$', 'an email address'),
          description: 'Email address of the service account (client_email in the JSON file)',
        }),
      ),
      customerKey: Type.Optional(
        Type.String({
          ...form('^[A-Za-z0-9+/]{43}=$', '32 bytes in base64'),
          description: 'Customer-supplied encryption key',
        }),
      ),
      additionalProperties: propertiesOption(gcsProperties, {
        ineffective: gcsIneffectiveProperties,
        guide: 'docs/GCS.md',
      }),
    },
    secrets: ['jsonKey', 'p12Key', 'privateKey', 'customerKey'],
    sent: { to: ['endpoint', 'pubSubEndpoint'], secrets: ['jsonKey', 'p12Key', 'privateKey', 'customerKey'] },
    /** Of each group: a change of one of them, or of several that go together, takes the place of the others. */
    alternatives: [['jsonKey', 'p12Key', 'privateKey']],
    /** On port 18080, files under `…/gcs/keyfiles/`: their name, and how the option has their bytes. */
    keyFiles: { jsonKey: { name: 'json', encoding: 'utf8' }, p12Key: { name: 'p12', encoding: 'base64' } },
  },
} as const

export type FilesystemKind = keyof typeof filesystemKinds

/** Where a filesystem is, in a line: a folder, a bucket, the address of a cluster. */
export function placeText({
  fsType,
  properties,
}: {
  readonly fsType: string
  readonly properties: Readonly<Record<string, string>>
}): string {
  const texts = Object.values(filesystemKinds)
    .filter((kind) => kind.fsType === fsType)
    .map(({ place }) => place.flatMap((name) => properties[name] ?? []).join('/'))
  // Of the ways to one kind, that whose options it has.
  return texts.toSorted((one, other) => other.length - one.length)[0] ?? ''
}

export const optionSchemas = {
  local: strict(filesystemKinds.local.options),
  'adls2-shared-key': strict(filesystemKinds['adls2-shared-key'].options),
  'adls2-oauth2': strict(filesystemKinds['adls2-oauth2'].options),
  'adls2-sas': strict(filesystemKinds['adls2-sas'].options),
  s3a: strict(filesystemKinds.s3a.options),
  hdfs: strict(filesystemKinds.hdfs.options),
  gcs: strict(filesystemKinds.gcs.options),
}

/** The options of a kind, secrets in the clear. */
export type FilesystemOptions<K extends FilesystemKind = FilesystemKind> = {
  [P in K]: Type.Static<(typeof optionSchemas)[P]>
}[K]

/** A filesystem as a driver is opened with it. */
export type FilesystemSpec = {
  [K in FilesystemKind]: { kind: K; options: FilesystemOptions<K> }
}[FilesystemKind]
