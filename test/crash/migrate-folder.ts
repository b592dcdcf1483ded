import { filesystems } from '../../subjects/filesystems/filesystems.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import type { Victim } from './victim.ts'

/** Begins the migration `one` of all of a folder of this host to another. */
export async function migrateFolder(
  victim: Victim,
  { from, to }: { from: string; to: string },
): Promise<void> {
  await victim.call(filesystems['create-local'], { fileSystemId: 'from', role: 'source', fsRoot: from })
  await victim.call(filesystems['create-local'], { fileSystemId: 'to', role: 'target', fsRoot: to })
  await victim.call(migrations.create, {
    migrationId: 'one',
    path: '/',
    source: 'from',
    target: 'to',
    scanOnlyMigration: true,
    autoStart: true,
  })
}
