import type { FastifyRequest } from 'fastify'
import { expect, test } from 'vitest'
import { operations } from '../../../http-edge/metadata/operations.ts'
import { lenientReader } from '../../../http-edge/surface/input.ts'
import { surfaceRoutes } from '../../../http-edge/surface/surface.ts'
import { ErrorSchema } from '../../../subjects/documents/error-schema.ts'
import { GantryError } from '../../../subjects/kit/errors.ts'
import { problemsOf } from '../../../subjects/kit/validate.ts'

/** What each row becomes: the contract, and its input. What comes of it on a platform is in surface.platform.test.ts. */
const hive = { metastoreUris: 'thrift://metastore.example:9083' }
const migration = { name: 'lake', sourceAgentName: 'here', targetAgentName: 'there', rules: ['sales'] }
const rule = { ruleName: 'sales', dbNamePattern: 'sales*', tableNamePattern: '*' }

type Row = [
  row: string,
  sent: { readonly params?: object; readonly query?: object; readonly body?: unknown },
  calls: string,
  input: object,
]
const agent = { params: { name: 'a' } }
const rows: Row[] = [
  ['GET /agents', { query: { limit: '5' } }, 'metadata-catalogs.list', { limit: 5 }],
  [
    'POST /agents/{name}',
    { ...agent, body: { agentType: 'HIVE', hiveAgentConfig: hive, fileSystemId: 'data' } },
    'metadata-catalogs.create-hive',
    { catalogId: 'a', ...hive, fileSystemId: 'data' },
  ],
  // The options say which kind it is.
  [
    'POST /agents/{name}',
    { ...agent, body: { hiveAgentConfig: hive, defaultFsOverride: 's3a://lake' } },
    'metadata-catalogs.create-hive',
    { catalogId: 'a', ...hive, defaultFsOverride: 's3a://lake' },
  ],
  [
    'POST /agents/{name}',
    { ...agent, body: { agentType: 'FILESYSTEM', fileSystemId: 'data' } },
    'metadata-catalogs.create-filesystem',
    { catalogId: 'a', fileSystemId: 'data' },
  ],
  [
    'POST /agents/{name}',
    {
      ...agent,
      body: { agentType: 'iceberg-rest', icebergRestAgentConfig: { uri: 'https://catalog.example' } },
    },
    'metadata-catalogs.create-iceberg-rest',
    { catalogId: 'a', uri: 'https://catalog.example' },
  ],
  [
    'POST /agents/{name}',
    {
      ...agent,
      body: {
        agentType: 'GLUE',
        glueAgentConfig: {
          glueEndpoint: 'glue.eu-west-1.amazonaws.com',
          awsRegion: 'eu-west-1',
          credentialsProvider: 'SimpleAWSCredentialsProvider',
          accessKey: 'visible',
          secretKey: 'hidden',
        },
      },
    },
    'metadata-catalogs.create-glue',
    {
      catalogId: 'a',
      glueEndpoint: 'glue.eu-west-1.amazonaws.com',
      awsRegion: 'eu-west-1',
      credentialsProvider: 'SimpleAWSCredentialsProvider',
      accessKey: 'visible',
      secretKey: 'hidden',
    },
  ],
  [
    'POST /agents/{name}',
    {
      ...agent,
      body: {
        agentType: 'AZURE',
        azureAgentConfig: {
          dbServerName: 'sql.example',
          databaseName: 'hive',
          storageAccount: 'lake',
          containerName: 'data',
          authMethod: 'AD_MSI',
        },
        defaultFsOverride: 'abfss://data@lake.dfs.core.windows.net',
      },
    },
    'metadata-catalogs.create-azure',
    {
      catalogId: 'a',
      dbServerName: 'sql.example',
      databaseName: 'hive',
      storageAccount: 'lake',
      containerName: 'data',
      authMethod: 'AD_MSI',
      defaultFsOverride: 'abfss://data@lake.dfs.core.windows.net',
    },
  ],
  [
    'POST /agents/{name}',
    {
      ...agent,
      body: {
        agentType: 'DATABRICKS',
        databricksAgentConfig: {
          jdbcServerHostname: 'workspace.example',
          jdbcPort: '443',
          jdbcHttpPath: 'sql/1',
          accessToken: 'x',
          convertToDelta: 'true',
          catalog: 'main',
        },
      },
    },
    'metadata-catalogs.create-databricks',
    {
      catalogId: 'a',
      jdbcServerHostname: 'workspace.example',
      jdbcPort: 443,
      jdbcHttpPath: 'sql/1',
      accessToken: 'x',
      convertToDelta: true,
      catalog: 'main',
    },
  ],
  [
    'POST /agents/{name}',
    {
      ...agent,
      body: {
        agentType: 'SNOWFLAKE',
        snowflakeAgentConfig: {
          accountIdentifier: 'org-account',
          stage: 'lake',
          warehouse: 'compute',
          snowflakeAuthKind: 'Basic',
          user: 'ada',
          password: 'x',
        },
      },
    },
    'metadata-catalogs.create-snowflake',
    {
      catalogId: 'a',
      accountIdentifier: 'org-account',
      stage: 'lake',
      warehouse: 'compute',
      snowflakeAuthKind: 'Basic',
      user: 'ada',
      password: 'x',
    },
  ],
  [
    'PUT /agents/{name}',
    { ...agent, body: { agentType: 'HIVE', hiveAgentConfig: { user: 'ann' } } },
    'metadata-catalogs.update-hive',
    { catalogId: 'a', user: 'ann' },
  ],
  ['GET /agents/{name}', agent, 'metadata-catalogs.get', { catalogId: 'a' }],
  ['DELETE /agents/{name}', agent, 'metadata-catalogs.delete', { catalogId: 'a' }],
  ['POST /agents/{name}/check', agent, 'metadata-catalogs.check-stored', { catalogId: 'a' }],
  [
    'GET /agents/{name}/databases',
    { ...agent, query: { like: 's*' } },
    'metadata-catalogs.databases',
    { catalogId: 'a', like: 's*' },
  ],
  [
    'GET /agents/{name}/tables',
    { ...agent, query: { database: 'd' } },
    'metadata-catalogs.tables',
    { catalogId: 'a', database: 'd' },
  ],
  [
    'GET /agents/{name}/partitions',
    { ...agent, query: { database: 'd', table: 't' } },
    'metadata-catalogs.partitions',
    { catalogId: 'a', database: 'd', table: 't' },
  ],
  [
    'GET /agents/{name}/indexes',
    { ...agent, query: { database: 'd', table: 't' } },
    'metadata-catalogs.indexes',
    { catalogId: 'a', database: 'd', table: 't' },
  ],
  [
    'GET /agents/{name}/conf',
    { ...agent, query: { parameter: 'hive.metastore.uris' } },
    'metadata-catalogs.conf',
    { catalogId: 'a', parameter: 'hive.metastore.uris' },
  ],
  ['GET /rule', {}, 'metadata-rules.list', {}],
  [
    'POST /rule',
    { body: rule },
    'metadata-rules.create',
    { ruleName: 'sales', databasePattern: 'sales*', tablePattern: '*' },
  ],
  [
    'PUT /rule/{ruleName}',
    { params: { ruleName: 'sales' }, body: { tableNamePattern: 'orders' } },
    'metadata-rules.update',
    { ruleName: 'sales', tablePattern: 'orders' },
  ],
  ['GET /rule/{ruleName}', { params: { ruleName: 'sales' } }, 'metadata-rules.get', { ruleName: 'sales' }],
  [
    'DELETE /rule/{ruleName}',
    { params: { ruleName: 'sales' } },
    'metadata-rules.delete',
    { ruleName: 'sales' },
  ],
  ['GET /migration', { query: { after: 'a' } }, 'metadata-migrations.list', { after: 'a' }],
  [
    'POST /migration',
    { body: { ...migration, autoStart: 'true' } },
    'metadata-migrations.create',
    { migrationName: 'lake', source: 'here', target: 'there', ruleNames: ['sales'], autoStart: true },
  ],
  [
    'GET /migration/{name}',
    { params: { name: 'lake' } },
    'metadata-migrations.get',
    { migrationName: 'lake' },
  ],
  [
    'GET /migration/{name}/status',
    { params: { name: 'lake' } },
    'metadata-migrations.get',
    { migrationName: 'lake' },
  ],
  [
    'DELETE /migration/{name}',
    { params: { name: 'lake' } },
    'metadata-migrations.delete',
    { migrationName: 'lake' },
  ],
  [
    'DELETE /migration/{name}',
    { params: { name: 'lake' }, query: { stop: 'true' } },
    'metadata-migrations.delete',
    { migrationName: 'lake', forceStop: true },
  ],
]

