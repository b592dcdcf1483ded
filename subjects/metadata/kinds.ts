import { Type } from 'typebox'
import { awsCredentialsOptions, awsCredentialsProviders, awsSecrets } from '../filesystems/aws-credentials.ts'
import type { FilesystemSpec } from '../filesystems/kinds.ts'
import { form, portPattern } from '../kit/forms.ts'
import { GivenPath, Name, strict } from '../kit/schemas.ts'
import { glueLimits } from './glue-limits.ts'

/** Where the data of a catalog's tables are: exactly one of these. Each kind has them beside its own. */
const placeOfData = {
  fileSystemId: Type.Optional(
    Name('Name of the filesystem that holds the data: locations change with its root and the path mappings'),
  ),
  defaultFsOverride: Type.Optional(
    Type.String({
      maxLength: 1_000,
      ...form(
        '^[a-z][a-z0-9+.-]*://[^\\s?#]*$',
        'a URI with a scheme, such as s3a://bucket or abfss://container@account.dfs.core.windows.net',
      ),
      description: 'What locations begin with, in place of a filesystem',
    }),
  ),
}

const onePlaceOfData = ['fileSystemId', 'defaultFsOverride']

const glueLimit = (name: keyof typeof glueLimits) => {
  const { means, usual, min, max } = glueLimits[name]
  return Type.Optional(
    Type.Integer({
      minimum: min,
      maximum: max,
      description: `${means}; default ${usual}`,
    }),
  )
}

/** An address of HTTP, without a query. */
const httpAddress = form(
  `^https?://[A-Za-z0-9.-]+(?::${portPattern})?(?:/[!-"$->@-~]*)?$`,
  'an address such as https://catalog.example/api/catalog',
)

/**
 * Kinds of catalogs that hold metadata, each with its options; routes, commands and forms come from them. `opensFilesystem`:
 * what it holds is in the filesystem of its `fileSystemId`, with which it is opened. What `secrets`, `sent` and `alternatives`
 * say is as in `filesystemKinds`.
 */
