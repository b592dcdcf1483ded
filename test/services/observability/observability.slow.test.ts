import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import parse from 'parse-prometheus-text-format'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect } from '../../../sdk/index.ts'
import { endpointPath } from '../../../subjects/extensions/contract.ts'
import { files } from '../../../subjects/kit/names.ts'
import { observability } from '../../../subjects/observability/observability.ts'
import { gantry } from '../../cli/support.ts'
import { type Collector, type HistogramPoint, startCollector } from '../../support/collector.ts'
import { createClient, createKey } from '../../support/keys.ts'
import { createHome, startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { until } from '../../support/until.ts'
import { bareExtension, type BareExtension, capabilitiesOf } from '../../support/example-extension.ts'

let platform: TestPlatform
let home: string
beforeAll(async () => {
  home = await createHome()
  platform = await startTestPlatform({ home })
})
afterAll(async () => {
  await platform[Symbol.asyncDispose]()
  rmSync(home, { recursive: true, force: true })
})

const get = (path: string, token = platform.operatorToken) =>
  platform.rest('platform', 'GET', `/api/v1/observability/${path}`, {
    headers: { authorization: `Bearer ${token}` },
  })
const query = (input: object) => platform.call(observability.query_scalar_metrics, input as { name: string })

const endpointRoute = endpointPath(':prefix', ':endpoint')

const reporting = { pub: ['gantry.services.v1.observability.*'] }
const report = {
  prefix: 'weather',
  measurements: [
    { name: 'forecasts.total', kind: 'counter', value: 3, labels: { city: 'Oslo' }, help: 'Forecasts made' },
    { name: 'queue.depth', kind: 'gauge', value: 7 },
    { name: 'forecast.seconds', kind: 'histogram', distribution: { count: 2, sum: 0.5, min: 0.1, max: 0.4 } },
  ],
}

describe('the platform’s own metrics', () => {
  test('are those of its servers, services, storage, sign-ins, extensions and migrations', async () => {
    expect((await platform.rest('migrator', 'GET', '/migrations')).status).toBe(200)
    expect((await get('nothing')).status).toBe(404)
    const reply = await query({
      name: 'http.requests.total',
      aggregate: 'sum',
      labels: { server: 'platform' },
    })
    expect(reply.series).toMatchObject([{ source: 'gantry', labels: { server: 'platform' }, value: 1 }])
    const { body } = await get('metrics?source=gantry')
    const names = (body as { name: string }[]).map(({ name }) => name)
    expect(names).toEqual(
      expect.arrayContaining([
        ...['http.requests.total', 'http.responses.2xx', 'http.responses.4xx', 'http.responses.5xx'],
        ...['http.latency', 'nats.service.requests.total', 'nats.service.latency'],
        ...['extensions.registered.total', 'auth.attempts.total', 'auth.failures.total'],
        ...[
          'storage.bytes',
          'storage.limit.bytes',
          'migrations.count',
          'migrations.bytes.migrated.total',
          'metadata.migrations.count',
        ],
        ...['process.cpu.seconds.total', 'process.memory.rss.bytes', 'process.eventloop.delay.seconds'],
      ]),
    )
  })

  test('say what is stored, and what may be', async () => {
    const labels = { kind: 'file' }
    const [limit, used] = await Promise.all(
      ['storage.limit.bytes', 'storage.bytes'].map((name) => query({ name, labels })),
    )
    expect(limit!.series[0]!.value).toBe(2 ** 30)
    expect(used!.series[0]!.value).toBeGreaterThan(0)
  })

  test('count who is refused', async () => {
    const failures = async () =>
      (await query({ name: 'auth.failures.total', aggregate: 'last' })).series[0]!.value!
    const before = await failures()
    expect((await get('metrics', 'nonsense')).status).toBe(401)
    expect(await failures()).toBe(before + 1)
  })
})

describe('an extension', () => {
  let weather: BareExtension
  beforeAll(async () => {
    weather = await bareExtension(platform, 'weather', reporting)
    await weather.register()
  })
  afterAll(() => weather[Symbol.asyncDispose]())

  test('reports, and is asked about over REST and by command', async () => {
    expect(await weather.ask('observability.report', report)).toEqual({ status: 200, body: {} })
    expect(await weather.ask('observability.report', report)).toEqual({ status: 200, body: {} })
    const path = 'query_scalar_metrics?name=forecasts.total&aggregate=sum&since=10m&labels=city%3DOslo'
    const { status, body } = await get(path)
    expect({ status, body }).toMatchObject({
      status: 200,
      body: {
        kind: 'counter',
        stepSeconds: 10,
        series: [{ source: 'weather', labels: { city: 'Oslo' }, value: 6 }],
      },
    })
    const command = [
      'observability',
      'query-scalar-metrics',
      '--name',
      'forecasts.total',
      '--aggregate',
      'sum',
    ]
    const env = { GANTRY_TOKEN: platform.operatorToken }
    const shown = await gantry([...command, '--since', '1h'], { env })
    expect(shown).toMatchObject({ code: 0, err: '' })
    expect(shown.out).toMatch(/^forecasts\.total \(counter\), sum\n.* to .*, every 60 s\n/)
    expect(shown.out).toMatch(/\nweather {2}city=Oslo +6 .*█/)
    expect(shown.out).toMatch(/\n\d{4}-\d\d-\d\d \d\d:\d\d:00 UTC +6\n/)
    const onWire = command.with(1, 'query_scalar_metrics')
    const json = await gantry([...onWire, '--since', '10m', '--json'], { env })
    expect(JSON.parse(json.out)).toMatchObject({ stepSeconds: 10, series: [{ value: 6 }] })
  })

  test('says the same of a gauge and a histogram', async () => {
    expect((await query({ name: 'queue.depth' })).series).toMatchObject([{ value: 7 }])
    expect((await query({ name: 'forecast.seconds' })).series).toMatchObject([{ value: 0.25 }])
  })

  test('reports under its own prefix alone, and what makes sense', async () => {
    const other = await bareExtension(platform, 'other', reporting)
    expect(await other.ask('observability.report', report)).toMatchObject({
      status: 403,
      body: { code: 'DENIED' },
    })
    expect(await other.ask('observability.report', { ...report, prefix: 'other' })).toMatchObject({
      status: 404,
      body: { message: 'you have no extension other: register it first' },
    })
    const wrong = { prefix: 'weather', measurements: [{ name: 'forecasts.total', kind: 'gauge', value: 1 }] }
    expect(await weather.ask('observability.report', wrong)).toMatchObject({
      status: 400,
      body: {
        message:
          'input: measurements[0].kind must be counter, the kind in earlier reports of forecasts.total',
      },
    })
    await other.connection.close()
  })

  test('is not measured for those who may not subscribe to it', async () => {
    const may = { allow: ['gantry.services.v1.observability.*'] }
    const namesOf = async (...allow: string[]) => {
      await using client = await createClient(platform, { pub: may, sub: { allow } })
      const { body } = await get('metrics', client.token)
      const path = 'query_scalar_metrics?name=queue.depth'
      return {
        names: new Set((body as { source: string }[]).map(({ source }) => source)),
        status: (await get(path, client.token)).status,
      }
    }
    expect(await namesOf()).toEqual({ names: new Set(), status: 404 })
    expect(await namesOf('gantry.metrics.v1.>')).toEqual({ names: new Set(['gantry']), status: 404 })
    expect(await namesOf('gantry.extensions.weather.>')).toEqual({ names: new Set(['weather']), status: 200 })
    expect(await namesOf('gantry.extensions.weather.metrics.queue.*')).toEqual({
      names: new Set(['weather']),
      status: 200,
    })
    await using none = await createClient(platform, { pub: { allow: [] }, sub: { allow: ['gantry.>'] } })
    expect((await get('metrics', none.token)).status).toBe(403)
  })
})

const metricsText = async (headers: Record<string, string> = {}) => {
  const response = await fetch(`${platform.httpUrls.platform}/metrics`, { headers })
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() }
}

