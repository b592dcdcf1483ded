import { type Static, Type } from 'typebox'
import { internalResource } from '../kit/contract.ts'
import { fileSystemId, kinds, maxOptions, Report, ReportPosition, storeDeadlineMs } from './filesystems.ts'
import { Count, EpochMillis, list, Path, record, strict } from '../kit/schemas.ts'

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
      reportedChanges: Type.Boolean(),
      kind: Type.Enum(kinds),
      options: record(Type.Unknown(), maxOptions, 'Options of the kind'),
    }),
    errors: ['NOT_FOUND'],
    http: [],
  },
  'reported-changes': {
    summary: 'What was reported of a source after a position, in order, as far as a reply has room',
    input: strict({
      fileSystemId,
      after: Type.Optional(
        Type.String({
          ...ReportPosition,
          description: 'As it was told; without it none is told but where the end is',
        }),
      ),
    }),
    output: strict({
      reports: list(
        strict({
          ...Report.properties,
          at: ReportPosition,
          reportedAt: EpochMillis('When it was stored, in milliseconds since 1970'),
        }),
      ),
      at: Type.String({ ...ReportPosition, description: 'After these reports' }),
      isWhole: Type.Boolean({
        description: 'Whether there was nothing else after the position that is gone',
      }),
      hasMore: Type.Boolean({ description: 'Whether there are more' }),
    }),
    errors: [],
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
