import { type Static, Type } from 'typebox'
import { form } from '../kit/forms.ts'
import { product, roots } from '../kit/names.ts'
import { Count, model, oneLine, Text } from '../kit/schemas.ts'

/** How much a source may report, so that no program fills memory and storage with series of its own. */
export const metricLimits = {
  /** A few words: name and labels are kept with each block of values. */
  nameLength: 100,
  /** Each combination of values is a series; more labels than these make more series than anybody looks at. */
  labels: 8,
  labelNameLength: 40,
  labelValueLength: 100,
  helpLength: 200,
  /** Of one source: ids of people or files do not belong into labels. */
  seriesOfSource: 200,
  /** Of all sources together; one takes at most 130 kB of memory and 160 kB of storage (ADR 20). */
  series: 1_000,
  /** In one report: all series of a source, twice. */
  measurements: 400,
  /** To here whole numbers are exact; what all sources can report of it in a thousand years is far from what a number holds. */
  value: Number.MAX_SAFE_INTEGER,
} as const

/**
 * Upper bounds of the buckets of every histogram: 1, 2 and 5 of each power of ten, in whatever unit is measured. The same
 * for all, so that what several processes report can be added up.
 */
export const histogramBounds: readonly number[] = [
  ...Array.from({ length: 8 }, (_, index) => index - 4).flatMap((power) =>
    [1, 2, 5].map((digit) => Number(`${digit}e${power}`)),
  ),
  10_000,
]

/** Which bucket a value falls into; the last one is for what is above all bounds. */
export function bucketOf(value: number): number {
  const index = histogramBounds.findIndex((bound) => value <= bound)
  return index < 0 ? histogramBounds.length : index
}

export const MetricName = Type.String({
  minLength: 1,
  maxLength: metricLimits.nameLength,
  ...form(
    '^[A-Za-z]\\w*(?:\\.\\w+)*$',
    'words of letters, digits and _, separated by dots, such as jobs.done.total',
  ),
  description: 'Metric name',
})

/** Whose a metric is: the platform's own, or the prefix of an extension. */
export const platformSource: string = product

export const Labels = Type.Record(
  Type.String(
    form(
      `^(?!__)[A-Za-z_]\\w{0,${metricLimits.labelNameLength - 1}}$`,
      'a letter or _, followed by letters, digits and _',
    ),
  ),
  Type.String({
    maxLength: metricLimits.labelValueLength,
    ...oneLine,
  }),
  {
    maxProperties: metricLimits.labels,
    additionalProperties: false,
    description: 'Labels by name; each combination of values is a separate series',
  },
)
export type Labels = Static<typeof Labels>

export const metricKinds = ['counter', 'gauge', 'histogram'] as const
export type MetricKind = (typeof metricKinds)[number]
export const Kind = Type.Enum([...metricKinds], {
  description:
    'Metric type. counter: only increases; gauge: goes up and down; histogram: distribution of values',
})

const Value = (description: string) =>
  Type.Number({ minimum: -metricLimits.value, maximum: metricLimits.value, description })

/** Values since the last report. */
export const Distribution = model('Distribution', {
  count: Count('Number of values'),
  sum: Value('Sum of the values'),
  min: Value('Smallest value'),
  max: Value('Largest value'),
  buckets: Type.Optional(
    Type.Array(Count('Number of values in this bucket'), {
      minItems: histogramBounds.length + 1,
      maxItems: histogramBounds.length + 1,
      description: `Number of values per bucket, ${histogramBounds.length + 1} numbers: the upper bounds are 0.0001, 0.0002, 0.0005 and so on to 10000, and the last bucket counts all greater values`,
    }),
  ),
})
export type Distribution = Static<typeof Distribution>

/** What a source says of one series. */
export const Measurement = model('Measurement', {
  name: MetricName,
  kind: Kind,
  labels: Type.Optional(Labels),
  help: Type.Optional(
    Type.String({
      maxLength: metricLimits.helpLength,
      ...oneLine,
      description: 'Description of the metric, with its unit',
    }),
  ),
  value: Type.Optional(Value('Counter: increase since the last report; gauge: current value')),
  distribution: Type.Optional(Distribution),
})
export type Measurement = Static<typeof Measurement>

/** The subject that decides who sees a metric: nobody publishes there, but who may subscribe to it may see it. */
export const metricSubject = (source: string, name: string): string =>
  source === platformSource ? `${roots.metrics}.${name}` : `${roots.extensions}.${source}.metrics.${name}`

export const aggregates = ['rate', 'sum', 'avg', 'min', 'max', 'last'] as const
export type Aggregate = (typeof aggregates)[number]

/** What can be asked of each kind; the first is what is meant when nothing is said. */
export const aggregatesOf: Readonly<Record<MetricKind, readonly Aggregate[]>> = {
  counter: ['rate', 'sum', 'last'],
  gauge: ['last', 'avg', 'min', 'max', 'sum'],
  histogram: ['avg', 'min', 'max', 'sum', 'rate'],
}

export const Help = Text('Description of the metric, with its unit')
