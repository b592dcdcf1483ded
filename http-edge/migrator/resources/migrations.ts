import { type Contract, type HttpRoute, type Output } from '../../../subjects/kit/contract.ts'
import { fieldsOf } from '../../../subjects/kit/json-schema.ts'
import { list, model } from '../../../subjects/kit/schemas.ts'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import { maxPendingRegions, Migration } from '../../../subjects/migrations/model/model.ts'
import { type MigratorOperation, operation } from '../operation.ts'
import type { Warn, Wire } from '../../surface/operation.ts'
import { ActionPolicyField, ActionPolicyView, policyOf, wirePolicyOf } from '../policies.ts'

const errors = {
  NOT_FOUND: { errorCode: 'MIGRATION_NOT_FOUND' },
  ALREADY_EXISTS: { errorCode: 'MIGRATION_ALREADY_DEFINED' },
} as const

/** What refuses an action, by its name on the surface. */
const notNow = (errorCode: string) => ({ ...errors, NOT_ALLOWED_IN_STATE: { errorCode } })

const shown = (migration: Migration) => ({
  ...migration,
  targetActionPolicy: wirePolicyOf(migration.targetActionPolicy),
})
const WireMigration = model('Migration', { ...Migration.properties, targetActionPolicy: ActionPolicyView })

const fields = { actionPolicy: ActionPolicyField }

/** The policy by the name of the contract; notes are kept, and the caller is told that they are no more than that. */
function request(wire: Wire, warn: Warn): Wire {
  const { actionPolicy, additionalProperties } = wire
  if (additionalProperties !== undefined) warn('additionalProperties are stored but have no effect')
  return actionPolicy === undefined ? wire : { ...wire, actionPolicy: policyOf(actionPolicy) }
}

/** Clients of this interface leave out a period of 0, which the contract wants to be said. */
function created(wire: Wire, warn: Warn): Wire {
  const isRecurring = String(wire['recurringMigration']).toLowerCase() === 'true'
  const isPlanned = wire['recurringPeriod'] !== undefined || wire['recurringSchedule'] !== undefined
  return request(isRecurring && !isPlanned ? { ...wire, recurringPeriod: 0 } : wire, warn)
}

/** A larger number is kept as it was asked for. */
function limited(wire: Wire, warn: Warn): Wire {
  if (Number(wire['maxPendingRegions']) > maxPendingRegions)
    warn(`maxPendingRegions above ${maxPendingRegions} is treated as ${maxPendingRegions}`)
  return wire
}

const one = '/migrations/{migrationId}'

/** A command to one migration that answers with it. */
const command = (
  calls: Contract & { readonly output: typeof Migration },
  [method, path]: readonly [HttpRoute['method'], string],
  own: {
    readonly query?: readonly string[]
    readonly errors?: MigratorOperation['errors']
    readonly request?: typeof request
  } = {},
): MigratorOperation =>
  operation(calls, method, path, {
    errors,
    ...(Object.hasOwn(fieldsOf(calls.input), 'actionPolicy') ? { fields } : {}),
    request,
    ...own,
    reply: WireMigration,
    response: (migration: Output<typeof calls>) => shown(migration),
  })

const OldestWork = (() => {
  const { queuedTimeStamp, queuedDate, ...rest } = migrations['oldest-work'].output.properties
  return model('OldestIncompleteWorkItem', {
    ...rest,
    ldmActionCreationTimeStamp: queuedTimeStamp,
    ldmActionCreationDate: queuedDate,
  })
})()

const oldestWork = ({
  queuedTimeStamp,
  queuedDate,
  ...work
}: Output<(typeof migrations)['oldest-work']>): object => ({
  ...work,
  ldmActionCreationTimeStamp: queuedTimeStamp,
  ldmActionCreationDate: queuedDate,
})

const PendingRegion = model('PendingRegion', {
  ...migrations['pending-regions'].output.items.properties,
  actionPolicy: ActionPolicyView,
})

