import type { NatsConnection } from '../../broker/connection.ts'
import { Queue } from '../../broker/queue.ts'
import type { FailureLedger } from './failures.ts'
import type { Progress } from './progress.ts'

/** Where what is done for migrations is kept, by work id (`workIdOf`). */
export interface WorkStores {
  readonly connection: NatsConnection
  readonly progress: Progress
  readonly failures: FailureLedger
}

/** Forgets all that is kept of a generation's work: its queue first, so that nobody goes on with it. */
export async function forgetWork(
  { connection, progress, failures }: WorkStores,
  workId: string,
): Promise<void> {
  await Queue.deleteByName(connection, workId)
  await progress.forget((one) => one === workId)
  await failures.remove(workId)
}
