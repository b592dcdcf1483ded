import type { NatsConnection } from '../../../broker/rpc/connection.ts'
import type { Log } from '../../../broker/common/log.ts'
import { QueueReader } from '../../../broker/queue/reader.ts'
import type { Mover, MoveSpec } from '../../engine/mover.ts'
import { type MigrationRecord, workIdOf } from '../lifecycle/record.ts'

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
      'Files under construction of a migration that is deleted may be left at its target.',
    )
  }
}