export const migrationOperations = [
  operation(migrations.list, 'GET', '/migrations', {
    reply: list(WireMigration),
    response: (all) => all.map(shown),
  }),
  operation(migrations['delete-all'], 'DELETE', '/migrations'),
  operation(migrations['stop-all'], 'POST', '/migrations/stop', { query: ['resumable'] }),
  operation(migrations['oldest-work-all'], 'GET', '/migrations/oldestIncompleteWorkItems', {
    reply: list(OldestWork),
    response: (all) => all.map(oldestWork),
  }),
  operation(migrations.get, 'GET', one, { errors, reply: WireMigration, response: shown }),
  operation(migrations.create, 'PUT', one, {
    query: 'all',
    status: 201,
    fields,
    errors: { ...errors, NOT_FOUND: { errorCode: 'FILE_SYSTEM_NOT_FOUND' } },
    // It names one that is to come.
    takesInternalIds: false,
    request: created,
    reply: WireMigration,
    response: shown,
  }),
  command(migrations.update, ['PATCH', one], { query: ['additionalProperties'] }),
  command(migrations.update, ['PUT', `${one}/toggleDeletionMode`], {
    query: ['deletionMode', 'actionPolicy', 'delayedDeletionPeriod'],
    errors: { ...errors, NOT_ACCEPTED: { errorCode: 'MIGRATION_DELETION_MODE_CONFLICT' } },
  }),
  operation(migrations.delete, 'DELETE', one, { errors: notNow('FAILED_TO_DELETE_FROM_CURRENT_STATE') }),
  operation(migrations['delete-with-assets'], 'DELETE', `${one}/withAssets`, {
    errors: notNow('FAILED_TO_DELETE_FROM_CURRENT_STATE'),
  }),
  command(migrations.start, ['POST', `${one}/start`], { errors: notNow('MIGRATION_NOT_RUNNABLE') }),
  command(migrations.stop, ['POST', `${one}/stop`], {
    query: ['resumable'],
    errors: notNow('MIGRATION_NOT_STOPPABLE'),
  }),
  command(migrations.resume, ['POST', `${one}/resume`], { errors: notNow('MIGRATION_NOT_RESUMABLE') }),
  command(migrations.reset, ['POST', `${one}/reset`], {
    query: ['actionPolicy', 'reloadMappings'],
    errors: notNow('MIGRATION_NOT_RESETTABLE'),
  }),
  operation(migrations['accept-source'], 'POST', `${one}/acceptSource`, {
    errors,
    reply: model('AcceptedSource', {
      ...migrations['accept-source'].output.properties,
      targetActionPolicy: ActionPolicyView,
    }),
    response: shown,
  }),
  command(migrations['approve-deletions'], ['POST', `${one}/approveDeletions`]),
  command(migrations['limit-pending-regions'], ['PUT', `${one}/maxPendingRegions/{maxPendingRegions}`], {
    request: limited,
    errors: { ...errors, IN_USE: { errorCode: 'MORE_PENDING_REGIONS_THAN_NEW_MAX' } },
  }),
  command(migrations['add-pending-region'], ['POST', `${one}/addPendingRegion`], {
    query: ['path', 'actionPolicy', 'targetMatch'],
    errors: {
      ...notNow('PENDING_REGIONS_NOT_PERMITTED'),
      NOT_ACCEPTED: { errorCode: 'PENDING_REGION_OUTSIDE_MIGRATION' },
    },
  }),
  operation(migrations['pending-regions'], 'GET', `${one}/pendingRegions`, {
    errors,
    reply: list(PendingRegion),
    response: (regions) =>
      regions.map((region) => ({ ...region, actionPolicy: wirePolicyOf(region.actionPolicy) })),
  }),
  operation(migrations['oldest-work'], 'GET', `${one}/oldestIncompleteWorkItem`, {
    errors,
    reply: OldestWork,
    response: oldestWork,
  }),
  operation(migrations['path-status'], 'GET', '/migration-path-status', { errors }),
  operation(migrations.failures, 'GET', `${one}/failures`, { errors }),
  operation(migrations['retry-failures'], 'POST', `${one}/failures/retry`, { errors }),
  operation(migrations['export-failures'], 'GET', `${one}/failures/export`, { errors }),
  operation(migrations.plan, 'GET', `${one}/plan`, { errors }),
]
