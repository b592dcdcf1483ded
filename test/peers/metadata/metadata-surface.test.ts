import { afterAll, beforeAll, expect } from 'vitest'
import { settings } from '../../../subjects/access/settings.ts'
import { loopback } from '../../../subjects/kit/names.ts'
import {
  type HiveMetastore,
  metastoreTest,
  noMetastore,
  startMetastore,
} from '../../support/hive-metastore.ts'
import { MetastoreWriter } from '../../support/metastore-writer.ts'
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts'

/** The interface on 6780 with a real metastore. */
const release = '4.0.1'
let platform: TestPlatform
let metastore: HiveMetastore
if (noMetastore(release) === undefined) {
  beforeAll(async () => {
    ;[platform, metastore] = await Promise.all([startTestPlatform(), startMetastore(release)])
    await platform.call(settings.put, { storeHosts: [loopback] })
    using writer = await MetastoreWriter.open(metastore.address)
    const sd = {
      numBuckets: -1,
      serdeInfo: { serializationLib: 'org.apache.hadoop.hive.ql.io.orc.OrcSerde' },
    }
    const cols = [{ name: 'id', type: 'bigint' }]
    await writer.createTable({
      dbName: 'default',
      tableName: 'days',
      tableType: 'EXTERNAL_TABLE',
      sd: { ...sd, cols, location: 'file:/tmp/days' },
      partitionKeys: [{ name: 'day', type: 'date' }],
      parameters: new Map([['EXTERNAL', 'TRUE']]),
    })
    await writer.addPartitions([
      {
        dbName: 'default',
        tableName: 'days',
        values: ['2026-11-24'],
        sd: { ...sd, cols, location: 'file:/tmp/days/2026-11-24' },
      },
    ])
  })
  afterAll(async () => {
    await platform?.[Symbol.asyncDispose]()
    await metastore?.[Symbol.asyncDispose]()
  })
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
