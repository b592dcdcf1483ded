import { afterAll, beforeAll, expect, test } from 'vitest'
import { agentOperations } from '../../../http-edge/metadata/resources/agents.ts'
import { settings } from '../../../subjects/access/settings.ts'
import { loopback } from '../../../subjects/kit/names.ts'
import { freePort, startTestPlatform, type TestPlatform } from '../../support/platform.ts'

/** The rows of the interface on 6780, without a metastore: what one answers is in test/peers/metadata/. */
let platform: TestPlatform
let metastoreUris: string
beforeAll(async () => {
  platform = await startTestPlatform()
  await platform.call(settings.put, { storeHosts: [loopback] })
  metastoreUris = `thrift://127.0.0.1:${await freePort()}`
})
afterAll(() => platform[Symbol.asyncDispose]())

const ask = async (method: string, path: string, body?: unknown) => {
  const answer = await platform.rest('metadata', method, path, body === undefined ? {} : { body })
  return { status: answer.status, body: answer.body, warning: answer.headers.get('warning') }
}
const hive = (options: object = {}) => ({ agentType: 'HIVE', hiveAgentConfig: { metastoreUris, ...options } })
const noCatalog = { code: 'NOT_FOUND', message: 'there is no catalog warehouse' }
const certificates = { code: 'UNSUPPORTED', message: expect.stringContaining('no certificates') }

/** As they are written there, each with what it is told here. */
const rows: [row: string, query: string, body: unknown, status: number, told: unknown][] = [
  ['GET /agents', '', undefined, 200, []],
  ['POST /agents/{name}', '', () => hive(), 409, { code: 'STORE_UNREACHABLE' }],
  ['PUT /agents/{name}', '', () => hive(), 404, noCatalog],
  ['GET /agents/{name}', '', undefined, 404, noCatalog],
  ['DELETE /agents/{name}', '', undefined, 404, noCatalog],
  ['POST /agents/{name}/check', '', undefined, 404, noCatalog],
  ['GET /agents/{name}/databases', '?like=a*', undefined, 404, noCatalog],
  ['GET /agents/{name}/tables', '?database=default', undefined, 404, noCatalog],
  ['GET /agents/{name}/partitions', '?database=default&table=days', undefined, 404, noCatalog],
  ['POST /config/certificates/generate', '', {}, 409, certificates],
  ['POST /config/certificates/upload', '', {}, 409, certificates],
  ['POST /agents/{name}/certificates/generate', '', {}, 409, certificates],
  ['POST /agents/{name}/certificates/upload', '', {}, 409, certificates],
]

test.each(rows)('%s', async (row, query, body, status, told) => {
  const [method, path] = row.replace('{name}', 'warehouse').split(' ') as [string, string]
  const sent = typeof body === 'function' ? (body as () => unknown)() : body
  const answer = await ask(method, `${path}${query}`, sent)
  expect([answer.status, answer.body]).toEqual([
    status,
    Array.isArray(told) ? told : expect.objectContaining(told as object),
  ])
})

test('no row about agents is left out', () => {
  const tried = new Set(rows.map(([row]) => row))
  const built = agentOperations.map(({ method, path }) => `${method} ${path}`)
  expect(built.filter((row) => !tried.has(row))).toEqual([])
})

test.each([
  [{ hiveAgentConfig: {} }, 'metastoreUris'],
  [{ hiveAgentConfig: { metastoreUris: 'x' } }, 'metastoreUris'],
  [{}, 'agentType'],
  [{ agentType: 'ORACLE' }, 'agentType'],
  [{ ...hive(), fileSystemId: 'no/such name', agentType: 'HIVE' }, 'fileSystemId'],
  [{ agentType: 'HIVE', hiveAgentConfig: { metastoreUris: 'thrift://h', framed: 'perhaps' } }, 'framed'],
])('%j is refused at %s', async (body, field) => {
  const answer = await ask('POST', '/agents/warehouse', body)
  expect(answer).toMatchObject({
    status: 400,
    body: { code: 'INVALID_INPUT', details: expect.arrayContaining([expect.objectContaining({ field })]) },
  })
})

test('a request is taken as far as it can be understood, and what is left over is told', async () => {
  const answer = await ask('POST', '/agents/warehouse', {
    agentType: 'hive',
    hiveAgentConfig: { metastoreUris, framed: 'true', kerberos: 'x' },
    host: 'elsewhere',
    fileSystemId: '',
  })
  expect(answer).toMatchObject({ status: 409, body: { code: 'STORE_UNREACHABLE' } })
  expect(answer.warning).toContain('hiveAgentConfig: kerberos is not known there')
  expect(answer.warning).toContain('host is not known here')
})

test('without access control programs on this host need no token; others do', async () => {
  const alone = await platform.rest('metadata', 'GET', '/agents', { headers: {} })
  expect(alone.status).toBe(200)
  const proxied = await platform.rest('metadata', 'GET', '/agents', { headers: { via: '1.1 proxy' } })
  expect([proxied.status, proxied.headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
  expect(
    (await platform.rest('metadata', 'GET', '/openapi.json', { headers: { via: '1.1 proxy' } })).status,
  ).toBe(200)
})
