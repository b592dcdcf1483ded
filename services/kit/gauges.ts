import type { Labels } from '../../subjects/observability/metric-model.ts'
import type { Gauge, MetricRegistry } from '../../subjects/observability/metric-registry.ts'

/** How many records are in each state, one gauge for each. */
export class StateGauges<S extends string> {
  readonly #gauges: ReadonlyMap<S, Gauge>

  constructor(registry: MetricRegistry, name: string, help: string, states: readonly S[]) {
    this.#gauges = new Map(states.map((state) => [state, registry.gauge(name, { help, labels: { state } })]))
  }

  set(records: readonly { readonly state: S }[]): void {
    for (const [state, gauge] of this.#gauges) gauge.set(records.filter((one) => one.state === state).length)
  }
}

interface Reading {
  readonly name: string
  readonly help: string
  readonly labels: Labels
  readonly value: number
}

/** Gauges of what comes and goes: each is there for as long as there is something to measure. */
export class PassingGauges {
  readonly #registry: MetricRegistry
  /** Those that were set last. */
  readonly #set = new Set<Gauge>()

  constructor(registry: MetricRegistry) {
    this.#registry = registry
  }

  set(readings: readonly Reading[]): void {
    for (const gauge of this.#set) gauge.unset()
    this.#set.clear()
    for (const { name, help, labels, value } of readings) {
      const gauge = this.#registry.gauge(name, { help, labels })
      gauge.set(value)
      this.#set.add(gauge)
    }
  }
}
