import { histogramBounds, type Labels } from '../../subjects/observability/metric-model.ts'
import { labelsKey } from '../../subjects/observability/metric-registry.ts'
import { prometheusName } from './prometheus-names.ts'
import type { Series } from './series.ts'

/** The text format of Prometheus, version 0.0.4. */
export const prometheusType = 'text/plain; version=0.0.4'

/** The label that tells the buckets of a histogram apart. */
export const bucketLabel = 'le'

/** What a histogram is written as. */
const histogramNames = (name: string): string[] => ['bucket', 'sum', 'count'].map((part) => `${name}_${part}`)

/** Without a new report for so long, Prometheus forgets a gauge too. */
const staleMs = 5 * 60_000

/** Bounds for times: what takes less than a millisecond or more than ten seconds needs no finer look. */
const secondsBounds = { from: 0.001, to: 10 }

/** One in two of the bounds at which is counted (1 and 5 of each power of ten): each is a series there. */
function boundsOf(name: string): ReadonlySet<number> {
  const { from, to } = name.endsWith('_seconds') ? secondsBounds : { from: 0, to: Infinity }
  return new Set(
    histogramBounds.filter((bound) => !bound.toExponential().startsWith('2') && bound >= from && bound <= to),
  )
}

/**
 * Writes all series, metric by metric. Of two that would be the same there the first one is written, and the histogram where
 * the other is named as one of its parts. What has no value now is left out: a gauge that nobody has set for minutes, and a
 * histogram that has measured nothing since the start.
 */
export function prometheusText(series: readonly Series[], nowMs: number): string {
  const named = series
    .filter((one) => isCurrent(one, nowMs))
    .map((one) => ({ ...prometheusName(one.key), series: one }))
  const families = Map.groupBy(named, ({ name }) => name)
  const parts = new Set(
    [...families].flatMap(([name, all]) =>
      all[0]!.series.key.kind === 'histogram' ? histogramNames(name) : [],
    ),
  )
  return [...families]
    .filter(([name]) => !parts.has(name))
    .map(([name, all]) => familyText(name, all))
    .join('')
}

function isCurrent({ key: { kind }, reportedMs, distribution }: Series, nowMs: number): boolean {
  if (kind === 'gauge') return nowMs - reportedMs <= staleMs
  return kind === 'counter' || distribution.count > 0
}

interface Named {
  readonly labels: Labels
  readonly series: Series
}

function familyText(name: string, all: readonly Named[]): string {
  const { key, help } = all[0]!.series
  // Another source may have words that look the same: it is not the same metric.
  const alike = all.filter(
    ({ series: { key: other } }) => other.source === key.source && other.kind === key.kind,
  )
  const distinct = new Map(alike.toReversed().map((one) => [labelsKey(one.labels), one]))
  const head = `# HELP ${name} ${escaped(help ?? `${key.name} of ${key.source}`)}\n# TYPE ${name} ${key.kind}\n`
  return (
    head +
    [...distinct.values()]
      .toReversed()
      .map((one) => samplesText(name, one))
      .join('')
  )
}

function samplesText(name: string, { labels, series: { key, total, last, distribution } }: Named): string {
  if (key.kind === 'counter') return sample(name, labels, total)
  if (key.kind === 'gauge') return sample(name, labels, last)
  const bounds = boundsOf(name)
  let below = 0
  const buckets = histogramBounds.map((bound, index) => {
    below += distribution.buckets[index]!
    return bounds.has(bound)
      ? sample(`${name}_bucket`, { ...labels, [bucketLabel]: String(bound) }, below)
      : ''
  })
  return [
    ...buckets,
    sample(`${name}_bucket`, { ...labels, [bucketLabel]: '+Inf' }, distribution.count),
    sample(`${name}_sum`, labels, distribution.sum),
    sample(`${name}_count`, labels, distribution.count),
  ].join('')
}

function sample(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(
    ([label, text]) => `${label}="${escaped(text).replaceAll('"', '\\"')}"`,
  )
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}\n`
}

const escaped = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
