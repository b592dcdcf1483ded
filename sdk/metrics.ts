import type { NatsConnection } from '@nats-io/nats-core'
import { isGantryError } from '../subjects/kit/errors.ts'
import { metricLimits } from '../subjects/observability/metric-model.ts'
import { MetricRegistry } from '../subjects/observability/metric-registry.ts'
import { observability } from '../subjects/observability/observability.ts'
import { call } from '../client/call.ts'
import type { OnError } from './endpoint.ts'

/** What an extension measures: the same counter, gauge or histogram for the same name and labels. */
export type Metrics = Pick<MetricRegistry, 'counter' | 'gauge' | 'histogram'>

/** Reports what was measured, and keeps what could not be reported for the next time. */
export class MetricReporter {
  readonly metrics = new MetricRegistry()
  readonly #connection: NatsConnection
  readonly #prefix: string
  readonly #onError: OnError
  #told: string | undefined

  constructor(connection: NatsConnection, prefix: string, onError: OnError) {
    this.#connection = connection
    this.#prefix = prefix
    this.#onError = onError
  }

  /** Never rejects: measuring is to disturb nobody. The same failure is told once. */
  async report(): Promise<void> {
    const all = this.metrics.drain()
    try {
      while (all.length > 0) {
        const measurements = all.slice(0, metricLimits.measurements)
        await call(this.#connection, observability.report, { prefix: this.#prefix, measurements })
        all.splice(0, measurements.length)
      }
      this.#told = undefined
    } catch (error) {
      // What is wrong with it stays wrong.
      if (!isGantryError(error, 'INVALID_INPUT')) this.metrics.putBack(all)
      const text = String(error)
      if (text !== this.#told) this.#onError(error, `metrics of ${this.#prefix}`)
      this.#told = text
    }
  }
}
