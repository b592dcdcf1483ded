import type { Collection } from '../../../../broker/state/collection.ts'
import { GantryError, notAccepted } from '../../../../subjects/kit/errors.ts'
import { targetsOf } from '../../rules/mappings/frozen.ts'
import { areNested } from '../../places/overlap.ts'
import type { PlaceDependencies } from '../../places/places.ts'
import type { MigrationRecord } from '../../lifecycle/record.ts'

export interface CleanablesDependencies extends Pick<PlaceDependencies, 'locate'> {
  readonly records: Collection<typeof MigrationRecord>
}

/** Why the source of such a migration is never cleaned up; undefined when it may be. */
export function whyNotCleaned({
  kind,
  links,
  targetMatch,
}: Pick<MigrationRecord, 'kind' | 'links' | 'targetMatch'>): string | undefined {
  if (kind !== 'once')
    return `is only for one-time migrations; a ${kind} migration still needs the files that it has copied`
  if (targetMatch !== undefined)
    return 'cannot be combined with targetMatch: files removed from the source would be deleted at the target'
  if (links === 'follow')
    return 'cannot be combined with links=follow: the targets of links may be needed elsewhere'
  return undefined
}

/**
 * Asked before a cleanup and all the time while it goes on.
 * @throws GantryError NOT_ACCEPTED, NOT_ALLOWED_IN_STATE with what is in the way
 */
export async function requireCleanable(
  dependencies: CleanablesDependencies,
  record: MigrationRecord,
): Promise<void> {
  const { migrationId, state, source, path, target } = record
  const reason = whyNotCleaned(record)
  if (reason !== undefined) throw notAccepted('migrationId', `is ${migrationId}; a cleanup ${reason}`)
  if (state !== 'COMPLETED')
    throw refused(`${migrationId} is ${state}: its source can be cleaned up only when it is COMPLETED`)
  const from = await dependencies.locate(source, path)
  for (const there of targetsOf(record)) {
    if (areNested(from, await dependencies.locate(target, there)))
      throw refused(
        `${there} of ${target} and ${path} of ${source} are the same folder, or one contains the other`,
      )
  }
  const others = await dependencies.records.all()
  for (const other of others) {
    if (other.migrationId === migrationId) continue
    if (!areNested(from, await dependencies.locate(other.source, other.path))) continue
    throw refused(`${other.migrationId} reads the same source: delete that migration first`)
  }
}

const refused = (problem: string) => new GantryError('NOT_ALLOWED_IN_STATE', problem)
