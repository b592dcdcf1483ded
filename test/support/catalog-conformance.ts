import { afterAll, beforeAll, expect } from 'vitest'
import {
  type Catalog,
  type CatalogChange,
  type CatalogWriter,
  partitionsAtOnce,
  type PrivilegesOf,
} from '../../services/metadata/catalogs/contract/catalog.ts'
import type {
  CatalogFunction,
  Constraints,
  Database,
  Parameters,
  Partition,
  Privilege,
  Storage,
  Table,
  TableStatistics,
} from '../../subjects/metadata/objects.ts'
import { testUnless } from './unless.ts'

/** A kind of catalog that is tested, and what it can hold: without a word for it, all. */
export interface CatalogSubject {
  /** Of the tests. */
  readonly name: string
  /** Why it is not here; undefined where it is. */
  readonly missing: string | undefined
  /** One that can be written to. It is closed by the tests. */
  open(): Promise<Catalog>
  /** URI of a folder that it takes, whether there is one or not. */
  locationOf(catalog: Catalog, path: string): Promise<string>
  /** Names of tables that are odd, but taken. */
  readonly oddNames: readonly string[]
  /** A table or database as it holds one: what it has no place for left out. */
  readonly held?: (table: Table) => Table
  readonly heldDatabase?: (database: Database) => Database
  readonly heldPartition?: (partition: Partition) => Partition
  /** Types of views. */
  readonly views: readonly ('VIRTUAL_VIEW' | 'MATERIALIZED_VIEW')[]
  /** Whether managed tables are such beside external ones. */
  readonly managed: boolean
  readonly partitions: boolean
  readonly functions: boolean
  readonly constraints: boolean
  readonly statistics: boolean
  /** Whether it keeps account of what has changed. */
  readonly feed: boolean
  /** Whether it can be told to take a table whose rows are changed in transactions. */
  readonly transactional?: boolean
  readonly partitionStatistics?: boolean
  readonly privileges?: boolean
  /** Whether a database keeps the description that it was made with. */
  readonly describesOnce?: boolean
  /** Whether it can give a table another name. */
  readonly renames?: boolean
}

const never = new AbortController().signal
const nested = 'struct<a:array<map<string,decimal(38,10)>>,b:struct<c:varchar(10),d:char(3)>>'
/** Of partitions: more than are asked for at once. */
const manyPartitions = partitionsAtOnce + 234
/** A metastore that shares half a core takes 50 ms to add one. */
const manyPartitionsMs = 240_000

export const plainStorage = (location: string | undefined): Storage => ({
  ...(location !== undefined && { location }),
  inputFormat: 'org.apache.hadoop.mapred.TextInputFormat',
  outputFormat: 'org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat',
  serde: {
    library: 'org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe',
    parameters: { 'field.delim': '\u0001', 'serialization.format': '1' },
  },
  compressed: false,
  bucketCount: -1,
  bucketColumns: [],
  sortColumns: [],
  parameters: {},
})

const column = (name: string, type = 'string') => ({ name, type })
const ada = { name: 'ada', type: 'user' } as const

