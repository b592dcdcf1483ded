import { Glue } from '@aws-sdk/client-glue'
import { afterAll, beforeAll, expect } from 'vitest'
import { createBounds } from '../../../services/drivers/contract/bounds.ts'
import { partitionsAtOnce, type Catalog } from '../../../services/metadata/catalogs/contract/catalog.ts'
import { openCatalog } from '../../../services/metadata/catalogs/index.ts'
import { answer } from '../../../services/metadata/catalogs/questions.ts'
import { work } from '../../../services/metadata/migrations/reconcile/questions.ts'
import type { CatalogOptions } from '../../../subjects/metadata/kinds.ts'
import type { Partition, Table } from '../../../subjects/metadata/objects.ts'
import { testCatalog } from '../../support/catalog-conformance.ts'
import { DocumentLake } from '../../support/document-lake.ts'
import { workSides } from '../../support/document-work.ts'
import { GlueDouble } from '../../support/glue-double.ts'
import { type Moto, noMoto, startMoto } from '../../support/moto.ts'
import { testUnless } from '../../support/unless.ts'

/** moto's Glue, and what Amazon's own client sees there. */
const missing = noMoto()
const never = new AbortController().signal
const keys = { accessKey: 'visible', secretKey: 'hidden-from-all' }
let moto: Moto | undefined
/** The same with pages, limits of calls, and functions. */
let limited: Awaited<ReturnType<GlueDouble['listen']>> | undefined
let options: CatalogOptions<'glue'>
let catalog: Catalog
let seen: Glue
beforeAll(async () => {
  if (missing !== undefined) return
  moto = await startMoto()
  const { endpoint } = moto
  const double = new GlueDouble(endpoint)
  // As many as are asked for.
  double.pageSize = Infinity
  double.answeredAtOnce = 300
  limited = await double.listen()
  options = { glueEndpoint: endpoint, awsRegion: 'eu-west-1', ...keys }
  catalog = await openCatalog({ kind: 'glue', options })
  seen = new Glue({
    endpoint,
    region: 'eu-west-1',
    credentials: { accessKeyId: keys.accessKey, secretAccessKey: keys.secretKey },
  })
}, 60_000)
afterAll(async () => {
  catalog?.close()
  seen?.destroy()
  await limited?.[Symbol.asyncDispose]()
  await moto?.[Symbol.asyncDispose]()
})
testCatalog({
  name: 'Glue',
  missing,
  open: () => openCatalog({ kind: 'glue', options: { ...options, glueEndpoint: limited!.endpoint } }),
  locationOf: (_, path) => Promise.resolve(`s3://lake/${path}`),
  oddNames: ['select', 'x'.repeat(255), 'with_underscore', '1st', 'with blank', 'größe', 'a.b/c'],
  views: ['VIRTUAL_VIEW'],
  managed: true,
  partitions: true,
  functions: true,
  constraints: false,
  statistics: true,
  partitionStatistics: true,
  feed: false,
})

const glueTest = (name: string, work: () => Promise<void>) => testUnless(missing, `Glue: ${name}`, work)

const text = {
  inputFormat: 'org.apache.hadoop.mapred.TextInputFormat',
  outputFormat: 'org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat',
}
const lazy = 'org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe'
const plain = {
  compressed: false,
  bucketCount: -1,
  bucketColumns: [],
  sortColumns: [],
  parameters: {},
}
const tableAt = (database: string, name: string, more: Partial<Table> = {}): Table => ({
  database,
  name,
  type: 'EXTERNAL_TABLE',
  columns: [{ name: 'id', type: 'bigint' }],
  partitionKeys: [],
  storage: { ...plain, ...text, location: `s3://lake/${database}/${name}` },
  parameters: { EXTERNAL: 'TRUE' },
  ...more,
})
const database = async (name: string) => {
  await catalog.writer!.createDatabase({ name, parameters: {} }, never)
  return name
}
const withoutTimes = <T extends { createdMs?: number }>(made: T | undefined) => {
  const { createdMs: _, ...rest } = made!
  return rest
}

glueTest('what is not there is not there', async () => {
  await catalog.probe(never)
  expect(await catalog.version(never)).toBeUndefined()
  expect(await catalog.database('nowhere', never)).toBeUndefined()
  expect(await catalog.table('nowhere', 'nothing', never)).toBeUndefined()
  const table = { database: 'nowhere', name: 'nothing' }
  await expect(catalog.tables('nowhere', never)).rejects.toMatchObject({ failure: 'gone' })
  await expect(catalog.partitionNames(table, never)).rejects.toMatchObject({ failure: 'gone' })
  await expect(catalog.partitions(table, ['a=1'], never)).rejects.toMatchObject({ failure: 'gone' })
})

