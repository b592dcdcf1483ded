import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { HiveCatalog } from '../../../services/metadata/catalogs/hive/hive.ts'
import { settings } from '../../../subjects/access/settings.ts'
import { loopback } from '../../../subjects/kit/names.ts'
import { metadataCatalogs } from '../../../subjects/metadata/catalogs.ts'
import { metadataMigrations, type MetadataMigration } from '../../../subjects/metadata/migrations.ts'
import { metadataRules } from '../../../subjects/metadata/rules.ts'
import type { Partition, Table } from '../../../subjects/metadata/objects.ts'
import { plainStorage } from '../../support/catalog-conformance.ts'
import {
  type HiveMetastore,
  metastoreTest,
  noMetastore,
  startMetastore,
} from '../../support/hive-metastore.ts'
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { until } from '../../support/until.ts'

/** A whole platform between a metastore of release 3, which tells of its changes, and one of release 4. */
const [from, to] = ['3.1.3', '4.0.1'] as const
const missing = noMetastore(from) ?? noMetastore(to)
const signal = new AbortController().signal
let platform: TestPlatform
let metastores: HiveMetastore[] = []
let [source, target]: HiveCatalog[] = []
let lake = ''
if (missing === undefined) {
  beforeAll(async () => {
    lake = mkdtempSync(join(tmpdir(), 'gantry-lake-'))
    const started = await Promise.all([startTestPlatform(), startMetastore(from), startMetastore(to)])
    ;[platform] = started
    metastores = [started[1], started[2]]
    ;[source, target] = metastores.map(({ options }) => new HiveCatalog(options))
    await platform.call(settings.put, { storeHosts: [loopback] })
    const [here, there] = metastores as [HiveMetastore, HiveMetastore]
    await platform.call(metadataCatalogs['create-hive'], { catalogId: 'here', ...here.options })
    await platform.call(metadataCatalogs['create-hive'], {
      catalogId: 'there',
      ...there.options,
      defaultFsOverride: `file://${lake}/target`,
    })
    for (const [ruleName, databasePattern] of [
      ['once', 'sales_once'],
      ['live', 'sales_live|sales_more'],
      ['kept', 'sales_kept'],
    ] as const)
      await platform.call(metadataRules.create, { ruleName, databasePattern, tablePattern: '*' })
  })
  afterAll(async () => {
    await platform?.[Symbol.asyncDispose]()
    for (const metastore of metastores) await metastore[Symbol.asyncDispose]()
    rmSync(lake, { recursive: true, force: true })
  })
}

const at = (path: string) => `file:${lake}/source/${path}`
const arrivedAt = (path: string) => `file:${lake}/target${lake}/source/${path}`

const table = (database: string, name: string, more: Partial<Table> = {}): Table => ({
  database,
  name,
  type: 'EXTERNAL_TABLE',
  owner: { name: 'ada', type: 'user' },
  columns: [{ name: 'id', type: 'bigint', comment: 'of the order' }],
  partitionKeys: [],
  storage: plainStorage(at(`${database}/${name}`)),
  parameters: { EXTERNAL: 'TRUE', origin: at('somewhere') },
  ...more,
})
const day = (database: string, name: string, value: string): Partition => ({
  values: [value],
  columns: [{ name: 'id', type: 'bigint' }],
  storage: plainStorage(at(`${database}/${name}/day=${value}`)),
  parameters: {},
})

const get = (migrationName: string): Promise<MetadataMigration> =>
  platform.call(metadataMigrations.get, { migrationName })
const reaches = async (migrationName: string, is: (migration: MetadataMigration) => boolean) => {
  let last: MetadataMigration | undefined
  try {
    await until(migrationName, async () => is((last = await get(migrationName))))
  } catch (error) {
    throw new Error(`${migrationName} did not get there: ${JSON.stringify(last)}`, { cause: error })
  }
  return last!
}
const make = async (migrationName: string, more: object) =>
  platform.call(metadataMigrations.create, {
    migrationName,
    source: 'here',
    target: 'there',
    ruleNames: [migrationName],
    autoStart: true,
    ...more,
  })

metastoreTest(
  from,
  'all that a rule matches arrives once, with its locations changed',
  async () => {
    const writer = source!.writer
    await writer.createDatabase(
      { name: 'sales_once', location: at('sales_once'), parameters: { stage: 'test' } },
      signal,
    )
    await writer.createTable(table('sales_once', 'plain'), signal)
    await writer.createTable(
      table('sales_once', 'days', { partitionKeys: [{ name: 'day', type: 'string' }] }),
      signal,
    )
    const days = Array.from({ length: 120 }, (_, index) => `d${String(index).padStart(4, '0')}`)
    await writer.addPartitions(
      { database: 'sales_once', name: 'days' },
      days.map((value) => day('sales_once', 'days', value)),
      signal,
    )
    await writer.createTable(
      table('sales_once', 'recent', {
        type: 'VIRTUAL_VIEW',
        storage: plainStorage(undefined),
        parameters: {},
        view: {
          originalText: 'select * from plain',
          expandedText: 'select plain.id from sales_once.plain',
          rewriteEnabled: false,
        },
      }),
      signal,
    )
    await make('once', { once: true })
    const done = await reaches('once', ({ state }) => state === 'COMPLETED' || state === 'FAILED')
    expect(done).toMatchObject({ state: 'COMPLETED', databases: 1, tables: 3, partitions: 120, failed: 0 })
    expect(await target!.database('sales_once', signal)).toMatchObject({
      location: arrivedAt('sales_once'),
      parameters: { stage: 'test' },
    })
    const plain = await target!.table('sales_once', 'plain', signal)
    expect(plain).toMatchObject({
      columns: [{ name: 'id', type: 'bigint', comment: 'of the order' }],
      storage: { location: arrivedAt('sales_once/plain') },
    })
    expect(plain?.parameters['origin']).toBe(arrivedAt('somewhere').replace('file:', 'file://'))
    expect(await target!.table('sales_once', 'recent', signal)).toMatchObject({
      type: 'VIRTUAL_VIEW',
      view: { expandedText: 'select plain.id from sales_once.plain' },
    })
    const name = { database: 'sales_once', name: 'days' }
    expect(await target!.partitionNames(name, signal)).toHaveLength(120)
    const [first] = await target!.partitions(name, ['day=d0000'], signal)
    expect(first).toMatchObject({ storage: { location: arrivedAt('sales_once/days/day=d0000') } })
    expect(await platform.call(metadataMigrations.objects, { migrationName: 'once' })).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ kind: 'table', name: 'days', state: 'arrived', partitions: 120 }),
        expect.objectContaining({ kind: 'view', name: 'recent', state: 'arrived' }),
      ]),
    )
    await platform.call(metadataMigrations.delete, { migrationName: 'once' })
  },
  240_000,
)

