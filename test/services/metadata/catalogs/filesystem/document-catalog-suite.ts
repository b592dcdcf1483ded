import { afterAll, beforeAll, expect, test } from 'vitest'
import { DocumentCatalog } from '../../../../../services/metadata/catalogs/filesystem/filesystem.ts'
import { openDriver, type Driver } from '../../../../../services/drivers/index.ts'
import { testCatalog } from '../../../../support/catalog-conformance.ts'
import type { FilesystemSpec } from '../../../../../subjects/filesystems/kinds.ts'
import type {
  CatalogFunction,
  Constraints,
  Database,
  Partition,
  Table,
  TableStatistics,
} from '../../../../../subjects/metadata/objects.ts'

export const never = new AbortController().signal

export const database = (name: string): Database => ({
  name,
  description: `What ${name} is`,
  location: `hdfs://lake/${name}`,
  owner: { name: 'ada', type: 'user' },
  parameters: { b: '2', a: '1' },
})

const storage = (location: string): Table['storage'] => ({
  location,
  inputFormat: 'org.apache.hadoop.mapred.TextInputFormat',
  serde: {
    library: 'org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe',
    parameters: { 'field.delim': ',' },
  },
  compressed: false,
  bucketCount: -1,
  bucketColumns: [],
  sortColumns: [],
  parameters: {},
})

export const table = (its: string, name: string): Table => ({
  database: its,
  name,
  type: 'EXTERNAL_TABLE',
  columns: [
    { name: 'id', type: 'bigint', comment: 'Größe' },
    { name: 'amount', type: 'decimal(10,2)' },
  ],
  partitionKeys: [{ name: 'day', type: 'date' }],
  storage: storage(`hdfs://lake/${its}/${name}`),
  parameters: { comment: 'All of them', EXTERNAL: 'TRUE' },
  createdMs: 1_700_000_000_000,
})

export const partition = (day: string, index = '0'): Partition => ({
  values: [day],
  columns: [],
  storage: storage(`hdfs://lake/days/${day}`),
  parameters: { index },
})

const trust = { enabled: false, validated: false, rely: true }
const constraints: Constraints = {
  primaryKey: { name: 'pk', ...trust, columns: ['id'] },
  foreignKeys: [],
  unique: [],
  notNull: [{ name: 'nn', ...trust, column: 'amount' }],
  defaults: [],
  checks: [],
}
const statistics: TableStatistics = {
  columns: [{ column: 'id', type: 'bigint', statistics: { kind: 'long', numNulls: '0' } }],
}

/** A catalog of its own in a new folder of a store, with the driver below it. */
export async function openAt(spec: FilesystemSpec, root: string) {
  const driver = await openDriver(spec, 'target')
  const catalog = new DocumentCatalog(driver, Buffer.from(root), `the documents in /${root}`)
  const textOf = async (path: string) => {
    const file = await driver.open(Buffer.from(`${root}/${path}`))
    try {
      return (await file.read(0, file.sizeBytes)).toString()
    } finally {
      await file.close()
    }
  }
  const put = (path: string, text: string) =>
    driver.put(Buffer.from(`${root}/${path}`), Buffer.from(text), {})
  return { driver, catalog, textOf, put, [Symbol.dispose]: () => catalog.close() }
}

/** Names of the files in a folder. */
export async function filesIn(driver: Driver, folder: string): Promise<string[]> {
  const names: string[] = []
  for await (const { entries } of driver.list(Buffer.from(folder), never))
    names.push(...entries.map(({ name }) => name.toString()))
  return names.toSorted()
}

