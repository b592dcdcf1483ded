import Type, { type Static } from 'typebox'
import type { Sealer } from '../../broker/seal.ts'
import { type FilesystemKind, filesystemKinds, type FilesystemSpec } from '../../subjects/filesystem-kinds.ts'
import type { Filesystem } from '../../subjects/filesystems.ts'
import { Name } from '../../subjects/schemas.ts'

const kinds = Object.keys(filesystemKinds) as FilesystemKind[]

/** A filesystem as it is stored: secrets sealed. */
export const FilesystemRecord = Type.Object(
  {
    fileSystemId: Name('Name of the filesystem'),
    isSource: Type.Boolean(),
    isScanOnly: Type.Boolean(),
    listenAndApplySourceChanges: Type.Boolean(),
    kind: Type.Enum(kinds),
    options: Type.Record(Type.String(), Type.Unknown()),
  },
  { additionalProperties: false },
)
export type FilesystemRecord = Static<typeof FilesystemRecord>

type Options = Record<string, unknown>

/** Shown in place of a secret; its length says nothing about that of the secret. */
const mask = '********'

const secretNames = (kind: FilesystemKind): readonly string[] => filesystemKinds[kind].secrets

const mapSecrets = (kind: FilesystemKind, options: Options, change: (secret: string) => string): Options =>
  Object.fromEntries(
    Object.entries(options).map(([name, value]) => [
      name,
      secretNames(kind).includes(name) && typeof value === 'string' ? change(value) : value,
    ]),
  )

export const sealOptions = (kind: FilesystemKind, options: Options, sealer: Sealer): Options =>
  mapSecrets(kind, options, (secret) => sealer.seal(secret))

/** What a driver is opened with, secrets in the clear: never stored, logged or answered. */
export function openSpec(record: Pick<FilesystemRecord, 'kind' | 'options'>, sealer: Sealer): FilesystemSpec {
  const options = mapSecrets(record.kind, record.options, (secret) => sealer.open(secret))
  // The options were checked against the kind's schema when they came in.
  return { kind: record.kind, options } as FilesystemSpec
}

/** Defaults of a kind's options, for a verbose reply. */
const defaultOptions: Record<FilesystemKind, Record<string, string>> = {
  local: { fsRoot: '/' },
  'adls2-shared-key': { endpoint: 'dfs.core.windows.net', insecure: 'false' },
}

/** The filesystem as callers see it. */
export function publicFilesystem(record: FilesystemRecord, verbose = false): Filesystem {
  const { additionalProperties, ...own } = mapSecrets(record.kind, record.options, () => mask)
  const texts = Object.entries({ ...own, ...(additionalProperties as Options | undefined) }).map(
    ([name, value]) => [name, String(value)],
  )
  const properties = Object.fromEntries(texts) as Record<string, string>
  return {
    fileSystemId: record.fileSystemId,
    fsType: filesystemKinds[record.kind].fsType,
    isSource: record.isSource,
    isScanOnly: record.isScanOnly,
    // No kind of this release has a change feed with positions.
    eventsPosition: 0,
    ...(record.isSource ? {} : { listenAndApplySourceChanges: record.listenAndApplySourceChanges }),
    properties: verbose ? { ...defaultOptions[record.kind], ...properties } : properties,
  }
}
