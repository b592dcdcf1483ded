import { afterAll, beforeAll, expect } from 'vitest'
import { type HiveMetastore, metastoreTest, noMetastore } from '../../support/hive-metastore.ts'
import type { TestPlatform } from '../../support/platform.ts'
import { startWarehouse, type Warehouse } from '../../support/warehouse.ts'

/** The interface on 6780 with a real metastore. */
const release = '4.0.1'
let warehouse: Warehouse | undefined
let platform: TestPlatform
let metastore: HiveMetastore
if (noMetastore(release) === undefined) {
  beforeAll(async () => {
    warehouse = await startWarehouse(release, ['2026-11-24'])
    ;({ platform, metastore } = warehouse)
  })
  afterAll(() => warehouse?.[Symbol.asyncDispose]())
}

metastoreTest(release, 'an agent is added, looked into, changed and deleted', async () => {
  const ask = async (method: string, path: string, body?: object) => {
    const answer = await platform.rest('metadata', method, path, body === undefined ? {} : { body })
    return [answer.status, answer.body]
  }
  const { options } = metastore
  const place = { fileSystemId: null, defaultFsOverride: 's3a://lake' }
  const agent = (more: object = {}) => ({
    name: 'warehouse',
    location: 'LOCAL',
    config: { agentType: 'HIVE', hiveAgentConfig: { ...options, ...more }, ...place },
  })
  const body = { agentType: 'HIVE', hiveAgentConfig: options, defaultFsOverride: 's3a://lake' }
  expect(await ask('POST', '/agents/warehouse', body)).toEqual([201, agent()])
  expect(await ask('POST', '/agents/warehouse', body)).toMatchObject([409, { code: 'ALREADY_EXISTS' }])
  expect(await ask('GET', '/agents')).toEqual([200, [agent()]])
  expect(await ask('POST', '/agents/warehouse/check')).toMatchObject([200, { ok: true }])
  expect(await ask('GET', '/agents/warehouse/databases?like=def*')).toEqual([200, [{ name: 'default' }]])
  expect(await ask('GET', '/agents/warehouse/tables?database=default')).toEqual([
    200,
    [{ name: 'days', type: 'EXTERNAL_TABLE', comment: null }],
  ])
  expect(await ask('GET', '/agents/warehouse/partitions?database=default&table=days')).toMatchObject([
    200,
    [{ name: 'day=2026-11-24', location: 'file:/tmp/days/2026-11-24' }],
  ])
  expect(await ask('GET', '/agents/warehouse/indexes?database=default&table=days')).toMatchObject([
    409,
    { code: 'UNSUPPORTED', message: expect.stringContaining('does not provide indexes') },
  ])
  expect(
    await ask('GET', '/agents/warehouse/conf?parameter=hive.metastore.transactional.event.listeners'),
  ).toMatchObject([200, [{ name: 'hive.metastore.transactional.event.listeners' }]])
  const secret = await ask('GET', '/agents/warehouse/conf?parameter=hive.metastore.keystore.password')
  expect(secret).toMatchObject([409, { code: 'NOT_ACCEPTED', details: [{ field: 'parameter' }] }])
  expect(await ask('GET', '/agents/warehouse/tables?database=none')).toMatchObject([
    404,
    { code: 'NOT_FOUND' },
  ])
  const change = { agentType: 'HIVE', hiveAgentConfig: { user: 'somebody' } }
  expect(await ask('PUT', '/agents/warehouse', change)).toEqual([200, agent({ user: 'somebody' })])
  // What was read can be sent again.
  const [, { config }] = (await ask('GET', '/agents/warehouse')) as [number, { config: object }]
  expect(await ask('PUT', '/agents/warehouse', config)).toEqual([200, agent({ user: 'somebody' })])
  expect(await ask('DELETE', '/agents/warehouse')).toEqual([200, {}])
  expect(await ask('GET', '/agents/warehouse')).toMatchObject([404, { code: 'NOT_FOUND' }])
})

metastoreTest(release, 'a migration is made, and commands to it go by name', async () => {
  const ask = async (method: string, path: string, body?: object) => {
    const answer = await platform.rest('metadata', method, path, body === undefined ? {} : { body })
    return [answer.status, answer.body]
  }
  const done = (name: string, state: string) => ({ name, done: true, state })
  for (const [name, root] of [
    ['here', 's3a://here'],
    ['there', 's3a://there'],
  ] as const) {
    const body = { agentType: 'HIVE', hiveAgentConfig: metastore.options, defaultFsOverride: root }
    expect(await ask('POST', `/agents/${name}`, body)).toMatchObject([201, { name }])
  }
  const rule = { ruleName: 'nothing', dbNamePattern: 'none', tableNamePattern: 'none' }
  expect(await ask('POST', '/rule', rule)).toEqual([201, rule])
  const migration = { name: 'lake', sourceAgentName: 'here', targetAgentName: 'there', rules: ['nothing'] }
  expect(await ask('POST', '/migration', migration)).toMatchObject([201, { ...migration, state: 'CREATED' }])
  expect(await ask('GET', '/migration')).toMatchObject([200, [migration]])
  expect(await ask('POST', '/migration/start', { migrationNames: ['lake'] })).toEqual([
    200,
    [done('lake', 'RUNNING')],
  ])
  expect(await ask('POST', '/migration/pause', { migrationNames: ['lake'] })).toEqual([
    200,
    [done('lake', 'PAUSED')],
  ])
  expect(await ask('POST', '/migration/resume', { migrationNames: ['none', 'lake'] })).toMatchObject([
    404,
    { details: [{ name: 'none', done: false, code: 'NOT_FOUND' }, done('lake', 'RUNNING')] },
  ])
  expect(await ask('GET', '/migration/lake/status')).toMatchObject([200, { name: 'lake', state: 'RUNNING' }])
  expect(await ask('DELETE', '/migration/lake?stop=false')).toMatchObject([409, {}])
  expect(await ask('POST', '/migration/stop', ['lake'])).toEqual([200, [done('lake', 'STOPPED')]])
  expect(await ask('POST', '/migration/reset', { migrationNames: ['lake'], forceStop: true })).toEqual([
    200,
    [done('lake', 'CREATED')],
  ])
  expect(await ask('DELETE', '/rule/nothing')).toMatchObject([409, { code: 'IN_USE' }])
  expect(await ask('DELETE', '/migration/lake?stop=true')).toEqual([200, {}])
  expect(await ask('GET', '/migration/lake')).toMatchObject([404, { code: 'NOT_FOUND' }])
})
