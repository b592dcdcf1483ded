import { GantryError } from '../../subjects/kit/errors.ts'
import {
  type Distribution,
  type Labels,
  type Measurement,
  type MetricKind,
  metricLimits,
} from '../../subjects/observability/metric-model.ts'
import { labelsKey } from '../../subjects/observability/metric-registry.ts'
import { bucketLabel } from './prometheus.ts'
import { Series, seriesId } from './series.ts'
import { reachMs, tiers } from './tiers.ts'

/** A series that nobody has reported for longer than anything is kept. */
const forgottenMs = reachMs(tiers[2])

/** Which series are meant. */
export interface Selection {
  readonly name?: string
  readonly source?: string
  readonly labels?: Labels
}

/** All series, bounded by source and together. */
export class MetricStore {
  readonly #series = new Map<string, Series>()
  readonly #countOfSource = new Map<string, number>()
  /** By source and name, which is of one kind whatever its labels are, and how many series have it. */
  readonly #families = new Map<string, { readonly kind: MetricKind; count: number }>()

  /**
   * Takes a report as a whole or not at all.
   * @throws GantryError INVALID_INPUT that names the field; NOT_ALLOWED_IN_STATE when there would be too many series
   */
  add(source: string, measurements: readonly Measurement[], nowMs: number): void {
    const added = new Map<string, Series>()
    const kinds = new Map<string, MetricKind>()
    const meant = measurements.map((measurement, index) => {
      requireValue(measurement, index)
      const { name, kind, labels = {} } = measurement
      const was = this.#families.get(familyOf({ source, name }))?.kind ?? kinds.get(name) ?? kind
      if (was !== kind) throw refused(index, 'kind', `must be ${was}, the kind in earlier reports of ${name}`)
      kinds.set(name, kind)
      const id = seriesId({ source, name, labels })
      const series = this.#series.get(id) ?? added.get(id) ?? new Series({ source, name, kind, labels })
      if (!this.#series.has(id)) added.set(id, series)
      return series
    })
    this.#requireRoom(source, added.size)
    for (const series of added.values()) this.put(series)
    for (const [index, series] of meant.entries()) series.add(measurements[index]!, nowMs)
  }

  /** Makes a series known. */
  put(series: Series): void {
    const { source, kind } = series.key
    this.remove(series.id)
    this.#series.set(series.id, series)
    this.#countOfSource.set(source, (this.#countOfSource.get(source) ?? 0) + 1)
    const family = this.#families.get(familyOf(series.key))
    this.#families.set(familyOf(series.key), { kind, count: (family?.count ?? 0) + 1 })
  }

  get(id: string): Series | undefined {
    return this.#series.get(id)
  }

  /** Those that are meant, by source, name and labels. */
  select({ name, source, labels = {} }: Selection = {}): Series[] {
    const wanted = Object.entries(labels)
    return [...this.#series.values()]
      .filter(
        ({ key }) =>
          (name === undefined || key.name === name) &&
          (source === undefined || key.source === source) &&
          wanted.every(([label, value]) => key.labels[label] === value),
      )
      .toSorted((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1))
  }

  /** Forgets old values, and series that nobody reports any more; gives those back. */
  prune(nowMs: number): Series[] {
    const gone: Series[] = []
    for (const [id, series] of this.#series) {
      series.prune(nowMs)
      if (!series.isEmpty && nowMs - series.lastMs <= forgottenMs) continue
      this.remove(id)
      gone.push(series)
    }
    return gone
  }

  remove(id: string): void {
    const series = this.#series.get(id)
    if (series === undefined) return
    this.#series.delete(id)
    const { source } = series.key
    this.#countOfSource.set(source, this.#countOfSource.get(source)! - 1)
    const family = this.#families.get(familyOf(series.key))!
    family.count -= 1
    if (family.count === 0) this.#families.delete(familyOf(series.key))
  }

  #requireRoom(source: string, more: number): void {
    if (more === 0) return
    const own = (this.#countOfSource.get(source) ?? 0) + more
    if (own > metricLimits.seriesOfSource) {
      throw new GantryError(
        'NOT_ALLOWED_IN_STATE',
        `${source} would have ${own} series, but the limit is ${metricLimits.seriesOfSource}: use fewer labels or fewer label values`,
      )
    }
    if (this.#series.size + more > metricLimits.series) {
      throw new GantryError(
        'NOT_ALLOWED_IN_STATE',
        `all sources together already have ${this.#series.size} series, and the limit is ${metricLimits.series}: use fewer labels or fewer label values`,
      )
    }
  }
}

const familyOf = ({ source, name }: { readonly source: string; readonly name: string }): string =>
  `${source}/${name}`

const sortKey = ({ key: { source, name, labels } }: Series): string =>
  `${name}\n${source}\n${labelsKey(labels)}`

const refused = (index: number, field: string, problem: string): GantryError => {
  const at = `measurements[${index}].${field}`
  return new GantryError('INVALID_INPUT', `input: ${at} ${problem}`, { details: [{ field: at, problem }] })
}

function requireValue({ kind, labels = {}, value, distribution }: Measurement, index: number): void {
  if (kind === 'histogram') {
    if (distribution === undefined) throw refused(index, 'distribution', 'is required for a histogram')
    if (Object.hasOwn(labels, bucketLabel))
      throw refused(
        index,
        `labels.${bucketLabel}`,
        'is reserved for the buckets of a histogram: use another label',
      )
    return requireDistribution(distribution, index)
  }
  if (value === undefined) throw refused(index, 'value', `is required for a ${kind}`)
  if (kind === 'counter' && value < 0)
    throw refused(
      index,
      'value',
      'must not be negative: a counter only increases. Use a gauge for values that decrease',
    )
}

/** Sums of many values differ by as much from how they are written, relative to what they are made of. */
const sumTolerance = 1e-6

/** Its numbers must be those of any values at all. */
function requireDistribution({ count, sum, min, max, buckets }: Distribution, index: number): void {
  const wrong = (field: string, problem: string) => refused(index, `distribution.${field}`, problem)
  if (count === 0) throw wrong('count', 'must be at least 1: omit empty distributions')
  if (min > max) throw wrong('min', `must not be greater than max, which is ${max}`)
  const tolerance = sumTolerance * count * Math.max(Math.abs(min), Math.abs(max))
  if (sum < count * min - tolerance || sum > count * max + tolerance)
    throw wrong(
      'sum',
      `must be between ${count * min} and ${count * max} for ${count} values between min and max`,
    )
  const inBuckets = buckets?.reduce((all, one) => all + one, 0) ?? count
  if (inBuckets !== count) throw wrong('buckets', `must add up to count, ${count}, not ${inBuckets}`)
}
