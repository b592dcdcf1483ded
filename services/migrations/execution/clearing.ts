import { Queue } from '../../../broker/queue/queue.ts'
import { QueueReader } from '../../../broker/queue/reader.ts'
import type { Log } from '../../../broker/common/log.ts'
import type { NatsConnection } from '../../../broker/rpc/connection.ts'
import type { Collection } from '../../../broker/state/collection.ts'
import type { Mover, MoveSpec } from '../../engine/mover.ts'
import { isCounted, type Left, type MigrationRecord, workIdOf } from '../lifecycle/record.ts'
import { isActive } from '../lifecycle/states.ts'
import { applyTransition } from '../lifecycle/transition.ts'
import { forgetWork, type WorkStores } from '../progress/work.ts'

interface Stores extends WorkStores {
  readonly records: Collection<typeof MigrationRecord>
  readonly mover: Pick<Mover, 'forget'>
}

/** The work was ended: by a stop, by somebody more urgent, by a reset, which leaves what nobody needs any more. */
export async function halted(stores: Stores, record: MigrationRecord, left: Left): Promise<void> {
  const { records } = stores
  const { migrationId } = record
  const workId = workIdOf(record)
  await drained(stores, record, left)
  const latest = await records.get(migrationId)
  if (latest === undefined || workIdOf(latest) !== workId) {
    await stores.mover.forget(record.internalId)
    return forgetWork(stores, workId)
  }
  if (latest.state !== 'SCHEDULED' || Object.keys(left).length === 0) return
  await records.update(migrationId, (current) =>
    workIdOf(current) === workId && current.state === 'SCHEDULED' ? { ...current, ...left } : undefined,
  )
}

/** A stopped migration has no work in progress any more. */
export async function drained(
  { records, connection, mover }: Stores,
  { migrationId, internalId }: MigrationRecord,
  left: Left,
): Promise<void> {
  const record = await applyTransition(records, migrationId, 'drained', (current) =>
    current.internalId === internalId ? ended(current, left) : undefined,
  )
  if (record === undefined || record.resumable) return
  await mover.forget(internalId)
  await Queue.deleteByName(connection, workIdOf(record))
}

/** One that cannot go on is not behind, as it does not follow its source any more, and nothing is kept for it. */
const ended = (
  { behindSince: _behind, handedBack: _handedBack, ...current }: MigrationRecord,
  left: Left,
): MigrationRecord => (current.resumable ? { ...current, ...left } : current)

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
  for (const list of (await failures.counts()).keys()) {
    if (!withFailures.has(list)) await failures.remove(list)
  }
  return left
}

const needsQueue = ({ state, resumable }: MigrationRecord): boolean =>
  isActive(state) || state === 'SCHEDULED' || (state === 'STOPPED' && resumable)

/** Somebody waits for the answer; a target that is away must not keep a migration from being deleted. */
const patienceMs = 3_000

export interface LeftoverDependencies {
  readonly connection: NatsConnection
  readonly mover: Pick<Mover, 'sweep'>
  readonly resolve: (record: MigrationRecord) => Promise<MoveSpec>
  readonly log: Log
}

/**
 * Removes from the target what writers that died had under construction for work that nobody will go on with. Where they
 * were writing, the items say that are not done. What cannot be removed is told in the log.
 */
export async function removeLeftovers(
  { connection, mover, resolve, log }: LeftoverDependencies,
  record: MigrationRecord,
): Promise<void> {
  const signal = AbortSignal.timeout(patienceMs)
  try {
    const items = await QueueReader.open(connection, workIdOf(record))
    let spec: MoveSpec | undefined
    for await (const { data } of items.items()) {
      spec ??= await resolve(record)
      await mover.sweep(spec, data, signal)
    }
  } catch (err) {
    log.warn(
      { err, migration: record.migrationId },
      'Temporary files of a deleted migration may remain at its target.',
    )
  }
}
