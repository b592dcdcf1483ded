import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

interface Attribute {
  readonly key: string
  readonly value: object
}

export interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string
  readonly name: string
  readonly kind: number
  readonly status: object
  readonly traceState?: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly Attribute[]
}

export interface HistogramPoint {
  readonly count: string
  readonly bucketCounts: readonly string[]
  readonly explicitBounds: readonly number[]
}

interface Received {
  readonly resourceSpans?: { scopeSpans: { spans: ReceivedSpan[] }[] }[]
  readonly resourceMetrics?: {
    resource: { attributes: { key: string; value: { stringValue: string } }[] }
    scopeMetrics: { metrics: { name: string }[] }[]
  }[]
}

/** Stands for a collector of OpenTelemetry: takes OTLP over HTTP with JSON, and keeps it. */
export interface Collector {
  /** What `gantry.config` says of it. */
  readonly config: object
  spans(): ReceivedSpan[]
  /** The last metrics of a source, by name. */
  metrics(source: string): ReadonlyMap<string, object>
  /** What came as the header `authorization`. */
  secretsSeen(): Set<string | undefined>
  stop(): Promise<void>
}

export async function startCollector(): Promise<Collector> {
  const received: Received[] = []
  const secrets = new Set<string | undefined>()
  const server = createServer((request, response) => {
    secrets.add(request.headers.authorization)
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const isKnown = request.method === 'POST' && /^\/otlp\/v1\/(traces|metrics)$/.test(request.url ?? '')
      if (isKnown) received.push(JSON.parse(Buffer.concat(chunks).toString()) as Received)
      response.writeHead(isKnown ? 200 : 404, { 'content-type': 'application/json' }).end('{}')
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    config: {
      'otlp.endpoint': `http://127.0.0.1:${port}/otlp/`,
      'otlp.headers': 'authorization=Bearer of the collector',
    },
    spans: () =>
      received.flatMap(({ resourceSpans = [] }) =>
        resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
      ),
    metrics: (source) => {
      const resources = received.findLast((one) => one.resourceMetrics !== undefined)?.resourceMetrics ?? []
      const own = resources.filter(({ resource }) =>
        resource.attributes.some(({ key, value }) => key === 'service.name' && value.stringValue === source),
      )
      const all = own.flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics))
      return new Map(all.map((metric) => [metric.name, metric]))
    },
    secretsSeen: () => secrets,
    stop: async () => {
      server.close()
      await once(server, 'close')
    },
  }
}
