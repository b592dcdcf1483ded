import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect } from 'vitest'
import { type Catalog, partitionsAtOnce } from '../../../services/metadata/catalogs/contract/catalog.ts'
import { openCatalog } from '../../../services/metadata/catalogs/index.ts'
import { hiddenNameOf } from '../../../services/metadata/catalogs/hidden-tables.ts'
import { unnamed } from '../../../services/metadata/thrift/types.ts'
import type { Table } from '../../../subjects/metadata/objects.ts'
import { plainStorage, testCatalog } from '../../support/catalog-conformance.ts'
import {
  type HiveMetastore,
  type MetastoreRelease,
  metastoreReleases,
  metastoreTest,
  noMetastore,
  startMetastore,
} from '../../support/hive-metastore.ts'
import { MetastoreWriter } from '../../support/metastore-writer.ts'
import { until } from '../../support/until.ts'

const never = new AbortController().signal
const openOf = ({ options }: HiveMetastore) => openCatalog({ kind: 'hive', options })
const locationOf = async (catalog: Catalog, path: string) =>
  `${(await catalog.database('default', never))!.location}/${path}`
const tableAt = (name: string, location: string, more: Partial<Table> = {}): Table => ({
  database: 'default',
  name,
  type: 'EXTERNAL_TABLE',
  columns: [{ name: 'id', type: 'int' }],
  partitionKeys: [],
  storage: plainStorage(location),
  parameters: {},
  ...more,
})

