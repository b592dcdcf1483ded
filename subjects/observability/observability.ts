import { Type } from 'typebox'
import { internalResource, resource } from '../kit/contract.ts'
import { from, Part } from '../kit/download.ts'
import { Prefix } from '../extensions/model.ts'
import { durationPattern } from '../kit/duration.ts'
import { form } from '../kit/forms.ts'
import { aggregates, Help, Kind, Labels, Measurement, metricLimits, MetricName } from './metric-model.ts'
import { Count, list, model, Nothing, strict, SubjectPattern, Text, Timestamp } from '../kit/schemas.ts'

/** Longest window: what is kept. */
export const longestWindow = '8d'
export const defaultWindow = '1h'

/** Points in one reply, of all series together: some 60 bytes each have to fit into a message. */
export const maxPoints = 50_000
/** Points of one series: all slots of the finest resolution that is kept for a day. */
export const maxPointsOfSeries = 1_500

const Duration = (description: string) =>
  Type.String({
    maxLength: 8,
    ...form(durationPattern, 'a duration such as 30s, 5m, 1h or 7d'),
    description,
  })

const Source = Type.String({
  minLength: 1,
  maxLength: 63,
  description: 'Source of the metric: gantry for the platform, or the prefix of an extension',
})

const Series = model('MetricSeries', {
  source: Source,
  labels: Labels,
  value: Type.Optional(Type.Number({ description: 'Aggregate of the whole window' })),
  points: list(
    strict({
      time: Timestamp('Start of the step'),
      value: Type.Number({ description: 'Aggregate of the step' }),
    }),
    maxPointsOfSeries,
  ),
})

/** Metrics of the platform and of extensions. Whoever may subscribe to the subject of a metric sees it. */
export const observability = resource('observability', {
  report: {
    summary: 'Report metrics of an extension',
    description: `The key must belong to the owner of the prefix and be allowed to subscribe to all its subjects. A source can have at most ${metricLimits.seriesOfSource} series.`,
    input: strict({ prefix: Prefix, measurements: list(Measurement, metricLimits.measurements) }),
    output: Nothing,
    errors: ['NOT_FOUND', 'NOT_ALLOWED_IN_STATE'],
    http: [],
    brokerOnly: true,
  },
  list: {
    summary: 'List the metrics that you can see',
    input: strict({ source: Type.Optional(Source) }),
    output: list(
      model('Metric', {
        name: MetricName,
        source: Source,
        kind: Kind,
        series: Count('Number of series, one per combination of labels'),
        updated: Timestamp('Time of the last report'),
        help: Type.Optional(Help),
        subject: SubjectPattern,
      }),
      metricLimits.series,
    ),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/observability/metrics' }],
    cli: {
      columns: ['name', 'source', 'kind', 'series', 'updated', 'help'],
      example: 'gantry observability list --source gantry',
    },
  },
  query_scalar_metrics: {
    summary: 'Query the values of a metric over time',
    description:
      'Values are stored every 10 s for an hour, every minute for a day and every ten minutes for eight days. The step is a multiple of the resolution that is stored for the window. Values from before the last start of the platform have a resolution of at most one minute. Aggregates of a counter are rate (per second), sum and last (total since it began). Aggregates of a gauge are last, avg, min, max and sum (of all series). Aggregates of a histogram are avg, min, max, sum and rate.',
    input: strict({
      name: MetricName,
      source: Type.Optional(Source),
      labels: Type.Optional(Labels),
      since: Type.Optional(
        Duration(`Length of the window, at most ${longestWindow}; default ${defaultWindow}`),
      ),
      until: Type.Optional(Timestamp('End of the window; default now')),
      step: Type.Optional(Duration('Time between two values; default 1/60 of the window')),
      aggregate: Type.Optional(
        Type.Enum([...aggregates], {
          description:
            'Aggregation of the values in a step; default rate for a counter, last for a gauge, avg for a histogram',
        }),
      ),
      combine: Type.Optional(
        Type.Boolean({
          description: 'Merge all matching series into one; default false',
        }),
      ),
    }),
    output: model('ScalarMetrics', {
      name: MetricName,
      kind: Kind,
      aggregate: Type.Enum([...aggregates]),
      from: Timestamp('Start of the window'),
      to: Timestamp('End of the window'),
      stepSeconds: Count('Seconds between two values'),
      stepReason: Type.Optional(Text('Reason why the step is longer than requested')),
      series: list(Series, metricLimits.series),
    }),
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/observability/query_scalar_metrics' }],
    cli: {
      verb: 'query-scalar-metrics',
      chart: true,
      example:
        'gantry observability query-scalar-metrics --name http.requests.total --since 1h --step 30s --aggregate rate',
    },
  },
  prometheus: {
    summary: 'Get all metrics that you can see in Prometheus text format',
    input: strict({ from }),
    output: Part,
    errors: [],
    http: [{ method: 'GET', path: '/metrics', query: [] }],
    download: { types: ['text/plain'] },
  },
})

/** What services ask. */
export const observabilityInternal = internalResource('observability', {
  forget: {
    summary: 'Delete all metrics of a source',
    input: strict({ source: Source }),
    output: Nothing,
    errors: [],
    http: [],
  },
})
