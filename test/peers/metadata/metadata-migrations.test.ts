import { mkdirSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, expect } from 'vitest'
import { partitionsAtOnce } from '../../../services/metadata/catalogs/contract/catalog.ts'
import {
  beingDropped,
  hiddenParameter,
  isHiddenName,
  newHiddenName,
} from '../../../services/metadata/catalogs/hidden-tables.ts'
import { metadataComparisons } from '../../../subjects/metadata/comparisons.ts'
import { metadataMigrations, type MetadataMigration } from '../../../subjects/metadata/migrations.ts'
import { metadataRules } from '../../../subjects/metadata/rules.ts'
import type { Partition, Table } from '../../../subjects/metadata/objects.ts'
import { plainStorage } from '../../support/catalog-conformance.ts'
import { metastoreTest, noMetastore } from '../../support/hive-metastore.ts'
import { MetastoreWriter } from '../../support/metastore-writer.ts'
import { startTwoMetastores, type TwoMetastores } from '../../support/two-metastores.ts'
import { until } from '../../support/until.ts'

/** A whole platform between a metastore of release 3, which tells of its changes, and one of release 4. */
const [from, to] = ['3.1.3', '4.0.1'] as const
const missing = noMetastore(from) ?? noMetastore(to)
/** Of one table; bench/metadata.ts has more. */
const partitionsOfLarge = Number(process.env['GANTRY_METADATA_PARTITIONS'] ?? 5_000)
/** A metastore takes two or three milliseconds for one, and ten times that where other work goes on. */
const patienceOfPartitionMs = 30
const signal = new AbortController().signal
let both: TwoMetastores
if (missing === undefined) {
  beforeAll(async () => {
    both = await startTwoMetastores(from, to)
    for (const [ruleName, databasePattern] of [
      ['once', 'sales_once'],
      ['live', 'sales_live|sales_more'],
      ['kept', 'sales_kept'],
      ['large', 'sales_large'],
      ['acid', 'sales_acid'],
    ] as const)
      await both.platform.call(metadataRules.create, { ruleName, databasePattern, tablePattern: '*' })
  })
  afterAll(() => both?.[Symbol.asyncDispose]())
}

const at = (path: string) => `file:${both.lake}/source/${path}`
const arrivedAt = (path: string) => `file:${both.lake}/target${both.lake}/source/${path}`

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
  both.platform.call(metadataMigrations.get, { migrationName })
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
  both.platform.call(metadataMigrations.create, {
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
    const writer = both.source.writer
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
    expect(await both.target.database('sales_once', signal)).toMatchObject({
      location: arrivedAt('sales_once'),
      parameters: { stage: 'test' },
    })
    const plain = await both.target.table('sales_once', 'plain', signal)
    expect(plain).toMatchObject({
      columns: [{ name: 'id', type: 'bigint', comment: 'of the order' }],
      storage: { location: arrivedAt('sales_once/plain') },
    })
    expect(plain?.parameters['origin']).toBe(arrivedAt('somewhere').replace('file:', 'file://'))
    expect(await both.target.table('sales_once', 'recent', signal)).toMatchObject({
      type: 'VIRTUAL_VIEW',
      view: { expandedText: 'select plain.id from sales_once.plain' },
    })
    const name = { database: 'sales_once', name: 'days' }
    expect(await both.target.partitionNames(name, signal)).toHaveLength(120)
    const [first] = await both.target.partitions(name, ['day=d0000'], signal)
    expect(first).toMatchObject({ storage: { location: arrivedAt('sales_once/days/day=d0000') } })
    expect(await both.platform.call(metadataMigrations.objects, { migrationName: 'once' })).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ kind: 'table', name: 'days', state: 'arrived', partitions: 120 }),
        expect.objectContaining({ kind: 'view', name: 'recent', state: 'arrived' }),
      ]),
    )
    await both.platform.call(metadataMigrations.delete, { migrationName: 'once' })
  },
  240_000,
)

