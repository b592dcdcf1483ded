import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect, type Extension } from '../../../sdk/index.ts'
import { type UsageRecord, usage } from '../../../subjects/observability/usage.ts'
import { gantry } from '../../cli/support.ts'
import { createKey, everything, issueInside } from '../../support/keys.ts'
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { bareExtension, capabilitiesOf } from '../../support/example-extension.ts'

const recording = [usage.record.subject]

let platform: TestPlatform
let weather: Extension
/** The token of ada, who is no administrator. */
let ada: string
beforeAll(async () => {
  platform = await startTestPlatform()
  const { token } = await createKey(platform, capabilitiesOf('weather', recording))
  weather = await connect({ prefix: 'weather', version: '1.0.0', token })
  await weather.ready()
  const own = { pub: { allow: ['gantry.services.v1.usage.*'] }, sub: { allow: [] } }
  ;({ token: ada } = await issueInside(platform, { capabilities: own }))
  await weather.recordUsage('forecasts', 2, { owner: 'ada', id: 'first' })
  await weather.recordUsage('forecasts', 2, { owner: 'ada', id: 'first' })
  await weather.recordUsage('forecasts', 3, { owner: 'ada' })
  await weather.recordUsage('forecasts', 5, { owner: 'grace' })
  await weather.recordUsage('storage.bytes', 1.5)
})
afterAll(async () => {
  await weather.stop()
  await platform[Symbol.asyncDispose]()
})

const get = (path: string, token = platform.operatorToken) =>
  platform.rest('platform', 'GET', `/api/v1/usage${path}`, { headers: { authorization: `Bearer ${token}` } })
const recordsOf = (body: unknown) => (body as { records: UsageRecord[] }).records
const quantities = async (path: string, token?: string) =>
  recordsOf((await get(path, token)).body).map(({ quantity }) => quantity)

test('each record is there once, in order, however often it was sent', async () => {
  const { body } = await get('')
  expect(recordsOf(body)).toEqual(
    [
      { dimension: 'forecasts', quantity: 2, owner: 'ada' },
      { dimension: 'forecasts', quantity: 3, owner: 'ada' },
      { dimension: 'forecasts', quantity: 5, owner: 'grace' },
      { dimension: 'storage.bytes', quantity: 1.5, owner: 'local:operator' },
    ].map((record) => ({
      ...record,
      id: expect.any(Number),
      time: expect.any(String),
      prefix: 'weather',
      key: expect.any(String),
    })),
  )
})

test('is looked for by extension, dimension, owner and time, page by page', async () => {
  expect(await quantities('?owner=ada')).toEqual([2, 3])
  expect(await quantities('?dimension=storage.bytes')).toEqual([1.5])
  expect(await quantities('?prefix=news')).toEqual([])
  const all = recordsOf((await get('')).body)
  expect(await quantities(`?since=${all[0]!.time}&owner=grace`)).toEqual([5])
  expect(await quantities('?since=2999-01-01T00:00:00Z')).toEqual([])
  expect(await quantities('?until=2020-01-01T00:00:00Z')).toEqual([])
  const { body } = await get('?limit=3')
  expect(body).toMatchObject({ records: [{}, {}, {}], next: all[2]!.id })
  expect(await quantities(`?limit=3&after=${all[2]!.id}`)).toEqual([1.5])
})

test('is summed up', async () => {
  expect((await get('/totals?dimension=forecasts')).body).toEqual([
    { prefix: 'weather', dimension: 'forecasts', owner: 'ada', quantity: 5, records: 2 },
    { prefix: 'weather', dimension: 'forecasts', owner: 'grace', quantity: 5, records: 1 },
  ])
  const { out } = await gantry(['usage', 'totals', '--owner', 'ada'], {
    env: { GANTRY_TOKEN: platform.operatorToken },
  })
  expect(out).toMatch(/weather\s+forecasts\s+ada\s+5\s+2/)
})

test('is exported as a table, or as lines of JSON', async () => {
  const url = `${platform.httpUrls.platform}/api/v1/usage/export`
  const csv = await fetch(`${url}?owner=ada`, {
    headers: { authorization: `Bearer ${platform.operatorToken}` },
  })
  expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8')
  const rows = (await csv.text()).trim().split('\r\n')
  expect(rows[0]).toBe('"id","time","prefix","dimension","quantity","owner","key"')
  expect(rows[1]).toMatch(/^"\d+","20.*Z","weather","forecasts","2","ada","/)
  expect(rows).toHaveLength(3)
  const { out } = await gantry(['usage', 'export', '--format', 'jsonl'], {
    env: { GANTRY_TOKEN: platform.operatorToken },
  })
  const lines = out.trim().split('\n')
  expect(lines.map((line) => (JSON.parse(line) as UsageRecord).quantity)).toEqual([2, 3, 5, 1.5])
})

test('of others is seen by administrators, and by whose extension has recorded it', async () => {
  expect(await quantities('', ada)).toEqual([2, 3])
  expect((await get('/totals?owner=grace', ada)).body).toEqual([])
  const { token } = await issueInside(platform, {
    owner: 'maker',
    capabilities: { ...everything, sub: capabilitiesOf('made').sub },
  })
  await using made = await bareExtension(platform, 'made', { token })
  await made.register()
  const record = { prefix: 'made', dimension: 'calls', quantity: 1, owner: 'grace' }
  expect((await made.ask('usage.record', record)).status).toBe(200)
  expect(await quantities('', token)).toEqual([1])
})

test('is recorded by the extension alone', async () => {
  const { token } = await createKey(platform, capabilitiesOf('other', recording))
  await using other = await bareExtension(platform, 'other', { token })
  const record = { prefix: 'weather', dimension: 'forecasts', quantity: 1 }
  expect(await other.ask('usage.record', record)).toMatchObject({
    status: 403,
    body: { code: 'DENIED', message: expect.stringContaining('gantry.extensions.weather.>') },
  })
  expect(await other.ask('usage.record', { ...record, prefix: 'other' })).toMatchObject({ status: 404 })
  for (const wrong of [{ quantity: -1 }, { dimension: 'a b' }, { owner: '' }, { id: '' }])
    expect(await other.ask('usage.record', { ...record, ...wrong })).toMatchObject({ status: 400 })
})
