import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Catalog } from '../../services/metadata/catalogs/contract/catalog.ts'
import { metadataCatalogs } from '../../subjects/metadata/catalogs.ts'
import { metadataComparisons } from '../../subjects/metadata/comparisons.ts'
import { type MetadataMigration, metadataMigrations } from '../../subjects/metadata/migrations.ts'
import type { Table } from '../../subjects/metadata/objects.ts'
import { metadataRules } from '../../subjects/metadata/rules.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { plainStorage } from '../support/catalog-conformance.ts'
import { DocumentLake } from '../support/document-lake.ts'
import { startTestPlatform, type TestPlatform } from '../support/platform.ts'
import { until } from '../support/until.ts'

/** Migrations from documents to documents, which can be looked at without a metastore. */
const never = new AbortController().signal
const lake = new DocumentLake()
let platform: TestPlatform
let source: Catalog
let target: Catalog
beforeAll(async () => {
  platform = await startTestPlatform()
  await lake.addFilesystems(platform)
  await platform.call(metadataRules.create, { ruleName: 'all', databasePattern: '*', tablePattern: '*' })
})
afterAll(async () => {
  await platform?.[Symbol.asyncDispose]()
  lake[Symbol.dispose]()
})

let count = 0
/** Each test has catalogs of its own. */
beforeEach(async () => {
  count += 1
  const rootFolder = `/metadata-${count}`
  await lake.addCatalogs(platform, rootFolder, (side) => `${side}-${count}`)
  ;[source, target] = await Promise.all([lake.open('source', rootFolder), lake.open('target', rootFolder)])
  await source.writer!.createDatabase({ name: 'sales', location: at('sales'), parameters: {} }, never)
})

const at = (path: string) => lake.at(path)
const table = (name: string, more: Partial<Table> = {}): Table => ({
  database: 'sales',
  name,
  type: 'EXTERNAL_TABLE',
  columns: [{ name: 'id', type: 'bigint' }],
  partitionKeys: [],
  storage: plainStorage(at(`sales/${name}`)),
  parameters: {},
  ...more,
})
const create = (name: string, more?: Partial<Table>) => source.writer!.createTable(table(name, more), never)
const arrived = (name: string) => target.table('sales', name, never)

const name = () => `lake-${count}`
const make = (more: object = {}) =>
  platform.call(metadataMigrations.create, {
    migrationName: name(),
    source: `source-${count}`,
    target: `target-${count}`,
    ruleNames: ['all'],
    autoStart: true,
    ...more,
  })
const get = () => platform.call(metadataMigrations.get, { migrationName: name() })
const reaches = (what: string, is: (migration: MetadataMigration) => boolean) =>
  until(what, async () => {
    const migration = await get()
    return is(migration) ? migration : undefined
  })

test('without an account of changes, what is made, changed and dropped is found by comparing', async () => {
  await create('one')
  await make({ comparisonPeriodSeconds: 1 })
  await reaches('the first', ({ tables, phase }) => tables === 1 && phase === 'following')
  expect(await get()).toMatchObject({ changeDetection: 'comparison', state: 'RUNNING', failed: 0 })
  await create('two')
  await source.writer!.alterTable(table('one', { parameters: { comment: 'changed' } }), never)
  await until('the second', () => arrived('two'))
  await until('the change', async () => (await arrived('one'))?.parameters['comment'] === 'changed')
  await source.writer!.dropTable({ database: 'sales', name: 'one' }, never)
  await until('the drop', async () => (await arrived('one')) === undefined)
  await platform.call(metadataMigrations.stop, { migrationName: name() })
  await reaches('the end of its work', ({ state, tables }) => state === 'STOPPED' && tables === 1)
})

