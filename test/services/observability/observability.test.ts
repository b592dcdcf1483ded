import { appendFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import parse from 'parse-prometheus-text-format'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { observability } from '../../../subjects/observability.ts'
import { gantry } from '../../cli/support.ts'
import { createClient } from '../../support/keys.ts'
import { createHome, startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { bareExtension, type BareExtension } from '../../support/weather.ts'

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
        ...['storage.bytes', 'storage.limit.bytes', 'migrations.count', 'migrations.bytes.migrated.total'],
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
      'query_scalar_metrics',
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
    expect(shown.out).toMatch(/\n\d{4}-\d\d-\d\d \d\d:\d\d:00 +6\n/)
    const json = await gantry([...command, '--since', '10m', '--json'], { env })
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
      body: { message: 'you have no extension other: one registers before anything else' },
    })
    const wrong = { prefix: 'weather', measurements: [{ name: 'forecasts.total', kind: 'gauge', value: 1 }] }
    expect(await weather.ask('observability.report', wrong)).toMatchObject({
      status: 400,
      body: { message: 'input: measurements[0].kind must be counter, as forecasts.total was before' },
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
  expect(families.get('gantry_http_latency')).toMatchObject({ type: 'HISTOGRAM' })
  expect(families.get('weather_forecasts_total')?.metrics).toEqual([{ value: '6', labels: { city: 'Oslo' } }])
  const pub = { allow: ['gantry.services.v1.observability.prometheus'] }
  await using client = await createClient(platform, { pub, sub: { allow: ['gantry.extensions.weather.>'] } })
  const seen = parse((await metricsText({ authorization: `Bearer ${client.token}` })).text)
  expect(seen.map(({ name }) => name).filter((name) => !name.startsWith('weather_'))).toEqual([])
})

test('metrics are there after a restart, and forgotten with the prefix', async () => {
  await platform[Symbol.asyncDispose]()
  appendFileSync(join(home, 'platform/application.properties'), 'metrics.access=loopback\n')
  platform = await startTestPlatform({ home })
  const { series } = await query({ name: 'forecasts.total', aggregate: 'sum', since: '10m' })
  expect(series).toMatchObject([{ source: 'weather', labels: { city: 'Oslo' }, value: 6 }])
  expect((await query({ name: 'forecasts.total', aggregate: 'last' })).series).toMatchObject([{ value: 6 }])
  const env = { GANTRY_TOKEN: platform.operatorToken }
  expect(await gantry(['extensions', 'release', 'weather'], { env })).toMatchObject({ code: 0 })
  await expect(query({ name: 'forecasts.total' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  // So it is configured now.
  expect((await metricsText()).status).toBe(200)
  expect((await metricsText({ 'x-forwarded-for': '10.0.0.1' })).status).toBe(401)
  expect((await get('metrics', '')).status).toBe(401)
})
