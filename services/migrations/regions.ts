import type { Collection } from '../../broker/collection.ts'
import { GantryError } from '../../subjects/errors.ts'
import type { ActionPolicy } from '../../subjects/migration-model.ts'
import { pathFromText } from '../drivers/path-text.ts'
import type { ActiveMigration } from './active.ts'
import { relativePath } from './engine/paths.ts'
import { maxPendingRegions, type MigrationRecord, type PendingRegion } from './record.ts'

/** Whether folders wait to be put into the queue. */
export const hasUnqueued = ({ pendingRegions }: MigrationRecord): boolean =>
  pendingRegions.some(({ queued }) => !queued)

/** A folder that is to be put into the queue once more. */
export const unqueued = (region: PendingRegion): PendingRegion => ({ ...region, queued: false })

/**
 * The folders with one more; the same when it waits already. Ids grow with time, as the queue takes those that it has seen
 * before for the same.
 * @throws GantryError OVERLOADED when too many wait
 */
export function withRegion(
  regions: readonly PendingRegion[],
  { path, policy }: { path: string; policy?: ActionPolicy | undefined },
  now: Date,
): PendingRegion[] {
  if (regions.some((one) => !one.queued && one.path === path && one.policy === policy)) return [...regions]
  if (regions.length >= maxPendingRegions) {
    throw new GantryError(
      'OVERLOADED',
      `${maxPendingRegions} folders wait to be scanned again: try later, or take a folder that has them all in it`,
    )
  }
  const id = Math.max(now.getTime(), ...regions.map((one) => one.id + 1))
  const created = now.toISOString()
  return [...regions, { id, path, ...(policy === undefined ? {} : { policy }), created, queued: false }]
}

/** Puts the folders that wait into the queue; twice is harmless. */
export async function queueRegions(
  records: Collection<typeof MigrationRecord>,
  { migrationId, generation, path: root, pendingRegions }: MigrationRecord,
  active: ActiveMigration,
): Promise<void> {
  const waiting = pendingRegions.filter(({ queued }) => !queued)
  if (waiting.length === 0) return
  for (const { id, path, policy } of waiting) {
    await active.rescan(id, relativePath(pathFromText(root), pathFromText(path)), policy)
  }
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