test('Prometheus reads all that a key may see', async () => {
  expect((await metricsText()).status).toBe(401)
  const { status, type, text } = await metricsText({ authorization: `Bearer ${platform.operatorToken}` })
  expect({ status, type }).toEqual({ status: 200, type: 'text/plain; version=0.0.4; charset=utf-8' })
  const families = new Map(parse(text).map((family) => [family.name, family]))
  expect(families.get('gantry_storage_bytes')).toMatchObject({ type: 'GAUGE' })
  expect(families.get('gantry_http_requests_total')).toMatchObject({ type: 'COUNTER' })
  expect(families.get('gantry_http_latency_seconds')).toMatchObject({ type: 'HISTOGRAM' })
  expect(families.get('weather_forecasts_total')?.metrics).toEqual([{ value: '6', labels: { city: 'Oslo' } }])
  const pub = { allow: ['gantry.services.v1.observability.prometheus'] }
  await using client = await createClient(platform, { pub, sub: { allow: ['gantry.extensions.weather.>'] } })
  const seen = parse((await metricsText({ authorization: `Bearer ${client.token}` })).text)
  expect(seen.map(({ name }) => name).filter((name) => !name.startsWith('weather_'))).toEqual([])
})

describe('after a restart, with another configuration', () => {
  let collector: Collector
  beforeAll(async () => {
    await platform[Symbol.asyncDispose]()
    collector = await startCollector()
    appendFileSync(join(home, 'platform/application.properties'), 'metrics.access=loopback\n')
    const config = join(home, files.config)
    const changed = { ...JSON.parse(readFileSync(config, 'utf8')), ...collector.config }
    writeFileSync(config, JSON.stringify(changed))
    platform = await startTestPlatform({ home })
  })
  afterAll(() => collector.stop())

  test('metrics are there, and forgotten with the prefix', async () => {
    const { series } = await query({ name: 'forecasts.total', aggregate: 'sum', since: '10m' })
    expect(series).toMatchObject([{ source: 'weather', labels: { city: 'Oslo' }, value: 6 }])
    expect((await query({ name: 'forecasts.total', aggregate: 'last' })).series).toMatchObject([{ value: 6 }])
    const env = { GANTRY_TOKEN: platform.operatorToken }
    expect(await gantry(['extensions', 'release', 'weather'], { env })).toMatchObject({ code: 0 })
    await expect(query({ name: 'forecasts.total' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  test('programs on this host read the metrics without a key', async () => {
    expect((await metricsText()).status).toBe(200)
    expect((await metricsText({ 'x-forwarded-for': '10.0.0.1' })).status).toBe(401)
    expect((await get('metrics', '')).status).toBe(401)
  })

  test('one trace goes from REST through an extension to the services that it asks, and theirs', async () => {
    const pub = ['gantry.services.v1.observability.*']
    const { token } = await createKey(platform, capabilitiesOf('traced', pub))
    const seen: (string | undefined)[] = []
    const extension = await connect({ prefix: 'traced', version: '1.0.0', token })
    extension.endpoint({ name: 'ask', summary: 'Asks the platform' }, async (_, call) => {
      seen.push(call.traceparent, call.requestId)
      call.respond(await call.request(observability.list.subject, { source: 'traced' }))
    })
    await extension.ready()
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
    const path = '/api/v1/extensions/traced/ask'
    const ask = (traceparent: string) =>
      platform.rest('platform', 'POST', path, {
        body: {},
        headers: {
          authorization: `Bearer ${platform.operatorToken}`,
          traceparent,
          tracestate: 'vendor=1',
          'x-request-id': 'request-1',
        },
      })
    expect(await ask(`00-${traceId}-00f067aa0ba902b7-01`)).toMatchObject({ status: 200, body: [] })
    // Not recorded, and passed on all the same.
    const other = `00-${traceId.replace('4', '5')}-00f067aa0ba902b7-00`
    expect((await ask(other)).status).toBe(200)
    expect(seen[2]).toBe(other)
    await extension.stop()
    await until('spans are there', () =>
      collector.spans().some(({ name }) => name === `POST ${endpointRoute}`),
    )
    const spans = collector.spans()
    expect(new Set(spans.map((span) => span.traceId))).toEqual(new Set([traceId]))
    const named = (name: string) => spans.filter((span) => span.name === name)
    const [edge] = named(`POST ${endpointRoute}`)
    expect(edge).toMatchObject({
      parentSpanId: '00f067aa0ba902b7',
      traceState: 'vendor=1',
      kind: 2,
      status: {},
    })
    expect(seen.slice(0, 2)).toEqual([`00-${traceId}-${edge!.spanId}-01`, 'request-1'])
    // The edge looks the extension up, and the extension asks.
    const below = (parent: { spanId: string }) =>
      spans.filter(({ parentSpanId }) => parentSpanId === parent.spanId).map(({ name }) => name)
    expect(below(edge!).toSorted()).toEqual([
      'gantry.internal.v1.extensions.revision',
      'gantry.services.v1.observability.list',
    ])
    const [list] = named('gantry.services.v1.observability.list')
    expect(below(list!)).toEqual(['gantry.internal.v1.keys.permissions'])
    for (const { attributes } of spans)
      expect(attributes).toContainEqual({ key: 'gantry.request.id', value: { stringValue: 'request-1' } })
    expect(Number(list!.endTimeUnixNano)).toBeGreaterThanOrEqual(Number(list!.startTimeUnixNano))
    expect(collector.secretsSeen()).toEqual(new Set(['Bearer of the collector']))
  })

  test('metrics are sent to the collector when it stops at the latest', async () => {
    await platform[Symbol.asyncDispose]()
    const metrics = collector.metrics('gantry')
    expect(metrics.get('http.requests.total')).toMatchObject({
      sum: { isMonotonic: true, aggregationTemporality: 2, dataPoints: expect.any(Array) },
    })
    expect(metrics.get('storage.limit.bytes')).toMatchObject({
      gauge: { dataPoints: expect.arrayContaining([expect.objectContaining({ asDouble: 2 ** 30 })]) },
    })
    const { histogram } = metrics.get('http.latency') as { histogram: { dataPoints: HistogramPoint[] } }
    for (const { bucketCounts, count, explicitBounds } of histogram.dataPoints) {
      expect(bucketCounts).toHaveLength(explicitBounds.length + 1)
      expect(bucketCounts.reduce((sum, one) => sum + Number(one), 0)).toBe(Number(count))
    }
    platform = await startTestPlatform({ home })
  })
})
