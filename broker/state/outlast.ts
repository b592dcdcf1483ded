import type { NatsConnection } from '@nats-io/transport-node'
import { setTimeout as delay } from 'node:timers/promises'
import { backoffMs } from '../common/backoff.ts'
import { isTransient } from './jetstream.ts'

/**
 * Does what may be done twice again and again while the broker is away or does not answer.
 * @param forMs no attempt begins later
 * @throws what the last attempt failed with
 */
export async function outlast<T>(
  connection: Pick<NatsConnection, 'isClosed' | 'isDraining'>,
  forMs: number,
  work: () => Promise<T>,
): Promise<T> {
  const endMs = performance.now() + forMs
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      const isOver = performance.now() > endMs || connection.isClosed() || connection.isDraining()
      if (!isTransient(error) || isOver) throw error
      await delay(backoffMs(attempt))
    }
  }
}
