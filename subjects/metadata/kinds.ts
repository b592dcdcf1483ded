import { Type } from 'typebox'
import type { FilesystemSpec } from '../filesystems/kinds.ts'
import { form, portPattern } from '../kit/forms.ts'
import { GivenPath, Name, strict } from '../kit/schemas.ts'

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

/**
 * Kinds of catalogs that hold metadata, each with its options; routes, commands and forms come from them. `opensFilesystem`:
 * what it holds is in the filesystem of its `fileSystemId`, with which it is opened.
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
  },
} as const

export type CatalogKind = keyof typeof catalogKinds

export const catalogOptionSchemas = {
  hive: strict(catalogKinds.hive.options),
  filesystem: strict(catalogKinds.filesystem.options),
}

export type CatalogOptions<K extends CatalogKind = CatalogKind> = {
  [P in K]: Type.Static<(typeof catalogOptionSchemas)[P]>
}[K]

/** A catalog as it is opened. `filesystem`: of a kind that opens one, with its secrets in the clear; it is never stored. */
export type CatalogSpec = {
  [K in CatalogKind]: { kind: K; options: CatalogOptions<K>; filesystem?: FilesystemSpec }
}[CatalogKind]