export const catalogKinds = {
  hive: {
    path: 'hive',
    summary: 'a Hive metastore',
    example: '--metastore-uris thrift://metastore.example:9083 --user hive',
    options: {
      ...placeOfData,
      metastoreUris: Type.String({
        maxLength: 1_000,
        ...form(
          `^(?:thrift://)[A-Za-z0-9.-]+(?::${portPattern})?/?(?:, *thrift://[A-Za-z0-9.-]+(?::${portPattern})?/?){0,9}$`,
          'up to ten addresses, each thrift:// with a host and a port, with commas between them, such as thrift://metastore.example:9083',
        ),
        description:
          'Addresses of the metastore, as hive.metastore.uris of hive-site.xml has them: of several that are the same, one that answers is asked',
      }),
      user: Type.Optional(
        Type.String({
          ...form('^[A-Za-z0-9._@-]{1,256}$', '1 to 256 letters, digits, dots, hyphens, underscores and @'),
          description: 'User as whom all is asked; default hive',
        }),
      ),
      framed: Type.Optional(
        Type.Boolean({
          description:
            'Whether messages have their length before them (hive.metastore.thrift.framed.transport.enabled); default false',
        }),
      ),
      ssl: Type.Optional(
        Type.Boolean({
          description: 'Whether the metastore speaks TLS (hive.metastore.use.SSL); default false',
        }),
      ),
      caCertificate: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 65_536,
          contentMediaType: 'application/x-pem-file',
          description:
            'Certificates (PEM) of the authorities of the metastore, in place of those that are trusted otherwise; needs ssl',
        }),
      ),
    },
    secrets: [],
    alternatives: [onePlaceOfData],
  },
  glue: {
    path: 'glue',
    summary: 'an AWS Glue Data Catalog',
    example: '--aws-region eu-west-1 --access-key AKIAEXAMPLE --secret-key bXlrZXk=',
    options: {
      ...placeOfData,
      awsRegion: Type.Optional(
        Type.String({
          maxLength: 40,
          ...form('^[a-z]{2}(?:-[a-z]+){1,3}-\\d{1,2}$', 'a region such as eu-west-1'),
          description: 'Region of the catalog; default that of glueEndpoint, else us-east-1',
        }),
      ),
      glueEndpoint: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 300,
          ...form(
            `^(?:https?://)?[A-Za-z0-9.-]+(?::${portPattern})?/?$`,
            'a host name, with a scheme and a port from 1 to 65535 if need be, such as https://glue.eu-west-1.amazonaws.com',
          ),
          description: 'Endpoint of the service; default that of Amazon in the region',
        }),
      ),
      glueCatalogId: Type.Optional(
        Type.String({
          ...form(
            '^[A-Za-z0-9._:/-]{1,255}$',
            'the number of an account, such as 123456789012, or the id of a catalog in it',
          ),
          description: 'Catalog; default that of the account of the credentials',
        }),
      ),
      ...awsCredentialsOptions({
        providers: awsCredentialsProviders.filter((name) => name !== 'AnonymousAWSCredentialsProvider'),
        from: 'accessKey and secretKey, with sessionToken if they are temporary; or the host of the service, where the setting hostCredentials allows it (docs/S3.md). Default: the first if accessKey is given',
      }),
      glueMaxRetries: glueLimit('glueMaxRetries'),
      glueMaxConnections: glueLimit('glueMaxConnections'),
      glueMaxSocketTimeout: glueLimit('glueMaxSocketTimeout'),
      glueConnectionTimeout: glueLimit('glueConnectionTimeout'),
    },
    secrets: awsSecrets,
    // What is signed with a key can be passed on by whoever gets it.
    sent: { to: ['glueEndpoint'], secrets: awsSecrets },
    alternatives: [onePlaceOfData],
  },
  filesystem: {
    path: 'filesystem',
    summary: 'documents in a filesystem, one for each object',
    example: '--file-system-id lake --root-folder /metadata',
    opensFilesystem: true,
    options: {
      ...placeOfData,
      fileSystemId: Name(
        'Name of the filesystem that holds the documents, and the data where defaultFsOverride says nothing else',
      ),
      rootFolder: Type.Optional(GivenPath('Folder of the documents in it; default /')),
    },
    secrets: [],
  },
  'iceberg-rest': {
    path: 'iceberg-rest',
    summary: 'a catalog of Iceberg tables by the REST protocol',
    example:
      '--uri https://catalog.example/api/catalog --warehouse lake --client-id mover --client-secret top-secret',
    options: {
      ...placeOfData,
      uri: Type.String({
        maxLength: 1_000,
        ...httpAddress,
        description: 'Address of the catalog, as the property uri of other clients: what stands before /v1',
      }),
      warehouse: Type.Optional(
        Type.String({
          ...form('^[!-~]{1,1000}$', '1 to 1,000 characters without blanks'),
          description: 'Which of its warehouses, where the catalog has several',
        }),
      ),
      prefix: Type.Optional(
        Type.String({
          ...form('^[!-~]{1,1000}$', '1 to 1,000 characters without blanks'),
          description: 'What stands behind /v1 in paths, where the catalog does not say it itself',
        }),
      ),
      token: Type.Optional(
        Type.String({
          ...form('^[!-~]{1,16384}$', '1 to 16,384 characters without blanks'),
          description: 'Bearer token. Or give clientId and clientSecret',
        }),
      ),
      clientId: Type.Optional(
        Type.String({
          ...form('^[!-~]{1,200}$', '1 to 200 characters without blanks'),
          description: 'Id of the client that tokens are asked for (OAuth 2.0, client credentials)',
        }),
      ),
      clientSecret: Type.Optional(
        Type.String({
          ...form('^[!-~]{1,1024}$', '1 to 1,024 characters without blanks'),
          description: 'Secret of the client',
        }),
      ),
      scope: Type.Optional(
        Type.String({
          ...form('^[!-~][ -~]{0,999}$', '1 to 1,000 characters'),
          description: 'What tokens are asked for, such as PRINCIPAL_ROLE:ALL; default catalog',
        }),
      ),
      oauth2ServerUri: Type.Optional(
        Type.String({
          maxLength: 1_000,
          ...httpAddress,
          description: 'Address that gives tokens; default that of the catalog with /v1/oauth/tokens',
        }),
      ),
      caCertificate: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 65_536,
          contentMediaType: 'application/x-pem-file',
          description:
            'Certificates (PEM) of the authorities of the catalog, in place of those that are trusted otherwise',
        }),
      ),
    },
    secrets: ['token', 'clientSecret'],
    sent: { to: ['uri', 'oauth2ServerUri'], secrets: ['token', 'clientSecret'] },
    alternatives: [onePlaceOfData, ['token', 'clientSecret']],
  },
} as const

export type CatalogKind = keyof typeof catalogKinds

export const catalogOptionSchemas = {
  hive: strict(catalogKinds.hive.options),
  glue: strict(catalogKinds.glue.options),
  filesystem: strict(catalogKinds.filesystem.options),
  'iceberg-rest': strict(catalogKinds['iceberg-rest'].options),
}

export type CatalogOptions<K extends CatalogKind = CatalogKind> = {
  [P in K]: Type.Static<(typeof catalogOptionSchemas)[P]>
}[K]

/** A catalog as it is opened. `filesystem`: of a kind that opens one, with its secrets in the clear; it is never stored. */
export type CatalogSpec = {
  [K in CatalogKind]: { kind: K; options: CatalogOptions<K>; filesystem?: FilesystemSpec }
}[CatalogKind]
