import type { FinishedSpan } from '../../../broker/messages/tracing.ts'
import { histogramBounds, platformSource } from '../../../subjects/observability/metric-model.ts'
import type { Series } from '../series.ts'

/** Who says it: of each source a resource of its own. */
export interface About {
  readonly version: string
  readonly instance: string
}

/** Numbers of the protocol: what a sum is counted from, what a span is for, and how it ended. */
const cumulative = 2
const serverSpan = 2
const statusError = 2

/** Nanoseconds are more than a number holds exactly; the protocol has them as text. */
const nanos = (ms: number): string => `${BigInt(Math.round(ms * 1e3)) * 1_000n}`

const attributesOf = (values: Readonly<Record<string, string | number>>) =>
  Object.entries(values).map(([key, value]) => ({
    key,
    value: typeof value === 'string' ? { stringValue: value } : { doubleValue: value },
  }))

/** The version is the platform's own; what an extension measures has none. */
const resourceOf = (source: string, { version, instance }: About) => ({
  attributes: attributesOf({
    'service.name': source,
    ...(source === platformSource ? { 'service.version': version } : {}),
    'service.instance.id': instance,
  }),
})

const scope = { name: 'gantry' }

/** Spans as an ExportTraceServiceRequest, in the JSON of OTLP. */
export const encodeSpans = (source: string, spans: readonly FinishedSpan[], about: About): object => ({
  resourceSpans: [
    { resource: resourceOf(source, about), scopeSpans: [{ scope, spans: spans.map(encodeSpan) }] },
  ],
})

function encodeSpan({
  context,
  parentSpanId,
  name,
  startMs,
  endMs,
  attributes,
  error,
}: FinishedSpan): object {
  return {
    traceId: context.traceId,
    spanId: context.spanId,
    parentSpanId,
    ...(context.state === undefined ? {} : { traceState: context.state }),
    flags: Number.parseInt(context.flags, 16),
    name,
    kind: serverSpan,
    startTimeUnixNano: nanos(startMs),
    endTimeUnixNano: nanos(endMs),
    attributes: attributesOf(attributes),
    status: error === undefined ? {} : { code: statusError, message: error },
  }
}

/** All series as an ExportMetricsServiceRequest, in the JSON of OTLP. @param startMs when this process began */
export function encodeMetrics(
  series: readonly Series[],
  about: About,
  { startMs, nowMs }: { startMs: number; nowMs: number },
): object {
  return {
    resourceMetrics: [...Map.groupBy(series, ({ key }) => key.source)].map(([source, own]) => ({
      resource: resourceOf(source, about),
      scopeMetrics: [
        {
          scope,
          metrics: [...Map.groupBy(own, ({ key }) => key.name)].map(([name, all]) => {
            const { help = '', key } = all[0]!
            const dataPoints = all.map((one) => pointOf(one, { startMs, nowMs }))
            return { name, description: help, ...dataOf(key.kind, dataPoints) }
          }),
        },
      ],
    })),
  }
}

function dataOf(kind: Series['key']['kind'], dataPoints: readonly object[]): object {
  if (kind === 'gauge') return { gauge: { dataPoints } }
  if (kind === 'histogram') return { histogram: { dataPoints, aggregationTemporality: cumulative } }
  return { sum: { dataPoints, aggregationTemporality: cumulative, isMonotonic: true } }
}

function pointOf(
  { key: { kind, labels }, total, last, distribution, firstMs }: Series,
  { startMs, nowMs }: { startMs: number; nowMs: number },
): object {
  const common = { attributes: attributesOf(labels), timeUnixNano: nanos(nowMs) }
  if (kind === 'gauge') return { ...common, asDouble: last }
  // A counter goes on over restarts; buckets begin with the process.
  if (kind === 'counter')
    return { ...common, startTimeUnixNano: nanos(Math.min(firstMs, startMs)), asDouble: total }
  return {
    ...common,
    startTimeUnixNano: nanos(startMs),
    count: String(distribution.count),
    sum: distribution.sum,
    explicitBounds: histogramBounds,
    bucketCounts: distribution.buckets.map(String),
  }
}
