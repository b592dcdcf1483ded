import type { NatsConnection } from '../../../broker/rpc/connection.ts'
import { part } from '../../kit/part.ts'
import { openFailures } from '../failures/failures.ts'
import { Progress } from './progress.ts'

interface WorkStoreNeeds {
  readonly connection: NatsConnection
  readonly maxFileBytes: number
}

/** What is stored of the work on migrations. */
export const workStores = part({
  name: 'progress',
  start: async ({ connection, maxFileBytes }: WorkStoreNeeds) => {
    const [progress, failures] = await Promise.all([
      Progress.open(connection),
      openFailures(connection, maxFileBytes),
    ])
    return { gives: { progress, failures } }
  },
})
