import { Type } from 'typebox'
import { form, portPattern } from '../kit/forms.ts'
import { onePlaceOfData, placeOfData } from './place-of-data.ts'

const visible = (maxLength: number, description: string) =>
  Type.String({
    ...form(`^[!-~]{1,${maxLength}}$`, `1 to ${maxLength} characters without spaces`),
    description,
  })
const text = (description: string) => Type.String({ minLength: 1, maxLength: 255, description })
const host = (description: string) =>
  Type.String({
    ...form(
      `^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252})(?::${portPattern})?$`,
      'a host name, optionally with a port',
    ),
    description,
  })
const secret = (description: string) => Type.String({ minLength: 1, maxLength: 16_384, description })

/**
 * Kinds that are accepted and kept with their options, sealed and masked as those of others, and that no part of this release
 * speaks to (`services/metadata/api/kept-only.ts` says what of it that is).
 */
export const keptOnlyKinds = {
  azure: {
    path: 'azure',
    summary: 'an Azure SQL database as the metastore of HDInsight',
    example:
      '--db-server-name metastore.database.example --database-name hive --storage-account lake --container-name data --auth-method AD_MSI',
    isKeptOnly: true,
    options: {
      ...placeOfData,
      dbServerName: host('Database server'),
      databaseName: text('Name of the database'),
      storageAccount: text('Storage account that holds the data'),
      containerName: text('Container in the storage account'),
      authMethod: Type.Optional(
        Type.Enum(['SQL_PASSWORD', 'AD_MSI'], {
          description:
            'Authentication: databaseUser with databasePassword, or a managed identity (set clientId if the host has several); default: SQL_PASSWORD',
        }),
      ),
      databaseUser: Type.Optional(text('Database user')),
      databasePassword: Type.Optional(secret('Password of the user')),
      clientId: Type.Optional(text('Client id of the managed identity')),
      rootFolder: Type.Optional(text('Folder of the data in the container')),
      hdiVersion: Type.Optional(text('HDInsight release')),
      insecure: Type.Optional(
        Type.Boolean({ description: 'Access the data without TLS (abfs, wasb); default: false' }),
      ),
    },
    secrets: ['databasePassword'],
    sent: { to: ['dbServerName'], secrets: ['databasePassword'] },
    alternatives: [onePlaceOfData],
  },
  databricks: {
    path: 'databricks',
    summary: 'a Databricks workspace, with or without Unity Catalog',
    example:
      '--jdbc-server-hostname workspace.example --jdbc-port 443 --jdbc-http-path sql/protocolv1/o/0/1 --access-token dapi-example',
    isKeptOnly: true,
    options: {
      ...placeOfData,
      jdbcServerHostname: host('Host of the workspace'),
      jdbcPort: Type.Integer({ minimum: 1, maximum: 65_535, description: 'Port of the workspace' }),
      jdbcHttpPath: visible(1_000, 'HTTP path of the cluster or SQL warehouse'),
      accessToken: secret('Personal access token'),
      catalog: Type.Optional(text('Catalog in Unity Catalog; default: the metastore of the workspace')),
      fsMountPoint: Type.Optional(visible(1_000, 'Mount point of the data in the workspace')),
      convertToDelta: Type.Optional(
        Type.Boolean({ description: 'Convert tables to Delta tables; default: false' }),
      ),
      deleteAfterConversion: Type.Optional(
        Type.Boolean({
          description: 'Delete the original tables after the conversion; default: false',
        }),
      ),
    },
    secrets: ['accessToken'],
    sent: { to: ['jdbcServerHostname', 'jdbcPort'], secrets: ['accessToken'] },
    alternatives: [onePlaceOfData],
  },
  snowflake: {
    path: 'snowflake',
    summary: 'a Snowflake account',
    example:
      '--account-identifier org-account --stage lake --warehouse compute --snowflake-auth-kind Basic --user mover --password top-secret',
    isKeptOnly: true,
    options: {
      ...placeOfData,
      accountIdentifier: visible(255, 'Account, such as organization-account'),
      stage: text('Stage that contains the data'),
      warehouse: text('Warehouse to use'),
      snowflakeAuthKind: Type.Enum(['Basic', 'PrivateKey'], {
        description: 'Authentication: with password (Basic), or with privateKeyFile (PrivateKey)',
      }),
      user: text('User'),
      stageDatabase: Type.Optional(text('Database of the stage; default: WANDISCO')),
      stageSchema: Type.Optional(text('Schema of the stage; default: PUBLIC')),
      schema: Type.Optional(text('Schema of the tables; default: PUBLIC')),
      role: Type.Optional(text('Role of the user')),
      password: Type.Optional(secret('Password of the user')),
      privateKeyFile: Type.Optional(
        Type.String({
          maxLength: 1_000,
          ...form('^/[^\\u0000-\\u001f]+$', 'an absolute path'),
          description: 'Path of the private key file, on the host of the service',
        }),
      ),
    },
    secrets: ['password'],
    sent: { to: ['accountIdentifier'], secrets: ['password'] },
    alternatives: [onePlaceOfData],
  },
} as const
