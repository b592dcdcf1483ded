import { expect, onTestFinished, test, vi } from 'vitest'
import { StoreError } from '../../../../services/drivers/contract/store-error.ts'
import type { Catalog } from '../../../../services/metadata/catalogs/contract/catalog.ts'
import {
  beingDropped,
  hiddenNameOf,
  hiddenParameter,
} from '../../../../services/metadata/catalogs/hidden-tables.ts'
import {
  dropLeft,
  isRevealed,
  makeHidden,
  mostHiddenPartitions,
} from '../../../../services/metadata/migrations/reconcile/hidden.ts'
import {
  reconcileTable,
  type TableAsked,
} from '../../../../services/metadata/migrations/reconcile/reconcile-table.ts'
import { Sides } from '../../../../services/metadata/migrations/reconcile/sides.ts'
import type { Table } from '../../../../subjects/metadata/objects.ts'
import { Tables } from '../../../support/tables-in-memory.ts'
import { partition, table } from '../catalogs/filesystem/document-catalog-suite.ts'

const never = new AbortController().signal
const days = table('sales', 'days')
const all = Array.from({ length: 2_500 }, (_, index) => partition(`d${String(index).padStart(4, '0')}`))

function ends(others: Readonly<Record<string, string>> = {}) {
  const [source, target] = [new Tables(), new Tables()]
  source.put(days, all)
  const sides = new Sides(source as unknown as Catalog, target as unknown as Catalog, {
    locations: { from: [], to: undefined, mappings: [] },
    statistics: 'none',
    migration: 'ours',
    others,
  })
  const look = (of: Partial<TableAsked>) =>
    reconcileTable(
      sides,
      {
        database: days.database,
        name: days.name,
        known: { isNoted: true },
        onConflict: 'report',
        gates: [],
        sinceMs: 0,
        counted: 0,
        maxDrops: 0,
        isOver: () => false,
        ...of,
      },
      never,
    )
  return { source, target, sides, look }
}

const hiding = { isNoted: true, isHidden: true } as const

/** Ends after the first batch. */
async function begun() {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const its = ends()
  const isOver = () => vi.advanceTimersByTime(1) !== undefined
  const { outcome, after } = await its.look({ isOver })
  expect(outcome).toMatchObject({ result: 'waiting', isHidden: true, partitions: 1_000 })
  expect(await its.target.table('', days.name)).toBeUndefined()
  return { ...its, after, counted: 1_000 }
}

test('a table that is made again by its hidden name gets all of its partitions', async () => {
  const { target, look, after, counted } = await begun()
  target.has.clear()
  const { outcome } = await look({ known: hiding, after, counted })
  expect(outcome).toMatchObject({ result: 'created', partitions: 2_500 })
  expect([...target.has.keys()]).toEqual([days.name])
  expect(await target.partitionNames(days)).toHaveLength(2_500)
})

test('a table that others have made meanwhile as it is wanted gets all of its partitions, and nothing is left', async () => {
  const { target, look, after, counted } = await begun()
  target.put(days, [])
  const { outcome } = await look({ known: hiding, after, counted })
  expect(outcome).toMatchObject({ partitions: 2_500 })
  expect([...target.has.keys()]).toEqual([days.name])
  expect(await target.partitionNames(days)).toHaveLength(2_500)
})

test('one with more partitions than a metastore renames well has its name at once', async () => {
  const { source, target, look } = ends()
  const many = Array.from({ length: mostHiddenPartitions + 1 }, (_, index) => partition(`d${index}`))
  source.put(days, many)
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const isOver = () => vi.advanceTimersByTime(1) !== undefined
  const { outcome } = await look({ isOver })
  // Until the last of them is there, it is no table that has arrived.
  const waiting = '1000 of its partitions are there so far'
  expect(outcome).toMatchObject({ result: 'created', partitions: 1_000, waiting })
  expect([...target.has.keys()]).toEqual([days.name])
  source.put(days, many.slice(1))
  target.has.clear()
  expect((await look({ isOver })).outcome).toMatchObject({ result: 'waiting', isHidden: true })
})

test('what is left of hidden tables is dropped by who has made it, or by anybody where it was to be dropped', async () => {
  const { target, sides } = ends()
  await makeHidden(sides, days, never)
  const { name } = hiddenNameOf(days)
  const put = (its: string, parameters: Record<string, string>) =>
    target.put({ ...days, name: its, parameters: { ...days.parameters, ...parameters } }, [])
  put('theirs', { [hiddenParameter]: 'theirs' })
  put('dropping', { [hiddenParameter]: beingDropped })
  put('people', {})
  await dropLeft(sides, days.database, ['theirs', 'dropping', 'people', 'gone'], never)
  expect([...target.has.keys()]).toEqual([name, 'theirs', 'people'])
  await dropLeft(sides, days.database, [name], never)
  expect([...target.has.keys()]).toEqual(['theirs', 'people'])
})

test('a hidden table that cannot be dropped keeps no other from being dropped', async () => {
  const { target, sides } = ends()
  for (const name of ['refused', 'other'])
    target.put({ ...days, name, parameters: { [hiddenParameter]: 'ours' } }, [])
  const drop = target.writer.dropTable.bind(target.writer)
  target.writer.dropTable = async (one, signal) => {
    if (one.name === 'refused') throw new StoreError('permission', 'it may not be dropped')
    return drop(one, signal)
  }
  await expect(dropLeft(sides, days.database, ['refused', 'other'], never)).rejects.toMatchObject({
    failure: 'permission',
  })
  expect([...target.has.keys()]).toEqual(['refused'])
})

