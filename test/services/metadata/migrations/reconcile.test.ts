import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { work } from '../../../../services/metadata/migrations/reconcile/questions.ts'
import { noConstraints } from '../../../../services/metadata/catalogs/filesystem/writer.ts'
import type { Table } from '../../../../subjects/metadata/objects.ts'
import { DocumentLake } from '../../../support/document-lake.ts'
import { workSides } from '../../../support/document-work.ts'
import { table } from '../catalogs/filesystem/document-catalog-suite.ts'

const never = new AbortController().signal
const database = 'sales'

async function lakeWith(tables: { readonly source: readonly Table[]; readonly target: readonly Table[] }) {
  const lake = new DocumentLake()
  for (const side of ['source', 'target'] as const) {
    const { writer } = await lake.open(side, '/')
    await writer!.createDatabase({ name: database, parameters: {} }, never)
    for (const one of tables[side]) await writer!.createTable(one, never)
  }
  return lake
}

const bring = async (lake: DocumentLake, works: Readonly<Record<string, object>>) => {
  const tables = Object.entries(works).map(([name, known]) => ({ name, known, sinceMs: 0 }))
  const asked = { database, tables, gates: [], maxDrops: 0 }
  const answer = await work({ kind: 'bring-tables', sides: workSides(lake), ...asked })
  return 'outcomes' in answer ? answer.outcomes.map(({ name, result }) => [name, result]) : []
}

test('nothing is written before it is noted, and what somebody else has made is not to be', async () => {
  const theirs = { ...table(database, 'theirs'), parameters: { comment: 'made by somebody else' } }
  using lake = await lakeWith({
    source: [table(database, 'mine'), table(database, 'theirs')],
    target: [theirs],
  })
  const target = await lake.open('target', '/')
  expect(await bring(lake, { mine: {}, theirs: {} })).toEqual([
    ['mine', 'to-be-noted'],
    ['theirs', 'conflict'],
  ])
  expect(await target.table(database, 'mine', never)).toBeUndefined()
  expect(await bring(lake, { mine: { isNoted: true } })).toEqual([['mine', 'created']])

  const dropped = async (known: object) => {
    const objects = [{ id: { kind: 'table', database, name: 'old' } as const, known }]
    return work({ kind: 'drop', sides: workSides(lake), objects })
  }
  const old = table(database, 'old')
  await target.writer!.createTable(old, never)
  expect(await dropped({})).toMatchObject({ outcomes: [{ result: 'conflict' }] })
  expect(await dropped({ isNoted: true })).toMatchObject({ outcomes: [{ result: 'conflict' }] })
  expect(await target.table(database, 'old', never)).toBeDefined()
})

test('a function that cannot be read at the target fails alone', async () => {
  using lake = await lakeWith({ source: [], target: [] })
  for (const side of ['source', 'target'] as const) {
    const { writer } = await lake.open(side, '/')
    const functions = side === 'source' ? ['broken', 'square'] : ['broken', 'old']
    for (const name of functions)
      await writer!.functions!.create({ database, name, className: 'a.B', resources: [] }, never)
  }
  writeFileSync(join(lake.root, 'target', database, 'functions', 'broken.json'), '{')
  const known = { broken: { inHand: true }, square: { isNoted: true } }
  const unreadable = {
    name: 'broken',
    result: 'failed',
    failure: { failureClass: 'io', message: expect.stringContaining('it is not valid JSON') },
  }
  expect(await work({ kind: 'bring-functions', sides: workSides(lake), database, known })).toMatchObject({
    outcomes: [unreadable, { name: 'square', result: 'created' }],
  })
  // What stands beside it is dropped all the same.
  const [old, broken] = ['old', 'broken'].map((name) => ({ kind: 'function', database, name }) as const)
  const inHand = { inHand: true }
  const drop = (objects: object[]) =>
    work({ kind: 'drop', sides: workSides(lake), objects: objects as never })
  expect(await drop([{ id: old, known: inHand }])).toMatchObject({ outcomes: [{ result: 'dropped' }] })
  const { writer } = await lake.open('source', '/')
  await writer!.functions!.drop(database, 'broken', never)
  expect(await drop([{ id: broken, known: inHand }])).toMatchObject({ outcomes: [unreadable] })
})

test('privileges become those of the source where that is asked for, and are told where they differ', async () => {
  const [mine, theirs] = [table(database, 'mine'), { database, name: 'mine' }]
  using lake = await lakeWith({ source: [mine], target: [] })
  const [source, target] = [await lake.open('source', '/'), await lake.open('target', '/')]
  const read = { privilege: 'SELECT', grantOption: false }
  const [ada, grace] = (['ada', 'grace'] as const).map((name) => ({
    ...read,
    principal: { name, type: 'user' as const },
  }))
  await source.writer!.privileges!.grant(theirs, [ada!], never)
  await source.writer!.privileges!.grant({ database }, [ada!], never)
  const sides = workSides(lake)
  const tables = (known: object) => ({
    kind: 'bring-tables' as const,
    database,
    tables: [{ name: 'mine', known, sinceMs: 0 }],
    gates: [],
    maxDrops: 0,
  })
  // They are the migration's own.
  const inHand = { inHand: true }
  const its = { kind: 'bring-database' as const, database, known: inHand }
  await work({ ...tables({ isNoted: true }), sides })
  expect(await target.privileges!.of(theirs, never)).toEqual([])

  const withPrivileges = { ...sides, privileges: 'own' } as const
  const dry = { ...withPrivileges, isDry: true }
  const wanted = expect.stringContaining(`"name":"ada"`) as string
  const differences = [{ field: 'privileges', wanted }]
  for (const question of [its, tables(inHand)])
    expect(await work({ ...question, sides: dry })).toMatchObject({
      outcomes: [{ result: 'changed', differences }],
    })
  expect(await target.privileges!.of(theirs, never)).toEqual([])

  await target.writer!.privileges!.grant(theirs, [grace!], never)
  for (const question of [its, tables(inHand)]) {
    expect(await work({ ...question, sides: withPrivileges })).toMatchObject({
      outcomes: [{ result: 'same' }],
    })
    expect(await work({ ...question, sides: dry })).toMatchObject({
      outcomes: [{ result: 'same', differences: [] }],
    })
  }
  expect(await target.privileges!.of(theirs, never)).toEqual([ada])
  expect(await target.privileges!.of({ database }, never)).toEqual([ada])
})

test('a verification tells constraints that differ', async () => {
  const [mine, its] = [table(database, 'mine'), { database, name: 'mine' }]
  using lake = await lakeWith({ source: [mine], target: [mine] })
  const { writer } = await lake.open('source', '/')
  const unique = [{ name: 'u', columns: ['id'], enabled: false, validated: false, rely: true }]
  await writer!.constraints!.add(its, { ...noConstraints, unique }, never)
  const question = { kind: 'bring-tables' as const, database, gates: [], maxDrops: 0 }
  const tables = [{ name: 'mine', known: {}, sinceMs: 0 }]
  expect(await work({ ...question, tables, sides: { ...workSides(lake), isDry: true } })).toMatchObject({
    outcomes: [{ result: 'changed', differences: [{ field: 'constraints' }] }],
  })
})
