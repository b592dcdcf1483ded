import { Type } from 'typebox'
import { honouredProperties } from './azure-properties.ts'
import { form } from '../kit/forms.ts'
import { GivenPath, strict } from '../kit/schemas.ts'

/** 1 to 65535. */
const portPattern = '(?:[1-9]\\d{0,3}|[1-5]\\d{4}|6[0-4]\\d{3}|65[0-4]\\d{2}|655[0-2]\\d|6553[0-5])'

const names = Object.keys(honouredProperties)

/** By the names that the driver honours: one that does nothing is worse than none. */
const azureProperties = Type.Optional(
  Type.Record(
    Type.String(
      form(
        `^(?:${names.map((name) => name.replaceAll('.', '\\.')).join('|')})$`,
        `one that is honoured: ${names.join(', ')}`,
      ),
    ),
    Type.String(form('^\\d{1,15}$', 'a whole number as text')),
    {
      maxProperties: names.length,
      additionalProperties: false,
      description: 'Further properties by name: whole numbers',
    },
  ),
)

/**
 * The kinds of filesystem and their options, as data: routes, flags, forms and documentation are made from them.
 * `path` is the kind's part of the REST path, `fsType` the type in replies, `example` its options on a command line,
 * `secrets` the options that are sealed at rest and masked in replies.
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
      accountName: Type.String({
        ...form('^[a-z0-9]{3,24}$', '3 to 24 small letters and digits'),
        description: 'Storage account name',
      }),
      sharedKey: Type.String({
        minLength: 4,
        maxLength: 200,
        ...form('^[A-Za-z0-9+/]+={0,2}$', 'base64, as the portal shows the key'),
        description: 'Account key, base64',
      }),
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
      additionalProperties: azureProperties,
    },
    secrets: ['sharedKey'],
  },
} as const

export type FilesystemKind = keyof typeof filesystemKinds

const optionSchemas = {
  local: strict(filesystemKinds.local.options),
  'adls2-shared-key': strict(filesystemKinds['adls2-shared-key'].options),
}

/** The options of a kind, secrets in the clear. */
export type FilesystemOptions<K extends FilesystemKind = FilesystemKind> = {
  [P in K]: Type.Static<(typeof optionSchemas)[P]>
}[K]

/** A filesystem as a driver is opened with it. */
export type FilesystemSpec = {
  [K in FilesystemKind]: { kind: K; options: FilesystemOptions<K> }
}[FilesystemKind]
