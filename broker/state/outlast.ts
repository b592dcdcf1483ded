import type { NatsConnection } from '@nats-io/transport-node'
import { retry } from '../common/retry.ts'
import { isTransient } from './jetstream.ts'

/**
 * Does what is idempotent, and retries while the broker is away or does not answer.
 * @param forMs no attempt begins later
 * @throws what the last attempt failed with
 */
export async function outlast<T>(
  connection: Pick<NatsConnection, 'isClosed' | 'isDraining'>,
  forMs: number,
  work: () => Promise<T>,
): Promise<T> {
  const endMs = performance.now() + forMs
  const mayPass = (error: unknown) =>
    isTransient(error) && performance.now() <= endMs && !connection.isClosed() && !connection.isDraining()
  return retry(work, { mayPass })
}
