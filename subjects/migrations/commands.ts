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
  recurringSchedule,
  recurringTimeZone,
  recurringWindow,
} from './model/recurrence.ts'
import { cleanupFields } from './model/source-cleanup.ts'
import { deletionFields } from './model/target-match.ts'
import { Count, list, model, Nothing, strict, Text } from '../kit/schemas.ts'

const byId = strict({ migrationId })

/** Making a queue and asking both stores takes longer than a look at a record. */
export const commandDeadlineMs = 30_000
/** What the commands to one migration have in common. */
export const command = {
  errors: ['NOT_FOUND', 'NOT_ALLOWED_IN_STATE'],
  audit: { object: 'migrationId' },
  deadlineMs: commandDeadlineMs,
} as const
/** What the commands to all migrations have in common. */
const commandToAll = { errors: [], audit: {}, deadlineMs: commandDeadlineMs } as const

const resumable = Type.Optional(Type.Boolean({ description: 'Whether it can go on later; default true' }))

/** What became of each migration when a command was for all. */
const Outcomes = list(
  model('CommandOutcome', {
    migrationId,
    done: Type.Boolean({ description: 'Whether the command was carried out' }),
    state: Type.Enum(migrationStates, { description: 'State then; of a deleted one the last' }),
    reason: Type.Optional(Text('Why it was not')),
  }),
)

const AssetDeletionStats = model('AssetDeletionStats', {
  total: Count('How many there were'),
  deleted: Count('How many are gone'),
  bytesDeleted: Count('What they took of the platform’s storage, in bytes'),
})

/** What people do with migrations that there are. */
export const migrationCommands = definitions({
  start: {
    summary: 'Start a migration that was never started, or go on with a stopped one',
    description:
      'It waits as SCHEDULED while as many run as may. One that waits for its next time scans now.',
    input: byId,
    output: Migration,
    ...command,
    http: [{ method: 'POST', path: '/api/v1/migrations/{migrationId}/start' }],
    cli: { args: ['migrationId'], example: 'gantry migrations start nightly' },
  },
  'accept-source': {
    summary: 'Accept the source of a migration as it is now, although it has been replaced (SOURCE_CHANGED)',
    description:
      'Live migrations and those with targetMatch then delete at the target what is not at the source any more. Bring the source back instead if that is not meant: the migration then goes on by itself. Refused while it does not wait for this.',
    input: byId,
    output: model('AcceptedSource', {
      ...Migration.properties,
      accepted: model('AcceptedIdentity', {
        was: Text('What the source was, in words'),
        is: Text('What it is, and is taken for from now on'),
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
      'Work in hand is finished. With resumable=false what is left of it is forgotten, and it can only be reset.',
    input: strict({ migrationId, resumable }),
    output: Migration,
    ...command,
    http: [{ method: 'POST', path: '/api/v1/migrations/{migrationId}/stop' }],
    cli: { args: ['migrationId'] },
  },
  'stop-all': {
    summary: 'Stop all migrations that run or wait',
    input: strict({ resumable }),
    output: Outcomes,
    ...commandToAll,
    http: [{ method: 'POST', path: '/api/v1/migrations/stop' }],
  },
  resume: {
    summary: 'Go on with a stopped migration',
    input: byId,
    output: Migration,
    ...command,
    http: [{ method: 'POST', path: '/api/v1/migrations/{migrationId}/resume' }],
    cli: { args: ['migrationId'] },
  },
  reset: {
    summary: 'Forget what a migration has done, and begin from the start',
    description:
      'Its queue, figures and failures are gone; what it copied stays. One that was never started still waits for its start.',
    input: strict({
      migrationId,
      actionPolicy: actionPolicy('as before'),
      reloadMappings: Type.Optional(
        Type.Boolean({ description: 'Take path mappings as they are now; default false' }),
      ),
    }),
    output: Migration,
    ...command,
    http: [{ method: 'POST', path: '/api/v1/migrations/{migrationId}/reset' }],
    cli: { args: ['migrationId'] },
  },
  update: {
    summary:
      'Change the priority, the policy, the recurrence, the movers, the cleanup of the source or what may be deleted at the target of a migration; what is not given stays',
    description:
      'A period takes the place of a schedule, and a schedule that of a period. All of it holds at once, also for a migration that runs; a policy for what it has not looked at yet.',
    input: strict({
      migrationId,
      migrationPriority: migrationPriority('as before'),
      actionPolicy: actionPolicy('as before'),
      recurringPeriodSeconds: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: maxPeriodSeconds,
          description: 'Seconds from the start of one scan to the start of the next',
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
    errors: ['NOT_FOUND'],
    http: [{ method: 'PATCH', path: '/api/v1/migrations/{migrationId}' }],
    cli: { args: ['migrationId'], example: 'gantry migrations update nightly --migration-priority HIGH' },
  },
  'limit-pending-regions': {
    summary: 'Say how many folders of a migration may wait to be scanned again',
    description: `A further one is refused. More than ${maxPendingRegions} never wait, and nothing but a call adds one: changes that are too many to follow cause a comparison.`,
    input: strict({
      migrationId,
      maxPendingRegions: Type.Integer({
        minimum: 1,
        maximum: Number.MAX_SAFE_INTEGER,
        description: `How many; what is above ${maxPendingRegions} counts as that`,
      }),
    }),
    output: Migration,
    ...command,
    errors: ['NOT_FOUND', 'IN_USE'],
    http: [{ method: 'PUT', path: '/api/v1/migrations/{migrationId}/max-pending-regions' }],
    cli: { args: ['migrationId', 'maxPendingRegions'] },
  },
  delete: {
    summary: 'Forget a migration that is not running; what it copied stays',
    description: 'Its verifications and cleanups stay too, with their reports; see delete-with-assets.',
    input: byId,
    output: Nothing,
    ...command,
    http: [{ method: 'DELETE', path: '/api/v1/migrations/{migrationId}' }],
    cli: { args: ['migrationId'] },
  },
  'delete-all': {
    summary: 'Forget all migrations that are not running; what they copied stays',
    input: strict({}),
    output: Outcomes,
    ...commandToAll,
    http: [{ method: 'DELETE', path: '/api/v1/migrations' }],
  },
  'delete-with-assets': {
    summary:
      'Forget a migration with its verifications, cleanups and their reports, and tell how much that was; files at source and target stay as they are',
    description: 'A verification or cleanup that is under way is cancelled first.',
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
