import { notAccepted } from '../../../subjects/kit/errors.ts'
import type { Movers } from '../../../subjects/migrations/agents.ts'
import type { Input } from '../../../subjects/kit/contract.ts'
import type { migrations } from '../../../subjects/migrations/migrations.ts'
import { cleanupOf } from '../jobs/cleanups/setting.ts'
import { deletionsOf } from './target-match.ts'
import type { MigrationRecord } from '../lifecycle/record.ts'
import { planned } from '../../scheduling/recurrence.ts'
import { planOf } from './recurrence-input.ts'
import type { MigrationKind } from '../lifecycle/states.ts'

type Changes = Omit<Input<(typeof migrations)['update']>, 'migrationId'>

/** A record with what `update` can change. @throws GantryError NOT_ACCEPTED */
export function changed(current: MigrationRecord, changes: Changes, nowMs: number): MigrationRecord {
  const { migrationPriority = current.priority, movedBy = current.movedBy } = changes
  const { actionPolicy, additionalProperties = current.additionalProperties } = changes
  requireMovers(current.kind, changes.movedBy)
  const { cleanup: before, ...rest } = current
  const cleanup = cleanupOf(changes, current, before)
  return {
    ...rest,
    priority: migrationPriority,
    policy: actionPolicy ?? current.policy,
    ...(additionalProperties === undefined ? {} : { additionalProperties }),
    ...(movedBy === undefined ? {} : { movedBy }),
    ...recurrenceOf(current, changes, nowMs),
    ...(cleanup === undefined ? {} : { cleanup }),
    ...deletionsOf(changes, current),
  }
}

/** @throws GantryError NOT_ACCEPTED for movers that a kind of migration cannot have */
export function requireMovers(kind: MigrationKind, movedBy: Movers | undefined): void {
  if (kind === 'live' && movedBy === 'AGENTS')
    throw notAccepted('movedBy', 'must not be AGENTS for a live migration: only the platform follows changes')
}

function recurrenceOf(
  { recurrence, kind }: MigrationRecord,
  { recurringPeriod, recurringPeriodSeconds, recurringSchedule, recurringTimeZone, recurringWindow }: Changes,
  nowMs: number,
): Pick<MigrationRecord, 'recurrence'> {
  const given = Object.entries({
    recurringPeriod,
    recurringPeriodSeconds,
    recurringSchedule,
    recurringTimeZone,
    recurringWindow,
  }).find(([, value]) => value !== undefined)
  if (given === undefined) return {}
  if (recurrence === undefined)
    throw notAccepted(
      given[0],
      `is only for recurring migrations; this migration is ${kind === 'once' ? 'one-time' : kind}`,
    )
  if (recurringPeriod !== undefined && recurringPeriodSeconds !== undefined)
    throw notAccepted('recurringPeriodSeconds', 'cannot be combined with recurringPeriod: leave it out')
  const newPeriod = recurringPeriod ?? recurringPeriodSeconds
  const schedule = recurringSchedule ?? (newPeriod === undefined ? recurrence.schedule : undefined)
  const timeZone = recurringTimeZone ?? (schedule === undefined ? undefined : recurrence.timeZone)
  const window = recurringWindow ?? (schedule === undefined ? undefined : recurrence.windowSeconds)
  const period = newPeriod ?? (schedule === undefined ? recurrence.periodSeconds : undefined)
  const plan = planOf({
    ...(period === undefined ? {} : { period }),
    ...(schedule === undefined ? {} : { recurringSchedule: schedule }),
    ...(timeZone === undefined ? {} : { recurringTimeZone: timeZone }),
    ...(window === undefined ? {} : { recurringWindow: window }),
  })
  const { count, iterations } = recurrence
  return { recurrence: planned({ ...plan, count, iterations }, nowMs) }
}