/** What another migration has made so far. */
async function begunByOther(its: ReturnType<typeof ends>) {
  const parameters = { ...days.parameters, [hiddenParameter]: 'theirs' }
  const hidden = { ...days, ...hiddenNameOf(days), parameters }
  its.target.put(hidden, [partition('other')])
  return { ...its, hidden }
}

test('a table that another migration makes waits for that, which goes on with it', async () => {
  const { target, look, hidden } = await begunByOther(ends({ theirs: 'first' }))
  expect((await look({})).outcome).toMatchObject({
    result: 'waiting',
    message: expect.stringContaining('the metadata migration first is creating this table'),
  })
  expect(await target.table('', hidden.name)).toEqual(hidden)
  expect([...target.has.keys()]).toEqual([hidden.name])
})

test('what another migration makes is not dropped by one that makes the table by its own name', async () => {
  const { source, target, look, hidden } = await begunByOther(ends({ theirs: 'first' }))
  source.put({ ...days, partitionKeys: [] }, [])
  expect((await look({ known: { isNoted: true, inHand: true } })).outcome).toMatchObject({
    result: 'created',
  })
  expect([...target.has.keys()].toSorted()).toEqual([days.name, hidden.name].toSorted())
})

test.each<['table' | 'partitions']>([['table'], ['partitions']])(
  'a table that another migration takes over while we make its %s is not given its name by us',
  async (made) => {
    const its = ends({ theirs: 'first' })
    const { target, look } = its
    const takeOver = async () => void (await begunByOther(its))
    if (made === 'table') {
      const ask = target.table
      let asked = 0
      target.table = async (_, name) => {
        const is = await ask(_, name)
        if (name === hiddenNameOf(days).name && asked++ === 0) await takeOver()
        return is
      }
    } else {
      const add = target.writer.addPartitions.bind(target.writer)
      target.writer.addPartitions = async (...args) => {
        await add(...args)
        await takeOver()
      }
    }
    expect((await look({})).outcome).toMatchObject({
      result: 'waiting',
      message: expect.stringContaining('the metadata migration first is creating this table'),
    })
    const { name } = hiddenNameOf(days)
    expect([...target.has.keys()]).toEqual([name])
    expect((await target.table('', name))?.parameters[hiddenParameter]).toBe('theirs')
  },
)

test('what a migration has left that is gone is made anew', async () => {
  const { target, look } = await begunByOther(ends({ another: 'second' }))
  expect((await look({})).outcome).toMatchObject({ result: 'created', partitions: all.length })
  expect([...target.has.keys()]).toEqual([days.name])
  expect(await target.partitionNames(days)).not.toContain('day=other')
})

test('a table that has got its name does not say any more that it was hidden', async () => {
  const { target, sides } = ends()
  await makeHidden(sides, days, never)
  expect((await target.table('', hiddenNameOf(days).name))?.parameters).toHaveProperty(
    [hiddenParameter],
    'ours',
  )
  await isRevealed(sides, undefined, days, never)
  expect((await target.table('', days.name))?.parameters).toEqual(days.parameters)
})

const view = { originalText: 'select 1', expandedText: 'select 1', rewriteEnabled: false }
const others: [string, Partial<Table>][] = [
  ['a view', { partitionKeys: [], type: 'VIRTUAL_VIEW', view }],
  ['a table without partitions', { partitionKeys: [] }],
]

test.for(others)('nothing is left of a hidden table that becomes %s', async ([, of]) => {
  const { source, target, look } = await begun()
  source.put({ ...days, ...of }, [])
  expect((await look({ known: hiding })).outcome).toMatchObject({ result: 'created' })
  expect([...target.has.keys()]).toEqual([days.name])
})

test('nothing is left of a hidden table of which nothing was stored', async () => {
  const { source, target, look } = await begun()
  source.put({ ...days, partitionKeys: [] }, [])
  expect((await look({ known: { inHand: true } })).outcome).toMatchObject({ result: 'created' })
  expect([...target.has.keys()]).toEqual([days.name])
})

test('a table without a location is made by its own name, as its folder has that name', async () => {
  const { source, target, look } = ends()
  const { location: _none, ...storage } = days.storage
  source.put({ ...days, storage }, all)
  const create = vi.spyOn(target.writer, 'createTable')
  expect((await look({})).outcome).toMatchObject({ result: 'created', partitions: 2_500 })
  expect(create.mock.calls.map(([{ name }]) => name)).toEqual([days.name])
})

const meanwhile: [string, Table | undefined][] = [
  ['makes', undefined],
  ['changes', { ...days, partitionKeys: [{ name: 'week', type: 'int' }] }],
]

test.for(meanwhile)(
  'a table that somebody %s while partitions are added to it stays theirs',
  async ([, before]) => {
    const { target, look, sides } = ends()
    if (before !== undefined) target.put(before, [])
    const theirs = { ...(before ?? days), parameters: { theirs: 'yes' } }
    const add = target.writer.addPartitions.bind(target.writer)
    target.writer.addPartitions = async (...asked) => {
      target.put(theirs, [])
      return add(...asked)
    }
    const is = before && sides.digest(before)
    const known = { isNoted: true, ...(is !== undefined && { wanted: is, is }) }
    const { outcome } = await look({ known })
    expect(outcome).toMatchObject({ result: 'conflict' })
    expect([...target.has.keys()]).toEqual([days.name])
    expect(await target.table('', days.name)).toBe(theirs)
  },
)
