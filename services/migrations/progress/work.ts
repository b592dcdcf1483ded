import type { NatsConnection } from '../../../broker/rpc/connection.ts'
import { QueueReader } from '../../../broker/queue/reader.ts'
import { Queue } from '../../../broker/queue/queue.ts'
import type { FailureLedger } from '../failures/failures.ts'
import type { Progress } from './progress.ts'

/** Where what is done for migrations is kept, by work id (`workIdOf`). */
export interface WorkStores {
  readonly connection: NatsConnection
  readonly progress: Progress
  readonly failures: FailureLedger
}

/** Forgets the work of a scan that is over. Its figures are in the record: what is left would be counted again with the next. */
export async function forgetScan(
  { connection, progress }: Pick<WorkStores, 'connection' | 'progress'>,
  workId: string,
): Promise<void> {
  await Queue.deleteByName(connection, workId)
  await progress.forget((one) => one === workId)
}

/** Forgets all that is kept of a generation's work: its queue first, so that nobody goes on with it. */
export async function forgetWork(stores: WorkStores, workId: string): Promise<void> {
  await forgetScan(stores, workId)
  await stores.failures.remove(workId)
}

/** Failures that are read at once. */
const failuresPage = 1_000

/** What is kept of a generation's work, each with its size in bytes. */
export async function assetsOf({ connection, failures }: WorkStores, workId: string) {
  const { items, bytes } = await (await QueueReader.open(connection, workId)).size()
  let count = 0
  let failureBytes = 0
  for (let after = 0, more = true; more;) {
    const page = await failures.page(workId, { after, limit: failuresPage })
    count += page.length
    for (const { entry, sequence } of page) {
      failureBytes += Buffer.byteLength(JSON.stringify(entry))
      after = sequence
    }
    more = page.length === failuresPage
  }
  return {
    workItems: { total: items, deleted: items, bytesDeleted: bytes },
    failedPaths: { total: count, deleted: count, bytesDeleted: failureBytes },
  }
}
