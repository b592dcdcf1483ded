import { expect, test } from 'vitest'
import type { CatalogChange } from '../../../../services/metadata/catalogs/contract/catalog.ts'
import type { Outcome } from '../../../../services/metadata/migrations/reconcile/objects.ts'
import { startRun } from '../../../support/metadata-run.ts'
import { until } from '../../../support/until.ts'

const id = (name: string) => ({ kind: 'table', database: 'a', name }) as const
const settled = { wanted: 'digest', is: 'digest' }
const arrived = (name: string): Outcome => ({ ...id(name), result: 'created', settled })
const renamed = (name: string, before: string): Outcome => ({
  ...id(name),
  result: 'changed',
  settled,
  renamedFrom: { database: 'a', name: before },
})
const gone = (name: string): Outcome => ({ ...id(name), result: 'gone' })

const change = (table: string): CatalogChange => ({ database: 'a', table, atMs: 1 })
const drop = (table: string): CatalogChange => ({ ...change(table), isGone: true })
const rename = (before: string, name: string): CatalogChange[] => [
  drop(before),
  { ...change(name), renamedFrom: { database: 'a', name: before } },
]

type ScriptedRun = Awaited<ReturnType<typeof startRun>>

const names = async (run: ScriptedRun) =>
  (await run.objects()).flatMap(({ name }) => (name === undefined ? [] : [name])).toSorted()

/** What the table of the last question was, and was to be renamed from. */
const lastAsked = (run: ScriptedRun) => {
  const { name, renamedFrom } = run.asked.at(-1)!
  return { name, from: renamedFrom?.name, known: renamedFrom?.known }
}

test.concurrent('a table that gets its old name back while it is renamed is not made anew', async () => {
  const failure = { failureClass: 'gone', message: 'its partitions are gone' } as const
  await using run = await startRun({
    brought: [
      arrived('t'),
      gone('t'),
      // The target has renamed it; the source has not got it any more when its partitions are asked for.
      { ...id('u'), result: 'failed', failure, isWritten: true, renamedFrom: { database: 'a', name: 't' } },
      gone('u'),
      renamed('t', 'u'),
    ],
    told: [rename('t', 'u'), rename('u', 't')],
  })
  await until('both are told', () => run.isTold() && run.asked.length === 5)
  expect(run.asked[2]).toMatchObject({ name: 'u', renamedFrom: { name: 't', known: settled } })
  expect(lastAsked(run)).toEqual({ name: 't', from: 'u', known: { ...settled, inHand: true } })
  await until('its one name', async () => (await names(run)).join() === 't')
  expect(run.askedToDrop).toEqual([])
})

test.concurrent(
  'a table that is gone before its new name is told keeps its place at the target',
  async () => {
    await using run = await startRun({
      brought: [arrived('t'), gone('t'), gone('t'), renamed('u', 't')],
      told: [[change('t')], rename('t', 'u')],
    })
    await until('both are told', () => run.isTold() && run.asked.length === 4)
    expect(lastAsked(run)).toEqual({ name: 'u', from: 't', known: settled })
    await until('its one name', async () => (await names(run)).join() === 'u')
    expect(run.askedToDrop).toEqual([])
  },
)

test.concurrent(
  'a table that is renamed again before its first new name is looked at is renamed once',
  async () => {
    await using run = await startRun({
      brought: [arrived('t'), gone('t'), gone('u'), gone('u'), gone('u'), renamed('v', 't')],
      told: [rename('t', 'u'), rename('u', 'v')],
    })
    await until('its one name', async () => (await names(run)).join() === 'v')
    expect(lastAsked(run)).toEqual({ name: 'v', from: 't', known: settled })
    expect(run.askedToDrop).toEqual([])
  },
)

test.concurrent(
  'a table that is renamed and then dropped is dropped by the name that it has at the target',
  async () => {
    await using run = await startRun({
      brought: [arrived('t'), gone('t'), gone('u'), gone('u'), gone('u')],
      told: [rename('t', 'u'), [drop('u')]],
    })
    await until('nothing is left', async () => run.isTold() && (await names(run)).length === 0)
    expect(run.askedToDrop).toEqual(['t'])
  },
)

test.concurrent(
  'a table that is renamed and dropped at once is dropped by the name that it has at the target',
  async () => {
    await using run = await startRun({
      brought: [arrived('t'), gone('t'), gone('u')],
      told: [[...rename('t', 'u'), drop('u')]],
    })
    await until('nothing is left', async () => run.isTold() && (await names(run)).length === 0)
    expect(run.askedToDrop).toEqual(['t'])
  },
)

test.concurrent(
  'what is not renamed after all, but made by its new name once that is told of again, is dropped by its old one',
  async () => {
    const failed: Outcome = {
      ...id('u'),
      result: 'failed',
      failure: { failureClass: 'unsupported', message: 'the target knows no renames' },
    }
    await using run = await startRun({
      brought: [arrived('t'), gone('t'), failed, arrived('u')],
      told: [rename('t', 'u'), [change('u')]],
    })
    await until('its one name', async () => (await names(run)).join() === 'u')
    expect(run.askedToDrop).toEqual(['t'])
  },
)

test.concurrent(
  'what had the name before is dropped, though a table that got it has another one by now',
  async () => {
    const view = { ...id('u'), kind: 'view' } as const
    await using run = await startRun({
      brought: [
        arrived('t'),
        { ...view, result: 'created', settled },
        gone('u'),
        gone('t'),
        gone('u'),
        gone('u'),
      ],
      told: [
        [change('u')],
        // By the time that it is looked at, it is called v.
        [drop('u'), ...rename('t', 'u')],
        [drop('u')],
      ],
    })
    await until('nothing is left', async () => run.isTold() && (await names(run)).length === 0)
    expect(run.askedToDrop.toSorted()).toEqual(['t', 'u'])
  },
)

test.concurrent('a table that had the name of another before is not renamed from that one', async () => {
  await using run = await startRun({
    brought: [arrived('t'), arrived('u'), gone('u'), gone('t'), gone('v'), renamed('v', 't')],
    told: [[change('u')], [drop('u'), ...rename('t', 'u'), ...rename('u', 'v')]],
  })
  await until('all is told', () => run.isTold() && run.asked.length === 5)
  expect(lastAsked(run)).toMatchObject({ name: 'v', from: 't' })
})

test.concurrent('a table that is made by the old name of one that waits stays what it is', async () => {
  const waiting: Outcome = { ...id('u'), result: 'waiting', message: 'its files are on their way' }
  await using run = await startRun({
    brought: [arrived('t'), gone('t'), waiting, waiting, arrived('t'), arrived('u')],
    told: [rename('t', 'u'), [change('t')]],
  })
  await until('both are there', async () => run.isTold() && (await names(run)).join() === 't,u')
  await until('u is made', () => run.asked.length === 6)
  expect(lastAsked(run)).toEqual({ name: 'u', from: undefined, known: undefined })
  expect(run.askedToDrop).toEqual([])
})
