import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { createSealer } from '../../../../broker/identity/seal.ts'
import type { Catalog } from '../../../../services/metadata/catalogs/contract/catalog.ts'
import { Ends } from '../../../../services/metadata/migrations/ends.ts'
import type { MetadataMigrationRecord } from '../../../../services/metadata/migrations/record.ts'
import { ObjectBook } from '../../../../services/metadata/migrations/book.ts'
import type { Known, Outcome } from '../../../../services/metadata/migrations/reconcile/objects.ts'
import type { OnConflict } from '../../../../services/metadata/migrations/reconcile/reconcile.ts'
import { reconcileDatabase } from '../../../../services/metadata/migrations/reconcile/reconcile.ts'
import { reconcileTable } from '../../../../services/metadata/migrations/reconcile/reconcile-table.ts'
import { Sides, type SidesSpec } from '../../../../services/metadata/migrations/reconcile/sides.ts'
import type { Principal, Privilege } from '../../../../subjects/metadata/objects.ts'
import { DocumentLake } from '../../../support/document-lake.ts'
import { table } from '../catalogs/filesystem/document-catalog-suite.ts'

const never = new AbortController().signal
const database = 'sales'
const orders = { database, name: 'orders' }
const principal = (name: string, type: Principal['type'] = 'user'): Principal => ({ name, type })
const select = (to: Principal, more: Partial<Privilege> = {}): Privilege => ({
  principal: to,
  privilege: 'SELECT',
  grantOption: false,
  ...more,
})
const [ada, mallory, readers] = [principal('ada'), principal('mallory'), principal('readers', 'role')]
const textOf = (value: unknown) => JSON.stringify(value)

type Roles = Record<string, Principal[]>

/** Documents that have roles beside them, as metastores have. */
function withRoles(catalog: Catalog, roles: Roles): Catalog {
  const { place, writer, privileges } = catalog
  return {
    place,
    requirePlace: () => catalog.requirePlace(),
    probe: (signal) => catalog.probe(signal),
    version: (signal) => catalog.version(signal),
    databases: (signal) => catalog.databases(signal),
    database: (name, signal) => catalog.database(name, signal),
    tables: (name, signal) => catalog.tables(name, signal),
    table: (its, name, signal) => catalog.table(its, name, signal),
    partitionNames: (its, signal) => catalog.partitionNames(its, signal),
    partitions: (its, names, signal) => catalog.partitions(its, names, signal),
    close: () => catalog.close(),
    privileges: { ...privileges!, members: async (role) => roles[role] },
    writer: {
      refuses: (its) => writer!.refuses(its),
      isOwnParameter: (name) => writer!.isOwnParameter(name),
      createDatabase: (its, signal) => writer!.createDatabase(its, signal),
      alterDatabase: (its, signal) => writer!.alterDatabase(its, signal),
      dropDatabase: (name, signal) => writer!.dropDatabase(name, signal),
      createTable: (its, signal) => writer!.createTable(its, signal),
      alterTable: (its, signal) => writer!.alterTable(its, signal),
      dropTable: (its, signal) => writer!.dropTable(its, signal),
      addPartitions: (its, some, signal) => writer!.addPartitions(its, some, signal),
      alterPartitions: (its, some, signal) => writer!.alterPartitions(its, some, signal),
      dropPartitions: (its, names, signal) => writer!.dropPartitions(its, names, signal),
      privileges: {
        ...writer!.privileges!,
        roles: {
          create: async (role) => void (roles[role] = []),
          add: async (role, member) => void roles[role]!.push(member),
        },
      },
    },
  }
}

/** Both ends with a database, and the table at the source. */
class Scene implements Disposable {
  readonly #lake = new DocumentLake()
  readonly at: Record<'source' | 'target', Roles> = { source: {}, target: {} }
  source!: Catalog
  target!: Catalog

