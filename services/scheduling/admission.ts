import {
  migrationPriorities,
  type MigrationPriority,
  type MigrationState,
} from '../../subjects/migrations/model/model.ts'
import { isOpen, mayRun, type Recurrence, windowChangeMs } from './recurrence.ts'

/** What of a record decides when it may run. */
export interface Schedulable {
  readonly migrationId: string
  readonly internalId: string
  readonly state: MigrationState
  readonly kind: string
  readonly priority: MigrationPriority
  readonly created: string
  /** When it was asked to run last. */
  readonly scheduled?: string | undefined
  /** When its first scan was over. */
  readonly scanned?: string | undefined
  readonly recurrence?: Recurrence | undefined
}

/** What the scheduler has to say to a migration. */
export interface Admission {
  readonly migrationId: string
  readonly internalId: string
  /** The time of its next recurrence has come; it may run; it makes room for another, or its window is over. */
  readonly trigger: 'due' | 'admitted' | 'displaced'
}

/**
 * Whose turn it is. The most urgent run, of equal priority those that run already, then whoever came first. Who runs and
 * is not among them, or outside of the windows of its schedule, makes room. It depends on the records alone, so that it does not matter who asks and how often, and
 * a mistake made on old records is put right by the next look.
 * @param limit how many may run at once, 0 for any number
 */
export function admissionsOf(records: readonly Schedulable[], limit: number, nowMs: number): Admission[] {
  const turn = (trigger: Admission['trigger']) => (record: Schedulable) => ({
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
export function nextDueMs(records: readonly Schedulable[], nowMs: number): number | undefined {
  const times = records.flatMap((record) => dueMs(record, nowMs) ?? [])
  return times.length === 0 ? undefined : Math.min(...times)
}

function dueMs(record: Schedulable, nowMs: number): number | undefined {
  const { recurrence } = record
  if (recurrence === undefined || !(isWaiting(record) || takesPart(record))) return undefined
  const nextMs = isWaiting(record) ? Date.parse(recurrence.nextRun ?? '') : Number.NaN
  // One that was missed begins with the next window.
  return nextMs > nowMs ? nextMs : windowChangeMs(recurrence, nowMs)
}

const isRunning = ({ state }: Schedulable): boolean => state === 'RUNNING'
const isWaiting = ({ state }: Schedulable): boolean => state === 'WAITING_FOR_NEXT_RECURRENCE'

const takesPart = ({ state }: Schedulable): boolean =>
  state === 'RUNNING' || state === 'SCHEDULED' || state === 'RECURRENCE_SCHEDULED'

/** Whether no window of its own keeps it from running. */
export const isInTime = ({ recurrence, scheduled, created }: Schedulable, nowMs: number): boolean =>
  recurrence === undefined || mayRun(recurrence, Date.parse(scheduled ?? created), nowMs)

/** One that follows changes must not fall behind because others scan: from its first scan on it needs no place. */
export const followsOnly = ({ kind, scanned }: Pick<Schedulable, 'kind' | 'scanned'>): boolean =>
  kind === 'live' && scanned !== undefined

const isDue = (record: Schedulable, nowMs: number): boolean =>
  isWaiting(record) &&
  record.recurrence?.nextRun !== undefined &&
  Date.parse(record.recurrence.nextRun) <= nowMs &&
  isOpen(record.recurrence, nowMs)

function byTurn(one: Schedulable, other: Schedulable): number {
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
