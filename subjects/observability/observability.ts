import { Type } from 'typebox'
import { internalResource, resource } from '../kit/contract.ts'
import { from, Part } from '../kit/download.ts'
import { Prefix } from '../extensions/model.ts'
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
    ...form('^\\d{1,6}[smhd]$', 'a duration such as 30s, 5m, 1h or 7d'),
    description,
  })

const Source = Type.String({
  minLength: 1,
  maxLength: 63,
  description: 'Who reports it: gantry for the platform itself, or the prefix of an extension',
})

const Series = model('MetricSeries', {
  source: Source,
  labels: Labels,
  value: Type.Optional(Type.Number({ description: 'The aggregate of the whole window' })),
  points: list(
    strict({
      time: Timestamp('Beginning of the step'),
      value: Type.Number({ description: 'The aggregate' }),
    }),
    maxPointsOfSeries,
  ),
})

/** Metrics of the platform and of extensions. Whoever may subscribe to the subject of a metric sees it. */
export const observability = resource('observability', {
  report: {
    summary: 'Report metrics of an extension',
    description: `The key must be allowed to subscribe to all subjects of the prefix, and be of its owner. A source has at most ${metricLimits.seriesOfSource} series.`,
    input: strict({ prefix: Prefix, measurements: list(Measurement, metricLimits.measurements) }),
    output: Nothing,
    errors: ['NOT_FOUND', 'NOT_ALLOWED_IN_STATE'],
    http: [],
    brokerOnly: true,
  },
  list: {
    summary: 'The metrics that you may see',
    input: strict({ source: Type.Optional(Source) }),
    output: list(
      model('Metric', {
        name: MetricName,
        source: Source,
        kind: Kind,
        series: Count('How many combinations of labels it has'),
        updated: Timestamp('When it was reported last'),
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
    summary: 'Values of a metric over time',
    description:
      'Kept are 10 s for an hour, minutes for a day, ten minutes for eight days; the step is a multiple of what is kept for the window. What is from before the last start of the platform is kept by the minute. Of a counter there are rate (a second), sum and last (since it began), of a gauge last, avg, min, max and sum (of all series), of a histogram avg, min, max, sum and rate.',
    input: strict({
      name: MetricName,
      source: Type.Optional(Source),
      labels: Type.Optional(Labels),
      since: Type.Optional(Duration(`How far back, at most ${longestWindow}; default ${defaultWindow}`)),
      until: Type.Optional(Timestamp('End of the window; default now')),
      step: Type.Optional(Duration('Time between two values; default a sixtieth of the window')),
      aggregate: Type.Optional(
        Type.Enum([...aggregates], {
          description:
            'What is made of all values in a step; default rate of a counter, last of a gauge, avg of a histogram',
        }),
      ),
      combine: Type.Optional(
        Type.Boolean({
          description: 'One series of all that match, instead of each by itself; default false',
        }),
      ),
    }),
    output: model('ScalarMetrics', {
      name: MetricName,
      kind: Kind,
      aggregate: Type.Enum([...aggregates]),
      from: Timestamp('Beginning of the window'),
      to: Timestamp('End of the window'),
      stepSeconds: Count('Seconds between two values'),
      stepReason: Type.Optional(Text('Why these are more than were asked for')),
      series: list(Series, metricLimits.series),
    }),
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/observability/query_scalar_metrics' }],
    cli: {
      chart: true,
      example:
        'gantry observability query_scalar_metrics --name http.requests.total --since 1h --step 30s --aggregate rate',
    },
  },
  prometheus: {
    summary: 'All metrics that you may see, in the text format of Prometheus',
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
    summary: 'Forget all that a source has reported',
    input: strict({ source: Source }),
    output: Nothing,
    errors: [],
    http: [],
  },
})
