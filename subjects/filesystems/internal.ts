import { type Static, Type } from 'typebox'
import { internalResource } from '../kit/contract.ts'
import { fileSystemId, kinds, maxOptions, storeDeadlineMs } from './filesystems.ts'
import { Count, EpochMillis, Path, record, strict } from '../kit/schemas.ts'

/** Types of what stands in a store. */
export const lookedTypes = ['file', 'folder', 'symlink', 'other'] as const
export type LookedType = (typeof lookedTypes)[number]

const FilesystemLook = strict({
  entry: Type.Optional(
    strict({
      type: Type.Enum(lookedTypes),
      length: Count('Bytes'),
      modificationTime: Type.Optional(
        EpochMillis('Milliseconds since 1970; not there where the store gives none'),
      ),
    }),
  ),
})
/** What stands at a path; without `entry` nothing does. */
export type FilesystemLook = Static<typeof FilesystemLook>

/** What the engine needs to open a driver. Secrets are sealed: only processes with the platform's identity can open them. */
export const filesystemsInternal = internalResource('filesystems', {
  resolve: {
    summary: 'A filesystem with its options, secrets sealed',
    input: strict({ fileSystemId }),
    output: strict({
      fileSystemId,
      isSource: Type.Boolean(),
      isScanOnly: Type.Boolean(),
      listenAndApplySourceChanges: Type.Boolean(),
      kind: Type.Enum(kinds),
      options: record(Type.Unknown(), maxOptions, 'Options of the kind'),
    }),
    errors: ['NOT_FOUND'],
    http: [],
  },
  look: {
    summary: 'What stands at a path, without following a symbolic link',
    input: strict({ fileSystemId, path: Path('In the filesystem') }),
    output: FilesystemLook,
    errors: ['NOT_FOUND', 'STORE_REFUSED', 'STORE_UNREACHABLE'],
    http: [],
    deadlineMs: storeDeadlineMs,
  },
})
