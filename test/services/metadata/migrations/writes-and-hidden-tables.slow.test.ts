import { expect, test } from 'vitest'
import { StoreError } from '../../../../services/drivers/contract/store-error.ts'
import type { CatalogChange } from '../../../../services/metadata/catalogs/contract/catalog.ts'
import type { TableWork } from '../../../../services/metadata/migrations/reconcile/questions.ts'
import { startRun } from '../../../support/metadata-run.ts'
import { until } from '../../../support/until.ts'

const table = { kind: 'table', database: 'a', name: 't' } as const
const settled = { wanted: 'digest', is: 'digest' }
const written = { upTo: 1 }

test.concurrent.for([
  ['new partitions', { partitions: ['day=1'] }, ['day=1']],
  ['a change of the table', {}, undefined],
] as const)('a table that waits for its latest writes is looked at for %s', async ([, about, partitions]) => {
  const change: CatalogChange = { database: 'a', table: 't', atMs: Date.now(), ...about }
  const waits = { waiting: 'its writes up to 2', isOfWrites: true, written } as const
  const asked: TableWork[] = []
  await using run = await startRun(
    { told: [[change]] },
    {
      'bring-tables': ({ tables }) => {
        asked.push(...tables)
        return { outcomes: [{ ...table, result: 'same', settled, ...waits }], left: [] }
      },
    },
  )
  await until('the change is told', () => run.isTold() && asked.length > 2)
  const [, ...later] = asked.map((one) => one.partitions)
  expect(later).toContainEqual([])
  expect(later).toContainEqual(partitions)
})

test.concurrent('a table of which something else has failed gets its later writes', async () => {
  const note = { failureClass: 'unsupported', message: 'no constraints' } as const
  const asked: TableWork[] = []
  await using _run = await startRun(
    {},
    {
      writes: () => ({ decided: [2] }),
      'bring-tables': ({ tables }) => {
        asked.push(...tables)
        const upTo = asked.length
        return { outcomes: [{ ...table, result: 'same', settled, note, written: { upTo } }], left: [] }
      },
    },
  )
  await until('it is looked at again', () => asked.length === 2)
  expect(asked[1]).toMatchObject({ written: { upTo: 1 } })
  // One of its partitions may have failed.
  expect(asked[1]?.partitions).toBeUndefined()
})

test.concurrent('what is made by a hidden name stays in hand until it has its own', async () => {
  const asked: TableWork[] = []
  await using run = await startRun(
    {},
    {
      'bring-tables': ({ tables }) => {
        asked.push(...tables)
        if (asked.length === 1) return { outcomes: [{ ...table, result: 'to-be-noted' }], left: [] }
        if (asked.length === 2)
          return {
            outcomes: [{ ...table, result: 'waiting', message: 'hidden', isHidden: true }],
            left: tables,
          }
        if (asked.length === 3)
          throw new StoreError('unreachable', 'it got its name, and the answer got lost')
        return { outcomes: [{ ...table, result: 'same', settled }], left: [] }
      },
    },
  )
  await until('it has arrived', async () =>
    (await run.objects()).some(({ name, state }) => name === 't' && state === 'arrived'),
  )
  expect(asked[3]?.known).toMatchObject({ inHand: true, isHidden: true })
  await until('nothing is in hand', async () => (await run.inHand())?.length === 0)
})

test.concurrent(
  'a table of which a part was brought when the target went away is brought as a whole',
  async () => {
    const asked: TableWork[] = []
    await using run = await startRun(
      {},
      {
        'bring-tables': ({ tables: [work] }) => {
          asked.push(work!)
          // The comparison is over by the time that its files are there.
          if (asked.length === 1)
            return { outcomes: [{ ...table, result: 'waiting', message: 'for its files' }], left: [] }
          if (asked.length === 2) {
            const waiting = '1000 of its partitions are there so far'
            const outcome = { ...table, result: 'created', settled, partitions: 1_000, waiting } as const
            return { outcomes: [outcome], left: [{ ...work!, after: 'day=999', counted: 1_000 }] }
          }
          if (asked.length === 3) throw new StoreError('unreachable', 'it is away for a moment')
          return { outcomes: [{ ...table, result: 'changed', settled, partitions: 2_500 }], left: [] }
        },
      },
    )
    await until('it has arrived', async () =>
      (await run.objects()).some(({ name, state }) => name === 't' && state === 'arrived'),
    )
    expect(asked).toHaveLength(4)
    expect(asked[3]?.after).toBeUndefined()
    expect(await run.objects()).toContainEqual(expect.objectContaining({ name: 't', partitions: 2_500 }))
  },
)
