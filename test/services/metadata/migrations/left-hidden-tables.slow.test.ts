import { expect, test } from 'vitest'
import { StoreError } from '../../../../services/drivers/contract/store-error.ts'
import { hiddenNameOf } from '../../../../services/metadata/catalogs/hidden-tables.ts'
import { startRun } from '../../../support/metadata-run.ts'
import { until } from '../../../support/until.ts'

const table = { kind: 'table', database: 'a', name: 't' } as const
const hidden = hiddenNameOf(table).name

test.concurrent(
  'a hidden table that the rules match no more is dropped once nobody writes it late',
  async () => {
    const dropped: string[] = []
    let asked = 0
    await using run = await startRun(
      { lateMs: 1_000 },
      {
        tables: ({ side }) => ({
          tables: [{ name: side === 'target' ? hidden : 't', type: 'EXTERNAL_TABLE' }],
        }),
        'bring-tables': async ({ tables }) => {
          asked++
          if (asked === 1) return { outcomes: [{ ...table, result: 'to-be-noted' }], left: [] }
          if (asked === 2)
            return {
              outcomes: [{ ...table, result: 'waiting', message: 'hidden', isHidden: true }],
              left: tables,
            }
          await run.setRule({ ruleName: 'all', databasePattern: 'a', tablePattern: 'other' })
          throw new StoreError('unreachable', 'the target is away for a moment')
        },
        'drop-left': ({ names }) => {
          dropped.push(...names)
          return {}
        },
        changes: () => ({ isGap: false, changes: [], position: '1', behind: 0 }),
      },
    )
    await until('it is dropped', () => dropped.length > 0)
    expect(asked).toBe(3)
    await until('nothing is in hand', async () => (await run.inHand())?.length === 0)
  },
)

test.concurrent(
  'a database that the rules match no more is not forgotten before hidden tables in it are dropped',
  async () => {
    let asked = 0
    await using run = await startRun(
      { brought: [{ ...table, result: 'same', settled: { wanted: 'digest', is: 'digest' } }] },
      {
        tables: ({ side }) => ({
          tables: [{ name: side === 'target' ? hidden : 't', type: 'EXTERNAL_TABLE' }],
        }),
        'drop-left': () => {
          asked++
          // Of the second comparison the first try.
          if (asked === 2) throw new StoreError('unreachable', 'the target is away for a moment')
          return {}
        },
        changes: async () => {
          await run.setRule({ ruleName: 'all', databasePattern: 'other', tablePattern: '*' })
          return { isGap: true }
        },
      },
    )
    await until('it is asked again', () => asked === 3)
  },
)

/** A migration that has begun a table by its hidden name. */
async function begun(dropLeft: (names: readonly string[]) => void) {
  const run = await startRun(
    {},
    {
      tables: ({ side }) => ({
        tables: [{ name: side === 'target' ? hidden : 't', type: 'EXTERNAL_TABLE' }],
      }),
      'bring-tables': () => ({
        outcomes: [{ ...table, result: 'waiting', message: 'hidden', isHidden: true }],
        left: [],
      }),
      'drop-left': ({ names }) => {
        dropLeft(names)
        return {}
      },
    },
  )
  await until('it is begun', async () => (await run.objects()).some(({ isHidden }) => isHidden))
  return run
}

test.concurrent.each(['reset', 'delete'] as const)(
  'a %s drops the hidden table that a migration has begun, and forgets its objects',
  async (command) => {
    const dropped: string[] = []
    await using run = await begun((names) => dropped.push(...names))
    const { migrationName, handlers } = run
    const asked = { migrationName, forceStop: true }
    if (command === 'reset') await handlers.reset(asked, undefined as never)
    else await handlers.delete(asked, undefined as never)
    expect(dropped).toEqual([hidden])
    expect(await run.objects()).toEqual([])
  },
)

test.concurrent('a migration is deleted though its hidden table cannot be dropped', async () => {
  await using run = await begun(() => {
    throw new StoreError('unreachable', 'the target is away')
  })
  const { migrationName, handlers } = run
  await handlers.delete({ migrationName, forceStop: true }, undefined as never)
  expect(await run.objects()).toEqual([])
})