for (const release of Object.keys(metastoreReleases) as MetastoreRelease[]) {
  const missing = noMetastore(release)
  const isOfRelease2 = release === '2.3.9'
  let metastore: HiveMetastore
  if (missing === undefined) {
    beforeAll(async () => {
      metastore = await startMetastore(release)
    })
    afterAll(() => metastore?.[Symbol.asyncDispose]())
  }
  testCatalog({
    name: `Hive ${release}`,
    missing,
    open: () => openOf(metastore),
    locationOf,
    // Each in the bytes of UTF-8 as long as Hive takes them.
    oddNames: ['select', 'x'.repeat(128), 'with_underscore', '1st'],
    // Materialized views have no sources in release 2, and of constraints it has keys alone.
    views: isOfRelease2 ? ['VIRTUAL_VIEW'] : ['VIRTUAL_VIEW', 'MATERIALIZED_VIEW'],
    managed: true,
    partitions: true,
    functions: true,
    constraints: !isOfRelease2,
    describesOnce: isOfRelease2,
    statistics: true,
    // What writes the log of 4.0.1 cannot be had.
    feed: release !== '4.0.1',
    // Such as take rows without buckets and ORC came with release 3.
    transactional: !isOfRelease2,
    renames: true,
    partitionStatistics: true,
    privileges: true,
  })

  metastoreTest(release, `Hive ${release}: roles are made, given and told`, async () => {
    const catalog = await openOf(metastore)
    const [privileges, writer] = [catalog.privileges!, catalog.writer!.privileges!]
    const [ada, analysts] = [
      { name: 'ada', type: 'user' },
      { name: 'analysts', type: 'role' },
    ] as const
    expect(await privileges.members!('readers', never)).toBeUndefined()
    await writer.roles!.create('readers', never)
    await writer.roles!.create('analysts', never)
    expect(await privileges.members!('readers', never)).toEqual([])
    for (const member of [ada, analysts]) await writer.roles!.add('readers', member, never)
    const members = await privileges.members!('readers', never)
    expect(members).toHaveLength(2)
    expect(members).toEqual(expect.arrayContaining([ada, analysts]))
    expect(await privileges.members!('Readers', never)).toEqual(members)
    const its = {
      principal: { name: 'readers', type: 'role' },
      privilege: 'SELECT',
      grantOption: false,
    } as const
    await catalog.writer!.createTable(tableAt('read', await locationOf(catalog, 'read')), never)
    const copied = { ...its, grantor: { name: 'root', type: 'user' } } as const
    await writer.grant({ database: 'default', name: 'read' }, [copied], never)
    // Who grants it is the user of the catalog, whoever has at the source.
    const told = { ...its, grantor: { name: metastore.options.user, type: 'user' } }
    expect(await privileges.of({ database: 'default', name: 'read' }, never)).toEqual([told])
    catalog.close()
  })

  metastoreTest(
    release,
    `Hive ${release}: a hidden table gets its name with its partitions and files`,
    async () => {
      const catalog = await openOf(metastore)
      const { writer } = catalog
      for (const type of ['EXTERNAL_TABLE', 'MANAGED_TABLE'] as const) {
        const name = `seen_${type.toLowerCase()}`
        const location = await locationOf(catalog, name)
        const partitionKeys = [{ name: 'day', type: 'string' }]
        const seen = tableAt(name, location, { type, partitionKeys })
        const hidden = { ...seen, ...hiddenNameOf(seen) }
        const file = join(fileURLToPath(location), 'day=1', 'rows')
        mkdirSync(join(file, '..'), { recursive: true })
        writeFileSync(file, 'rows')
        await writer!.createTable(hidden, never)
        const day = { values: ['1'], columns: seen.columns, parameters: {} }
        const storage = plainStorage(`${location}/day=1`)
        await writer!.addPartitions(hidden, [{ ...day, storage }], never)
        await writer!.revealTable!(seen, never)
        expect(await catalog.table('default', name, never)).toMatchObject({ name, storage: { location } })
        expect(await catalog.table('default', hidden.name, never)).toBeUndefined()
        expect(await catalog.partitions(seen, ['day=1'], never)).toMatchObject([
          { values: ['1'], storage: { location: storage.location } },
        ])
        expect(existsSync(file)).toBe(true)
      }
      catalog.close()
    },
  )

  metastoreTest(release, `Hive ${release}: what the model has no word for stays as it is`, async () => {
    using writer = await MetastoreWriter.open(metastore.address)
    const catalog = await openOf(metastore)
    const location = await locationOf(catalog, 'kept')
    // `description` of a serde.
    const bytes = Buffer.from('\0\0\0\x04text')
    const described = { id: 4, wireType: 11, bytes }
    await writer.createTable({
      dbName: 'default',
      tableName: 'kept',
      tableType: 'EXTERNAL_TABLE',
      lastAccessTime: 12_345,
      parameters: new Map([
        ['EXTERNAL', 'TRUE'],
        ['numRows', '7'],
        ['old', 'one'],
      ]),
      sd: {
        cols: [{ name: 'id', type: 'int' }],
        location,
        numBuckets: -1,
        serdeInfo: { parameters: new Map(), [unnamed]: [described] },
      },
    })
    const before = await writer.table('default', 'kept')
    await catalog.writer!.alterTable(tableAt('kept', location, { parameters: { new: 'one' } }), never)
    const after = await writer.table('default', 'kept')
    expect(after.lastAccessTime).toBe(12_345)
    expect(after.createTime).toBe(before.createTime)
    expect(after.parameters?.get('numRows')).toBe('7')
    expect(after.parameters?.get('new')).toBe('one')
    expect(after.parameters?.has('old')).toBe(false)
    expect(after.sd?.serdeInfo?.[unnamed]?.find(({ id }) => id === 4)?.bytes).toEqual(
      before.sd?.serdeInfo?.[unnamed]?.find(({ id }) => id === 4)?.bytes,
    )
    catalog.close()
  })

  metastoreTest(
    release,
    `Hive ${release}: a batch of partitions whose folders are there already`,
    async () => {
      const catalog = await openOf(metastore)
      const { writer } = catalog
      const location = await locationOf(catalog, 'arrived')
      const partitionKeys = [{ name: 'day', type: 'string' }]
      await writer!.createTable(tableAt('arrived', location, { partitionKeys }), never)
      const days = Array.from(
        { length: partitionsAtOnce },
        (_, index) => `d${String(index).padStart(4, '0')}`,
      )
      const partitions = days.map((day) => ({
        values: [day],
        columns: [{ name: 'id', type: 'int' }],
        storage: plainStorage(`${location}/day=${day}`),
        parameters: {},
      }))
      for (const { storage } of partitions)
        mkdirSync(fileURLToPath(storage.location!.replace(/^file:\/*/, 'file:///')), { recursive: true })
      const name = { database: 'default', name: 'arrived' }
      await writer!.addPartitions(name, partitions, never)
      expect(await catalog.partitionNames(name, never)).toHaveLength(days.length)
      catalog.close()
    },
    120_000,
  )

  metastoreTest(release, `Hive ${release}: files are neither moved nor deleted nor counted`, async () => {
    const catalog = await openOf(metastore)
    const { writer } = catalog
    const location = await locationOf(catalog, 'files')
    const folder = (uri: string) => fileURLToPath(uri)
    const made = tableAt('files', location, { type: 'MANAGED_TABLE' })
    await writer!.createTable(made, never)
    writeFileSync(join(folder(location), 'data'), 'rows')
    await writer!.alterTable({ ...made, storage: plainStorage(`${location}-2`) }, never)
    expect(readdirSync(folder(location))).toEqual(['data'])
    await writer!.alterTable(made, never)
    const renamed = { ...made, name: 'files_2', storage: plainStorage(`${location}-2`) }
    await writer!.renameTable!(made, renamed, never)
    expect((await catalog.table('default', 'files_2', never))?.storage.location).toBe(`${location}-2`)
    expect(readdirSync(folder(location))).toEqual(['data'])
    // The server would move files to beside a new name.
    await expect(writer!.renameTable!(renamed, { ...renamed, name: 'files_3' }, never)).rejects.toMatchObject(
      { failure: 'unsupported' },
    )
    await writer!.renameTable!(renamed, made, never)
    expect(readdirSync(folder(location))).toEqual(['data'])
    expect(existsSync(folder(`${location}-2`))).toBe(false)
    await writer!.alterTable(made, never)
    using raw = await MetastoreWriter.open(metastore.address)
    expect((await raw.table('default', 'files')).parameters?.get('numFiles') ?? '0').toBe('0')
    await writer!.dropTable(made, never)
    expect(readdirSync(folder(location))).toEqual(['data'])
    await writer!.createTable(made, never)
    expect((await raw.table('default', 'files')).parameters?.has('numFiles')).toBe(false)
    expect((await raw.table('default', 'files')).parameters?.has('DO_NOT_UPDATE_STATS')).toBe(false)
    catalog.close()
  })

  metastoreTest(
    release,
    `Hive ${release}: what it will never take is refused, and not tried again`,
    async () => {
      const catalog = await openOf(metastore)
      const { writer } = catalog
      const made = tableAt('refused', await locationOf(catalog, 'refused'), {
        partitionKeys: [{ name: 'day', type: 'date' }],
      })
      expect(writer!.refuses({ ...made, type: 'INDEX_TABLE' })).toContain('INDEX_TABLE')
      expect(writer!.refuses({ ...made, type: 'VIRTUAL_VIEW' })).toContain('text')
      expect(writer!.refuses({ ...made, name: 'x'.repeat(257) })).toContain('256')
      await writer!.createTable(made, never)
      const unsupported = { failure: 'unsupported', retryable: false }
      for (const odd of [{ name: 'größe' }, { name: 'x'.repeat(300) }])
        await expect(writer!.createTable({ ...made, ...odd }, never)).rejects.toMatchObject(unsupported)
      for (const change of [
        { partitionKeys: [{ name: 'other', type: 'date' }] },
        { columns: [{ name: 'id', type: 'array<int>' }] },
      ])
        await expect(writer!.alterTable({ ...made, ...change }, never)).rejects.toMatchObject(unsupported)
      catalog.close()
    },
  )
}

metastoreTest('3.1.3', 'Hive 3.1.3: a table that is renamed is told by both names', async () => {
  await using metastore = await startMetastore('3.1.3')
  using writer = await MetastoreWriter.open(metastore.address)
  const catalog = await openOf(metastore)
  const made = tableAt('before', await locationOf(catalog, 'before'))
  await catalog.writer!.createTable(made, never)
  const begin = (await catalog.feed!.position(never))!
  const raw = await writer.table('default', 'before')
  await writer.alterTable('default', 'before', { ...raw, tableName: 'after' })
  const { changes } = await catalog.feed!.changes(begin, 10, never)
  expect(changes).toMatchObject([
    { database: 'default', table: 'before', isGone: true },
    { database: 'default', table: 'after', renamedFrom: { database: 'default', name: 'before' } },
  ])
  catalog.close()
})

/** A metastore that shares half a core starts in half a minute. */
const restartMs = 180_000

metastoreTest(
  '3.1.3',
  'Hive 3.1.3: changes that were deleted from the log are a gap',
  async () => {
    await using metastore = await startMetastore('3.1.3', { 'metastore.event.db.listener.timetolive': '1s' })
    const catalog = await openOf(metastore)
    const begin = (await catalog.feed!.position(never))!
    await catalog.writer!.createTable(tableAt('one', await locationOf(catalog, 'one')), never)
    expect((await catalog.feed!.changes(begin, 10, never)).changes).toHaveLength(1)
    await metastore.kill()
    await metastore.restart()
    // It deletes what is older than a second when it starts.
    await until('the change is deleted', () =>
      catalog.feed!.changes(begin, 10, never).then(
        () => false,
        (error: { failure?: string }) => error.failure === 'gone',
      ),
    )
    const now = (await catalog.feed!.position(never))!
    expect(await catalog.feed!.changes(now, 10, never)).toEqual({ changes: [], position: now, behind: 0 })
    catalog.close()
  },
  restartMs,
)

metastoreTest('4.0.1', 'Hive 4.0.1: without a log there is no position', async () => {
  await using metastore = await startMetastore('4.0.1', {
    'metastore.metadata.transformer.class': 'org.apache.hadoop.hive.metastore.MetastoreDefaultTransformer',
    'metastore.metastore.event.db.notification.api.auth': 'true',
  })
  const catalog = await openOf(metastore)
  expect(await catalog.feed!.position(never)).toBeUndefined()
  await expect(catalog.feed!.changes('0', 10, never)).rejects.toMatchObject({
    failure: 'permission',
    message: expect.stringContaining('hadoop.proxyuser') as string,
  })

  // What it makes of managed tables by its own rules stands for what was asked for.
  using writer = await MetastoreWriter.open(metastore.address)
  const made = tableAt('own', await locationOf(catalog, 'own'), {
    type: 'MANAGED_TABLE',
    parameters: { a: 'b' },
  })
  await catalog.writer!.createTable(made, never)
  expect(await writer.table('default', 'own')).toMatchObject({ tableType: 'EXTERNAL_TABLE' })
  const told = (await catalog.table('default', 'own', never))!
  expect(told.type).toBe('MANAGED_TABLE')
  expect(Object.keys(told.parameters).filter((name) => !catalog.writer!.isOwnParameter(name))).toEqual(['a'])
  await catalog.writer!.alterTable({ ...made, parameters: { a: 'c' } }, never)
  const raw = await writer.table('default', 'own')
  expect(raw.tableType).toBe('EXTERNAL_TABLE')
  expect(raw.parameters?.get('TRANSLATED_TO_EXTERNAL')).toBe('TRUE')
  expect(raw.parameters?.get('a')).toBe('c')
  const transactional = { transactional: 'true', transactional_properties: 'insert_only' }
  const rows = { ...made, name: 'rows', storage: plainStorage(undefined), parameters: transactional }
  await catalog.writer!.createTable(rows, never)
  expect(await catalog.table('default', 'rows', never)).toMatchObject({
    type: 'MANAGED_TABLE',
    parameters: transactional,
  })
  catalog.close()
})
