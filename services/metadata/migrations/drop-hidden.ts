import type { Log } from '../../../broker/common/log.ts'
import type { Collection } from '../../../broker/state/collection.ts'
import { isHiddenName } from '../catalogs/hidden-tables.ts'
import type { Ends } from './ends.ts'
import type { MetadataMigrationRecord, ObjectRecord } from './record.ts'
import { objectOf } from './reconcile/objects.ts'
import type { RunDependencies } from './run.ts'

/** Somebody waits for the answer; a catalog that is away must not keep a migration from being reset or deleted. */
const patienceMs = 5_000

export interface HiddenDependencies {
  readonly objects: Collection<typeof ObjectRecord>
  readonly ends: Pick<Ends, 'sidesOf'>
  readonly work: RunDependencies['work']
  /** Resolves when nothing writes for a migration any more. */
  readonly ended: (internalId: string) => Promise<void>
  readonly log: Log
}

/**
 * Drops at the target the hidden tables that a migration has begun, and that nobody will go on with. What cannot be dropped is
 * told in the log. Never rejects.
 */
export async function dropHiddenTables(
  { objects, ends, work, ended, log }: HiddenDependencies,
  record: MetadataMigrationRecord,
): Promise<void> {
  const { migrationName, internalId, owner = '' } = record
  try {
    await ended(internalId)
    const begun = await objects.listGroup(internalId, { where: ({ isHidden }) => isHidden === true })
    const databases = new Set([...begun, ...record.inHand.map(objectOf)].map(({ database }) => database))
    if (databases.size === 0) return
    const sides = await ends.sidesOf(record)
    const asker = { owner, signal: AbortSignal.timeout(patienceMs) }
    for (const database of databases) {
      const { tables = [] } = await work('tables', sides, { database, side: 'target' }, asker)
      const names = tables.map(({ name }) => name).filter(isHiddenName)
      if (names.length > 0) await work('drop-left', sides, { database, names }, asker)
    }
  } catch (err) {
    log.warn(
      { err, migration: migrationName },
      'A hidden table of a metadata migration that was reset or deleted may remain at its target.',
    )
  }
}
