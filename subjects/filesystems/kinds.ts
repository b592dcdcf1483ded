import { Type } from 'typebox'
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
  'WASABI',
  'S3_COMPATIBLE',
] as const

/** Options that all ways to Azure have. */
const azure = {
  /** What tells live migrations of changes: one of them. */
  tellsOfChanges: ['eventQueue', 'changeFeed'],
  accountName: Type.String({
    ...form('^[a-z0-9]{3,24}$', '3 to 24 small letters and digits'),
    description: 'Storage account name',
  }),
  container: {
    containerName: Type.String({
      ...form(
        '^(?:\\$root|\\$web|[a-z0-9](?:-?[a-z0-9]){2,62})$',
        '3 to 63 small letters, digits and single hyphens between them, or $root or $web',
      ),
      description: 'Container (file system) name',
    }),
    endpoint: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 300,
        ...form(
          `^[A-Za-z0-9.-]+(?::${portPattern})?$`,
          'a host name, with a port from 1 to 65535 if need be, such as gateway.example:8443',
        ),
        description: 'Storage endpoint host name; default dfs.core.windows.net',
      }),
    ),
    insecure: Type.Optional(Type.Boolean({ description: 'Plain HTTP instead of TLS' })),
    eventQueue: Type.Optional(
      Type.String({
        maxLength: 500,
        ...form(
          `^(?:https?://[A-Za-z0-9.-]+(?::${portPattern})?/(?:[a-z0-9]{3,24}/)?)?[a-z0-9](?:-?[a-z0-9]){2,62}$`,
          'the name of a queue of the same account, or its URL, such as https://lake.queue.core.windows.net/changes',
        ),
        description:
          'Queue into which Event Grid puts what changes in the container (docs/AZURE.md): live migrations from there are told of changes by it',
      }),
    ),
    changeFeed: Type.Optional(
      Type.Boolean({
        description:
          'Whether live migrations are told of changes by the blob change feed of the account (docs/AZURE.md); default false. In place of eventQueue',
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
 * `secrets` the options that are sealed at rest and masked in replies, `sent` those of them that go to the store as they are,
 * or as tokens that others could use, and the options that say where that is.
 */
export const filesystemKinds = {
  local: {
    path: 'local',
    fsType: 'local',
    summary: 'a folder of the host',
    example: '--fs-root /srv/data',
    options: {
      fsRoot: Type.Optional(
        GivenPath(
          'Folder that is the root of the filesystem; default /, which is refused because it contains folders of the platform itself',
        ),
      ),
      additionalProperties: Type.Optional({
        ...strict({}),
        description: 'A local filesystem has no further properties',
      }),
    },
    secrets: [],
  },
  'adls2-shared-key': {
    path: 'adls2/shared-key',
    fsType: 'adls2',
    summary: 'an Azure Data Lake Storage Gen2 or Blob container, by shared key',
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
      'an Azure Data Lake Storage Gen2 or Blob container, by a service principal or an identity of the host',
    example:
      '--account-name lake --container-name data --oauth-client-id mover --oauth-client-secret top-secret --oauth-client-endpoint https://login.microsoftonline.com/tenant/oauth2/token',
    options: {
      accountName: azure.accountName,
      oauthClientId: Type.Optional(
        Type.String({
          ...form('^[!-~]{1,200}$', '1 to 200 characters without blanks'),
          description:
            'Application (client) id of the service principal, or of one of several identities of the host',
        }),
      ),
      oauthClientSecret: Type.Optional(
        Type.String({
          ...form('^[!-~]{1,1024}$', '1 to 1,024 characters without blanks'),
          description: 'Secret of the service principal. Or give oauthClientCertificate',
        }),
      ),
      oauthClientCertificate: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 32_768,
          description:
            'Certificate of the service principal with its private key (RSA): PEM, or a P12 file in base64',
        }),
      ),
      oauthClientCertificatePassword: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 1_024,
          description: 'Password of the P12 file or of the private key, where it has one',
        }),
      ),
      oauthClientEndpoint: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 500,
          ...form(
            `^https?://[A-Za-z0-9.-]+(?::${portPattern})?/[!-"$-~]*$`,
            'an address such as https://login.microsoftonline.com/<tenant>/oauth2/token',
          ),
          description:
            'Address that gives tokens: https://login.microsoftonline.com/<tenant>/oauth2/token, or …/oauth2/v2.0/token',
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
    summary: 'an Azure Data Lake Storage Gen2 or Blob container, by a shared access signature',
    example:
      "--account-name lake --container-name data --sas-token 'sv=2021-12-02&sr=c&sp=rl&se=2030-01-01&sig=bXlrZXk='",
    options: {
      accountName: azure.accountName,
      sasToken: Type.String({
        minLength: 8,
        maxLength: 4_096,
        ...form(
          "^\\??[A-Za-z0-9=&%._~:/+,'()*!$@;-]+$",
          'the signature alone, such as sv=…&sr=c&sp=rl&se=…&sig=…, without the address before its question mark',
        ),
        description:
          'Shared access signature (SAS) of the account, of the container or of a directory in it, with or without the question mark',
      }),
      directory: Type.Optional(
        Type.String({
          maxLength: 1_000,
          ...form('^[^/\\\\]+(?:/[^/\\\\]+)*$', 'a path in the container, such as raw/2024'),
          description:
            'Directory of the container that is the root of the filesystem; needed with the SAS of a directory (sr=d), which must be of this one',
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
    summary: 'a bucket of Amazon S3, or of a store that speaks its protocol',
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
            'a host name, with a scheme and a port from 1 to 65535 if need be, such as https://minio.example:9000',
          ),
          description: 'Endpoint of the service; default: that of Amazon S3 in the region of the bucket',
        }),
      ),
      s3type: Type.Optional(
        Type.Enum(s3Types, {
          description:
            'What the service is, where that cannot be told by the endpoint: how buckets are addressed, and what is not asked of it',
        }),
      ),
      ...awsCredentialsOptions({
        providers: awsCredentialsProviders,
        from: 'accessKey and secretKey, with sessionToken if they are temporary; nowhere (public buckets); or the host of the service, where the setting hostCredentials allows it (docs/S3.md). Default: the first if accessKey is given',
      }),
      sqsQueue: Type.Optional(
        Type.String({
          maxLength: 500,
          ...form(
            `^(?:[A-Za-z0-9_-]{1,80}|arn:aws[a-z-]*:sqs:[a-z0-9-]{1,50}:\\d{12}:[A-Za-z0-9_-]{1,80}|https?://[A-Za-z0-9.-]+(?::${portPattern})?/[A-Za-z0-9_/-]{0,200}[A-Za-z0-9_-]{1,80})$`,
            'the name, ARN or URL of a queue of SQS that is no FIFO queue',
          ),
          description:
            'Queue of SQS into which the notifications of the bucket go: live migrations from it are told of changes. Its name, ARN or URL',
        }),
      ),
      sqsEndpoint: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 300,
          ...form(
            `^(?:https?://)?[A-Za-z0-9.-]+(?::${portPattern})?/?$`,
            'a host name, with a scheme and a port from 1 to 65535 if need be, such as https://sqs.example:9324',
          ),
          description:
            'Endpoint of the service that the queue is at; default: that of the URL of the queue, else that of Amazon SQS in the region of the queue or the bucket',
        }),
      ),
      cleanUpSqsQueue: Type.Optional(
        Type.Boolean({
          description: 'Only false: Gantry makes no queues, and deletes none that others may read',
        }),
      ),
      bootstrapServers: Type.Optional(
        Type.String({
          maxLength: 1_000,
          ...form(
            `^[A-Za-z0-9.-]+:${portPattern}(?:,[A-Za-z0-9.-]+:${portPattern}){0,9}$`,
            'up to ten brokers, each a host and a port, with commas between them',
          ),
          description:
            'Brokers of Kafka with the topic into which the notifications of the bucket go, as IBM Cloud Object Storage and Ceph send them. An administrator names them in storeHosts',
        }),
      ),
      topic: Type.Optional(
        Type.String({
          ...form('^[A-Za-z0-9._-]{1,249}$', 'up to 249 letters, digits, dots, hyphens and underscores'),
          description: 'Topic of Kafka at bootstrapServers',
        }),
      ),
      kafkaUser: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 500,
          description: 'User of Kafka, where its brokers ask for one; needs kafkaPassword',
        }),
      ),
      kafkaPassword: Type.Optional(
        Type.String({ minLength: 1, maxLength: 1_000, description: 'Password of kafkaUser' }),
      ),
      bucketNotifications: Type.Optional(
        Type.Boolean({
          description:
            'Whether the service itself tells live migrations of changes while they listen (ListenBucketNotification of MinIO and its likes); default false. In place of sqsQueue and bootstrapServers',
        }),
      ),
      customerKey: Type.Optional(
        Type.String({
          ...form('^[A-Za-z0-9+/]{43}=$', '32 bytes in base64'),
          description:
            'Key of objects that are encrypted with a key of yours (fs.s3a.encryption.algorithm SSE-C)',
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
          'The cluster: hdfs:// as its configuration has it, or webhdfs:// or (over TLS) swebhdfs:// with the HTTP address of a name node or of HttpFS',
      }),
      user: Type.Optional(
        Type.String({
          ...form('^[A-Za-z0-9._@-]{1,256}$', '1 to 256 letters, digits, dots, hyphens, underscores and @'),
          description:
            'User as whom all is done, in a cluster that believes whoever asks (simple authentication); default hdfs',
        }),
      ),
      kerberosPrincipal: Type.Optional(
        Type.String({
          ...form(
            '^[A-Za-z0-9._-]{1,128}(?:/[A-Za-z0-9._-]{1,255})?(?:@[A-Za-z0-9.-]{1,255})?$',
            'a principal of Kerberos, such as mover@EXAMPLE.COM or mover/host.example@EXAMPLE.COM',
          ),
          description:
            'Principal as whom all is done, in a cluster with Kerberos; without a realm in the one of the host where Gantry runs. Needs kerberosKeytab',
        }),
      ),
      kerberosKeytab: Type.Optional(
        Type.String({
          maxLength: 16_384,
          ...form('^[A-Za-z0-9+/\\s]*={0,2}\\s*$', 'base64'),
          contentEncoding: 'base64',
          description: 'Keytab with the keys of kerberosPrincipal: the contents of the file in base64',
        }),
      ),
      caCertificate: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 65_536,
          contentMediaType: 'application/x-pem-file',
          description:
            'Certificates (PEM) of the authorities of the cluster, in place of those that are trusted otherwise; over TLS only',
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
    discovery: 'the configuration of Hadoop (HADOOP_CONF_DIR, or /etc/hadoop/conf)',
    secrets: ['kerberosKeytab'],
    sent: { to: ['defaultFS', 'caCertificate', 'additionalProperties'], secrets: ['kerberosKeytab'] },
    /** Options that have other names on port 18080. */
    wireNames: { kerberosKeytab: 'kerberosKeyTab' },
    /** Fields that clients send there and that change nothing here, each with what they are told of it. */
    wireIneffective: {
      successFile: 'folders are migrated as they are, and no file in them is waited for',
    },
  },
  gcs: {
    path: 'gcs',
    fsType: 'gcs',
    summary: 'a bucket of Google Cloud Storage',
    example: '--bucket-name data --json-key @key.json',
    options: {
      bucketName: Type.String({
        ...form(
          '^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$',
          '3 to 222 small letters, digits, dots, hyphens and underscores',
        ),
        description: 'Bucket name',
      }),
      endpoint: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 300,
          ...form(
            `^(?:https?://)?[A-Za-z0-9.-]+(?::${portPattern})?/?$`,
            'a host name, with a scheme and a port from 1 to 65535 if need be, such as https://storage.example:8443',
          ),
          description: 'Endpoint of the service; default storage.googleapis.com',
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
            'Subscription of Pub/Sub that gets the notifications of the bucket (docs/GCS.md): live migrations from there are told of changes by it',
        }),
      ),
      pubSubEndpoint: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 300,
          ...form(
            `^(?:https?://)?[A-Za-z0-9.-]+(?::${portPattern})?/?$`,
            'a host name, with a scheme and a port from 1 to 65535 if need be, such as https://europe-west1-pubsub.googleapis.com',
          ),
          description: 'Endpoint of Pub/Sub; default pubsub.googleapis.com',
        }),
      ),
      jsonKey: Type.Optional(
        Type.String({
          maxLength: 16_384,
          description:
            'Key of a service account: the contents of the JSON file that the console gives out, or of a configuration of workload identity federation. Or give privateKey and clientEmail',
        }),
      ),
      p12Key: Type.Optional(
        Type.String({
          maxLength: 16_384,
          ...form('^[A-Za-z0-9+/\\s]*={0,2}\\s*$', 'base64'),
          description:
            'Key of a service account: a P12 file in base64, with the password notasecret that the console gives it. Needs clientEmail',
        }),
      ),
      privateKey: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 16_384,
          description: 'Private key of the service account, PEM (member private_key of the JSON file)',
        }),
      ),
      privateKeyId: Type.Optional(
        Type.String({
          ...form('^[A-Za-z0-9_-]{1,200}$', 'up to 200 letters, digits, hyphens and underscores'),
          description: 'Id of the private key (member private_key_id)',
        }),
      ),
      clientEmail: Type.Optional(
        Type.String({
          ...form('^[^\\s@]{1,200}@[^\\s@]{1,200}$', 'an email address'),
          description: 'Email address of the service account (member client_email)',
        }),
      ),
      customerKey: Type.Optional(
        Type.String({
          ...form('^[A-Za-z0-9+/]{43}=$', '32 bytes in base64'),
          description: 'Key of objects that are encrypted with a key of yours',
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
