import type { NatsConnection } from '../../broker/rpc/connection.ts'
import { every, type Task } from '../../broker/tasks/tasks.ts'
import { GantryError } from '../../subjects/kit/errors.ts'

/** An answer takes less than a millisecond; on a machine that has too much to do, some hundred. */
const defaultPatienceMs = 2_000

const silent = 'the broker (nats-server) does not respond: it may be frozen, starting, or out of disk space'

/** Knows whether the broker answers, so that nobody has to wait for what it does not pass on. */
export class BrokerPulse {
  readonly #connection: Pick<NatsConnection, 'flush'>
  readonly #patienceMs: number
  readonly #task: Task
  /** Since when it owes an answer. */
  #askedMs: number | undefined
  #isAsking = false
  #isSilent = false
  readonly #waiting = new Set<(error: GantryError) => void>()

  constructor(
    connection: Pick<NatsConnection, 'flush'>,
    { patienceMs = defaultPatienceMs }: { patienceMs?: number } = {},
  ) {
    this.#connection = connection
    this.#patienceMs = patienceMs
    this.#task = every('edge.broker-pulse', () => this.#beat())
  }

  stop(): void {
    this.#task.stop()
  }

  /** Whether the broker does not answer. */
  get isSilent(): boolean {
    return this.#isSilent
  }

  /** @throws GantryError UNAVAILABLE, before anything is asked of a broker that does not answer */
  check(): void {
    if (this.#isSilent) throw unavailable()
  }

  /** The answer, or UNAVAILABLE as soon as the broker is known to be silent. */
  async orSilence<T>(answer: Promise<T>): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>()
    this.#waiting.add(reject)
    try {
      return await Promise.race([answer, promise])
    } finally {
      this.#waiting.delete(reject)
    }
  }

  /** What a caller is told of an answer that did not come in time. */
  explained(error: GantryError): GantryError {
    if (error.code !== 'TIMEOUT' || !this.#isSilent) return error
    const { requestId, cause } = error
    return new GantryError('TIMEOUT', `${silent}. The request may or may not have been carried out`, {
      ...(requestId === undefined ? {} : { requestId }),
      cause,
    })
  }

  #beat(): void {
    this.#askedMs ??= performance.now()
    const asked = this.#askedMs
    if (performance.now() - asked > this.#patienceMs) {
      // After a turn of our own that took long the answer may be there, and be read only now.
      setImmediate(() => setImmediate(() => this.#askedMs === asked && this.#fellSilent()))
    }
    if (this.#isAsking) return
    this.#isAsking = true
    this.#connection
      .flush()
      .then(
        () => this.#answered(),
        // The connection is lost: the next one answers.
        () => undefined,
      )
      .finally(() => (this.#isAsking = false))
  }

  #answered(): void {
    this.#askedMs = undefined
    this.#isSilent = false
  }

  #fellSilent(): void {
    this.#isSilent = true
    for (const reject of this.#waiting) reject(unavailable())
  }
}

const unavailable = () => new GantryError('UNAVAILABLE', silent)
