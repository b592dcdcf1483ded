import { type Labels, platformSource } from '../../subjects/observability/metric-model.ts'
import {
  latencyMetrics,
  responsesMetric,
  responsesOf,
  statusClass,
  statusDigits,
} from '../../subjects/observability/own-metrics.ts'
import type { SeriesKey } from './series.ts'

/** How Prometheus knows a series. */
export interface PrometheusName {
  readonly name: string
  readonly labels: Labels
}

/** Our own names that lack a unit, or have in them what is a label there. */
const ownNames: ReadonlyMap<string, PrometheusName> = new Map([
  ...Object.values(latencyMetrics).map(
    (name) => [name, { name: `${name}.seconds`, labels: {} }] as [string, PrometheusName],
  ),
  ...statusDigits.map(
    (digit) =>
      [responsesOf(digit), { name: responsesMetric, labels: { status: statusClass(digit) } }] as [
        string,
        PrometheusName,
      ],
  ),
])

const total = '_total'
/** What Prometheus keeps for counters and for parts of histograms. */
const keptEndings = new RegExp(`(?:${total}|_count|_sum|_bucket)+$`)

/**
 * The name and labels of a series by the rules of Prometheus: whose it is stands first, so that two sources may use the same
 * name; counters, and they alone, end in `_total`.
 */
export function prometheusName({ source, name, kind, labels }: SeriesKey): PrometheusName {
  const own = source === platformSource ? ownNames.get(name) : undefined
  const words = `${source}_${own?.name ?? name}`.replaceAll(/[^A-Za-z0-9_]/g, '_')
  const bare = words.replace(keptEndings, '')
  return { name: kind === 'counter' ? bare + total : bare, labels: { ...labels, ...own?.labels } }
}
