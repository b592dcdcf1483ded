import { Type } from 'typebox'
import { awsCredentialsOptions, awsCredentialsProviders, awsSecrets } from '../filesystems/aws-credentials.ts'
import { kerberosOptions, servicePrincipal } from '../filesystems/kerberos.ts'
import type { FilesystemSpec } from '../filesystems/kinds.ts'
import { form, portPattern } from '../kit/forms.ts'
import { GivenPath, maxPathLength, Name, strict } from '../kit/schemas.ts'
import { reachedThrough } from './catalog-agent.ts'
import { glueLimits } from './glue-limits.ts'
import { keptOnlyKinds } from './kept-only-kinds.ts'
import { metastoreUrisForm } from './metastore-uris.ts'
import { onePlaceOfData, placeOfData } from './place-of-data.ts'

const glueLimit = (name: keyof typeof glueLimits) => {
  const { means, usual, min, max } = glueLimits[name]
  return Type.Optional(
    Type.Integer({
      minimum: min,
      maximum: max,
      description: `${means}; default: ${usual}`,
    }),
  )
}

/** An address of HTTP, without a query. */
const httpAddress = form(
  `^https?://[A-Za-z0-9.-]+(?::${portPattern})?(?:/[!-"$->@-~]*)?$`,
  'a URL such as https://catalog.example/api/catalog',
)

/**
 * Kinds of catalogs that hold metadata, each with its options; routes, commands and forms come from them. `opensFilesystem`:
 * what it holds is in the filesystem of its `fileSystemId`, with which it is opened. `isKeptOnly`: nothing speaks to it. What
 * `secrets`, `sent` and `alternatives` say is as in `filesystemKinds`.
 */