glueTest('a database comes back as it was written, with what Glue has no place for', async () => {
  const made = {
    name: 'sales',
    description: 'All that was sold – überall',
    location: 's3://lake/sales',
    managedLocation: 's3://lake/managed/sales',
    owner: { name: 'ada', type: 'role' as const },
    parameters: { a: '', team: 'data' },
  }
  await catalog.writer!.createDatabase(made, never)
  expect(await catalog.databases(never)).toContain('sales')
  expect(await catalog.database('sales', never)).toEqual(made)
  expect((await seen.getDatabase({ Name: 'sales' })).Database).toMatchObject({
    Name: 'sales',
    Description: made.description,
    LocationUri: made.location,
    Parameters: { team: 'data' },
  })
  const changed = { ...made, description: 'Sold', owner: { name: 'bob', type: 'user' as const } }
  await catalog.writer!.alterDatabase(changed, never)
  expect(await catalog.database('SALES', never)).toEqual(changed)
})

glueTest('what somebody else has made, changed or dropped meanwhile is changed', async () => {
  const { writer } = catalog
  await database('twice')
  const changed = { failure: 'changed' }
  const nothing = tableAt('twice', 'nothing')
  await expect(database('twice')).rejects.toMatchObject(changed)
  await expect(writer!.alterDatabase({ name: 'none', parameters: {} }, never)).rejects.toMatchObject(changed)
  await expect(writer!.dropDatabase('none', never)).rejects.toMatchObject(changed)
  await expect(writer!.alterTable(nothing, never)).rejects.toMatchObject(changed)
  await expect(writer!.dropTable(nothing, never)).rejects.toMatchObject(changed)
  await expect(writer!.createTable(tableAt('none', 'one'), never)).rejects.toMatchObject(changed)
  await writer!.createTable(tableAt('twice', 'one'), never)
  await expect(writer!.createTable(tableAt('twice', 'one'), never)).rejects.toMatchObject(changed)
  // Glue would delete the table with it.
  await expect(writer!.dropDatabase('twice', never)).rejects.toMatchObject(changed)
  await writer!.dropTable({ database: 'twice', name: 'one' }, never)
  await writer!.dropDatabase('twice', never)
  expect(await catalog.database('twice', never)).toBeUndefined()
})

glueTest('a table comes back as it was written, and Amazon’s client sees all of it', async () => {
  await database('lake')
  const location = 's3://lake/lake/orders'
  const made: Table = {
    database: 'lake',
    name: 'orders',
    type: 'EXTERNAL_TABLE',
    owner: { name: 'ops', type: 'group' },
    columns: [
      { name: 'id', type: 'bigint', comment: 'Number – größer als 0' },
      { name: 'lines', type: 'struct<a:array<map<string,decimal(38,10)>>,b:uniontype<int,char(3)>>' },
    ],
    partitionKeys: [{ name: 'day', type: 'date', comment: 'Of the order' }],
    storage: {
      location,
      ...text,
      serde: { name: 'orders', library: lazy, parameters: { 'field.delim': '\u0001' } },
      compressed: true,
      bucketCount: 4,
      bucketColumns: ['id'],
      sortColumns: [
        { name: 'id', order: 'descending' },
        { name: 'lines', order: 'ascending' },
      ],
      skew: {
        columns: ['id', 'lines'],
        values: [
          ['1', '2$'],
          ['', 'ü'],
        ],
        locations: [{ values: ['1', '2$'], location: `${location}/id=1` }],
        inSubfolders: true,
      },
      parameters: { kept: 'here' },
    },
    parameters: { EXTERNAL: 'TRUE', comment: 'Orders' },
    retention: 30,
  }
  await catalog.writer!.createTable(made, never)
  const table = await catalog.table('lake', 'orders', never)
  expect(withoutTimes(table)).toEqual(made)
  expect(table!.createdMs).toBeGreaterThan(1.7e12)
  const there = (await seen.getTable({ DatabaseName: 'lake', Name: 'orders' })).Table!
  expect(there).toMatchObject({
    Name: 'orders',
    Description: 'Orders',
    Owner: 'ops',
    TableType: 'EXTERNAL_TABLE',
    PartitionKeys: [{ Name: 'day', Type: 'date', Comment: 'Of the order' }],
    StorageDescriptor: {
      Location: location,
      NumberOfBuckets: 4,
      BucketColumns: ['id'],
      SortColumns: [
        { Column: 'id', SortOrder: 0 },
        { Column: 'lines', SortOrder: 1 },
      ],
      SerdeInfo: { SerializationLibrary: lazy, Parameters: { 'field.delim': '\u0001' } },
      SkewedInfo: { SkewedColumnValues: ['1$12$2$', '0$1$ü'] },
    },
  })
  expect(await catalog.tables('lake', never)).toContainEqual({
    name: 'orders',
    type: 'EXTERNAL_TABLE',
    comment: 'Orders',
  })
  const changed: Table = { ...made, columns: [...made.columns, { name: 'more', type: 'int' }] }
  await catalog.writer!.alterTable(changed, never)
  expect(withoutTimes(await catalog.table('lake', 'orders', never))).toEqual(changed)
})