metastoreTest(
  from,
  `a table arrives with its ${partitionsOfLarge} partitions, whose folders are there already`,
  async () => {
    const { platform, source, target } = both
    const name = { database: 'sales_large', name: 'days' }
    await source.writer.createDatabase(
      { name: name.database, location: at(name.database), parameters: {} },
      signal,
    )
    const partitionKeys = [{ name: 'day', type: 'string' }]
    await source.writer.createTable(table(name.database, name.name, { partitionKeys }), signal)
    const days = Array.from({ length: partitionsOfLarge }, (_, index) => `d${String(index).padStart(6, '0')}`)
    const names = days.map((value) => `day=${value}`)
    const began = performance.now()
    for (let from = 0; from < days.length; from += partitionsAtOnce)
      await source.writer.addPartitions(
        name,
        days.slice(from, from + partitionsAtOnce).map((value) => day(name.database, name.name, value)),
        signal,
      )
    const folderOf = (value: string) => arrivedAt(`${name.database}/${name.name}/day=${value}`)
    for (const value of days) mkdirSync(folderOf(value).slice('file:'.length), { recursive: true })
    const made = performance.now()
    await make('large', { once: true })
    const hidden = async () =>
      (await target.tables(name.database, signal).catch(() => [])).filter((one) => isHiddenName(one.name))
    await until('it is begun', async () => (await hidden()).length > 0)
    // Who deletes it then leaves nothing behind.
    await platform.call(metadataMigrations.delete, { migrationName: 'large', forceStop: true })
    expect(await hidden()).toEqual([])
    await make('large', { once: true })
    /** Of the table as it was seen by its name before the end. */
    const seen = new Set<number>()
    await until(
      'its end',
      async () => {
        if ((await target.table(name.database, name.name, signal)) !== undefined)
          seen.add((await target.partitionNames(name, signal)).length)
        return (await get('large')).state === 'COMPLETED'
      },
      partitionsOfLarge * patienceOfPartitionMs,
    ).catch(async (cause: unknown) => {
      const objects = await platform.call(metadataMigrations.objects, { migrationName: 'large' })
      throw new Error(JSON.stringify([await get('large'), objects]), { cause })
    })
    const arrived = performance.now()
    // It is never there without all of them.
    expect([...seen]).toEqual([partitionsOfLarge])
    expect((await target.tables(name.database, signal)).map((one) => one.name)).toEqual([name.name])
    expect(await get('large')).toMatchObject({ tables: 1, partitions: partitionsOfLarge, failed: 0 })
    expect(await target.partitionNames(name, signal)).toEqual(names)
    const { id: comparisonId } = await platform.call(metadataComparisons.create, { migrationName: 'large' })
    const verified = await until('the verification', async () => {
      const job = await platform.call(metadataComparisons.get, { comparisonId })
      return job.status === 'COMPLETE' || job.status === 'CANCELLED' ? job : undefined
    })
    expect(verified).toMatchObject({
      status: 'COMPLETE',
      totalDifferences: 0,
      partitionsSame: partitionsOfLarge,
    })
    const seconds = (from: number, to: number) => ((to - from) / 1_000).toFixed(1)
    console.log(
      `${partitionsOfLarge} partitions: made in ${seconds(began, made)} s, migrated in ${seconds(made, arrived)} s, compared in ${seconds(arrived, performance.now())} s`,
    )
    await platform.call(metadataMigrations.delete, { migrationName: 'large' })
  },
  120_000 + 3 * partitionsOfLarge * patienceOfPartitionMs,
)

