import { Type } from 'typebox'
import { definitions } from '../kit/contract.ts'
import { actionPolicy, Migration, migrationId } from './model/model.ts'
import { actionPolicyNames } from './model/terms.ts'
import { Count, GivenPath, list, model, Name, page, Path, strict, Timestamp } from '../kit/schemas.ts'
import { command } from './commands.ts'
import { targetMatchFields } from './model/target-match.ts'

const PendingRegion = model('PendingRegion', {
  pendingRegionId: Count('Grows with time'),
  path: Path('Folder in the source'),
  actionPolicy: Type.Enum(actionPolicyNames),
  dateCreated: Timestamp('When it was asked for'),
})

const PathStatus = model('MigrationPathStatus', {
  migrationId,
  sourcePath: Path('As it was asked for'),
  targetPath: Path('Where it goes at the target'),
  pathMappingId: Type.Optional(Name('The path mapping that leads there')),
  exclusionId: Type.Optional(Name('The exclusion by path that it falls under')),
  inPendingRegion: Type.Boolean({ description: 'Whether a folder that is to be scanned again has it' }),
  scheduled: Type.Boolean({ description: 'Whether work waits for it or for what is in it' }),
  actionCount: Count('Work items for it or for what is in it, of those that were looked at'),
})

const itemTypes = ['SCHEDULED_EVENT', 'RESCAN_REGION', 'NONE'] as const

const OldestIncompleteWorkItem = model('OldestIncompleteWorkItem', {
  migrationId: Name('Name of the migration'),
  itemType: Type.Enum(itemTypes, { description: 'Files to copy, a folder to scan, or nothing' }),
  operation: Type.Optional(Type.Enum(['MIGRATION', 'RESCAN'])),
  path: Type.Optional(Path('The first path of it, in the source')),
  queuedTimeStamp: Type.Optional(Count('When it came into the queue, in milliseconds since 1970')),
  queuedDate: Type.Optional(Timestamp('The same as text')),
})

/** What is to be done for migrations, and is not done yet. */
export const migrationWork = definitions({
  'add-pending-region': {
    summary: 'Scan a folder of a migration again',
    description:
      'A completed migration runs again until that is done; one that runs does it in between or afterwards. The root of the migration scans all of it.',
    input: strict({
      migrationId,
      path: GivenPath('The root of the migration, or a folder in it'),
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
    summary: 'The folders of a migration that are to be scanned again',
    input: strict({ migrationId }),
    output: list(PendingRegion),
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/migrations/{migrationId}/pending-regions' }],
    cli: { args: ['migrationId'] },
  },
  'path-status': {
    summary: 'Whether work waits for a path of a source',
    description: 'Of several migrations of the path the one with the deepest root, then the first by name.',
    input: strict({
      path: GivenPath('In the source'),
      sourceId: Name('Source filesystem'),
    }),
    output: PathStatus,
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/migration-path-status' }],
    cli: { args: ['path'], example: 'gantry migrations path-status /reports --source-id here' },
  },
  'oldest-work': {
    summary: 'What has waited longest in the queue of a migration',
    input: strict({ migrationId }),
    output: OldestIncompleteWorkItem,
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/migrations/{migrationId}/oldest-work' }],
    cli: { args: ['migrationId'] },
  },
  'oldest-work-all': {
    summary: 'What has waited longest in the queue of each migration',
    input: strict(page),
    output: list(OldestIncompleteWorkItem),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/oldest-work' }],
  },
})
