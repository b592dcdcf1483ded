import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Catalog } from '../../services/metadata/catalogs/contract/catalog.ts'
import { filesystems } from '../../subjects/filesystems/filesystems.ts'
import { metadataCatalogs } from '../../subjects/metadata/catalogs.ts'
import { metadataComparisons } from '../../subjects/metadata/comparisons.ts'
import { type MetadataMigration, metadataMigrations } from '../../subjects/metadata/migrations.ts'
import type { Table } from '../../subjects/metadata/objects.ts'
import { metadataRules } from '../../subjects/metadata/rules.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { alerts } from '../../subjects/observability/alerts.ts'
import { plainStorage } from '../support/catalog-conformance.ts'
import { DocumentLake } from '../support/document-lake.ts'
import { begin, gantry } from '../cli/support.ts'
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
  // Work that is under way when it is stopped is given up, and what became of it not known.
  await reaches('its figures', ({ tables }) => tables === 1)
  await platform.call(metadataMigrations.stop, { migrationName: name() })
  await reaches('the end of its work', ({ state, tables }) => state === 'STOPPED' && tables === 1)
})

test('what cannot be read fails alone, and is tried again before the next comparison', async () => {
  const documents = join(lake.root, 'source', `metadata-${count}`)
  const halfWritten = (path: string): (() => void) => {
    const file = join(documents, path)
    const text = readFileSync(file, 'utf8')
    writeFileSync(file, text.slice(0, text.length / 2))
    return () => writeFileSync(file, text)
  }
  await create('one')
  await create('half')
  for (const functionName of ['square', 'half'])
    await source.writer!.functions!.create(
      { database: 'sales', name: functionName, className: 'example.Square', resources: [] },
      never,
    )
  await source.writer!.createDatabase({ name: 'more', location: at('more'), parameters: {} }, never)
  await source.writer!.createTable({ ...table('one'), database: 'more' }, never)
  const wholeAgain = ['sales/tables/half.json', 'sales/functions/half.json', 'more/database.json'].map(
    halfWritten,
  )
  await make({ comparisonPeriodSeconds: 86_400 })
  const first = await reaches('the rest', ({ phase, failed }) => phase === 'following' && failed === 3)
  expect(first).toMatchObject({ state: 'RUNNING', tables: 1, functions: 1 })
  expect(first.reason).toMatch(/^retrying 3 objects, such as the \S+ \S+: .*it is not valid JSON/)
  expect(await platform.call(metadataMigrations.objects, { migrationName: name(), state: 'failed' })).toEqual(
    ['database', 'function', 'table'].map((kind) =>
      expect.objectContaining({
        kind,
        failureClass: 'io',
        message: expect.stringContaining('it is not valid JSON'),
      }),
    ),
  )
  for (const write of wholeAgain) write()
  const whole = await reaches('all of it', ({ failed, tables }) => failed === 0 && tables === 3)
  expect(whole).toMatchObject({ databases: 2, functions: 2, compared: first.compared })
  expect(whole.reason).toBeUndefined()
  await platform.call(metadataMigrations.stop, { migrationName: name() })
})

test('an alert tells of what did not arrive, and is resolved when it has', async () => {
  await create('one')
  await target.writer!.createDatabase({ name: 'sales', location: at('sales'), parameters: {} }, never)
  await target.writer!.createTable(table('one', { parameters: { comment: 'of another' } }), never)
  const rule = { name: name(), kind: 'metadata-migration-failed' } as const
  await platform.call(alerts['put-rule'], { ...rule, forSeconds: 0, keepFiringForSeconds: 0 })
  await make({ comparisonPeriodSeconds: 1 })
  const alertOf = (state: 'firing' | 'resolved') =>
    until(state, async () =>
      (await platform.call(alerts.list, { rule: rule.name })).find((one) => one.state === state),
    )
  // The database is another one, too: its folder is that of the source.
  const summary = `metadata migration “${name()}” has 2 conflicts`
  expect(await alertOf('firing')).toMatchObject({ object: name(), severity: 'critical', summary })
  await platform.call(metadataMigrations.update, { migrationName: name(), onConflict: 'overwrite' })
  await alertOf('resolved')
  await platform.call(alerts['delete-rule'], { name: rule.name })
})

test('one for once whose documents are broken says why it goes on, at once', async () => {
  await create('one')
  await create('broken')
  const file = join(lake.root, 'source', `metadata-${count}`, 'sales/tables/broken.json')
  writeFileSync(file, '{')
  await make({ once: true })
  const watching = begin(['watch', name(), '--metadata'], { env: { GANTRY_HOME: platform.home } })
  await until('the reason is told', () =>
    /retrying the table sales\.broken: .+JSON/.test(watching.written.out),
  )
  expect(await get()).toMatchObject({ state: 'RUNNING' })
  await platform.call(metadataMigrations.stop, { migrationName: name() })
  await watching.ended
})

test('it is watched until its end, and among all that run', async () => {
  const watch = ['watch', '--metadata']
  const env = { GANTRY_HOME: platform.home }
  await create('one')
  await make({ once: true })
  const { code, out } = await gantry([...watch, name()], { env })
  expect(out).toContain(`${name()} is completed: 1 database, 1 table, 0 partitions at the target\n`)
  expect(code).toBe(0)
  await platform.call(metadataMigrations.start, { migrationName: name(), once: false })
  const watching = begin(watch, { env })
  await until('it is seen', () => watching.written.out.includes(`${name()}  RUNNING  `))
  await platform.call(metadataMigrations['pause-all'], {})
  const ended = await watching.ended
  expect(ended.out).toContain(
    `${name()} is paused; continue with: gantry metadata-migrations resume ${name()}\n`,
  )
  expect(ended.code).toBe(1)
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

test('commands are for some states, and a rule or catalog that is used stays', async () => {
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
  for (const side of ['source', 'target'])
    await expect(
      platform.call(metadataCatalogs.delete, { catalogId: `${side}-${count}` }),
    ).rejects.toMatchObject({
      code: 'IN_USE',
      message: `${side}-${count} is in use by migration ${migrationName}: delete it first with "gantry metadata-migrations delete ${migrationName}"`,
      details: { migrations: [migrationName] },
    })
  expect(await platform.call(metadataRules.test, { table: 'sales.anything' })).toEqual({ ruleNames: ['all'] })
  await platform.call(forget, { migrationName })
  await platform.call(metadataCatalogs.delete, { catalogId: `source-${count}` })
  for (const ask of [get, () => platform.call(start, { migrationName })])
    await expect(ask()).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: `there is no metadata migration ${migrationName}`,
    })
})

test('what cannot go on fails with the reason, and can be started again when that is mended', async () => {
  await create('one')
  const fsRoot = join(lake.root, 'passing')
  mkdirSync(fsRoot)
  const passing = { fileSystemId: 'passing', role: 'target', fsRoot } as const
  await platform.call(filesystems['create-local'], passing)
  await platform.call(metadataCatalogs['create-filesystem'], {
    catalogId: 'passing',
    fileSystemId: 'passing',
  })
  await make({ target: 'passing', once: true, autoStart: false })
  await platform.call(filesystems.delete, { fileSystemId: 'passing' })
  await platform.call(metadataMigrations.start, { migrationName: name() })
  const { reason } = await reaches('the failure', ({ state }) => state === 'FAILED')
  expect(reason).toContain('there is no filesystem passing')
  await platform.call(filesystems['create-local'], passing)
  await platform.call(metadataMigrations.start, { migrationName: name() })
  await reaches('the end', ({ state }) => state === 'COMPLETED')
})
