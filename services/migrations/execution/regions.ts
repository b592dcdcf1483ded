import { isDeepStrictEqual } from 'node:util'
import type { Collection } from '../../../broker/state/collection.ts'
import { GantryError } from '../../../subjects/kit/errors.ts'
import { maxPendingRegions } from '../../../subjects/migrations/model/model.ts'
import { pathFromText } from '../../drivers/paths/path-text.ts'
import type { ActiveMigration } from './active.ts'
import { relativePath } from '../../engine/items/paths.ts'
import type { FailureLedger } from '../failures/failures.ts'
import { type MigrationRecord, type PendingRegion, workIdOf } from '../lifecycle/record.ts'
import type { ExcludedFailures } from '../failures/excluded-failures.ts'
import { retryItems } from '../failures/retries.ts'
import { isBetweenScans } from '../lifecycle/states.ts'

/** Whether folders or failures wait to be put into the queue. */
export const hasUnqueued = ({ pendingRegions }: MigrationRecord): boolean =>
  pendingRegions.some(({ queued }) => !queued)

/** Whether folders or failures were put into the queue, and nobody knows yet that they are done. */
export const hasQueued = ({ pendingRegions }: Pick<MigrationRecord, 'pendingRegions'>): boolean =>
  pendingRegions.some(({ queued }) => queued)

/** Whether a scan is over, and of what was asked for since nothing is begun: what is at the target is of that scan alone. */
export const isUntouched = ({ counts, pendingRegions }: Pick<MigrationRecord, 'counts' | 'pendingRegions'>) =>
  counts !== undefined && !hasQueued({ pendingRegions })

/** A folder that is to be put into the queue once more. */
export const unqueued = (region: PendingRegion): PendingRegion => ({ ...region, queued: false })

/**
 * The folders with one more; the same when it waits already. Ids grow with time, as the queue takes those that it has seen
 * before for the same.
 * @throws GantryError OVERLOADED when too many wait
 */
function withRegion(
  regions: readonly PendingRegion[],
  asked: Pick<PendingRegion, 'path' | 'policy' | 'failures' | 'targetMatch'>,
  now: Date,
  most: number,
): PendingRegion[] {
  const isSame = ({ id: _id, created: _created, failedUpTo: _upTo, queued, ...one }: PendingRegion) =>
    !queued && isDeepStrictEqual(one, asked)
  if (regions.some(isSame)) return [...regions]
  if (regions.length >= most) {
    throw new GantryError(
      'OVERLOADED',
      `${regions.length} rescans of folders are pending: try again later, or choose a parent folder that contains them all`,
    )
  }
  const id = Math.max(now.getTime(), ...regions.map((one) => one.id + 1))
  return [...regions, { id, ...asked, created: now.toISOString(), queued: false }]
}

/** What a folder has is to be found once more. */
const unlisted = ({ listed: _listed, ...current }: MigrationRecord): MigrationRecord => current

/** A migration with one more folder to scan again; see `withRegion`. */
export const withRegionIn = (
  current: MigrationRecord,
  region: Parameters<typeof withRegion>[1],
  now: Date,
): MigrationRecord => ({
  ...unlisted(current),
  // One that waits or runs keeps its place.
  ...(isBetweenScans(current.state) ? { scheduled: now.toISOString() } : {}),
  pendingRegions: withRegion(current.pendingRegions, region, now, maxRegionsOf(current)),
})

/**
 * A migration whose source was accepted as another one: where its scan was over and something in it was to be done again, all
 * of it is. That does whatever else waits, but for folders with settings of their own.
 * @throws GantryError OVERLOADED when too many of those wait
 */
export function withAcceptedSource(current: MigrationRecord, now: Date): MigrationRecord {
  const { kind, path, pendingRegions } = current
  if (kind === 'live' || !isUntouched(current) || !hasUnqueued(current)) return current
  const others = pendingRegions.filter(
    ({ policy, targetMatch }) => policy !== undefined || targetMatch !== undefined,
  )
  return { ...unlisted(current), pendingRegions: withRegion(others, { path }, now, maxPendingRegions) }
}

/** So many folders may wait, whatever was asked for. */
export const maxRegionsOf = ({
  maxPendingRegions: own = maxPendingRegions,
}: Pick<MigrationRecord, 'maxPendingRegions'>): number => Math.min(own, maxPendingRegions)

/** A migration in which no more than so many folders may wait. @throws GantryError IN_USE when more do */
export function withMaxRegions(current: MigrationRecord, most: number): MigrationRecord {
  const { pendingRegions, maxPendingRegions: _before, ...record } = current
  if (pendingRegions.length > most)
    throw new GantryError(
      'IN_USE',
      `${pendingRegions.length} rescans of folders are pending: a limit of ${most} can be set when they are done`,
    )
  return { ...record, pendingRegions, ...(most === maxPendingRegions ? {} : { maxPendingRegions: most }) }
}

/** Notes up to where the list of failures goes, before anything of these folders can fail; once for each. */
async function noteFailedUpTo(
  records: Collection<typeof MigrationRecord>,
  { migrationId, generation }: Pick<MigrationRecord, 'migrationId' | 'generation'>,
  waiting: readonly PendingRegion[],
  ledger: Pick<FailureLedger, 'lastSequence'>,
): Promise<void> {
  const isNew = ({ failures, failedUpTo }: PendingRegion) =>
    failures === undefined && failedUpTo === undefined
  const ids = new Set(waiting.filter(isNew).map(({ id }) => id))
  if (ids.size === 0) return
  const failedUpTo = await ledger.lastSequence()
  await records.update(migrationId, (current) =>
    current.generation === generation
      ? {
          ...current,
          pendingRegions: current.pendingRegions.map((one) =>
            ids.has(one.id) ? { failedUpTo, ...one } : one,
          ),
        }
      : undefined,
  )
}

/** Puts the folders that wait into the queue. Idempotent. */
export async function queueRegions(
  records: Collection<typeof MigrationRecord>,
  { migrationId, internalId, generation, kind, path: rootText, pendingRegions }: MigrationRecord,
  active: ActiveMigration,
  ledger: FailureLedger,
  excluded: ExcludedFailures,
): Promise<void> {
  const waiting = pendingRegions.filter(({ queued }) => !queued)
  if (waiting.length === 0) return
  const root = pathFromText(rootText)
  const retried = { workId: workIdOf({ internalId, generation }), root, isLive: kind === 'live' }
  await noteFailedUpTo(records, { migrationId, generation }, waiting, ledger)
  for (const { id, path, policy, failures } of waiting) {
    if (failures !== undefined) {
      for await (const items of retryItems(ledger, retried, failures, excluded)) await active.retry(id, items)
      continue
    }
    await active.rescan(id, relativePath(root, pathFromText(path)), policy)
  }
  await active.noteQueued()
  const ids = new Set(waiting.map(({ id }) => id))
  await records.update(migrationId, (current) =>
    current.generation === generation
      ? {
          ...current,
          pendingRegions: current.pendingRegions.map((one) =>
            ids.has(one.id) ? { ...one, queued: true } : one,
          ),
        }
      : undefined,
  )
}
