import type { NatsConnection } from '../../broker/rpc/connection.ts'
import type { Log } from '../../broker/common/log.ts'
import type { BrokerServer } from '../../broker/server/server.ts'

type Step = () => Promise<unknown>

/** Ends what was started, in the reverse order. */
export class Shutdown {
  readonly #log: Log
  readonly #steps: Step[] = []
  readonly #connections: NatsConnection[] = []
  #broker: BrokerServer | undefined
  #isCutOff = false

  constructor(log: Log) {
    this.#log = log
  }

  push(step: Step): void {
    this.#steps.push(step)
  }

  /** Stops it after all that is pushed later. */
  pushBroker(broker: BrokerServer): void {
    this.#broker = broker
    this.push(() => broker.stop())
  }

  /** What is under way on it ends before it is closed. */
  pushConnection(connection: NatsConnection): void {
    this.#connections.push(connection)
    this.push(async () => {
      if (!connection.isClosed()) await connection.drain()
    })
  }

  /** Rejects with the error of a step, unless the broker has ended meanwhile: then no step can do all that it would. */
  async run(): Promise<void> {
    this.#broker?.expectEnd(() => this.#cutOff())
    for (const step of this.#steps.splice(0).toReversed()) {
      await step().catch((error: unknown) => {
        if (!this.#isCutOff) throw error
      })
    }
  }

  /** The broker was told to end together with the platform: nobody will answer, and what waits for it ends now. */
  #cutOff(): void {
    this.#isCutOff = true
    this.#log.info(
      {},
      'nats-server stopped before the platform; unfinished work is repeated at the next start.',
    )
    for (const connection of this.#connections) void connection.close()
  }
}