/** Goes through all that a catalog does; each test has databases of its own. */
export function testCatalog(subject: CatalogSubject): void {
  const { missing, held = (one) => one, heldDatabase = (one) => one, heldPartition = (one) => one } = subject
  let catalog: Catalog
  let writer: CatalogWriter
  if (missing === undefined) {
    beforeAll(async () => {
      catalog = await subject.open()
      writer = catalog.writer!
    })
    afterAll(() => catalog?.close())
  }
  const theTest = (name: string, work: () => Promise<void>, timeoutMs?: number) =>
    testUnless(missing, `${subject.name}: ${name}`, work, timeoutMs)
  const locationOf = (path: string) => subject.locationOf(catalog, path)

  /** What the catalog says of itself, and what it fills in where nothing was given, left out. */
  const ownOut = (parameters: Parameters): Parameters =>
    Object.fromEntries(Object.entries(parameters).filter(([name]) => !writer.isOwnParameter(name)))
  const plain = <T extends { parameters: Parameters; createdMs?: number }>(one: T): T => {
    const { createdMs: _, ...others } = one
    return { ...others, parameters: ownOut(one.parameters) } as T
  }
  const tableNow = async ({ database, name }: Table): Promise<Table | undefined> => {
    const found = await catalog.table(database, name, never)
    return found && plain(found)
  }
  const createDatabase = async (name: string, more: Partial<Database> = {}): Promise<Database> => {
    const made = heldDatabase({
      name,
      location: await locationOf(`${name}.db`),
      owner: ada,
      parameters: {},
      ...more,
    })
    await writer.createDatabase(made, never)
    return made
  }
  const tableIn = async (database: string, name: string, more: Partial<Table> = {}): Promise<Table> =>
    held({
      database,
      name,
      type: 'EXTERNAL_TABLE',
      owner: ada,
      columns: [column('id', 'bigint')],
      partitionKeys: [],
      storage: plainStorage(await locationOf(`${database}.db/${encodeURIComponent(name)}`)),
      parameters: {},
      ...more,
    })
  const createTable = async (...table: ArgumentsOf<typeof tableIn>): Promise<Table> => {
    const made = await tableIn(...table)
    await writer.createTable(made, never)
    return made
  }
  const expectChanged = (work: Promise<unknown>) => expect(work).rejects.toMatchObject({ failure: 'changed' })

  theTest('a database is made, changed and dropped', async () => {
    const made = await createDatabase('conf_one', {
      description: 'All of it – überall',
      parameters: { team: 'data' },
    })
    expect(await catalog.databases(never)).toContain('conf_one')
    expect(plain((await catalog.database('conf_one', never))!)).toEqual(made)
    await expectChanged(writer.createDatabase(made, never))
    const altered = heldDatabase({
      ...made,
      ...(subject.describesOnce !== true && { description: 'Other' }),
      parameters: { other: 'thing' },
    })
    await writer.alterDatabase(altered, never)
    expect(plain((await catalog.database('conf_one', never))!)).toEqual(altered)
    const table = await createTable('conf_one', 'there')
    await expectChanged(writer.dropDatabase('conf_one', never))
    await writer.dropTable(table, never)
    await writer.dropDatabase('conf_one', never)
    expect(await catalog.database('conf_one', never)).toBeUndefined()
    await expectChanged(writer.alterDatabase(made, never))
    await expectChanged(writer.dropDatabase('conf_one', never))
  })

  theTest('what is not there is changed by nobody', async () => {
    await createDatabase('conf_none')
    await expectChanged(writer.createTable(await tableIn('conf_nowhere', 'one'), never))
    await expectChanged(writer.alterTable(await tableIn('conf_none', 'one'), never))
    await expectChanged(writer.dropTable({ database: 'conf_none', name: 'one' }, never))
    await expect(catalog.tables('conf_nowhere', never)).rejects.toMatchObject({ failure: 'gone' })
    expect(await catalog.tables('conf_none', never)).toEqual([])
    expect(await catalog.table('conf_none', 'one', never)).toBeUndefined()
  })

  theTest('a table has all that it was made with, and keeps what is changed of it', async () => {
    await createDatabase('conf_tables')
    const location = await locationOf('conf_tables.db/all')
    const made = await createTable('conf_tables', 'all_of_it', {
      columns: [
        { ...column('id', 'bigint'), comment: 'Number – größer als 0' },
        column('lines', nested),
        column('price', 'decimal(38,18)'),
      ],
      partitionKeys: [{ ...column('day', 'date'), comment: 'Of the order' }],
      storage: {
        ...plainStorage(location),
        bucketCount: 4,
        bucketColumns: ['id'],
        sortColumns: [{ name: 'id', order: 'descending' }],
        parameters: { kept: 'here' },
        skew: {
          columns: ['id'],
          values: [['1'], ['2']],
          locations: [{ values: ['1'], location: `${location}/id=1` }],
          inSubfolders: true,
        },
      },
      parameters: { comment: 'Orders', 'a.b': 'c=d, "e"' },
    })
    expect(writer.refuses(made)).toBeUndefined()
    expect(await tableNow(made)).toEqual(made)
    const [summary] = await catalog.tables('conf_tables', never)
    expect(summary).toMatchObject({ name: 'all_of_it' })
    await expectChanged(writer.createTable(made, never))
    const altered = held({
      ...made,
      columns: [...made.columns, { ...column('more', 'array<string>'), comment: 'New' }],
      owner: { name: 'grace', type: 'user' },
      storage: { ...made.storage, location: await locationOf('conf_tables.db/elsewhere') },
      parameters: { comment: 'Other orders' },
    })
    await writer.alterTable(altered, never)
    expect(await tableNow(made)).toEqual(altered)
    await writer.dropTable(made, never)
    expect(await tableNow(made)).toBeUndefined()
  })

  theTest('tables have odd names, and come in the order of them', async () => {
    await createDatabase('conf_odd')
    for (const name of subject.oddNames) await createTable('conf_odd', name)
    const byBytes = (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other))
    const names = (await catalog.tables('conf_odd', never)).map(({ name }) => name)
    expect(names).toEqual(subject.oddNames.toSorted(byBytes))
    for (const name of subject.oddNames) {
      expect(await catalog.table('conf_odd', name, never)).toMatchObject({ name })
      await writer.dropTable({ database: 'conf_odd', name }, never)
    }
    await writer.dropDatabase('conf_odd', never)
  })

  if (subject.managed)
    theTest('a managed table stays one when it is changed', async () => {
      await createDatabase('conf_managed')
      const made = await createTable('conf_managed', 'own', {
        type: 'MANAGED_TABLE',
        parameters: { a: 'b' },
      })
      expect(await tableNow(made)).toEqual(made)
      const altered = { ...made, parameters: { a: 'c' } }
      await writer.alterTable(altered, never)
      expect(await tableNow(made)).toEqual(altered)
    })

  if (subject.renames === true)
    theTest('a table gets another name, and keeps its partitions', async () => {
      await createDatabase('conf_renames')
      const made = await createTable('conf_renames', 'before', { partitionKeys: [column('day')] })
      const partition = heldPartition({
        values: ['one'],
        columns: made.columns,
        storage: plainStorage(`${made.storage.location}/day=one`),
        parameters: { a: 'b' },
      })
      await writer.addPartitions(made, [partition], never)
      const renamed = {
        ...made,
        name: 'after',
        columns: [...made.columns, column('more')],
        storage: plainStorage(await locationOf('conf_renames.db/after')),
      }
      await writer.renameTable!(made, renamed, never)
      expect(await tableNow(made)).toBeUndefined()
      expect(await tableNow(renamed)).toEqual(renamed)
      const [kept] = await catalog.partitions(renamed, ['day=one'], never)
      expect(plain(kept!)).toEqual(partition)
      await expectChanged(writer.renameTable!(made, { ...made, name: 'other' }, never))
      await createTable('conf_renames', 'other')
      await expectChanged(writer.renameTable!(renamed, { ...renamed, name: 'other' }, never))
      await createDatabase('conf_renames_2')
      const moved = { ...renamed, database: 'conf_renames_2', name: 'moved' }
      await writer.renameTable!(renamed, moved, never)
      expect(await tableNow(moved)).toEqual(moved)
      expect(await catalog.partitionNames(moved, never)).toEqual(['day=one'])
      await writer.dropTable(moved, never)
    })

  if (subject.transactional === true)
    theTest('a table with transactions is one', async () => {
      await createDatabase('conf_acid')
      const made = await createTable('conf_acid', 'rows', {
        type: 'MANAGED_TABLE',
        parameters: { transactional: 'true', transactional_properties: 'insert_only' },
      })
      expect(await tableNow(made)).toEqual(made)
      await writer.dropTable(made, never)
    })

  for (const type of subject.views)
    theTest(`a ${type} has its texts`, async () => {
      const database = `conf_${type.toLowerCase()}`
      await createDatabase(database)
      await createTable(database, 'orders')
      const materialized = type === 'MATERIALIZED_VIEW'
      const made = await createTable(database, 'ids', {
        type,
        ...(!materialized && { storage: plainStorage(undefined) }),
        view: {
          originalText: 'select id from orders',
          expandedText: `select \`id\` from \`${database}\`.\`orders\``,
          rewriteEnabled: materialized,
          ...(materialized && { sources: [`${database}.orders`] }),
        },
      })
      expect(await tableNow(made)).toEqual(made)
      const altered = held({
        ...made,
        view: { ...made.view!, originalText: 'select id from orders where id > 1', rewriteEnabled: false },
      })
      await writer.alterTable(altered, never)
      expect(await tableNow(made)).toEqual(altered)
      await writer.dropTable(made, never)
    })

  if (subject.partitions)
    theTest(
      `${manyPartitions} partitions are added, changed and dropped in batches`,
      async () => {
        await createDatabase('conf_parts')
        const table = await createTable('conf_parts', 'events', {
          partitionKeys: [column('place'), column('number', 'int')],
        })
        const of = { database: table.database, name: table.name }
        // Paths cannot have all characters of values.
        const place = 'here: 50% = ü/ö'
        const made = Array.from({ length: manyPartitions }, (_, index) =>
          heldPartition({
            values: [place, String(index)],
            columns: table.columns,
            storage: plainStorage(`${table.storage.location}/p/${index}`),
            parameters: { index: String(index) },
          }),
        )
        const batches = (all: readonly Partition[]) => [
          all.slice(0, partitionsAtOnce),
          all.slice(partitionsAtOnce),
        ]
        const [first = [], rest = []] = batches(made)
        await writer.addPartitions(of, first, never)
        // Those that are there already stay.
        await writer.addPartitions(of, [...first.slice(0, 10), ...rest], never)
        const names = await catalog.partitionNames(of, never)
        expect(names).toHaveLength(manyPartitions)
        const found = await catalog.partitions(of, names.slice(0, partitionsAtOnce), never)
        expect(found).toHaveLength(partitionsAtOnce)
        for (const one of found) expect(plain(one)).toEqual(made[Number(one.values[1])])
        const altered = first.slice(0, 50).map((one) =>
          heldPartition({
            ...one,
            columns: [...one.columns, column('added')],
            storage: { ...one.storage, location: `${one.storage.location}-moved` },
            parameters: { changed: 'yes' },
          }),
        )
        await writer.alterPartitions(of, altered, never)
        const namesOf = (partitions: readonly Partition[]) => {
          const numbers = new Set(partitions.map(({ values }) => values[1]!))
          return names.filter((name) => numbers.has(name.slice(name.lastIndexOf('=') + 1)))
        }
        const changed = await catalog.partitions(of, namesOf(altered), never)
        expect(changed).toHaveLength(altered.length)
        for (const one of changed) expect(plain(one)).toEqual(altered[Number(one.values[1])])
        // A change of the table leaves its partitions as they are.
        await writer.alterTable({ ...table, parameters: { a: 'b' } }, never)
        expect(await catalog.partitionNames(of, never)).toHaveLength(manyPartitions)
        await writer.dropPartitions(of, [...namesOf(first.slice(0, 100)), 'place=nowhere/number=1'], never)
        expect(await catalog.partitionNames(of, never)).toHaveLength(manyPartitions - 100)
        await expectChanged(writer.alterPartitions(of, altered, never))
        await expect(catalog.partitionNames({ ...of, name: 'nothing' }, never)).rejects.toMatchObject({
          failure: 'gone',
        })
        await expectChanged(writer.addPartitions({ ...of, name: 'nothing' }, rest, never))
        await writer.dropTable(of, never)
        await writer.dropDatabase('conf_parts', never)
      },
      manyPartitionsMs,
    )

  if (subject.functions)
    theTest('functions are made, changed and dropped', async () => {
      await createDatabase('conf_functions')
      const made: CatalogFunction = {
        database: 'conf_functions',
        name: 'area',
        className: 'com.example.Area',
        owner: ada,
        resources: [
          { type: 'jar', uri: 'hdfs://store/udf/area.jar' },
          { type: 'file', uri: 'hdfs://store/udf/area.txt' },
        ],
      }
      const now = async () =>
        (await catalog.functions!.list('conf_functions', never)).map((told) => {
          const { createdMs: _, ...one } = told
          return one
        })
      expect(await now()).toEqual([])
      await writer.functions!.create(made, never)
      await writer.functions!.create({ ...made, name: 'another', resources: [] }, never)
      await expectChanged(writer.functions!.create(made, never))
      expect(await now()).toEqual([{ ...made, name: 'another', resources: [] }, made])
      for (const altered of [
        { ...made, className: 'com.example.Surface' },
        { ...made, resources: made.resources.slice(1) },
      ]) {
        await writer.functions!.alter(altered, never)
        expect(await now()).toContainEqual(altered)
      }
      for (const name of ['area', 'another']) await writer.functions!.drop('conf_functions', name, never)
      expect(await now()).toEqual([])
      await expectChanged(writer.functions!.alter(made, never))
      await expectChanged(writer.functions!.drop('conf_functions', 'area', never))
      await expect(catalog.functions!.list('conf_nowhere', never)).rejects.toMatchObject({ failure: 'gone' })
      await writer.dropDatabase('conf_functions', never)
    })

  if (subject.constraints)
    theTest('constraints are added and dropped', async () => {
      await createDatabase('conf_constraints')
      const columns = [column('id', 'bigint'), column('part', 'int'), column('name')]
      const parent = await createTable('conf_constraints', 'parent', { columns })
      const child = await createTable('conf_constraints', 'child', { columns })
      const none: Constraints = { foreignKeys: [], unique: [], notNull: [], defaults: [], checks: [] }
      expect(await catalog.constraints!.of(child, never)).toEqual(none)
      const trust = { enabled: false, validated: false, rely: true }
      const key = { ...none, primaryKey: { ...trust, name: 'pk_parent', columns: ['part', 'id'] } }
      await writer.constraints!.add(parent, key, never)
      expect(await catalog.constraints!.of(parent, never)).toEqual(key)
      const made: Constraints = {
        foreignKeys: [
          {
            ...trust,
            name: 'fk_child',
            columns: ['part', 'id'],
            references: {
              database: 'conf_constraints',
              table: 'parent',
              columns: ['part', 'id'],
              primaryKey: 'pk_parent',
            },
          },
        ],
        unique: [{ ...trust, name: 'uk_child', columns: ['name', 'id'] }],
        notNull: [{ ...trust, enabled: true, name: 'nn_child', column: 'name' }],
        defaults: [{ ...trust, enabled: true, name: 'dc_child', column: 'part', value: '7' }],
        checks: [{ ...trust, enabled: true, name: 'cc_child', column: 'id', expression: 'id > 0' }],
      }
      await writer.constraints!.add(child, made, never)
      expect(await catalog.constraints!.of(child, never)).toEqual(made)
      for (const name of ['fk_child', 'uk_child', 'nn_child', 'dc_child', 'cc_child'])
        await writer.constraints!.drop(child, name, never)
      expect(await catalog.constraints!.of(child, never)).toEqual(none)
      await expectChanged(writer.constraints!.drop(child, 'uk_child', never))
      const nothing = { ...child, name: 'nothing' }
      await expect(catalog.constraints!.of(nothing, never)).rejects.toMatchObject({ failure: 'gone' })
      await expectChanged(writer.constraints!.add(nothing, made, never))
    })

  if (subject.statistics)
    theTest('statistics of columns of all types are put and told', async () => {
      await createDatabase('conf_statistics')
      const counts = { numNulls: '3', numDVs: '12' }
      const columns: TableStatistics['columns'] = [
        {
          column: 'a',
          type: 'boolean',
          statistics: { kind: 'boolean', numTrues: '1', numFalses: '2', numNulls: '3' },
        },
        // More than a number holds exactly.
        {
          column: 'b',
          type: 'bigint',
          statistics: {
            kind: 'long',
            lowValue: '-9223372036854775808',
            highValue: '9007199254740993',
            ...counts,
          },
        },
        {
          column: 'c',
          type: 'double',
          statistics: { kind: 'double', lowValue: '-0.5', highValue: '1e+300', ...counts },
        },
        {
          column: 'd',
          type: 'string',
          statistics: { kind: 'string', maxColLen: '10', avgColLen: '4.5', ...counts },
        },
        {
          column: 'e',
          type: 'binary',
          statistics: { kind: 'binary', maxColLen: '10', avgColLen: '4.5', numNulls: '0' },
        },
        {
          column: 'f',
          type: 'decimal(20,2)',
          statistics: { kind: 'decimal', lowValue: '-128.00', highValue: '12345678901234567.89', ...counts },
        },
        {
          column: 'g',
          type: 'date',
          statistics: { kind: 'date', lowValue: '-1', highValue: '20000', ...counts },
        },
      ]
      const table = await createTable('conf_statistics', 'counted', {
        columns: columns.map(({ column: name, type }) => ({ name, type })),
      })
      expect(await catalog.statistics!.ofTable(table, never)).toBeUndefined()
      await writer.statistics!.put(table, { columns }, never)
      const told = (await catalog.statistics!.ofTable(table, never))!.columns
      const wanted = writer.statistics!.held?.({ columns }) ?? { columns }
      expect(told.toSorted((one, other) => (one.column < other.column ? -1 : 1))).toMatchObject(
        wanted.columns,
      )
      const nothing = { ...table, name: 'nothing' }
      await expectChanged(writer.statistics!.put(nothing, { columns }, never))
      await expect(catalog.statistics!.ofTable(nothing, never)).rejects.toMatchObject({ failure: 'gone' })
      expect(await tableNow(table)).toEqual(table)
    })

  if (subject.partitionStatistics === true)
    theTest('statistics of partitions are put and told, by the names of these', async () => {
      await createDatabase('conf_part_statistics')
      const table = await createTable('conf_part_statistics', 'counted', { partitionKeys: [column('day')] })
      const days = ['a', 'b/c', 'none']
      const partitions = days.map((day) =>
        heldPartition({
          values: [day],
          columns: table.columns,
          storage: plainStorage(`${table.storage.location}/${encodeURIComponent(day)}`),
          parameters: {},
        }),
      )
      await writer.addPartitions(table, partitions, never)
      const names = await catalog.partitionNames(table, never)
      expect(names).toEqual(['day=a', 'day=b%2Fc', 'day=none'])
      expect(await catalog.statistics!.ofPartitions!(table, names, never)).toEqual(new Map())
      const of = (numNulls: string): TableStatistics => ({
        columns: [
          {
            column: 'id',
            type: 'bigint',
            statistics: { kind: 'long', lowValue: '-1', highValue: '7', numNulls, numDVs: '2' },
          },
        ],
      })
      const put = new Map([
        ['day=a', of('1')],
        ['day=b%2Fc', of('2')],
      ])
      await writer.statistics!.putPartitions!(table, put, never)
      const told = await catalog.statistics!.ofPartitions!(table, names, never)
      expect([...told.keys()].toSorted()).toEqual([...put.keys()])
      for (const [name, its] of put) expect(told.get(name)).toMatchObject(its)
      await writer.statistics!.putPartitions!(table, new Map([['day=a', of('3')]]), never)
      expect((await catalog.statistics!.ofPartitions!(table, names, never)).get('day=a')).toMatchObject(
        of('3'),
      )
      const found = await catalog.partitions(table, ['day=a'], never)
      expect(found.map(plain)).toEqual([partitions[0]])
    })

  if (subject.privileges === true)
    theTest('privileges of databases, tables and columns are granted, told and revoked', async () => {
      const made = await createDatabase('conf_privileges')
      const table = await createTable('conf_privileges', 'orders', {
        columns: [column('id', 'bigint'), column('price', 'double')],
      })
      const [inDatabase, inTable] = [{ database: made.name }, { database: made.name, name: table.name }]
      const read: Privilege = { principal: ada, privilege: 'SELECT', grantOption: false }
      const granted: Privilege[] = [
        { ...read, grantOption: true, grantor: { name: 'root', type: 'user' } },
        { ...read, privilege: 'INSERT' },
        { ...read, principal: { name: 'staff', type: 'group' } },
        { ...read, column: 'price', principal: { name: 'grace', type: 'user' } },
      ]
      const { held = (one: Privilege) => one } = writer.privileges!
      const privileges = {
        of: async (object: PrivilegesOf) => (await catalog.privileges!.of(object, never)).map(held),
      }
      expect(await privileges.of(inTable)).toEqual([])
      await writer.privileges!.grant(inDatabase, [read], never)
      await writer.privileges!.grant(inTable, granted, never)
      expect(await privileges.of(inDatabase)).toEqual([read])
      const told = await privileges.of(inTable)
      expect(told).toHaveLength(granted.length)
      expect(told).toEqual(expect.arrayContaining(granted.map(held)))
      await writer.alterDatabase({ ...made, parameters: { other: 'thing' } }, never)
      await writer.alterTable({ ...table, parameters: { other: 'thing' } }, never)
      await writer.privileges!.revoke(inTable, granted.slice(1), never)
      expect(await privileges.of(inDatabase)).toEqual([read])
      expect(await privileges.of(inTable)).toEqual(granted.slice(0, 1).map(held))
      // Who was allowed to read a table is not allowed to read the next one of its name.
      await writer.dropTable(table, never)
      await writer.createTable(table, never)
      expect(await privileges.of(inTable)).toEqual([])
      const nothing = { database: made.name, name: 'nothing' }
      await expect(privileges.of(nothing)).rejects.toMatchObject({ failure: 'gone' })
    })

  if (subject.feed)
    theTest('what changes is told in order, and not what was before', async () => {
      await createDatabase('conf_before')
      const feed = catalog.feed!
      const begin = (await feed.position(never))!
      await createDatabase('conf_feed')
      const partitionKeys = [column('place'), column('number', 'int')]
      const table = await createTable('conf_feed', 'events', { partitionKeys })
      const partition = (number: string): Partition => ({
        values: ['a/b', number],
        columns: table.columns,
        storage: plainStorage(`${table.storage.location}/${number}`),
        parameters: {},
      })
      await writer.addPartitions(table, [partition('1'), partition('2')], never)
      await writer.dropPartitions(table, ['place=a%2Fb/number=2'], never)
      await writer.dropTable(table, never)
      await writer.dropDatabase('conf_feed', never)
      const all = await feed.changes(begin, 1_000, never)
      expect(all.behind).toBe(0)
      const atMs = expect.any(Number) as number
      expect(all.changes).toEqual([
        { atMs, database: 'conf_feed' },
        { atMs, database: 'conf_feed', table: 'events' },
        {
          atMs,
          database: 'conf_feed',
          table: 'events',
          partitions: ['place=a%2Fb/number=1', 'place=a%2Fb/number=2'],
        },
        { atMs, database: 'conf_feed', table: 'events', partitions: ['place=a%2Fb/number=2'] },
        { atMs, database: 'conf_feed', table: 'events', isGone: true },
        { atMs, database: 'conf_feed', isGone: true },
      ])
      for (const change of all.changes) expect(Math.abs(Date.now() - change.atMs)).toBeLessThan(300_000)
      const steps: CatalogChange[] = []
      let position = begin
      for (let behind = 1; behind > 0;) {
        const step = await feed.changes(position, 2, never)
        steps.push(...step.changes)
        ;({ position, behind } = step)
      }
      expect(steps).toEqual(all.changes)
      expect(await feed.changes(position, 10, never)).toEqual({ changes: [], position, behind: 0 })
      expect(await feed.position(never)).toBe(position)
    })
}

type ArgumentsOf<F extends (...values: never[]) => unknown> = F extends (...values: infer A) => unknown
  ? A
  : never
