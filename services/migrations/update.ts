import type { Input } from '../../subjects/contract.ts'
import type { migrations } from '../../subjects/migrations.ts'
import { cleanupOf } from './cleanups/setting.ts'
import { invalidField } from './invalid.ts'
import type { MigrationRecord } from './record.ts'
import { planned } from './recurrence.ts'
import { planOf } from './recurrence-input.ts'

type Changes = Omit<Input<(typeof migrations)['update']>, 'migrationId'>

/** A record with its priority or recurrence changed. @throws GantryError INVALID_INPUT */
export function changed(current: MigrationRecord, changes: Changes, nowMs: number): MigrationRecord {
  const { migrationPriority = current.priority } = changes
  const { cleanup: before, ...rest } = current
  const cleanup = cleanupOf(changes, current, before)
  return {
    ...rest,
    priority: migrationPriority,
    ...recurrenceOf(current, changes, nowMs),
    ...(cleanup === undefined ? {} : { cleanup }),
  }
}

function recurrenceOf(
  { recurrence, kind }: MigrationRecord,
  { recurringPeriodSeconds, recurringSchedule, recurringTimeZone }: Changes,
  nowMs: number,
): Pick<MigrationRecord, 'recurrence'> {
  const given = Object.entries({ recurringPeriodSeconds, recurringSchedule, recurringTimeZone }).find(
    ([, value]) => value !== undefined,
  )
  if (given === undefined) return {}
  if (recurrence === undefined)
    throw invalidField(given[0], `is for recurring migrations; this one is ${kind}`)
  const schedule =
    recurringSchedule ?? (recurringPeriodSeconds === undefined ? recurrence.schedule : undefined)
  const timeZone = recurringTimeZone ?? (schedule === undefined ? undefined : recurrence.timeZone)
  const plan = planOf({
    ...(recurringPeriodSeconds === undefined ? {} : { period: recurringPeriodSeconds }),
    ...(schedule === undefined ? {} : { recurringSchedule: schedule }),
    ...(timeZone === undefined ? {} : { recurringTimeZone: timeZone }),
  })
  const { count, iterations } = recurrence
  return { recurrence: planned({ ...plan, count, iterations }, nowMs) }
}
