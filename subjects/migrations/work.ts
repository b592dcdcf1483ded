import { Type } from 'typebox'
import { definitions } from '../kit/contract.ts'
import { actionPolicy, Migration, migrationId } from './model/model.ts'
import { actionPolicyNames } from './model/terms.ts'
import { Count, GivenPath, list, model, Name, page, Path, strict, Timestamp } from '../kit/schemas.ts'
import { command } from './commands.ts'
import { targetMatchFields } from './model/target-match.ts'

const PendingRegion = model('PendingRegion', {
  pendingRegionId: Count('Increasing id'),
  path: Path('Folder in the source'),
  actionPolicy: Type.Enum(actionPolicyNames),
  dateCreated: Timestamp('Time of the request'),
})

const PathStatus = model('MigrationPathStatus', {
  migrationId,
  sourcePath: Path('Path as requested'),
  targetPath: Path('Corresponding path at the target'),
  pathMappingId: Type.Optional(Name('Path mapping that applies to the path')),
  exclusionId: Type.Optional(Name('Path exclusion that applies to the path')),
  inPendingRegion: Type.Boolean({ description: 'Whether the path is in a folder with a pending rescan' }),
  scheduled: Type.Boolean({ description: 'Whether work is pending for the path or its contents' }),
  actionCount: Count('Work items for the path or its contents, among those examined'),
})

const itemTypes = ['SCHEDULED_EVENT', 'RESCAN_REGION', 'NONE'] as const

const OldestIncompleteWorkItem = model('OldestIncompleteWorkItem', {
  migrationId: Name('Name of the migration'),
  itemType: Type.Enum(itemTypes, { description: 'Files to copy, a folder to scan, or nothing' }),
  operation: Type.Optional(Type.Enum(['MIGRATION', 'RESCAN'])),
  path: Type.Optional(Path('First path of the work item, in the source')),
  queuedTimeStamp: Type.Optional(Count('When it was queued, in milliseconds since 1970')),
  queuedDate: Type.Optional(Timestamp('The same time as text')),
})

/** What is to be done for migrations, and is not done yet. */
export const migrationWork = definitions({
  'add-pending-region': {
    summary: 'Rescan a folder of a migration',
    description:
      'A completed migration runs again until the rescan is done; a running migration rescans meanwhile or afterwards. The migration root rescans everything.',
    input: strict({
      migrationId,
      path: GivenPath('Migration root, or a folder in it'),
      actionPolicy: actionPolicy('that of the migration'),
      targetMatch: targetMatchFields.targetMatch,
    }),
    output: Migration,
    ...command,
    errors: [...command.errors, 'STORE_REFUSED', 'STORE_UNREACHABLE'],
    http: [{ method: 'POST', path: '/api/v1/migrations/{migrationId}/pending-regions' }],
    cli: {
      args: ['migrationId', 'path'],
      example: 'gantry migrations add-pending-region nightly /reports',
    },
  },
  'pending-regions': {
    summary: 'List the pending rescans of a migration',
    input: strict({ migrationId }),
    output: list(PendingRegion),
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/migrations/{migrationId}/pending-regions' }],
    cli: { args: ['migrationId'] },
  },
  'path-status': {
    summary: 'Show whether work is pending for a path in a source',
    description:
      'If several migrations contain the path, the one with the deepest root is shown, then the first by name.',
    input: strict({
      path: GivenPath('Path in the source'),
      sourceId: Name('Source filesystem'),
    }),
    output: PathStatus,
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/migration-path-status' }],
    cli: { args: ['path'], example: 'gantry migrations path-status /reports --source-id here' },
  },
  'oldest-work': {
    summary: 'Show the oldest pending work item of a migration',
    input: strict({ migrationId }),
    output: OldestIncompleteWorkItem,
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/migrations/{migrationId}/oldest-work' }],
    cli: { args: ['migrationId'] },
  },
  'oldest-work-all': {
    summary: 'Show the oldest pending work item of each migration',
    input: strict(page),
    output: list(OldestIncompleteWorkItem),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/oldest-work' }],
  },
})
