import { afterAll, beforeAll, expect, test } from 'vitest'
import { operations } from '../../../http-edge/metadata/operations.ts'
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
const noMigration = { code: 'NOT_FOUND', message: 'there is no metadata migration warehouse' }
const migration = { name: 'lake', sourceAgentName: 'here', targetAgentName: 'there', rules: ['sales'] }
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
  ['GET /agents/{name}/indexes', '?database=default&table=days', undefined, 404, noCatalog],
  ['GET /agents/{name}/conf', '?like=hive.*', undefined, 404, noCatalog],
  ['GET /rule', '', undefined, 200, []],
  ['POST /rule', '', { ruleName: 'sales' }, 400, { code: 'INVALID_INPUT' }],
  ['PUT /rule/{ruleName}', '', { dbNamePattern: 'sales' }, 404, { code: 'NOT_FOUND' }],
  ['GET /rule/{ruleName}', '', undefined, 404, { code: 'NOT_FOUND' }],
  ['DELETE /rule/{ruleName}', '', undefined, 404, { code: 'NOT_FOUND' }],
  ['GET /migration', '', undefined, 200, []],
  ['POST /migration', '', () => migration, 404, { message: 'source: there is no catalog here' }],
  ['GET /migration/{name}', '', undefined, 404, noMigration],
  ['GET /migration/{name}/status', '', undefined, 404, noMigration],
  ['DELETE /migration/{name}', '?stop=true', undefined, 404, noMigration],
  ['POST /migration/start', '', { migrationNames: ['warehouse'] }, 404, { code: 'NOT_FOUND' }],
  ['POST /migration/pause', '', { migrationNames: ['warehouse'] }, 404, { code: 'NOT_FOUND' }],
  ['POST /migration/resume', '', { migrationNames: ['warehouse'] }, 404, { code: 'NOT_FOUND' }],
  [
    'POST /migration/reset',
    '',
    { migrationNames: ['warehouse'], forceStop: true },
    404,
    { code: 'NOT_FOUND' },
  ],
  ['POST /migration/stop', '', ['warehouse'], 404, { code: 'NOT_FOUND' }],
  ['POST /config/certificates/generate', '', {}, 409, certificates],
  ['POST /config/certificates/upload', '', {}, 409, certificates],
  ['POST /agents/{name}/certificates/generate', '', {}, 409, certificates],
  ['POST /agents/{name}/certificates/upload', '', {}, 409, certificates],
]

test.each(rows)('%s', async (row, query, body, status, told) => {
  const [method, path] = row.replace(/\{\w+\}/, 'warehouse').split(' ') as [string, string]
  const sent = typeof body === 'function' ? (body as () => unknown)() : body
  const answer = await ask(method, `${path}${query}`, sent)
  expect([answer.status, answer.body]).toEqual([
    status,
    Array.isArray(told) ? told : expect.objectContaining(told as object),
  ])
})

test('no row is left out', () => {
  const tried = new Set(rows.map(([row]) => row))
  const built = operations.map(({ method, path }) => `${method} ${path}`)
  expect(built.filter((row) => !tried.has(row))).toEqual([])
})

test.each([
  [{ icebergRestAgentConfig: {} }, 'uri'],
  [{ hiveAgentConfig: { metastoreUris: 'x' } }, 'metastoreUris'],
  [{}, 'agentType'],
  [{ agentType: 'ORACLE' }, 'agentType'],
  [{ agentType: 'HIVE', hiveAgentConfig: ['x'] }, 'hiveAgentConfig'],
  [{ ...hive(), fileSystemId: 'no/such name', agentType: 'HIVE' }, 'fileSystemId'],
  [{ agentType: 'HIVE', hiveAgentConfig: { metastoreUris: 'thrift://h', framed: 'perhaps' } }, 'framed'],
  // It is shown to whoever may look, and stands in each location.
  [{ ...hive(), defaultFsOverride: 's3a://key:secret@bucket' }, 'defaultFsOverride'],
])('%j is refused at %s', async (body, field) => {
  const answer = await ask('POST', '/agents/warehouse', body)
  expect(answer).toMatchObject({
    status: 400,
    body: { code: 'INVALID_INPUT', details: expect.arrayContaining([expect.objectContaining({ field })]) },
  })
})

test.each([
  [{ agentType: 'ICEBERG_REST' }, 'icebergRestAgentConfig'],
  // Of a metastore they may be in a file of the host.
  [{ agentType: 'HIVE' }, 'metastoreUris'],
])('%j needs the options of its kind', async (body, field) => {
  expect(await ask('POST', '/agents/warehouse', body)).toMatchObject({
    status: 409,
    body: { code: 'NOT_ACCEPTED', details: [{ field }] },
  })
})

test('a kind says which filesystem it needs', async () => {
  expect(await ask('POST', '/agents/warehouse', { agentType: 'FILESYSTEM' })).toMatchObject({
    status: 409,
    body: { code: 'NOT_ACCEPTED', details: [{ field: 'fileSystemId' }] },
  })
})

const kept: [agentType: string, config: string, options: object, secret: string, reach: RegExp][] = [
  [
    'AZURE',
    'azureAgentConfig',
    {
      dbServerName: 'sql.example',
      databaseName: 'hive',
      storageAccount: 'lake',
      containerName: 'data',
      databaseUser: 'ada',
      databasePassword: 'only-here',
    },
    'databasePassword',
    /Azure SQL/,
  ],
  [
    'DATABRICKS',
    'databricksAgentConfig',
    {
      jdbcServerHostname: 'workspace.example',
      jdbcPort: 443,
      jdbcHttpPath: 'sql/1',
      accessToken: 'only-here',
      catalog: 'main',
    },
    'accessToken',
    /Unity Catalog/,
  ],
  [
    'SNOWFLAKE',
    'snowflakeAgentConfig',
    {
      accountIdentifier: 'org-account',
      stage: 'lake',
      warehouse: 'compute',
      snowflakeAuthKind: 'Basic',
      user: 'ada',
      password: 'only-here',
    },
    'password',
    /Snowflake/,
  ],
]

