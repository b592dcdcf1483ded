import type { MigrationState } from '../../../subjects/migrations/model/model.ts'
import type { MigrationRecord } from '../lifecycle/record.ts'
import { areNested } from '../places/overlap.ts'
import type { PlaceDependencies } from '../places/places.ts'
import { type Moved, targetsOf } from '../rules/mappings/frozen.ts'

/** States in which nobody works on a migration, and nobody will unless asked. */
const idle: readonly MigrationState[] = ['NONSCHEDULED', 'STOPPED', 'COMPLETED']

/** The migrations that read or write at a path of a filesystem, above or below it, whatever the filesystem is called. */
export async function workingAt<R extends Moved & Pick<MigrationRecord, 'state'>>(
  { locate }: Pick<PlaceDependencies, 'locate'>,
  all: readonly R[],
  { fileSystemId, path }: { readonly fileSystemId: string; readonly path: string },
): Promise<R[]> {
  const working = all.filter(({ state }) => !idle.includes(state))
  if (working.length === 0) return []
  const there = await locate(fileSystemId, path)
  const found: R[] = []
  for (const migration of working) {
    const { source, target } = migration
    const places = [
      locate(source, migration.path),
      ...targetsOf(migration).map((folder) => locate(target, folder)),
    ]
    if ((await Promise.all(places)).some((place) => areNested(place, there))) found.push(migration)
  }
  return found
}