test('a plan says what would be done, and a verification what is not as it should be', async () => {
  await create('one')
  await create('two', { partitionKeys: [{ name: 'day', type: 'string' }] })
  const days = ['a', 'b', 'c'].map((value) => ({
    values: [value],
    columns: [],
    storage: plainStorage(at(`sales/two/day=${value}`)),
    parameters: {},
  }))
  await source.writer!.addPartitions({ database: 'sales', name: 'two' }, days, never)
  await make({ autoStart: false, once: true })
  const compare = async (purpose: 'plan' | 'verification') => {
    const { id: comparisonId } = await platform.call(metadataComparisons.create, {
      migrationName: name(),
      purpose,
    })
    const done = await until(purpose, async () => {
      const job = await platform.call(metadataComparisons.get, { comparisonId })
      return job.status === 'COMPLETE' || job.status === 'CANCELLED' ? job : undefined
    })
    const { content } = await platform.call(metadataComparisons.report, {
      comparisonId,
      reportId: 'DIFFERENCES_JSON',
    })
    return {
      done,
      differences: content
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as object),
    }
  }
  const plan = await compare('plan')
  expect(plan.done).toMatchObject({
    status: 'COMPLETE',
    toCreate: 3,
    partitionsToAdd: 3,
    same: 0,
    totalDifferences: 3,
  })
  expect(await target.databases(never)).toEqual([])

  await platform.call(metadataMigrations.start, { migrationName: name() })
  await reaches('the end', ({ state }) => state === 'COMPLETED')
  expect((await compare('verification')).done).toMatchObject({
    same: 3,
    partitionsSame: 3,
    totalDifferences: 0,
  })

  const there = await arrived('one')
  await target.writer!.alterTable({ ...there!, columns: [{ name: 'id', type: 'string' }] }, never)
  await target.writer!.dropPartitions({ database: 'sales', name: 'two' }, ['day=b'], never)
  await target.writer!.createTable({ ...there!, name: 'three' }, never)
  const verified = await compare('verification')
  expect(verified.done).toMatchObject({
    same: 1,
    toChange: 2,
    onlyAtTarget: 1,
    partitionsSame: 2,
    partitionsToAdd: 1,
  })
  expect(verified.differences).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        name: 'one',
        result: 'TO_CHANGE',
        differences: [{ field: 'columns.0.type', wanted: 'bigint', found: 'string' }],
      }),
      expect.objectContaining({ name: 'two', reason: expect.stringContaining('1 to add') }),
      expect.objectContaining({ name: 'three', result: 'ONLY_AT_TARGET' }),
    ]),
  )
  expect((await compare('plan')).done).toMatchObject({ conflicts: 1, onlyAtTarget: 1 })
})

test('a table waits for its files', async () => {
  const folder = join(lake.root, 'source/sales/gated')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'data'), 'rows')
  await create('gated')
  const { migrationId } = await platform.call(migrations.create, {
    migrationId: `files-${count}`,
    path: '/sales',
    source: 'source',
    target: 'target',
  })
  await make({ once: true })
  await reaches('waiting', ({ waiting }) => waiting === 1)
  expect(await arrived('gated')).toBeUndefined()
  expect(
    await platform.call(metadataMigrations.objects, { migrationName: name(), state: 'waiting' }),
  ).toEqual([expect.objectContaining({ name: 'gated', message: expect.stringContaining(migrationId) })])
  await platform.call(migrations.start, { migrationId })
  await reaches('the end', ({ state }) => state === 'COMPLETED')
  expect(await arrived('gated')).toMatchObject({
    storage: { location: `file://${lake.root}/target/sales/gated` },
  })
  await platform.call(migrations.delete, { migrationId })
})

test('commands are for some states, and a rule that is used stays', async () => {
  await make({ autoStart: false })
  const { pause, resume, start, reset, delete: forget } = metadataMigrations
  const migrationName = name()
  await expect(platform.call(pause, { migrationName })).rejects.toMatchObject({
    code: 'NOT_ALLOWED_IN_STATE',
    message: expect.stringContaining('CREATED'),
  })
  await platform.call(start, { migrationName })
  await expect(platform.call(forget, { migrationName })).rejects.toMatchObject({
    code: 'NOT_ALLOWED_IN_STATE',
  })
  expect(await platform.call(pause, { migrationName })).toMatchObject({ state: 'PAUSED' })
  expect(await platform.call(resume, { migrationName })).toMatchObject({ state: 'RUNNING' })
  expect(await platform.call(reset, { migrationName, forceStop: true })).toMatchObject({
    state: 'CREATED',
    tables: 0,
  })
  await expect(platform.call(metadataRules.delete, { ruleName: 'all' })).rejects.toMatchObject({
    code: 'IN_USE',
    message: expect.stringContaining(migrationName),
  })
  expect(await platform.call(metadataRules.test, { table: 'sales.anything' })).toEqual({ ruleNames: ['all'] })
  await platform.call(forget, { migrationName })
  for (const ask of [get, () => platform.call(start, { migrationName })])
    await expect(ask()).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: `there is no metadata migration ${migrationName}`,
    })
})

test('what cannot go on says why, and goes on when that is mended', async () => {
  await create('one')
  await make({ once: true, autoStart: false })
  await platform.call(metadataCatalogs.delete, { catalogId: `target-${count}` })
  await platform.call(metadataMigrations.start, { migrationName: name() })
  await reaches('the reason', ({ reason }) => reason?.includes(`no catalog target-${count}`) === true)
  await platform.call(metadataCatalogs['create-filesystem'], {
    catalogId: `target-${count}`,
    fileSystemId: 'target',
    rootFolder: `/metadata-${count}`,
  })
  await reaches('the end', ({ state }) => state === 'COMPLETED')
})