glueTest('a view, a managed table and a table that Amazon’s client has made', async () => {
  await database('mixed')
  const view = {
    originalText: 'select id from orders',
    expandedText: 'select `id` from `lake`.`orders`',
    rewriteEnabled: false,
  }
  const made = [
    tableAt('mixed', 'ids', { type: 'VIRTUAL_VIEW', storage: plain, parameters: {}, view }),
    tableAt('mixed', 'own', { type: 'MANAGED_TABLE', parameters: {}, owner: { name: 'ada', type: 'user' } }),
  ]
  for (const table of made) await catalog.writer!.createTable(table, never)
  for (const table of made)
    expect(withoutTimes(await catalog.table('mixed', table.name, never))).toEqual(table)
  await seen.createTable({
    DatabaseName: 'mixed',
    TableInput: { Name: 'bare', Description: 'Nothing in it' },
  })
  expect(withoutTimes(await catalog.table('mixed', 'bare', never))).toEqual({
    database: 'mixed',
    name: 'bare',
    type: '',
    columns: [],
    partitionKeys: [],
    storage: plain,
    parameters: { comment: 'Nothing in it' },
  })
  expect(await catalog.tables('mixed', never)).toEqual([
    { name: 'bare', type: '', comment: 'Nothing in it' },
    { name: 'ids', type: 'VIRTUAL_VIEW' },
    { name: 'own', type: 'MANAGED_TABLE' },
  ])
})

glueTest('names are in lower case there, whatever case they are written and asked for in', async () => {
  await database('Upper')
  await catalog.writer!.createTable(tableAt('UPPER', 'Orders'), never)
  expect((await seen.getTables({ DatabaseName: 'upper' })).TableList).toMatchObject([{ Name: 'orders' }])
  expect(await catalog.table('uPPer', 'ORDERS', never)).toMatchObject({ database: 'upper', name: 'orders' })
})

glueTest('a thousand partitions at once are added, changed and dropped, each by itself', async () => {
  await database('parts')
  const table = { database: 'parts', name: 'events' }
  const key = (name: string) => ({ name, type: 'string' })
  await catalog.writer!.createTable(
    tableAt('parts', 'events', { partitionKeys: [key('Place'), key('number')] }),
    never,
  )
  expect(await catalog.partitionNames(table, never)).toEqual([])
  // Paths cannot have all characters of values.
  const place = 'here: 50% = ü/ö'
  const made = Array.from({ length: partitionsAtOnce }, (_, index): Partition => ({
    values: [place, String(index)],
    columns: [{ name: 'id', type: 'bigint' }],
    storage: { ...plain, ...text, location: `s3://lake/parts/events/${index}` },
    parameters: { index: String(index) },
  }))
  // One is there already, and stays as it is.
  const other = { ...made[500]!, parameters: { index: 'other' } }
  await catalog.writer!.addPartitions(table, [other], never)
  await catalog.writer!.addPartitions(table, made, never)
  const names = await catalog.partitionNames(table, never)
  expect(names).toHaveLength(made.length)
  expect(names).toContain('place=here%3A 50%25 %3D ü%2Fö/number=7')
  const read = async () =>
    new Map((await catalog.partitions(table, names, never)).map((one) => [one.values[1], withoutTimes(one)]))
  const before = await read()
  expect(before.size).toBe(made.length)
  for (const one of made) expect(before.get(one.values[1])).toEqual(one === made[500] ? other : one)

  const changed = made.map((one) => ({ ...one, parameters: { changed: 'yes' } }))
  await catalog.writer!.alterPartitions(table, changed, never)
  const after = await read()
  for (const one of changed) expect(after.get(one.values[1])).toEqual(one)
  const gone = { ...made[0]!, values: [place, 'gone'] }
  await expect(catalog.writer!.alterPartitions(table, [made[1]!, gone], never)).rejects.toMatchObject({
    failure: 'changed',
    message: expect.stringContaining('1 of 2 failed, the first with EntityNotFoundException'),
  })

  await catalog.writer!.dropPartitions(table, [...names.slice(0, 990), 'place=x/number=y'], never)
  expect(await catalog.partitionNames(table, never)).toEqual(names.slice(990))
  expect(await catalog.partitions(table, names.slice(985), never)).toHaveLength(10)
  const none = { database: 'parts', name: 'none' }
  await expect(catalog.writer!.addPartitions(none, made.slice(0, 1), never)).rejects.toMatchObject({
    failure: 'changed',
  })
})