export const catalogKinds = {
  hive: {
    path: 'hive',
    summary: 'a Hive metastore',
    example: '--metastore-uris thrift://metastore.example:9083 --user hive',
    options: {
      ...placeOfData,
      ...reachedThrough,
      metastoreUris: Type.Optional(
        Type.String({
          maxLength: 1_000,
          ...metastoreUrisForm,
          description:
            'Addresses of the metastore, as in hive.metastore.uris of hive-site.xml. With several addresses of the same metastore, Gantry uses one that answers. Alternative: configPath',
        }),
      ),
      configPath: Type.Optional(
        Type.String({
          maxLength: maxPathLength,
          ...form('^/.+$', 'an absolute path'),
          description:
            'Folder on the host where Gantry runs that contains hive-site.xml, and core-site.xml if needed: the folder in $HIVE_CONF_DIR, /etc/hive/conf, or one listed in the setting hostCredentials. Provides metastoreUris, and metastorePrincipal, framed and ssl unless they are given',
        }),
      ),
      user: Type.Optional(
        Type.String({
          ...form('^[A-Za-z0-9._@-]{1,256}$', '1 to 256 letters, digits, dots, hyphens, underscores and @'),
          description: 'User for all requests, if the metastore does not use Kerberos; default: hive',
        }),
      ),
      ...kerberosOptions('a metastore'),
      metastorePrincipal: servicePrincipal(
        'Kerberos principal of the metastore, as in hive.metastore.kerberos.principal, with _HOST for its host; default: hive/_HOST in the realm from krb5.conf. Requires kerberosPrincipal',
      ),
      framed: Type.Optional(
        Type.Boolean({
          description:
            'Use the framed Thrift transport (hive.metastore.thrift.framed.transport.enabled); default: false',
        }),
      ),
      ssl: Type.Optional(
        Type.Boolean({
          description: 'Use TLS (hive.metastore.use.SSL); default: false',
        }),
      ),
      caCertificate: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 65_536,
          contentMediaType: 'application/x-pem-file',
          description: 'CA certificates (PEM) of the metastore, instead of the system’s; requires ssl',
        }),
      ),
    },
    secrets: ['kerberosKeytab'],
    // Whoever has tickets made for a service of his own gets to know what is asked.
    sent: { to: ['agent', 'metastoreUris', 'configPath', 'metastorePrincipal'], secrets: ['kerberosKeytab'] },
    alternatives: [onePlaceOfData, ['metastoreUris', 'configPath']],
  },
  glue: {
    path: 'glue',
    summary: 'an AWS Glue Data Catalog',
    example: '--aws-region eu-west-1 --access-key AKIAEXAMPLE --secret-key bXlrZXk=',
    options: {
      ...placeOfData,
      ...reachedThrough,
      awsRegion: Type.Optional(
        Type.String({
          maxLength: 40,
          ...form('^[a-z]{2}(?:-[a-z]+){1,3}-\\d{1,2}$', 'a region such as eu-west-1'),
          description: 'Region of the catalog; default: the region of glueEndpoint, otherwise us-east-1',
        }),
      ),
      glueEndpoint: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 300,
          ...form(
            `^(?:https?://)?[A-Za-z0-9.-]+(?::${portPattern})?/?$`,
            'a host name, optionally with a scheme and a port from 1 to 65535, such as https://glue.eu-west-1.amazonaws.com',
          ),
          description: 'Endpoint of the service; default: the AWS endpoint of the region',
        }),
      ),
      glueCatalogId: Type.Optional(
        Type.String({
          ...form(
            '^[A-Za-z0-9._:/-]{1,255}$',
            'an account id, such as 123456789012, or the id of a catalog in it',
          ),
          description:
            'Id of the catalog; default: the catalog of the account that the credentials belong to',
        }),
      ),
      ...awsCredentialsOptions({
        providers: awsCredentialsProviders.filter((name) => name !== 'AnonymousAWSCredentialsProvider'),
        from: 'accessKey and secretKey (with sessionToken if they are temporary), or the host of the service if the setting hostCredentials allows it (docs/S3.md). Default: accessKey and secretKey, if accessKey is given',
      }),
      glueMaxRetries: glueLimit('glueMaxRetries'),
      glueMaxConnections: glueLimit('glueMaxConnections'),
      glueMaxSocketTimeout: glueLimit('glueMaxSocketTimeout'),
      glueConnectionTimeout: glueLimit('glueConnectionTimeout'),
    },
    secrets: awsSecrets,
    // What is signed with a key can be passed on by whoever gets it; an agent gets all of it.
    sent: { to: ['agent', 'glueEndpoint'], secrets: awsSecrets },
    alternatives: [onePlaceOfData],
  },
  filesystem: {
    path: 'filesystem',
    summary: 'a catalog of JSON documents in a filesystem',
    example: '--file-system-id lake --root-folder /metadata',
    opensFilesystem: true,
    options: {
      ...placeOfData,
      ...reachedThrough,
      fileSystemId: Name(
        'Name of the filesystem that contains the documents, and the data unless defaultFsOverride is set',
      ),
      rootFolder: Type.Optional(GivenPath('Folder of the documents in the filesystem; default: /')),
    },
    secrets: [],
  },
  'iceberg-rest': {
    path: 'iceberg-rest',
    summary: 'an Iceberg REST catalog',
    example:
      '--uri https://catalog.example/api/catalog --warehouse lake --client-id mover --client-secret top-secret',
    options: {
      ...placeOfData,
      ...reachedThrough,
      uri: Type.String({
        maxLength: 1_000,
        ...httpAddress,
        description: 'URL of the catalog, without /v1, as in the property uri of other clients',
      }),
      warehouse: Type.Optional(
        Type.String({
          ...form('^[!-~]{1,1000}$', '1 to 1,000 characters without spaces'),
          description: 'Name of the warehouse, if the catalog has several',
        }),
      ),
      prefix: Type.Optional(
        Type.String({
          ...form('^[!-~]{1,1000}$', '1 to 1,000 characters without spaces'),
          description: 'Path prefix after /v1, if the catalog does not report it',
        }),
      ),
      token: Type.Optional(
        Type.String({
          ...form('^[!-~]{1,16384}$', '1 to 16,384 characters without spaces'),
          description: 'Bearer token; alternative: clientId and clientSecret',
        }),
      ),
      clientId: Type.Optional(
        Type.String({
          ...form('^[!-~]{1,200}$', '1 to 200 characters without spaces'),
          description: 'Client id (OAuth 2.0 client credentials)',
        }),
      ),
      clientSecret: Type.Optional(
        Type.String({
          ...form('^[!-~]{1,1024}$', '1 to 1,024 characters without spaces'),
          description: 'Client secret',
        }),
      ),
      scope: Type.Optional(
        Type.String({
          ...form('^[!-~][ -~]{0,999}$', '1 to 1,000 characters'),
          description: 'OAuth 2.0 scope, such as PRINCIPAL_ROLE:ALL; default: catalog',
        }),
      ),
      oauth2ServerUri: Type.Optional(
        Type.String({
          maxLength: 1_000,
          ...httpAddress,
          description: 'Token endpoint; default: the URL of the catalog with /v1/oauth/tokens',
        }),
      ),
      caCertificate: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 65_536,
          contentMediaType: 'application/x-pem-file',
          description: 'CA certificates (PEM) of the catalog, instead of the system’s',
        }),
      ),
    },
    secrets: ['token', 'clientSecret'],
    sent: { to: ['agent', 'uri', 'oauth2ServerUri'], secrets: ['token', 'clientSecret'] },
    alternatives: [onePlaceOfData, ['token', 'clientSecret']],
  },
  ...keptOnlyKinds,
} as const

export type CatalogKind = keyof typeof catalogKinds
export type KeptOnlyKind = keyof typeof keptOnlyKinds

export const catalogOptionSchemas = {
  hive: strict(catalogKinds.hive.options),
  filesystem: strict(catalogKinds.filesystem.options),
  'iceberg-rest': strict(catalogKinds['iceberg-rest'].options),
  glue: strict(catalogKinds.glue.options),
  azure: strict(catalogKinds.azure.options),
  databricks: strict(catalogKinds.databricks.options),
  snowflake: strict(catalogKinds.snowflake.options),
}

export type CatalogOptions<K extends CatalogKind = CatalogKind> = {
  [P in K]: Type.Static<(typeof catalogOptionSchemas)[P]>
}[K]

/** A catalog as it is opened. `filesystem`: of a kind that opens one, with its secrets in the clear; it is never stored. */
export type CatalogSpec = {
  [K in CatalogKind]: { kind: K; options: CatalogOptions<K>; filesystem?: FilesystemSpec }
}[CatalogKind]
