import { afterAll, beforeAll, expect } from 'vitest'
import type { Catalog } from '../../../services/metadata/catalogs/contract/catalog.ts'
import { openCatalog } from '../../../services/metadata/catalogs/index.ts'
import { answer } from '../../../services/metadata/catalogs/questions.ts'
import {
  type HiveMetastore,
  type MetastoreRelease,
  metastoreReleases,
  metastoreTest,
  noMetastore,
  startMetastore,
} from '../../support/hive-metastore.ts'
import { MetastoreWriter } from '../../support/metastore-writer.ts'

const never = new AbortController().signal
const columns = (...names: string[]) => names.map((name) => ({ name, type: 'string' }))
const text = {
  inputFormat: 'org.apache.hadoop.mapred.TextInputFormat',
  outputFormat: 'org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat',
}
const lazy = 'org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe'
const nested = 'struct<a:array<map<string,decimal(38,10)>>,b:uniontype<int,char(3)>>'
/** Each in the bytes of UTF-8 as long as Hive takes them. */
const oddNames = ['select', 'x'.repeat(128), 'with_underscore']

/** A metastore that shares half a core takes 50 ms to add one. */
const manyPartitionsMs = 240_000

for (const release of Object.keys(metastoreReleases) as MetastoreRelease[]) {
  let metastore: HiveMetastore
  let catalog: Catalog
  let writer: MetastoreWriter
  if (noMetastore(release) === undefined) {
    beforeAll(async () => {
      metastore = await startMetastore(release)
      writer = await MetastoreWriter.open(metastore.address)
      catalog = await openCatalog({ kind: 'hive', options: metastore.options })
    })
    afterAll(async () => {
      catalog?.close()
      writer?.[Symbol.dispose]()
      await metastore?.[Symbol.asyncDispose]()
    })
  }
  const theTest = (name: string, work: () => Promise<void>, timeoutMs?: number) =>
    metastoreTest(release, `Hive ${release}: ${name}`, work, timeoutMs)
  const locationOf = async (name: string) => `${(await catalog.database('default', never))!.location}/${name}`

  theTest('what is not there is not there', async () => {
    await catalog.probe(never)
    expect(await catalog.databases(never)).toContain('default')
    expect(await catalog.database('nowhere', never)).toBeUndefined()
    expect(await catalog.table('default', 'nothing', never)).toBeUndefined()
    expect(await catalog.table('nowhere', 'nothing', never)).toBeUndefined()
    const missing = { database: 'default', name: 'nothing' }
    await expect(catalog.tables('nowhere', never)).rejects.toMatchObject({ failure: 'gone' })
    await expect(catalog.partitionNames(missing, never)).rejects.toMatchObject({ failure: 'gone' })
  })

  theTest('a database has all that it was made with', async () => {
    const location = await locationOf('sales.db')
    await writer.createDatabase({
      name: 'sales',
      description: 'All that was sold – überall',
      locationUri: location,
      parameters: new Map([
        ['team', 'data'],
        ['a', ''],
      ]),
      ownerName: 'ada',
      ownerType: 2,
    })
    expect(await catalog.databases(never)).toEqual(expect.arrayContaining(['default', 'sales']))
    expect(await catalog.database('sales', never)).toEqual({
      name: 'sales',
      description: 'All that was sold – überall',
      location,
      owner: { name: 'ada', type: 'role' },
      parameters: { a: '', team: 'data' },
    })
  })

  theTest(
    'a table has all that it was made with: nested types, buckets, skew, serde, parameters',
    async () => {
      const location = await locationOf('orders')
      await writer.createTable({
        dbName: 'default',
        tableName: 'orders',
        owner: 'ada',
        ownerType: 1,
        tableType: 'EXTERNAL_TABLE',
        sd: {
          cols: [
            { name: 'id', type: 'bigint', comment: 'Number – größer als 0' },
            { name: 'lines', type: nested },
          ],
          location,
          ...text,
          numBuckets: 4,
          bucketCols: ['id'],
          sortCols: [{ col: 'id', order: 0 }],
          serdeInfo: {
            name: 'orders',
            serializationLib: lazy,
            parameters: new Map([['field.delim', '\u0001']]),
          },
          parameters: new Map([['kept', 'here']]),
          skewedInfo: {
            columns: ['id'],
            values: [['1'], ['2']],
            locations: new Map([[['1'], `${location}/id=1`]]),
          },
          storedAsSubDirectories: true,
        },
        partitionKeys: [{ name: 'day', type: 'date', comment: 'Of the order' }],
        parameters: new Map([
          ['EXTERNAL', 'TRUE'],
          ['comment', 'Orders'],
        ]),
      })
      const table = await catalog.table('default', 'orders', never)
      expect(table).toMatchObject({
        database: 'default',
        name: 'orders',
        type: 'EXTERNAL_TABLE',
        owner: { name: 'ada', type: 'user' },
        columns: [
          { name: 'id', type: 'bigint', comment: 'Number – größer als 0' },
          { name: 'lines', type: nested },
        ],
        partitionKeys: [{ name: 'day', type: 'date', comment: 'Of the order' }],
        storage: {
          location,
          ...text,
          serde: { name: 'orders', library: lazy, parameters: { 'field.delim': '\u0001' } },
          compressed: false,
          bucketCount: 4,
          bucketColumns: ['id'],
          sortColumns: [{ name: 'id', order: 'descending' }],
          skew: {
            columns: ['id'],
            values: [['1'], ['2']],
            locations: [{ values: ['1'], location: `${location}/id=1` }],
            inSubfolders: true,
          },
          parameters: { kept: 'here' },
        },
        parameters: { EXTERNAL: 'TRUE', comment: 'Orders' },
      })
      expect(table!.createdMs).toBeGreaterThan(1.7e12)
      expect(table).not.toHaveProperty('view')
      const tables = await catalog.tables('default', never)
      expect(tables).toContainEqual({ name: 'orders', type: 'EXTERNAL_TABLE', comment: 'Orders' })
    },
  )

  theTest(
    'a view has its texts, and a materialized one says whether queries are answered from it',
    async () => {
      const view = {
        originalText: 'select id from orders',
        expandedText: 'select `id` from `default`.`orders`',
      }
      const made = {
        dbName: 'default',
        viewOriginalText: view.originalText,
        viewExpandedText: view.expandedText,
        sd: { cols: columns('id'), numBuckets: -1, serdeInfo: { parameters: new Map<string, string>() } },
      }
      await writer.createTable({ ...made, tableName: 'ids', tableType: 'VIRTUAL_VIEW' })
      expect(await catalog.table('default', 'ids', never)).toMatchObject({
        type: 'VIRTUAL_VIEW',
        view: { ...view, rewriteEnabled: false },
        storage: { bucketCount: -1 },
      })
    },
  )

  theTest('names are odd, and lists of them are in order', async () => {
    await writer.createDatabase({ name: 'odd', locationUri: await locationOf('odd.db') })
    // A pattern in SQL would take the underscore for any character.
    await writer.createDatabase({ name: 'oddx', locationUri: await locationOf('oddx.db') })
    await writer.createDatabase({ name: 'odd_', locationUri: await locationOf('odd_.db') })
    for (const [database, tables] of [
      ['odd', oddNames],
      ['odd_', ['one']],
      ['oddx', ['other']],
    ] as const)
      for (const tableName of tables)
        await writer.createTable({
          dbName: database,
          tableName,
          tableType: 'EXTERNAL_TABLE',
          sd: {
            cols: columns('c'),
            ...text,
            numBuckets: -1,
            location: await locationOf(`odd.db/${tableName}`),
            serdeInfo: { serializationLib: lazy },
          },
          parameters: new Map([['EXTERNAL', 'TRUE']]),
        })
    expect((await catalog.tables('odd', never)).map(({ name }) => name)).toEqual(oddNames.toSorted())
    expect((await catalog.tables('odd_', never)).map(({ name }) => name)).toEqual(['one'])
    for (const name of oddNames) expect(await catalog.table('odd', name, never)).toMatchObject({ name })
  })

  theTest(
    '2,500 partitions come by name, in pages, with what only they have',
    async () => {
      const location = await locationOf('events')
      const sd = { cols: columns('c'), ...text, numBuckets: -1, serdeInfo: { serializationLib: lazy } }
      await writer.createTable({
        dbName: 'default',
        tableName: 'events',
        tableType: 'EXTERNAL_TABLE',
        sd: { ...sd, location },
        partitionKeys: columns('place', 'number'),
        parameters: new Map([['EXTERNAL', 'TRUE']]),
      })
      // Paths cannot have all characters of values.
      const place = 'here: 50% = ü/ö'
      const parts = Array.from({ length: 2_500 }, (_, index) => ({
        dbName: 'default',
        tableName: 'events',
        values: [place, String(index)],
        sd: { ...sd, location: `${location}/${index}` },
        parameters: new Map([['index', String(index)]]),
      }))
      for (let at = 0; at < parts.length; at += 500) await writer.addPartitions(parts.slice(at, at + 500))
      const table = { database: 'default', name: 'events' }
      const names = await catalog.partitionNames(table, never)
      expect(names).toHaveLength(2_500)
      expect(names.toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)))).toEqual(
        names,
      )
      const found = await catalog.partitions(table, names.slice(0, 1_000), never)
      expect(found).toHaveLength(1_000)
      for (const { values, storage, parameters } of found) {
        expect(values[0]).toBe(place)
        expect(storage.location).toBe(`${location}/${values[1]}`)
        expect(parameters['index']).toBe(values[1])
      }
      const spec = { kind: 'hive', options: metastore.options } as const
      const asked = { kind: 'partitions', spec, ...table, like: '*number=12*', after: undefined } as const
      const first = await answer({ ...asked, limit: 30 })
      if (!('partitions' in first)) throw new Error('other things came')
      expect(first.partitions).toHaveLength(30)
      const rest = await answer({ ...asked, limit: 1_000, after: first.partitions.at(-1)!.name })
      if (!('partitions' in rest)) throw new Error('other things came')
      // 12, 120 to 129 and 1200 to 1299
      expect(first.partitions.length + rest.partitions.length).toBe(111)
      for (const { name, location: its } of [...first.partitions, ...rest.partitions])
        expect(its).toBe(`${location}/${/number=(\d+)$/.exec(name)![1]}`)
    },
    manyPartitionsMs,
  )

  theTest('it is checked line by line', async () => {
    const spec = { kind: 'hive', options: metastore.options } as const
    expect(await answer({ kind: 'check', spec })).toMatchObject({
      checks: [
        { check: 'reach', result: 'yes' },
        { check: 'list', result: 'yes' },
        { check: 'read', result: 'yes' },
        { check: 'write', result: 'untried' },
      ],
    })
  })

  theTest('of two addresses one is enough, and it comes back after a kill', async () => {
    const away = {
      ...metastore.options,
      metastoreUris: `thrift://127.0.0.1:1,${metastore.options.metastoreUris}`,
    }
    const either = await openCatalog({ kind: 'hive', options: away })
    expect(await either.databases(never)).toContain('default')
    await metastore.kill()
    await expect(either.databases(never)).rejects.toMatchObject({ failure: 'unreachable' })
    await metastore.restart()
    expect(await either.databases(never)).toContain('default')
    either.close()
  })
}
