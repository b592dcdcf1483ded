import {
  bucketOf,
  type Distribution,
  histogramBounds,
  type Labels,
  type Measurement,
  type MetricKind,
} from './metric-model.ts'

export interface MetricOptions {
  readonly help?: string
  readonly labels?: Labels
}

/** What a program measures, until somebody collects it: a few additions for each value, and nothing else. */
export class MetricRegistry {
  readonly #meters = new Map<string, Meter>()

  /** The same one for the same name and labels. */
  counter(name: string, options: MetricOptions = {}): Counter {
    return this.#meter('counter', name, options, () => new Counter(name, options))
  }

  gauge(name: string, options: MetricOptions = {}): Gauge {
    return this.#meter('gauge', name, options, () => new Gauge(name, options))
  }

  histogram(name: string, options: MetricOptions = {}): Histogram {
    return this.#meter('histogram', name, options, () => new Histogram(name, options))
  }

  /** What was measured since this was asked last; a counter is there from the beginning, with 0. */
  drain(): Measurement[] {
    return [...this.#meters.values()].flatMap((meter) => meter.drain() ?? [])
  }

  /** Takes back what was drained and could not be delivered. */
  putBack(measurements: readonly Measurement[]): void {
    for (const { name, kind, labels = {}, value, distribution } of measurements) {
      const meter = this.#meters.get(keyOf(kind, name, labels))
      if (meter instanceof Counter) meter.add(value)
      if (meter instanceof Histogram && distribution !== undefined) meter.merge(distribution)
    }
  }

  #meter<M extends Meter>(kind: MetricKind, name: string, { labels = {} }: MetricOptions, make: () => M): M {
    const key = keyOf(kind, name, labels)
    const known = this.#meters.get(key)
    // The key says which kind it is.
    if (known !== undefined) return known as M
    const meter = make()
    this.#meters.set(key, meter)
    return meter
  }
}

interface Meter {
  /** What there is to tell; undefined: nothing. */
  drain(): Measurement | undefined
}

const keyOf = (kind: MetricKind, name: string, labels: Labels): string =>
  `${kind} ${name} ${labelsKey(labels)}`

/** The same text for the same labels, in whatever order they were written. */
export const labelsKey = (labels: Labels): string =>
  JSON.stringify(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)))

const aboutOf = (kind: MetricKind, name: string, options: MetricOptions) => ({ name, kind, ...options })

/** Something that only grows. */
export class Counter implements Meter {
  readonly #about: ReturnType<typeof aboutOf>
  #pending = 0
  #isKnown = false

  constructor(name: string, options: MetricOptions) {
    this.#about = aboutOf('counter', name, options)
  }

  add(more = 1): void {
    this.#pending += more
  }

  drain(): Measurement | undefined {
    if (this.#pending === 0 && this.#isKnown) return undefined
    const value = this.#pending
    this.#pending = 0
    this.#isKnown = true
    return { ...this.#about, value }
  }
}

/** Something that goes up and down. */
export class Gauge implements Meter {
  readonly #about: ReturnType<typeof aboutOf>
  #value: number | undefined

  constructor(name: string, options: MetricOptions) {
    this.#about = aboutOf('gauge', name, options)
  }

  set(value: number): void {
    this.#value = value
  }

  /** There is nothing to measure any more. */
  unset(): void {
    this.#value = undefined
  }

  drain(): Measurement | undefined {
    return this.#value === undefined ? undefined : { ...this.#about, value: this.#value }
  }
}

/** Many single values, such as times. */
export class Histogram implements Meter {
  readonly #about: ReturnType<typeof aboutOf>
  #buckets: number[] = []
  #count = 0
  #sum = 0
  #min = Infinity
  #max = -Infinity

  constructor(name: string, options: MetricOptions) {
    this.#about = aboutOf('histogram', name, options)
    this.#clear()
  }

  observe(value: number): void {
    this.#count += 1
    this.#sum += value
    if (value < this.#min) this.#min = value
    if (value > this.#max) this.#max = value
    this.#buckets[bucketOf(value)]! += 1
  }

  merge({ count, sum, min, max, buckets = [] }: Distribution): void {
    this.#count += count
    this.#sum += sum
    this.#min = Math.min(this.#min, min)
    this.#max = Math.max(this.#max, max)
    for (const [index, added] of buckets.entries()) this.#buckets[index]! += added
  }

  drain(): Measurement | undefined {
    if (this.#count === 0) return undefined
    const distribution = {
      count: this.#count,
      sum: this.#sum,
      min: this.#min,
      max: this.#max,
      buckets: this.#buckets,
    }
    this.#clear()
    return { ...this.#about, distribution }
  }

  #clear(): void {
    this.#count = 0
    this.#sum = 0
    this.#min = Infinity
    this.#max = -Infinity
    this.#buckets = Array.from({ length: histogramBounds.length + 1 }, () => 0)
  }
}
