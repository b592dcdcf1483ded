import { Type } from 'typebox'
import { movedBy } from './agents.ts'
import { definitions } from '../kit/contract.ts'
import {
  actionPolicy,
  additionalProperties,
  maxPendingRegions,
  Migration,
  migrationId,
  migrationPriority,
  migrationStates,
} from './model/model.ts'
import {
  maxPeriodSeconds,
  newPeriod,
  recurringSchedule,
  recurringTimeZone,
  recurringWindow,
} from './model/recurrence.ts'
import { cleanupFields } from './model/source-cleanup.ts'
import { deletionFields } from './model/target-match.ts'
import { asBefore, Count, list, model, Nothing, strict, Switch, Text } from '../kit/schemas.ts'

const byId = strict({ migrationId })

/** Making a queue and asking both stores takes longer than a look at a record. */
export const commandDeadlineMs = 30_000
/** What the commands to one migration have in common. */
export const command = {
  errors: ['NOT_FOUND', 'NOT_ALLOWED_IN_STATE'],
  audit: { object: 'migrationId' },
  deadlineMs: commandDeadlineMs,
} as const
/** What people do once a migration is under way. */
export const watchNext = { command: 'gantry watch {migrationId}' } as const
/** What the commands to all migrations have in common. */
const commandToAll = { errors: [], audit: {}, deadlineMs: commandDeadlineMs } as const

const resumable = Type.Optional(
  Switch(true, 'Keep the remaining work, so that the migration can be resumed; default: true'),
)

/** Work in progress is finished after the reply. */
const untilStopped = { verb: 'get', by: 'migrationId', while: { field: 'state', is: 'STOPPING' } } as const

/** What became of each migration when a command was for all. */
const Outcomes = list(
  model('CommandOutcome', {
    migrationId,
    done: Type.Boolean({ description: 'Whether the command was carried out' }),
    state: Type.Enum(migrationStates, {
      description: 'State after the command; for a deleted migration, its last state',
    }),
    reason: Type.Optional(Text('Why the command was not carried out')),
  }),
)

const AssetDeletionStats = model('AssetDeletionStats', {
  total: Count('Number before the deletion'),
  deleted: Count('Number deleted'),
  bytesDeleted: Count('Storage of the platform that was freed, in bytes'),
})

