import { notAccepted } from '../../../../subjects/kit/errors.ts'
import type { Input } from '../../../../subjects/kit/contract.ts'
import type { migrations } from '../../../../subjects/migrations/migrations.ts'
import type { MigrationRecord } from '../../lifecycle/record.ts'
import { whyNotCleaned } from './allowed.ts'

type Asked = Pick<
  Input<(typeof migrations)['create']>,
  'deletionMode' | 'delayedDeletionPeriod' | 'autoSourceCleanupEnabled'
>
type Cleanup = MigrationRecord['cleanup']

/**
 * When the source is to be cleaned up by itself; undefined for never.
 * @param before what held until now, and holds where nothing else is asked
 * @throws GantryError NOT_ACCEPTED
 */
export function cleanupOf(
  asked: Asked,
  migration: Pick<MigrationRecord, 'kind' | 'links' | 'targetMatch'>,
  before?: Cleanup,
): Cleanup {
  const { deletionMode, delayedDeletionPeriod, autoSourceCleanupEnabled } = asked
  const mode = deletionMode ?? (autoSourceCleanupEnabled === true ? 'IMMEDIATE_DELETION' : modeOf(before))
  if (autoSourceCleanupEnabled === false && mode !== 'NO_DELETION')
    throw notAccepted('autoSourceCleanupEnabled', `cannot be combined with deletionMode=${mode}`)
  if (mode !== 'DELAYED_DELETION' && delayedDeletionPeriod !== undefined)
    throw notAccepted('delayedDeletionPeriod', 'is only for deletionMode=DELAYED_DELETION')
  if (mode === 'NO_DELETION') return undefined
  const reason = whyNotCleaned(migration)
  if (reason !== undefined) throw notAccepted('deletionMode', reason)
  if (mode === 'IMMEDIATE_DELETION') return { afterSeconds: 0 }
  const afterSeconds = delayedDeletionPeriod ?? before?.afterSeconds
  if (afterSeconds === undefined)
    throw notAccepted('delayedDeletionPeriod', 'is required with deletionMode=DELAYED_DELETION')
  return { afterSeconds }
}

const modeOf = (cleanup: Cleanup) =>
  cleanup === undefined
    ? 'NO_DELETION'
    : cleanup.afterSeconds === 0
      ? 'IMMEDIATE_DELETION'
      : 'DELAYED_DELETION'

/** When the source of a migration is to be cleaned up, in milliseconds since 1970; undefined when it is not. */
export function cleanupDueMs({
  state,
  completed,
  cleanup,
  cleanedAfter,
}: Pick<MigrationRecord, 'state' | 'completed' | 'cleanup' | 'cleanedAfter'>): number | undefined {
  const isWanted = state === 'COMPLETED' && cleanup !== undefined && completed !== undefined
  return isWanted && completed !== cleanedAfter
    ? Date.parse(completed) + cleanup.afterSeconds * 1_000
    : undefined
}

/** The setting as callers see it. */
export function cleanupSetting(record: MigrationRecord) {
  const { cleanup } = record
  const dueMs = cleanupDueMs(record)
  return {
    deletionMode: modeOf(cleanup),
    ...(cleanup === undefined ? {} : { delayedDeletionPeriodSeconds: cleanup.afterSeconds }),
    autoSourceCleanupEnabled: cleanup !== undefined,
    ...(dueMs === undefined ? {} : { nextCleanupTime: new Date(dueMs).toISOString() }),
  } as const
}