metastoreTest(
  from,
  'a live migration follows the log of changes: tables, partitions, renames and drops',
  async () => {
    const writer = both.source.writer
    const name = { database: 'sales_live', name: 'days' }
    const theirs = () => both.target.table('sales_live', 'days', signal)
    await writer.createDatabase({ name: 'sales_live', location: at('sales_live'), parameters: {} }, signal)
    const days = table('sales_live', 'days', { partitionKeys: [{ name: 'day', type: 'string' }] })
    await writer.createTable(days, signal)
    await make('live', {})
    await reaches('live', ({ phase, tables }) => phase === 'following' && tables > 0)
    expect(await get('live')).toMatchObject({ state: 'RUNNING', changeDetection: 'events' })

    await writer.addPartitions(name, [day('sales_live', 'days', 'one')], signal)
    await until('the partition', async () => (await both.target.partitionNames(name, signal)).length === 1)
    await writer.alterTable({ ...days, columns: [...days.columns, { name: 'sum', type: 'double' }] }, signal)
    await until('the column', async () => (await theirs())?.columns.length === 2)
    await writer.createTable(table('sales_live', 'later'), signal)
    await until('the table', () => both.target.table('sales_live', 'later', signal))
    // One that gets another name is the same table at the target, with its partitions.
    const { createdMs } = (await theirs())!
    const renamed = { ...days, name: 'dates', columns: [...days.columns, { name: 'sum', type: 'double' }] }
    await writer.renameTable!(name, renamed, signal)
    await until('the new name', () => both.target.table('sales_live', 'dates', signal))
    expect(await both.target.table('sales_live', 'dates', signal)).toMatchObject({ createdMs })
    const there = { database: 'sales_live', name: 'dates' }
    expect(await both.target.partitionNames(there, signal)).toEqual(['day=one'])
    expect(await theirs()).toBeUndefined()
    await reaches('live', ({ tables, partitions }) => tables === 2 && partitions === 1)
    await writer.renameTable!(there, { ...renamed, name: 'days' }, signal)
    await until('the old name', theirs)
    expect(await theirs()).toMatchObject({ createdMs })

    await writer.dropPartitions(name, ['day=one'], signal)
    await until('the drop', async () => (await both.target.partitionNames(name, signal)).length === 0)

    // What was not followed while it was paused is, when it goes on.
    await both.platform.call(metadataMigrations.pause, { migrationName: 'live' })
    await writer.dropTable({ database: 'sales_live', name: 'later' }, signal)
    await writer.createDatabase({ name: 'sales_more', location: at('sales_more'), parameters: {} }, signal)
    // What kills have left: of this migration, of another one, and of a table that somebody was about to drop.
    const { internalId } = await get('live')
    const others = crypto.randomUUID()
    for (const whose of [internalId, others, beingDropped]) {
      const hidden = table('sales_live', newHiddenName(), { parameters: { [hiddenParameter]: whose } })
      await both.target.writer.createTable(hidden, signal)
    }
    await both.platform.call(metadataMigrations.resume, { migrationName: 'live' })
    await until('the new database', () => both.target.database('sales_more', signal))
    await until(
      'the dropped table',
      async () => (await both.target.table('sales_live', 'later', signal)) === undefined,
    )
    const left = async () =>
      (await both.target.tables('sales_live', signal)).filter(({ name: its }) => isHiddenName(its))
    await until('only the table of another migration', async () => (await left()).length === 1)
    const [theOther] = await left()
    const kept = await both.target.table('sales_live', theOther!.name, signal)
    expect(kept?.parameters[hiddenParameter]).toBe(others)
    expect(await get('live')).toMatchObject({ failed: 0, conflicts: 0, held: 0 })
    await both.platform.call(metadataMigrations.delete, { migrationName: 'live', forceStop: true })
  },
  240_000,
)