test.each(kept)(
  '%s is kept, and nothing pretends to speak to it',
  async (agentType, config, options, secret, reach) => {
    const body = { agentType, [config]: options, defaultFsOverride: 's3a://lake' }
    const texts = Object.fromEntries(Object.entries(options).map(([name, value]) => [name, String(value)]))
    const shown = {
      name: 'kept',
      location: 'LOCAL',
      config: {
        agentType,
        [config]: { ...texts, [secret]: '********' },
        fileSystemId: null,
        defaultFsOverride: 's3a://lake',
      },
    }
    expect(await ask('POST', '/agents/kept', body)).toMatchObject({ status: 201, body: shown })
    expect(await ask('GET', '/agents/kept')).toMatchObject({ status: 200, body: shown })
    expect(await ask('POST', '/agents/kept/check')).toMatchObject({
      status: 200,
      body: {
        ok: false,
        checks: [
          { check: 'reach', result: 'no', detail: expect.stringMatching(reach) },
          ...['list', 'read', 'write'].map((check) => ({
            check,
            result: 'no',
            detail: expect.stringContaining('this release'),
          })),
        ],
      },
    })
    const unspoken = { code: 'UNSUPPORTED', message: expect.stringMatching(/kept is .* cannot connect to/) }
    for (const path of [
      'databases',
      'tables?database=d',
      'partitions?database=d&table=t',
      'indexes?database=d&table=t',
      'conf',
    ])
      expect(await ask('GET', `/agents/kept/${path}`)).toMatchObject({ status: 409, body: unspoken })
    const migrated = { ...migration, sourceAgentName: 'kept', targetAgentName: 'kept2' }
    await ask('POST', '/agents/kept2', body)
    expect(await ask('POST', '/migration', migrated)).toMatchObject({
      status: 409,
      body: { code: 'UNSUPPORTED', message: expect.stringMatching(/^source: kept is /) },
    })
    for (const name of ['kept', 'kept2']) await ask('DELETE', `/agents/${name}`)
  },
)

test.each([
  ['AZURE', 'azureAgentConfig', { authMethod: 'SQL_PASSWORD', databaseUser: 'ada' }, 'databasePassword'],
  ['SNOWFLAKE', 'snowflakeAgentConfig', { snowflakeAuthKind: 'PrivateKey' }, 'privateKeyFile'],
])('%s needs what its way to sign in needs', async (agentType, config, change, field) => {
  const [, , options] = kept.find(([one]) => one === agentType)!
  const { [field]: _, ...others } = options as Record<string, unknown>
  expect(await ask('POST', '/agents/kept', { agentType, [config]: { ...others, ...change } })).toMatchObject({
    status: 409,
    body: { code: 'NOT_ACCEPTED', details: [{ field }] },
  })
})

test('an agent has its data in one place', async () => {
  const both = { ...hive(), fileSystemId: 'data', defaultFsOverride: 's3a://lake' }
  expect(await ask('POST', '/agents/warehouse', both)).toMatchObject({
    status: 409,
    body: { code: 'NOT_ACCEPTED', details: [{ field: 'defaultFsOverride' }] },
  })
})

test('rules are added, listed, changed and deleted', async () => {
  const rule = { ruleName: 'sales', dbNamePattern: 'sales*|returns', tableNamePattern: '*' }
  expect(await ask('POST', '/rule', rule)).toMatchObject({ status: 201, body: rule })
  expect(await ask('POST', '/rule', rule)).toMatchObject({ status: 409, body: { code: 'ALREADY_EXISTS' } })
  expect(await ask('GET', '/rule')).toMatchObject({ status: 200, body: [rule] })
  const changed = { ...rule, tableNamePattern: 'orders' }
  expect(await ask('PUT', '/rule/sales', { tableNamePattern: 'orders' })).toMatchObject({ body: changed })
  expect(await ask('GET', '/rule/sales')).toMatchObject({ status: 200, body: changed })
  expect(await ask('DELETE', '/rule/sales')).toMatchObject({ status: 200, body: {} })
  expect(await ask('GET', '/rule')).toMatchObject({ body: [] })
})

test('of a command to several, each is told, and the answer is the error of the first that refuses', async () => {
  const outcomes = ['a', 'b'].map((name) => ({ name, done: false, code: 'NOT_FOUND' }))
  expect(await ask('POST', '/migration/stop', ['a', 'b', 'a'])).toMatchObject({
    status: 404,
    body: { code: 'NOT_FOUND', message: expect.stringContaining('2 of 2 failed'), details: outcomes },
  })
  expect(await ask('POST', '/migration/start', [])).toMatchObject({ status: 400 })
  expect(await ask('POST', '/migration/stop', [])).toMatchObject({ status: 400 })
})

test('a request is taken as far as it can be understood, and what is left over is told', async () => {
  const answer = await ask('POST', '/agents/warehouse', {
    agentType: 'hive',
    hiveAgentConfig: { metastoreUris, framed: 'true', kerberos: 'x' },
    host: 'elsewhere',
    fileSystemId: '',
  })
  expect(answer).toMatchObject({ status: 409, body: { code: 'STORE_UNREACHABLE' } })
  expect(answer.warning).toContain('hiveAgentConfig: kerberos is unknown')
  expect(answer.warning).toContain('host is unknown')
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
