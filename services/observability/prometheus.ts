import { histogramBounds, type Labels } from '../../subjects/observability/metric-model.ts'
import type { Series } from './series.ts'

/** The text format of Prometheus, version 0.0.4. */
export const prometheusType = 'text/plain; version=0.0.4'

/** The label that tells the buckets of a histogram apart. */
export const bucketLabel = 'le'

/** Names have no dots there; whose it is stands before it, so that two sources may use the same name. */
const textName = ({ key: { source, name } }: Series): string =>
  `${source}_${name}`.replaceAll(/[^A-Za-z0-9_]/g, '_')

/** What a histogram is written as. */
const histogramNames = (name: string): string[] => ['bucket', 'sum', 'count'].map((part) => `${name}_${part}`)

/**
 * Writes all series, metric by metric. Of two that would have the same name there the first one is written, and the histogram
 * where it is one of its parts.
 */
export function prometheusText(series: readonly Series[]): string {
  const families = Map.groupBy(series, textName)
  const parts = new Set(
    [...families].flatMap(([name, all]) => (all[0]!.key.kind === 'histogram' ? histogramNames(name) : [])),
  )
  return [...families]
    .filter(([name]) => !parts.has(name))
    .map(([name, all]) =>
      familyText(
        name,
        all.filter((one) => isSame(one, all[0]!)),
      ),
    )
    .join('')
}

const isSame = ({ key: a }: Series, { key: b }: Series): boolean => a.source === b.source && a.name === b.name

function familyText(name: string, series: readonly Series[]): string {
  const { key, help } = series[0]!
  const head = help === undefined ? '' : `# HELP ${name} ${escaped(help)}\n`
  return `${head}# TYPE ${name} ${key.kind}\n${series.map((one) => samplesText(name, one)).join('')}`
}

function samplesText(name: string, { key: { kind, labels }, total, last, distribution }: Series): string {
  if (kind === 'counter') return sample(name, labels, total)
  if (kind === 'gauge') return sample(name, labels, last)
  let below = 0
  const buckets = histogramBounds.map((bound, index) => {
    below += distribution.buckets[index]!
    return sample(`${name}_bucket`, { ...labels, [bucketLabel]: String(bound) }, below)
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