metastoreTest(
  from,
  'what somebody else has changed at the target is left alone until that is asked for, and many drops are held',
  async () => {
    const writer = both.source.writer
    await writer.createDatabase({ name: 'sales_kept', location: at('sales_kept'), parameters: {} }, signal)
    const names = ['one', 'two', 'three']
    for (const name of names) await writer.createTable(table('sales_kept', name), signal)
    await make('kept', { maxDrops: 1 })
    await reaches('kept', ({ phase, tables }) => phase === 'following' && tables === 3)

    const one = await both.target.table('sales_kept', 'one', signal)
    const others = { ...one!, parameters: { ...one!.parameters, changed: 'by others' } }
    await both.target.writer.alterTable(others, signal)
    const changed = table('sales_kept', 'one', { columns: [{ name: 'key', type: 'string' }] })
    await writer.alterTable(changed, signal)
    await reaches('kept', ({ conflicts }) => conflicts === 1)
    expect(await both.target.table('sales_kept', 'one', signal)).toMatchObject({
      columns: [{ name: 'id' }],
      parameters: { changed: 'by others' },
    })
    await both.platform.call(metadataMigrations.update, { migrationName: 'kept', onConflict: 'overwrite' })
    await reaches('kept', ({ conflicts }) => conflicts === 0)
    const overwritten = await both.target.table('sales_kept', 'one', signal)
    expect(overwritten).toMatchObject({ columns: [{ name: 'key', type: 'string' }] })
    expect(overwritten?.parameters).not.toHaveProperty('changed')

    await both.platform.call(metadataMigrations.pause, { migrationName: 'kept' })
    for (const name of ['one', 'two']) await writer.dropTable({ database: 'sales_kept', name }, signal)
    await both.platform.call(metadataMigrations.resume, { migrationName: 'kept' })
    await reaches('kept', ({ held }) => held === 2)
    expect(await both.target.tables('sales_kept', signal)).toHaveLength(3)
    await both.platform.call(metadataMigrations['approve-drops'], { migrationName: 'kept' })
    await reaches('kept', ({ held, tables }) => held === 0 && tables === 1)
    expect(await both.target.tables('sales_kept', signal)).toHaveLength(1)
    await both.platform.call(metadataMigrations.delete, { migrationName: 'kept', forceStop: true })
  },
  240_000,
)

metastoreTest(
  from,
  'commits of a transactional table are followed, and what is aborted does not become visible',
  async () => {
    using writes = await MetastoreWriter.open(both.here.address)
    const { writer } = both.source
    const name = { database: 'sales_acid', name: 'rows' }
    const writeIds = async () => (await both.target.writeIds.of([name], signal))?.[0]
    await writer.createDatabase({ name: name.database, location: at(name.database), parameters: {} }, signal)
    const parameters = { transactional: 'true', transactional_properties: 'insert_only' }
    await writer.createTable(table(name.database, name.name, { type: 'MANAGED_TABLE', parameters }), signal)
    for (const end of ['commit', 'abort', 'commit'] as const) await writes.write(name, end)
    await make('acid', {})
    await until('the first writes', async () =>
      isDeepStrictEqual(await writeIds(), { highest: 3, open: [], aborted: [2] }),
    )
    await reaches('acid', ({ waiting, tables }) => waiting === 0 && tables === 1)

    expect(await both.platform.call(metadataMigrations.objects, { migrationName: 'acid' })).toMatchObject([
      { kind: 'database', state: 'arrived' },
      { kind: 'table', name: name.name, state: 'arrived' },
    ])

    const open = await writes.openWrite(name)
    await writes.write(name, 'commit')
    expect(await writeIds()).toMatchObject({ highest: 3 })
    await writes.endTransaction(open, 'abort')
    await until('the later writes', async () =>
      isDeepStrictEqual(await writeIds(), { highest: 5, open: [], aborted: [2, 4] }),
    )
    await reaches('acid', ({ waiting, failed }) => waiting === 0 && failed === 0)

    // The ids of a table that is made anew begin anew.
    const before = (await both.source.table(name.database, name.name, signal))!
    await writer.dropTable(name, signal)
    const createdAgain = async () => {
      await writer.createTable(before, signal)
      const { createdMs } = (await both.source.table(name.database, name.name, signal))!
      if (createdMs !== before.createdMs) return true
      await writer.dropTable(name, signal)
      return false
    }
    await until('another second', createdAgain)
    await writes.write(name, 'abort')
    await writes.write(name, 'commit')
    await until('the writes of the new table', async () =>
      isDeepStrictEqual(await writeIds(), { highest: 2, open: [], aborted: [1] }),
    ).catch(async (cause: unknown) => {
      const objects = await both.platform.call(metadataMigrations.objects, { migrationName: 'acid' })
      throw new Error(JSON.stringify([await writeIds(), await get('acid'), objects]), { cause })
    })
    await reaches('acid', ({ waiting, failed, conflicts }) => waiting + failed + conflicts === 0)
    await both.platform.call(metadataMigrations.delete, { migrationName: 'acid', forceStop: true })
  },
  240_000,
)
