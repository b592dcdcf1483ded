import { migrationPriorities } from '../../subjects/migrations/model/model.ts'
import type { MigrationRecord } from '../migrations/lifecycle/record.ts'
import { isOpen, mayRun, windowChangeMs } from './recurrence.ts'
import type { Happening } from '../migrations/lifecycle/states.ts'

/** What the scheduler has to say to a migration. */
export interface Admission {
  readonly migrationId: string
  readonly internalId: string
  readonly trigger: Extract<Happening, 'due' | 'admitted' | 'displaced'>
}

/**
 * Whose turn it is. The most urgent run, of equal priority those that run already, then whoever came first. Who runs and
 * is not among them, or outside of the windows of its schedule, makes room. It depends on the records alone, so that it does not matter who asks and how often, and
 * a mistake made on old records is put right by the next look.
 * @param limit how many may run at once, 0 for any number
 */
export function admissionsOf(records: readonly MigrationRecord[], limit: number, nowMs: number): Admission[] {
  const turn = (trigger: Admission['trigger']) => (record: MigrationRecord) => ({
    migrationId: record.migrationId,
    internalId: record.internalId,
    trigger,
  })
  const [inTime, shut] = partition(records.filter(takesPart), (record) => isInTime(record, nowMs))
  const [following, counted] = partition(inTime, followsOnly)
  const places = limit === 0 ? counted.length : limit
  const ordered = counted.toSorted(byTurn)
  const running = [...following, ...ordered.slice(0, places)]
  return [
    ...[...shut, ...ordered.slice(places)].filter(isRunning).map(turn('displaced')),
    ...running.filter((record) => !isRunning(record)).map(turn('admitted')),
    ...records.filter((record) => isDue(record, nowMs)).map(turn('due')),
  ]
}

/**
 * When turns change by themselves: a recurrence is due, or a window of somebody who runs or waits begins or ends.
 * Milliseconds since 1970; undefined when nothing of that is planned.
 */
export function nextDueMs(records: readonly MigrationRecord[], nowMs: number): number | undefined {
  const times = records.flatMap((record) => dueMs(record, nowMs) ?? [])
  return times.length === 0 ? undefined : Math.min(...times)
}

function dueMs(record: MigrationRecord, nowMs: number): number | undefined {
  const { recurrence } = record
  if (recurrence === undefined || !(isWaiting(record) || takesPart(record))) return undefined
  const nextMs = isWaiting(record) ? Date.parse(recurrence.nextRun ?? '') : Number.NaN
  // One that was missed begins with the next window.
  return nextMs > nowMs ? nextMs : windowChangeMs(recurrence, nowMs)
}

const isRunning = ({ state }: MigrationRecord): boolean => state === 'RUNNING'
const isWaiting = ({ state }: MigrationRecord): boolean => state === 'WAITING_FOR_NEXT_RECURRENCE'

const takesPart = ({ state }: MigrationRecord): boolean =>
  state === 'RUNNING' || state === 'SCHEDULED' || state === 'RECURRENCE_SCHEDULED'

/** Whether no window of its own keeps it from running. */
export const isInTime = ({ recurrence, scheduled, created }: MigrationRecord, nowMs: number): boolean =>
  recurrence === undefined || mayRun(recurrence, Date.parse(scheduled ?? created), nowMs)

/** One that follows changes must not fall behind because others scan: from its first scan on it needs no place. */
export const followsOnly = ({ kind, scanned }: Pick<MigrationRecord, 'kind' | 'scanned'>): boolean =>
  kind === 'live' && scanned !== undefined

const isDue = (record: MigrationRecord, nowMs: number): boolean =>
  isWaiting(record) &&
  record.recurrence?.nextRun !== undefined &&
  Date.parse(record.recurrence.nextRun) <= nowMs &&
  isOpen(record.recurrence, nowMs)

function byTurn(one: MigrationRecord, other: MigrationRecord): number {
  return (
    migrationPriorities.indexOf(one.priority) - migrationPriorities.indexOf(other.priority) ||
    Number(isRunning(other)) - Number(isRunning(one)) ||
    compare(one.scheduled ?? one.created, other.scheduled ?? other.created) ||
    compare(one.internalId, other.internalId)
  )
}

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

function partition<T>(all: readonly T[], belongs: (one: T) => boolean): [T[], T[]] {
  return [all.filter(belongs), all.filter((one) => !belongs(one))]
}
