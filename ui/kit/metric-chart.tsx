import type { Input } from '../../subjects/kit/contract.ts'
import { observability } from '../../subjects/observability/observability.ts'
import { useAnswer } from '../data/calls.ts'
import { Chart, ChartSpace } from './chart.tsx'
import { Failure } from './failure.tsx'
import { seriesName } from './format.ts'

const everyMs = 30_000

/** Values of a metric over time. */
export function MetricChart({
  label,
  query,
  format,
  names = {},
}: {
  readonly label: string
  readonly query: Input<(typeof observability)['query_scalar_metrics']>
  /** @param isRate whether values are of a second */
  readonly format: (value: number, isRate: boolean) => string
  /** Of series, in words, by the value of their label. */
  readonly names?: Readonly<Record<string, string>>
}) {
  const { data, error } = useAnswer(observability.query_scalar_metrics, query, { everyMs })
  if (error) return <Failure title={label} error={error} />
  if (data === undefined) return <ChartSpace />
  const named = data.series.map(({ source, labels, points }) => ({
    label: seriesName(labels ?? {}, names) ?? (data.series.length === 1 ? 'Latest' : source),
    points: points.map(({ time, value }) => [Date.parse(time), value] as const),
  }))
  return (
    <Chart
      label={label}
      series={named}
      format={(value) => format(value, data.aggregate === 'rate')}
      span={[Date.parse(data.from), Date.parse(data.to)]}
    />
  )
}