  static async of(source: Roles, target: Roles): Promise<Scene> {
    const scene = new Scene()
    for (const [side, roles] of [['source', source] as const, ['target', target] as const]) {
      scene.at[side] = roles
      scene[side] = withRoles(await scene.#lake.open(side, '/'), roles)
      await scene[side].writer!.createDatabase({ name: database, parameters: {} }, never)
    }
    await scene.source.writer!.createTable(table(database, 'orders'), never)
    return scene
  }

  /** What becomes of the table. */
  async bring(
    known: Known,
    onConflict: OnConflict = 'report',
    more: Partial<SidesSpec> = {},
  ): Promise<Outcome & { readonly settled?: Known; readonly note?: unknown }> {
    const asked = { ...orders, known, onConflict, gates: [], sinceMs: 0, counted: 0, maxDrops: 0 }
    const { outcome } = await reconcileTable(this.sides(more), { ...asked, isOver: () => false }, never)
    return outcome
  }

  sides(more: Partial<SidesSpec> = {}): Sides {
    return new Sides(this.source, this.target, {
      locations: { from: [], to: undefined, mappings: [] },
      statistics: 'none',
      privileges: 'own',
      ...more,
    })
  }

  /** What is granted at the target. */
  granted(): Promise<readonly Privilege[]> {
    return this.target.privileges!.of(orders, never)
  }

  [Symbol.dispose](): void {
    this.source.close()
    this.target.close()
    this.#lake[Symbol.dispose]()
  }
}

const own: Known = { isNoted: true }

test('a role that the migration creates gets its members, and one that was there gets nobody', async () => {
  const staff = principal('staff', 'role')
  using scene = await Scene.of(
    { readers: [ada, staff], staff: [mallory], writers: [mallory] },
    { staff: [ada], writers: [principal('grace')] },
  )
  const grants = [select(readers), select(principal('writers', 'role'), { privilege: 'INSERT' })]
  await scene.source.writer!.privileges!.grant(orders, grants, never)
  const outcome = await scene.bring(own)
  expect(scene.at.target).toEqual({
    readers: [ada, staff],
    staff: [ada],
    writers: [principal('grace')],
  })
  expect(await scene.granted()).toEqual(expect.arrayContaining(grants))
  expect(outcome).toMatchObject({
    result: 'created',
    note: {
      failureClass: 'permission',
      message:
        'members of roles that were at the target before differ: staff lacks user mallory, staff also has user ada, writers lacks user mallory, writers also has user grace; the migration does not change them: add or remove them at the target',
    },
  })
  // The next table of the same roles says so as well.
  const sides = scene.sides()
  for (const _ of [1, 2]) {
    const asked = { ...orders, onConflict: 'report' as const, gates: [], sinceMs: 0, counted: 0, maxDrops: 0 }
    const known = outcome.settled!
    const { outcome: again } = await reconcileTable(sides, { ...asked, known, isOver: () => false }, never)
    expect(again).toMatchObject({ result: 'same', note: { failureClass: 'permission' } })
  }
})

test('of many members that differ, some are named', async () => {
  const many = Array.from({ length: 12 }, (_, index) => principal(`user${index}`))
  using scene = await Scene.of({ readers: many }, { readers: [] })
  await scene.source.writer!.privileges!.grant(orders, [select(readers)], never)
  expect(await scene.bring(own)).toMatchObject({
    note: { message: expect.stringMatching(/readers lacks user user9 and 2 more; the migration/) as string },
  })
})

test('built-in roles get nobody, however they are written', async () => {
  const builtIn = ['Admin', 'PUBLIC', 'admin']
  using scene = await Scene.of(Object.fromEntries(builtIn.map((role) => [role, [mallory]])), {})
  await scene.source.writer!.privileges!.grant(
    orders,
    builtIn.map((role) => select(principal(role, 'role'))),
    never,
  )
  await scene.bring(own)
  expect(scene.at.target).toEqual({})
})

test('a plan and a verification name the roles that would be created, and their members', async () => {
  using scene = await Scene.of({ readers: [ada], writers: [mallory] }, { writers: [] })
  const grants = [select(readers), select(principal('writers', 'role'))]
  await scene.source.writer!.privileges!.grant(orders, grants, never)
  await scene.source.writer!.privileges!.grant({ database }, [select(readers)], never)
  const created = [
    { field: 'roles', wanted: 'readers' },
    { field: 'roles.readers.members', wanted: textOf(ada) },
  ]
  const left = { field: 'roles.writers.members', wanted: textOf(mallory) }
  for (const onConflict of ['report', 'overwrite'] as const) {
    const its = await scene.bring({}, onConflict, { isDry: true })
    expect(its).toMatchObject({ result: 'created', note: { failureClass: 'permission' } })
    const privileges = grants.map(() => ({ field: 'privileges', wanted: expect.any(String) as string }))
    expect('differences' in its && its.differences).toEqual([...created, ...privileges, left])
  }
  const known = { is: 'ours' }
  const its = await reconcileDatabase(scene.sides({ isDry: true }), database, known, 'overwrite', never)
  expect(its).toMatchObject({ result: 'changed', differences: [...created, { field: 'privileges' }] })
  expect(scene.at.target).toEqual({ writers: [] })
})

test('privileges of an object that another program made stay, until onConflict is overwrite', async () => {
  using scene = await Scene.of({ readers: [mallory] }, {})
  const { writer } = scene.target
  await writer!.createTable(table(database, 'orders'), never)
  const theirs = [select(ada)]
  for (const object of [orders, { database }]) {
    await writer!.privileges!.grant(object, theirs, never)
    await scene.source.writer!.privileges!.grant(object, [select(readers), select(mallory)], never)
  }
  const note = {
    failureClass: 'permission',
    message:
      'another program created it at the target, and its privileges differ (2 missing, 1 only there): they are not changed unless onConflict is overwrite, or both become equal',
  }
  const first = await scene.bring(own)
  expect(first).toMatchObject({ result: 'same', note })
  expect(first).not.toHaveProperty('differences')
  // What the migration knows of it by now does not make it its own, nor does a process that ended.
  for (const known of [first.settled!, { ...first.settled!, inHand: true }])
    expect(await scene.bring(known)).toMatchObject({ result: 'same', note })
  const inDatabase = await reconcileDatabase(scene.sides(), database, own, 'report', never)
  expect(inDatabase).toMatchObject({ result: 'same', note })
  expect(await scene.granted()).toEqual(theirs)
  expect(await scene.target.privileges!.of({ database }, never)).toEqual(theirs)
  expect(scene.at.target).toEqual({})

  // A verification compares whatever is there, as if it were to be overwritten, and knows whose it is.
  for (const [known, onConflict] of [
    [{}, 'report'],
    [first.settled!, 'overwrite'],
  ] as const) {
    const told = await scene.bring(known, onConflict, { isDry: true })
    expect(told).toMatchObject({ result: 'same', note })
    expect('differences' in told && told.differences).toHaveLength(3)
  }

  await scene.source.writer!.alterTable({ ...table(database, 'orders'), parameters: { a: 'b' } }, never)
  const altered = await scene.bring({ ...first.settled!, isNoted: true })
  expect(altered).toMatchObject({ result: 'changed', note })
  expect(await scene.granted()).toEqual(theirs)
  const replaced = await scene.bring(altered.settled!, 'overwrite', { privileges: 'all' })
  expect(replaced).toMatchObject({ result: 'same' })
  expect(replaced.note).toBeUndefined()
  expect(await scene.granted()).toEqual([select(mallory), select(readers)])
  // It is the migration's own from then on.
  await writer!.privileges!.grant(orders, theirs, never)
  expect((await scene.bring(replaced.settled!)).note).toBeUndefined()
  expect(await scene.granted()).toEqual([select(mallory), select(readers)])
})

test.each([
  [undefined, 'overwrite', 'none'],
  [true, 'report', 'own'],
  [true, 'overwrite', 'all'],
] as const)('privileges %s with onConflict %s are those of %s', async (privileges, onConflict, expected) => {
  const options = { metastoreUris: 'thrift://metastore:9083', defaultFsOverride: 'hdfs://nameservice' }
  const catalogs = { get: async (catalogId: string) => ({ catalogId, kind: 'hive', options }) }
  const ends = new Ends(
    undefined as never,
    catalogs as never,
    createSealer({ derive: () => randomBytes(32) }),
  )
  const record = { source: 'here', target: 'there', onConflict, privileges } as MetadataMigrationRecord
  expect(await ends.sidesOf(record)).toMatchObject({ onConflict, privileges: expected })
})

test('whose an object is stays known while it is stored', async () => {
  const stored = new Map<string, unknown>()
  const records = {
    listGroup: async () => [...stored.values()],
    put: async (key: string, record: unknown) => void stored.set(key, record),
  }
  const book = await ObjectBook.open(records as never, 'id')
  const id = { kind: 'table', ...orders } as const
  const settled = { wanted: 'one', is: 'one', isTheirs: true } as const
  const take = (outcome: object) =>
    book.take(
      [{ ...id, ...outcome } as Outcome],
      () => 0,
      () => undefined,
    )
  await take({ result: 'same', settled })
  await take({ result: 'conflict', message: 'another program changed it' })
  expect(book.knownOf(id)).toEqual(settled)
  expect((await ObjectBook.open(records as never, 'id')).knownOf(id)).toEqual(settled)
  const failure = { failureClass: 'changed', message: 'too many drops' }
  await take({ result: 'held', failure, settled: { wanted: 'two', is: 'two' } })
  expect(book.knownOf(id)).toEqual({ wanted: 'two', is: 'two' })
})

test('grantors are not copied to a catalog that has its own', async () => {
  using scene = await Scene.of({}, {})
  const { grantor: _, ...plain } = select(ada, { grantor: mallory })
  const { privileges } = scene.target.writer!
  const { writer, ...target } = scene.target
  const held = ({ grantor: _grantor, ...rest }: Privilege): Privilege => rest
  scene.target = { ...target, writer: { ...writer!, privileges: { ...privileges!, held } } }
  const given = [select(ada, { grantor: mallory }), select(ada, { grantor: principal('grace') })]
  await scene.source.writer!.privileges!.grant(orders, given, never)
  const outcome = await scene.bring(own)
  expect(await scene.granted()).toEqual([plain])
  // Nothing differs but who has granted it.
  await scene.target.writer!.privileges!.revoke(orders, [plain], never)
  const theirs = [{ ...plain, grantor: principal('hive') }]
  await scene.target.writer!.privileges!.grant(orders, theirs, never)
  await scene.bring(outcome.settled!)
  expect(await scene.granted()).toEqual(theirs)
})

test('a table whose partitions may have privileges of their own is not said to have arrived whole', async () => {
  using scene = await Scene.of({}, {})
  const its = (await scene.source.table(database, 'orders', never))!
  const parameters = { ...its.parameters, PARTITION_LEVEL_PRIVILEGE: 'TRUE' }
  await scene.source.writer!.alterTable({ ...its, parameters }, never)
  expect((await scene.bring({ isNoted: true })).note).toMatchObject({
    failureClass: 'unsupported',
    message: expect.stringContaining('PARTITION_LEVEL_PRIVILEGE') as string,
  })
  expect((await scene.bring({ inHand: true }, 'report', { privileges: 'none' })).note).toBeUndefined()
})