const routeOf = (row: string) => {
  const [route, ...others] = surfaceRoutes({
    name: 'metadata',
    operations: operations.filter(({ method, path }) => `${method} ${path}` === row),
    description: '',
    errors: { schema: ErrorSchema, wireErrorOf: (code) => ({ status: 500, errorCode: code }) },
    absentFields: {},
  })
  expect(others).toEqual([])
  return route!
}
const requestOf = ({ params = {}, query = {}, body }: Row[1]) => ({ params, query, body }) as FastifyRequest

test.each(rows)('%s with %j', (row, sent, calls, input) => {
  const { calls: usual, read, choose } = routeOf(row)
  const read1 = read(requestOf(sent)) as Record<string, unknown>
  const asked = choose?.(read1) ?? { calls: usual, input: read1 }
  expect([`${asked.calls.resource}.${asked.calls.verb}`, { ...asked.input }]).toEqual([calls, input])
  expect(problemsOf(asked.calls.input, asked.input)).toEqual([])
})

const several = ['start', 'pause', 'resume', 'stop', 'reset']

test.each(several)('POST /migration/%s is a call for each name, once', (verb) => {
  const { calls, read, each } = routeOf(`POST /migration/${verb}`)
  const names = { migrationNames: ['b', 'a', 'b'], ...(verb === 'reset' ? { forceStop: true } : {}) }
  const body = verb === 'stop' ? names.migrationNames : names
  const inputs = each!.inputs(read(requestOf({ body })) as Record<string, unknown>)
  const more = verb === 'reset' ? { forceStop: true } : {}
  expect([calls.verb, inputs]).toEqual([
    verb,
    [
      { migrationName: 'b', ...more },
      { migrationName: 'a', ...more },
    ],
  ])
})

