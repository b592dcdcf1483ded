import { type Static, Type } from 'typebox'
import { type FilesystemKind, filesystemKinds } from '../../subjects/filesystems/kinds.ts'
import type { Filesystem } from '../../subjects/filesystems/filesystems.ts'
import { Name, Subject } from '../../subjects/kit/schemas.ts'
import { maskSecrets } from '../drivers/contract/secrets.ts'
import { storeKinds } from '../drivers/index.ts'

const kinds = Object.keys(filesystemKinds) as FilesystemKind[]

/** A filesystem as it is stored: secrets sealed. */
export const FilesystemRecord = Type.Object(
  {
    fileSystemId: Name('Name of the filesystem'),
    isSource: Type.Boolean(),
    isScanOnly: Type.Boolean(),
    listenAndApplySourceChanges: Type.Boolean(),
    /** Others report what changes there; not there where nobody does, and in records of earlier releases. */
    reportedChanges: Type.Optional(Type.Literal(true)),
    /** Kept for callers; no driver knows them. */
    otherProperties: Type.Optional(Type.Record(Type.String(), Type.String())),
    kind: Type.Enum(kinds),
    options: Type.Record(Type.String(), Type.Unknown()),
    /** Of one that an earlier release or the platform itself made, nobody. */
    owner: Type.Optional(Subject('Owner of the key that made it')),
  },
  { additionalProperties: false },
)
export type FilesystemRecord = Static<typeof FilesystemRecord>

export type Role = 'source' | 'target'

export const roleOf = ({ isSource }: FilesystemRecord): Role => (isSource ? 'source' : 'target')

/** Options and properties as text, secrets masked. */
export function publicProperties({
  kind,
  options,
  otherProperties,
}: Pick<FilesystemRecord, 'kind' | 'options' | 'otherProperties'>): Record<string, string> {
  const { additionalProperties, ...own } = maskSecrets(kind, options)
  const all = { ...otherProperties, ...own, ...(additionalProperties as object | undefined) }
  return Object.fromEntries(Object.entries(all).map(([name, value]) => [name, String(value)]))
}

/** The filesystem as callers see it. @param verbose with the defaults of options that were not given */
export function publicFilesystem(record: FilesystemRecord, verbose = false): Filesystem {
  const reported = record.reportedChanges === true ? { reportedChanges: 'true' } : {}
  const properties = { ...publicProperties(record), ...reported }
  return {
    fileSystemId: record.fileSystemId,
    fsType: filesystemKinds[record.kind].fsType,
    isSource: record.isSource,
    isScanOnly: record.isScanOnly,
    // Positions are of migrations, each with its own.
    eventsPosition: 0,
    ...(record.isSource ? {} : { listenAndApplySourceChanges: record.listenAndApplySourceChanges }),
    properties: verbose ? { ...storeKinds[record.kind].defaults, ...properties } : properties,
  }
}
