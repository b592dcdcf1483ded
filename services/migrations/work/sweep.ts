import type { Collection } from '../../../broker/state/collection.ts'
import { Queue } from '../../../broker/queue/queue.ts'
import { isCounted, type MigrationRecord, workIdOf } from '../lifecycle/record.ts'
import { isActive } from '../lifecycle/states.ts'
import type { WorkStores } from '../progress/work.ts'

export interface SweepOptions extends WorkStores {
  readonly records: Collection<typeof MigrationRecord>
}

/**
 * Deletes queues, progress and failures that no migration needs: the process that ended or deleted it died before it
 * could clear them. Returns the names of the queues that are left.
 */
export async function sweep({ connection, records, progress, failures }: SweepOptions): Promise<string[]> {
  const all = await records.all()
  const inNeed = (needs: (record: MigrationRecord) => boolean) => new Set(all.filter(needs).map(workIdOf))
  const left: string[] = []
  const withQueue = inNeed(needsQueue)
  for (const name of await Queue.names(connection)) {
    if (withQueue.has(name)) left.push(name)
    else await Queue.deleteByName(connection, name)
  }
  const withProgress = inNeed((record) => !isCounted(record))
  await progress.forget((migration) => !withProgress.has(migration))
  const withFailures = inNeed(() => true)
  for (const book of (await failures.counts()).keys()) {
    if (!withFailures.has(book)) await failures.remove(book)
  }
  return left
}

const needsQueue = ({ state, resumable }: MigrationRecord): boolean =>
  isActive(state) || state === 'SCHEDULED' || (state === 'STOPPED' && resumable)