/** What a catalog of documents does in any store. @param name of the store, for people */
export function documentCatalogSuite(
  name: string,
  start: () => Promise<{ spec: FilesystemSpec } & AsyncDisposable>,
): void {
  let store: Awaited<ReturnType<typeof start>>
  let roots = 0
  beforeAll(async () => {
    store = await start()
  })
  afterAll(() => store?.[Symbol.asyncDispose]())
  const open = () => openAt(store.spec, `metadata/${++roots}`)

  testCatalog({
    name,
    missing: undefined,
    open: async () => (await open()).catalog,
    locationOf: async (_, path) => `hdfs://lake/${path}`,
    oddNames: [
      'select',
      'x'.repeat(120),
      'with space',
      'Größe',
      'a/b',
      '..',
      '.hidden',
      '50%',
      'é'.normalize('NFD'),
    ],
    views: ['VIRTUAL_VIEW', 'MATERIALIZED_VIEW'],
    managed: true,
    partitions: true,
    transactional: true,
    functions: true,
    constraints: true,
    statistics: true,
    partitionStatistics: true,
    privileges: true,
    feed: false,
  })

  test('databases are made, changed, listed and dropped', async () => {
    using opened = await open()
    const { catalog } = opened
    const { writer } = catalog
    await catalog.probe(never)
    expect(await catalog.databases(never)).toEqual([])
    expect(await catalog.database('sales', never)).toBeUndefined()
    const names = ['sales', 'Größe', 'a/b', '.git', 'x y']
    for (const name of names) await writer.createDatabase(database(name), never)
    await expect(writer.createDatabase(database('sales'), never)).rejects.toMatchObject({
      failure: 'changed',
    })
    expect(await catalog.databases(never)).toEqual(['.git', 'Größe', 'a/b', 'sales', 'x y'])
    for (const name of names) expect(await catalog.database(name, never)).toEqual(database(name))
    await writer.alterDatabase({ name: 'sales', parameters: {} }, never)
    expect(await catalog.database('sales', never)).toEqual({ name: 'sales', parameters: {} })
    await writer.createTable(table('sales', 'orders'), never)
    await expect(writer.dropDatabase('sales', never)).rejects.toMatchObject({ failure: 'changed' })
    await writer.dropTable({ database: 'sales', name: 'orders' }, never)
    await writer.dropDatabase('sales', never)
    expect(await catalog.databases(never)).not.toContain('sales')
    for (const fails of [
      () => writer.dropDatabase('sales', never),
      () => writer.alterDatabase(database('sales'), never),
    ])
      await expect(fails()).rejects.toMatchObject({ failure: 'changed' })
  })

  test('tables with constraints and statistics', async () => {
    using opened = await open()
    const { catalog, textOf } = opened
    const { writer } = catalog
    const orders = { database: 'sales', name: 'orders' }
    await expect(catalog.tables('sales', never)).rejects.toMatchObject({ failure: 'gone' })
    await expect(writer.createTable(table('sales', 'orders'), never)).rejects.toMatchObject({
      failure: 'changed',
    })
    await writer.createDatabase(database('sales'), never)
    expect(await catalog.table('sales', 'orders', never)).toBeUndefined()
    await writer.createTable(table('sales', 'orders'), never)
    await writer.createTable(table('sales', 'a:b'), never)
    await expect(writer.createTable(table('sales', 'orders'), never)).rejects.toMatchObject({
      failure: 'changed',
    })
    expect(await catalog.tables('sales', never)).toEqual([
      { name: 'a:b', type: 'EXTERNAL_TABLE', comment: 'All of them' },
      { name: 'orders', type: 'EXTERNAL_TABLE', comment: 'All of them' },
    ])
    await writer.constraints.add(orders, constraints, never)
    await writer.statistics.put(orders, statistics, never)
    await expect(writer.constraints.add(orders, constraints, never)).rejects.toMatchObject({
      failure: 'changed',
    })
    const altered = { ...table('sales', 'orders'), columns: [{ name: 'id', type: 'int' }] }
    await writer.alterTable(altered, never)
    expect(await catalog.table('sales', 'orders', never)).toEqual(altered)
    expect(await catalog.constraints.of(orders, never)).toEqual(constraints)
    expect(await catalog.statistics.ofTable(orders, never)).toEqual(statistics)
    const text = await textOf('sales/tables/orders.json')
    expect(JSON.parse(text)).toEqual({ ...altered, constraints, statistics })
    expect(text).toMatch(/^\{\n {2}"columns": \[\n {4}\{\n {6}"name": "id",\n[^]*\n\}\n$/)
    await writer.constraints.drop(orders, 'pk', never)
    expect(await catalog.constraints.of(orders, never)).not.toHaveProperty('primaryKey')
    await writer.dropTable(orders, never)
    expect(await catalog.table('sales', 'orders', never)).toBeUndefined()
    for (const fails of [() => writer.dropTable(orders, never), () => writer.alterTable(altered, never)])
      await expect(fails()).rejects.toMatchObject({ failure: 'changed' })
    await expect(catalog.partitionNames(orders, never)).rejects.toMatchObject({ failure: 'gone' })
  })

  test('functions', async () => {
    using opened = await open()
    const { catalog } = opened
    const { writer } = catalog
    await writer.createDatabase(database('sales'), never)
    const made: CatalogFunction = {
      database: 'sales',
      name: 'mask',
      className: 'example.Mask',
      resources: [{ type: 'jar', uri: 'hdfs://lake/jars/mask.jar' }],
    }
    await writer.functions.create(made, never)
    await expect(writer.functions.create(made, never)).rejects.toMatchObject({ failure: 'changed' })
    const altered = { ...made, className: 'example.Mask2' }
    await writer.functions.alter(altered, never)
    expect(await catalog.functions.list('sales', never)).toEqual([altered])
    await writer.functions.drop('sales', 'mask', never)
    expect(await catalog.functions.list('sales', never)).toEqual([])
    await expect(writer.functions.alter(made, never)).rejects.toMatchObject({ failure: 'changed' })
    await writer.functions.create(made, never)
    await writer.dropDatabase('sales', never)
    await writer.createDatabase(database('sales'), never)
    expect(await catalog.functions.list('sales', never)).toEqual([])
  })

  test('partitions come, change and go, and those of a dropped table do not come back', async () => {
    using opened = await open()
    const { catalog } = opened
    const { writer } = catalog
    const days = { database: 'sales', name: 'days' }
    await writer.createDatabase(database('sales'), never)
    await writer.createTable(table('sales', 'days'), never)
    const all = Array.from({ length: 1_000 }, (_, index) => `2026-${String(index).padStart(4, '0')}`)
    await writer.addPartitions(
      days,
      all.map((day) => partition(day)),
      never,
    )
    expect(await catalog.partitionNames(days, never)).toEqual(all.map((day) => `day=${day}`))
    await writer.addPartitions(days, [partition('2026-0000', 'other'), partition('odd / %')], never)
    await writer.alterPartitions(days, [partition('2026-0500', '7')], never)
    await expect(writer.alterPartitions(days, [partition('none')], never)).rejects.toMatchObject({
      failure: 'changed',
    })
    const asked = ['day=2026-0000', 'day=2026-0500', 'day=odd %2F %25', 'day=none']
    const found = await catalog.partitions(days, asked, never)
    expect(new Map(found.map(({ values, parameters }) => [values[0], parameters['index']]))).toEqual(
      new Map([
        ['2026-0000', '0'],
        ['2026-0500', '7'],
        ['odd / %', '0'],
      ]),
    )
    await writer.dropPartitions(days, ['day=none', ...all.slice(10).map((day) => `day=${day}`)], never)
    expect(await catalog.partitionNames(days, never)).toEqual([
      ...all.slice(0, 10).map((day) => `day=${day}`),
      'day=odd %2F %25',
    ])
    await writer.alterTable({ ...table('sales', 'days'), parameters: {} }, never)
    expect(await catalog.partitionNames(days, never)).toHaveLength(11)
    await writer.dropTable(days, never)
    await writer.createTable(table('sales', 'days'), never)
    expect(await catalog.partitionNames(days, never)).toEqual([])
  })
}
