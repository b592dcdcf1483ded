import { DeliverPolicy, jetstream, type JetStreamManager, jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import { factStream } from '../../broker/state/events.ts'
import { roots } from '../../subjects/kit/names.ts'
import { until } from './until.ts'

export interface Fact {
  readonly sequence: number
  readonly subject: string
  readonly payload: unknown
}

/**
 * How long a request for facts waits at the broker; as long does the client wait before it asks again for a consumer
 * that a restarted broker, not ready yet, could not tell of.
 */
const requestMs = 2_000

/**
 * Every fact from a sequence on (1 is the oldest that is kept), or every new one; survives kills of the broker, also
 * while it begins. Ends when the loop is left.
 */
export async function* followFacts(
  connection: NatsConnection,
  { from, filter = `${roots.events}.>` }: { from?: number; filter?: string } = {},
): AsyncGenerator<Fact> {
  const manager = await begun(() => jetstreamManager(connection))
  // Always a sequence: of a consumer that is to tell what is new, and has told nothing yet, the client does not know
  // where it began, and has the next one tell everything.
  const first = from ?? (await begun(() => lastSequence(manager))) + 1
  const consumer = await begun(() =>
    jetstream(connection).consumers.get(factStream, {
      filter_subjects: filter,
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: first,
    }),
  )
  const messages = await consumer.consume({ expires: requestMs })
  try {
    for await (const message of messages) {
      yield { sequence: message.seq, subject: message.subject, payload: message.json() }
    }
  } finally {
    await messages.close()
  }
}

const lastSequence = async (manager: JetStreamManager): Promise<number> =>
  (await manager.streams.info(factStream)).state.last_seq

/** What a broker that is killed meanwhile does not answer is asked again. */
async function begun<T>(step: () => Promise<T>): Promise<T> {
  const answer = async () => ({ value: await step() })
  return (await until('the broker answers a follower', () => answer().catch(() => undefined))).value
}