test.each([
  {},
  { migrationNames: [] },
  { migrationNames: 7 },
  { migrationNames: Array(101).fill('a') },
  undefined,
])('no command without names: %j', (body) => {
  const { read, each } = routeOf('POST /migration/start')
  expect(() => each!.inputs(read(requestOf({ body })) as Record<string, unknown>)).toThrow(/1 to 100 names/)
})

test('what came of several is told, and one that failed is the answer to all', () => {
  const { each } = routeOf('POST /migration/start')
  const done = { input: { migrationName: 'a' }, reply: { state: 'RUNNING' } }
  const failed = { input: { migrationName: 'b' }, error: new GantryError('NOT_FOUND', 'there is no b') }
  expect(JSON.parse(each!.write([done]))).toEqual([{ name: 'a', done: true, state: 'RUNNING' }])
  expect(() => each!.write([failed])).toThrow(failed.error)
  const caught = (() => {
    try {
      return each!.write([done, failed])
    } catch (error) {
      return error
    }
  })()
  expect(caught).toMatchObject({
    code: 'NOT_FOUND',
    message: '1 of 2 failed: there is no b',
    details: [
      { name: 'a', done: true, state: 'RUNNING' },
      { name: 'b', done: false, code: 'NOT_FOUND', message: 'there is no b' },
    ],
  })
})

test.each([
  ['GET /rule', [{ ruleName: 'sales', databasePattern: 'sales*', tablePattern: '*' }], [rule]],
  [
    'GET /migration/{name}/status',
    {
      migrationName: 'lake',
      source: 'here',
      target: 'there',
      ruleNames: ['sales'],
      state: 'RUNNING',
      tables: 3,
    },
    { ...migration, state: 'RUNNING', tables: 3, reason: null },
  ],
])('the reply of %s', (row, native, expected) => {
  const { write } = routeOf(row)
  const reply: unknown = JSON.parse(write!(Buffer.from(JSON.stringify(native)), requestOf({})))
  expect(reply).toMatchObject(expected)
})

/** The rows that programs know; `GET /docs` is a page, and those of certificates are refused (surface.platform.test.ts). */
const reference = [
  ...['POST', 'PUT', 'GET', 'DELETE'].map((method) => `${method} /agents/{name}`),
  'POST /rule',
  'DELETE /rule/{ruleName}',
  'POST /migration',
  ...['start', 'stop', 'reset', 'pause', 'resume'].map((verb) => `POST /migration/${verb}`),
  'DELETE /migration/{name}',
  'GET /migration/{name}/status',
  ...['/agents', '/rule', '/migration'].map((path) => `GET ${path}`),
  'PUT /rule/{ruleName}',
  ...['databases', 'tables', 'partitions'].map((what) => `GET /agents/{name}/${what}`),
]

test('all rows that programs know are there', () => {
  const there = operations.map(({ method, path }) => `${method} ${path}`)
  expect(reference.filter((row) => !there.includes(row))).toEqual([])
})

test('no row is left out', () => {
  const tried = new Set([...rows.map(([row]) => row), ...several.map((verb) => `POST /migration/${verb}`)])
  expect(operations.map(({ method, path }) => `${method} ${path}`).filter((row) => !tried.has(row))).toEqual(
    [],
  )
})

test('a name that is a text of one is not taken apart', () => {
  const [start] = operations.filter(({ path }) => path === '/migration/start')
  expect(lenientReader(start!)(requestOf({ body: { migrationNames: 'a' } }))).toMatchObject({
    migrationNames: ['a'],
  })
})