/** What people do with migrations that there are. */
export const migrationCommands = definitions({
  start: {
    summary: 'Start a new migration, or resume a stopped one',
    description:
      'The migration waits as SCHEDULED while the maximum number of migrations is running. A recurring migration that waits for its next run scans now.',
    input: byId,
    output: Migration,
    ...command,
    http: [{ method: 'POST', path: '/api/v1/migrations/{migrationId}/start' }],
    cli: { args: ['migrationId'], example: 'gantry migrations start nightly', next: [watchNext] },
  },
  'accept-source': {
    summary: 'Accept the source of a migration as it is now, although it has been replaced (SOURCE_CHANGED)',
    description:
      'Live migrations and those with targetMatch then delete at the target what is no longer at the source. If that is not intended, restore the source: the migration then continues automatically. Refused unless the migration reports SOURCE_CHANGED.',
    input: byId,
    output: model('AcceptedSource', {
      ...Migration.properties,
      accepted: model('AcceptedIdentity', {
        was: Text('Previous source, in words'),
        is: Text('Current source, which is expected from now on'),
      }),
    }),
    ...command,
    errors: ['NOT_FOUND', 'NOT_ALLOWED_IN_STATE', 'STORE_UNREACHABLE'],
    http: [{ method: 'POST', path: '/api/v1/migrations/{migrationId}/source/accept' }],
    cli: { args: ['migrationId'], example: 'gantry migrations accept-source nightly' },
  },
  stop: {
    summary: 'Stop a migration',
    description:
      'Work in progress is finished first. With resumable=false, remaining work is discarded, and the migration can only be reset.',
    input: strict({ migrationId, resumable }),
    output: Migration,
    ...command,
    audit: { ...command.audit, details: ['resumable'] },
    http: [{ method: 'POST', path: '/api/v1/migrations/{migrationId}/stop' }],
    cli: { args: ['migrationId'], waits: untilStopped },
  },
  'stop-all': {
    summary: 'Stop all running and waiting migrations',
    input: strict({ resumable }),
    output: Outcomes,
    ...commandToAll,
    http: [{ method: 'POST', path: '/api/v1/migrations/stop' }],
    cli: { waits: untilStopped },
  },
  resume: {
    summary: 'Resume a stopped migration',
    input: byId,
    output: Migration,
    ...command,
    http: [{ method: 'POST', path: '/api/v1/migrations/{migrationId}/resume' }],
    cli: { args: ['migrationId'] },
  },
  reset: {
    summary: 'Start a migration again from the beginning (copied files stay)',
    description:
      'Its queue, statistics and failures are deleted; copied files stay. A migration that was never started still needs to be started.',
    input: strict({
      migrationId,
      actionPolicy: actionPolicy(asBefore),
      acceptTarget: Type.Optional(
        Type.Boolean({
          description:
            'Take the folder that is now at the target, even if it is not the one that the migration started with; default: false, so that nothing is written to the folder below a mount that is missing',
        }),
      ),
      reloadMappings: Type.Optional(
        Type.Boolean({
          description:
            'Use the current path mappings instead of those that the migration has; default: false',
        }),
      ),
    }),
    output: Migration,
    ...command,
    audit: { ...command.audit, details: ['actionPolicy', 'acceptTarget', 'reloadMappings'] },
    http: [{ method: 'POST', path: '/api/v1/migrations/{migrationId}/reset' }],
    cli: { args: ['migrationId'] },
  },
  update: {
    summary: 'Change settings of a migration; omitted settings keep their values',
    description:
      'A period replaces a schedule, and a schedule replaces a period. Changes take effect immediately, also in a running migration; a new policy applies to files that have not been checked yet.',
    input: strict({
      migrationId,
      migrationPriority: migrationPriority(asBefore),
      actionPolicy: actionPolicy(asBefore),
      recurringPeriod: newPeriod,
      recurringPeriodSeconds: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: maxPeriodSeconds,
          description: 'The same as recurringPeriod in seconds; use recurringPeriod instead',
        }),
      ),
      recurringSchedule,
      recurringTimeZone,
      recurringWindow,
      movedBy: Type.Optional(movedBy),
      ...cleanupFields,
      ...deletionFields,
      additionalProperties,
    }),
    output: Migration,
    ...command,
    audit: {
      ...command.audit,
      details: [
        'migrationPriority',
        'actionPolicy',
        'recurringPeriod',
        'recurringPeriodSeconds',
        'recurringSchedule',
        'movedBy',
        'deletionMode',
        'maxDeletions',
      ],
    },
    errors: ['NOT_FOUND'],
    http: [{ method: 'PATCH', path: '/api/v1/migrations/{migrationId}' }],
    cli: { args: ['migrationId'], example: 'gantry migrations update nightly --migration-priority HIGH' },
  },
  'limit-pending-regions': {
    summary: 'Set the maximum number of pending rescans',
    description: `Further rescans are refused. The maximum is ${maxPendingRegions}. Only calls add rescans: if there are too many changes to follow, a live migration runs a full comparison instead.`,
    input: strict({
      migrationId,
      maxPendingRegions: Type.Integer({
        minimum: 1,
        maximum: Number.MAX_SAFE_INTEGER,
        description: `Maximum number of pending rescans; values above ${maxPendingRegions} count as ${maxPendingRegions}`,
      }),
    }),
    output: Migration,
    ...command,
    audit: { ...command.audit, details: ['maxPendingRegions'] },
    errors: ['NOT_FOUND', 'IN_USE'],
    http: [{ method: 'PUT', path: '/api/v1/migrations/{migrationId}/max-pending-regions' }],
    cli: { args: ['migrationId', 'maxPendingRegions'] },
  },
  delete: {
    summary: 'Delete a stopped migration (copied files remain)',
    description:
      'Its verifications and cleanups are kept, with their reports; delete-with-assets deletes them too.',
    input: byId,
    output: Nothing,
    ...command,
    http: [{ method: 'DELETE', path: '/api/v1/migrations/{migrationId}' }],
    cli: { args: ['migrationId'] },
  },
  'delete-all': {
    summary: 'Delete all migrations that are not running (copied files remain)',
    input: strict({}),
    output: Outcomes,
    ...commandToAll,
    http: [{ method: 'DELETE', path: '/api/v1/migrations' }],
    cli: { confirms: 'This deletes all migrations that are not running; the copied files stay.' },
  },
  'delete-with-assets': {
    summary: 'Delete a migration with its verifications, cleanups and reports (files stay)',
    description: 'Running verifications and cleanups are cancelled first.',
    input: byId,
    output: strict({
      workItems: AssetDeletionStats,
      failedPaths: AssetDeletionStats,
      verifications: AssetDeletionStats,
      cleanups: AssetDeletionStats,
    }),
    ...command,
    http: [{ method: 'DELETE', path: '/api/v1/migrations/{migrationId}/with-assets' }],
    cli: { args: ['migrationId'] },
  },
})