metastoreTest(
  from,
  'a live migration follows the log of changes: tables, partitions, renames and drops',
  async () => {
    const writer = source!.writer
    const name = { database: 'sales_live', name: 'days' }
    const theirs = () => target!.table('sales_live', 'days', signal)
    await writer.createDatabase({ name: 'sales_live', location: at('sales_live'), parameters: {} }, signal)
    const days = table('sales_live', 'days', { partitionKeys: [{ name: 'day', type: 'string' }] })
    await writer.createTable(days, signal)
    await make('live', {})
    await reaches('live', ({ phase, tables }) => phase === 'following' && tables > 0)
    expect(await get('live')).toMatchObject({ state: 'RUNNING', changeDetection: 'events' })

    await writer.addPartitions(name, [day('sales_live', 'days', 'one')], signal)
    await until('the partition', async () => (await target!.partitionNames(name, signal)).length === 1)
    await writer.alterTable({ ...days, columns: [...days.columns, { name: 'sum', type: 'double' }] }, signal)
    await until('the column', async () => (await theirs())?.columns.length === 2)
    await writer.createTable(table('sales_live', 'later'), signal)
    await until('the table', () => target!.table('sales_live', 'later', signal))
    await writer.dropPartitions(name, ['day=one'], signal)
    await until('the drop', async () => (await target!.partitionNames(name, signal)).length === 0)

    // What was not followed while it was paused is, when it goes on.
    await platform.call(metadataMigrations.pause, { migrationName: 'live' })
    await writer.dropTable({ database: 'sales_live', name: 'later' }, signal)
    await writer.createDatabase({ name: 'sales_more', location: at('sales_more'), parameters: {} }, signal)
    await platform.call(metadataMigrations.resume, { migrationName: 'live' })
    await until('the new database', () => target!.database('sales_more', signal))
    await until(
      'the dropped table',
      async () => (await target!.table('sales_live', 'later', signal)) === undefined,
    )
    expect(await get('live')).toMatchObject({ failed: 0, conflicts: 0, held: 0 })
    await platform.call(metadataMigrations.delete, { migrationName: 'live', forceStop: true })
  },
  240_000,
)

metastoreTest(
  from,
  'what somebody else has changed at the target is left alone until that is asked for, and many drops are held',
  async () => {
    const writer = source!.writer
    await writer.createDatabase({ name: 'sales_kept', location: at('sales_kept'), parameters: {} }, signal)
    const names = ['one', 'two', 'three']
    for (const name of names) await writer.createTable(table('sales_kept', name), signal)
    await make('kept', { maxDrops: 1 })
    await reaches('kept', ({ phase, tables }) => phase === 'following' && tables === 3)

    const one = await target!.table('sales_kept', 'one', signal)
    const others = { ...one!, parameters: { ...one!.parameters, changed: 'by others' } }
    await target!.writer.alterTable(others, signal)
    const changed = table('sales_kept', 'one', { columns: [{ name: 'key', type: 'string' }] })
    await writer.alterTable(changed, signal)
    await reaches('kept', ({ conflicts }) => conflicts === 1)
    expect(await target!.table('sales_kept', 'one', signal)).toMatchObject({
      columns: [{ name: 'id' }],
      parameters: { changed: 'by others' },
    })
    await platform.call(metadataMigrations.update, { migrationName: 'kept', onConflict: 'overwrite' })
    await reaches('kept', ({ conflicts }) => conflicts === 0)
    const overwritten = await target!.table('sales_kept', 'one', signal)
    expect(overwritten).toMatchObject({ columns: [{ name: 'key', type: 'string' }] })
    expect(overwritten?.parameters).not.toHaveProperty('changed')

    await platform.call(metadataMigrations.pause, { migrationName: 'kept' })
    for (const name of ['one', 'two']) await writer.dropTable({ database: 'sales_kept', name }, signal)
    await platform.call(metadataMigrations.resume, { migrationName: 'kept' })
    await reaches('kept', ({ held }) => held === 2)
    expect(await target!.tables('sales_kept', signal)).toHaveLength(3)
    await platform.call(metadataMigrations['approve-drops'], { migrationName: 'kept' })
    await reaches('kept', ({ held, tables }) => held === 0 && tables === 1)
    expect(await target!.tables('sales_kept', signal)).toHaveLength(1)
    await platform.call(metadataMigrations.delete, { migrationName: 'kept', forceStop: true })
  },
  240_000,
)
