import { expect, test } from 'vitest'
import type { CatalogChange } from '../../../../services/metadata/catalogs/contract/catalog.ts'
import { StoreError } from '../../../../services/drivers/contract/store-error.ts'
import type { Known, Outcome } from '../../../../services/metadata/migrations/reconcile/objects.ts'
import type { TableWork } from '../../../../services/metadata/migrations/reconcile/questions.ts'
import { startRun } from '../../../support/metadata-run.ts'
import { until } from '../../../support/until.ts'

const table = { kind: 'table', database: 'a', name: 't' } as const
const view = { ...table, kind: 'view' } as const
const change: CatalogChange = { database: 'a', table: 't', atMs: Date.now() }

const gone: CatalogChange = { ...change, isGone: true }

const arrivedAs = (digest: string) =>
  ({ result: 'created', settled: { wanted: digest, is: digest } }) as const
const failed = {
  result: 'failed',
  failure: { failureClass: 'gone', message: 'its partitions are gone' },
  isWritten: true,
} as const

test.concurrent(
  'what was written half stays the own work of the migration while it is neither dropped nor brought',
  async () => {
    await using run = await startRun({
      brought: [
        { ...table, ...failed },
        { ...table, result: 'gone' },
        { ...view, ...arrivedAs('view') },
      ],
      // The source has something by its name again.
      dropped: [{ ...table, result: 'kept' }],
      told: [[gone], [change]],
    })
    await until('the view has arrived', async () =>
      (await run.objects()).some(({ kind, state }) => kind === 'view' && state === 'arrived'),
    )
    expect(run.asked.map(({ known }) => known)).toEqual([{}, { inHand: true }, { inHand: true }])
  },
)

test.concurrent(
  'a view that takes the place of a table is known by what it is, and counted once',
  async () => {
    await using run = await startRun({
      brought: [
        { ...table, ...arrivedAs('table'), partitions: 3 },
        { ...view, ...arrivedAs('view') },
        { ...view, result: 'changed', settled: { wanted: 'altered', is: 'altered' } },
      ],
      dropped: [{ ...table, result: 'kept' }],
      told: [[change], [change]],
    })
    await until('the altered view', async () => (await run.objects()).some(({ is }) => is === 'altered'))
    expect(run.asked.map(({ known }) => known)).toEqual([
      {},
      { wanted: 'table', is: 'table' },
      { wanted: 'view', is: 'view' },
    ])
    const [one, other, ...more] = (await run.objects()).toSorted((a, b) => a.kind.localeCompare(b.kind))
    expect([one, other, ...more]).toMatchObject([{ kind: 'database' }, { kind: 'view', is: 'altered' }])
    await until('its figures', async () => (await run.progress())?.figures.partitions === 0)
    expect((await run.progress())?.figures).toMatchObject({
      databases: 1,
      tables: 1,
      partitions: 0,
      failed: 0,
    })
  },
)

test.concurrent(
  'of a batch that breaks off, only what was about to be written is taken for half done',
  async () => {
    const theirs = { ...table, name: 'theirs' }
    const asked: (readonly [string, Known])[] = []
    let inHand: readonly string[] | undefined
    await using run = await startRun(
      {},
      {
        tables: () => ({ tables: [table, theirs].map(({ name }) => ({ name, type: 'EXTERNAL_TABLE' })) }),
        'bring-tables': ({ tables }) => {
          asked.push(...tables.map(({ name, known }) => [name, known] as const))
          const outcomeOf = ({ name, known: { inHand = false } }: TableWork): Outcome => {
            if (name === 'theirs')
              return { ...theirs, result: 'conflict', message: 'somebody else has made it' }
            return inHand ? { ...table, ...arrivedAs('table') } : { ...table, result: 'to-be-noted' }
          }
          const [first] = tables
          if (first?.known.isNoted === true && first.known.inHand === undefined)
            throw new StoreError('unreachable', 'the answer got lost')
          return { outcomes: tables.map(outcomeOf), left: [] }
        },
        changes: () => ({ isGap: false, changes: [], position: '1', behind: 0 }),
      },
    )
    await until('the answer has got lost', async () => {
      inHand = await run.inHand()
      return inHand?.length === 1
    })
    expect(inHand).toEqual(['table/a/t'])
    await until('the table has arrived', async () =>
      (await run.objects()).some(({ name, state }) => name === 't' && state === 'arrived'),
    )
    const isNoted = true
    expect(asked).toEqual([
      ['t', {}],
      ['theirs', {}],
      ['t', { isNoted }],
      ['t', { inHand: true, isNoted }],
      ['theirs', {}],
    ])
    await until('nothing is in hand', async () => (await run.inHand())?.length === 0)
  },
)

test.concurrent(
  'what a catalog may do late, as nobody has heard its answer, is looked at once more before it is out of hand',
  async () => {
    let isLost = false
    const known: Known[] = []
    await using run = await startRun(
      { lateMs: 2_000, told: [[gone]] },
      {
        'bring-tables': ({ tables }) => {
          known.push(...tables.map((one) => one.known))
          if (isLost) return { outcomes: [{ ...table, result: 'gone' }], left: [] }
          if (tables[0]?.known.isNoted !== true)
            return { outcomes: [{ ...table, result: 'to-be-noted' }], left: [] }
          isLost = true
          throw new StoreError('unreachable', 'the answer got lost')
        },
      },
    )
    await until('it is dropped', () => run.askedToDrop.length === 1)
    // It was made only after that.
    await until('it is dropped once more', () => run.askedToDrop.length === 2)
    expect(run.askedToDrop).toEqual(['t', 't'])
    await until('nothing is in hand', async () => (await run.inHand())?.length === 0)
  },
)

test.concurrent(
  'what has arrived is looked at once more too, and is not taken for half done then',
  async () => {
    const asked: Known[] = []
    await using run = await startRun(
      { lateMs: 2_000 },
      {
        'bring-tables': ({ tables }) => {
          const known: Known = tables[0]?.known ?? {}
          asked.push(known)
          if (known.is !== undefined)
            return {
              outcomes: [{ ...table, result: 'same', settled: { wanted: 'table', is: 'table' } }],
              left: [],
            }
          if (known.isNoted !== true) return { outcomes: [{ ...table, result: 'to-be-noted' }], left: [] }
          if (known.inHand !== true) throw new StoreError('unreachable', 'the answer got lost')
          return { outcomes: [{ ...table, ...arrivedAs('table') }], left: [] }
        },
      },
    )
    await until('it has arrived', async () =>
      (await run.objects()).some(({ name, state }) => name === 't' && state === 'arrived'),
    )
    const before = asked.length
    await until('it is looked at once more', () => asked.length > before)
    expect(asked.at(-1)).toEqual({ wanted: 'table', is: 'table' })
  },
)

test.concurrent('what waits for its files waits, whatever else is to be noted of it', async () => {
  const waiting = 'partitions of it wait for their files'
  await using run = await startRun({
    brought: [
      {
        ...table,
        ...arrivedAs('table'),
        waiting,
        note: { failureClass: 'unsupported', message: 'the target has no privileges' },
      },
      { ...table, ...arrivedAs('table') },
    ],
  })
  await until('it is looked at again', () => run.asked.length > 1)
  await until('it has arrived', async () =>
    (await run.objects()).some(({ name, state }) => name === 't' && state === 'arrived'),
  )
})
