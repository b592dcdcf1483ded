import type { Counts } from '../../engine/run/counts.ts'
import { found, type MigrationRecord } from '../lifecycle/record.ts'
import { ended } from '../../scheduling/recurrence.ts'

/** The record when its queue is empty. */
export function scanned(
  current: MigrationRecord,
  { counts, failedPathCount }: { counts: Counts; failedPathCount: number },
  now: Date,
): MigrationRecord {
  const time = now.toISOString()
  const { behindSince: _behind, ...rest } = found(current)
  const record = { ...rest, scanned: current.scanned ?? time, pendingRegions: [] }
  const { kind, recurrence } = current
  if (kind === 'live') return record
  const totals = { counts, scanToForget: true }
  if (recurrence === undefined) return { ...record, ...totals, completed: time }
  const filesMigrated = counts.filesMigrated + counts.linksMigrated
  const outcome = { filesMigrated, bytesMigrated: counts.bytesMigrated, failedPathCount }
  return { ...record, ...totals, recurrence: ended(recurrence, outcome, now.getTime()) }
}