glueTest('it is asked as callers ask, and checked line by line', async () => {
  const spec = { kind: 'glue', options } as const
  await database('asked')
  await catalog.writer!.createTable(tableAt('asked', 'one'), never)
  expect(await answer({ kind: 'check', spec })).toMatchObject({
    checks: [
      { check: 'reach', result: 'yes' },
      { check: 'list', result: 'yes' },
      { check: 'read', result: 'yes' },
      { check: 'write', result: 'untried' },
    ],
  })
  expect(await answer({ kind: 'table', spec, database: 'asked', name: 'one' })).toMatchObject({
    table: { name: 'one' },
  })
})

glueTest('an address that catalogs may not be at is not connected to', async () => {
  await expect(openCatalog({ kind: 'glue', options }, { bounds: createBounds([]) })).rejects.toMatchObject({
    code: 'NOT_ACCEPTED',
    details: [{ field: 'glueEndpoint', problem: expect.stringContaining('storeHosts') }],
  })
})

glueTest('privileges, which it has no word for, are a failure of the table that has some', async () => {
  const name = await database('privileged')
  using lake = new DocumentLake()
  const source = await lake.open('source', '/')
  await source.writer!.createDatabase({ name, parameters: {} }, never)
  const read = { principal: { name: 'ada', type: 'user' as const }, privilege: 'SELECT', grantOption: false }
  for (const one of ['free', 'granted']) await source.writer!.createTable(tableAt(name, one), never)
  await source.writer!.privileges!.grant({ database: name, name: 'granted' }, [read], never)
  const target = { kind: 'glue' as const, options: { ...options, glueEndpoint: limited!.endpoint } }
  const sides = { ...workSides(lake), target, privileges: 'own' } as const
  const tables = ['free', 'granted'].map((one) => ({ name: one, known: { isNoted: true }, sinceMs: 0 }))
  expect(
    await work({ kind: 'bring-tables', sides, database: name, tables, gates: [], maxDrops: 0 }),
  ).toMatchObject({
    outcomes: [
      { result: 'created', name: 'free' },
      {
        result: 'created',
        name: 'granted',
        note: {
          failureClass: 'unsupported',
          message: expect.stringContaining('does not support privileges, and 1 were not migrated') as string,
        },
      },
    ],
  })
})

glueTest('statistics are put and told by some columns at a time, as far as it can hold them', async () => {
  const name = await database('counted')
  const columns = Array.from({ length: 130 }, (_, index) => ({ name: `c${index}`, type: 'bigint' }))
  const its = await openCatalog({ kind: 'glue', options: { ...options, glueEndpoint: limited!.endpoint } })
  await its.writer!.createTable(tableAt(name, 'wide', { columns }), never)
  const table = { database: name, name: 'wide' }
  const long = { kind: 'long', numNulls: '0', numDVs: '1' }
  const of = (column: string, statistics: Record<string, string>) => ({ column, type: 'bigint', statistics })
  const wanted = columns.map((column) => of(column.name, { ...long, lowValue: '-7', highValue: '7' }))
  // JSON has no such number, and Glue no such kind.
  wanted[0] = of('c0', { ...long, lowValue: '1', highValue: '9223372036854775807' })
  wanted[1] = of('c1', { ...long, kind: 'timestamp' })
  expect(await its.statistics!.ofTable(table, never)).toBeUndefined()
  await its.writer!.statistics!.put(table, { columns: wanted }, never)
  const held = [of('c0', { ...long, lowValue: '1' }), ...wanted.slice(2)]
  expect(await its.statistics!.ofTable(table, never)).toEqual({ columns: held })
  expect(its.writer!.statistics!.held!({ columns: wanted })).toEqual({ columns: held })
  its.close()
})
