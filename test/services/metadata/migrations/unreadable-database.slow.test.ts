import { expect, test } from 'vitest'
import { StoreError } from '../../../../services/drivers/contract/store-error.ts'
import type { ObjectKind } from '../../../../subjects/metadata/migrations.ts'
import { startRun } from '../../../support/metadata-run.ts'
import { until } from '../../../support/until.ts'

const settled = { wanted: 'digest', is: 'digest' }
const same = (kind: ObjectKind, database: string, name?: string) =>
  ({ kind, database, ...(name !== undefined && { name }), result: 'same', settled }) as const

test.concurrent.for(['tables', 'bring-functions'] as const)(
  'a database whose %s may not be read fails alone, and nothing of it is dropped',
  async (question) => {
    let isDenied = false
    let looks = 0
    const dropped: string[] = []
    const unlessDenied = <T>(asked: typeof question, database: string, answer: T): T => {
      if (isDenied && asked === question && database === 'closed')
        throw new StoreError('permission', 'user gantry may not read closed')
      return answer
    }
    await using run = await startRun(
      {},
      {
        databases: () => {
          looks += 1
          return { databases: ['closed', 'open'] }
        },
        'bring-database': ({ database }) => ({ outcomes: [same('database', database)] }),
        'bring-functions': ({ database }) =>
          unlessDenied('bring-functions', database, { outcomes: [same('function', database, 'f')] }),
        tables: ({ database }) =>
          unlessDenied('tables', database, { tables: [{ name: 't', type: 'EXTERNAL_TABLE' }] }),
        'bring-tables': ({ database, tables }) => ({
          outcomes: tables.map(({ name }) => same('table', database, name)),
          left: [],
        }),
        drop: ({ objects }) => {
          dropped.push(...objects.map(({ id }) => id.database))
          return { outcomes: [] }
        },
        // Everything is compared again and again.
        changes: () => ({ isGap: true }),
      },
    )
    const all = async () => (await run.objects()).length
    await until('everything has arrived', async () => (await all()) === 6)
    isDenied = true
    const closed = async () =>
      (await run.objects()).find(({ kind, database }) => kind === 'database' && database === 'closed')
    await until('it is told', async () => (await closed())?.state === 'failed')
    expect(await closed()).toMatchObject({
      failureClass: 'permission',
      message: 'user gantry may not read closed',
      is: 'digest',
    })
    const before = looks
    await until('it goes on', () => looks > before + 1)
    expect(await all()).toBe(6)
    expect(dropped).toEqual([])
    expect((await run.progress())?.reason).toBeUndefined()
    isDenied = false
    await until('it is whole again', async () => (await closed())?.state === 'arrived')
  },
)

test.concurrent('what a closed database is told to have lost stays until it is open', async () => {
  let isDenied = false
  let isGone = false
  let position = 1
  const dropped: string[] = []
  await using run = await startRun(
    {},
    {
      'bring-functions': () => {
        if (isDenied) throw new StoreError('permission', 'user gantry may not read a')
        return { outcomes: [same('function', 'a', 'f')] }
      },
      tables: () => ({ tables: isGone ? [] : [{ name: 't', type: 'EXTERNAL_TABLE' }] }),
      'bring-tables': () => ({
        outcomes: isGone
          ? [{ kind: 'table', database: 'a', name: 't', result: 'gone' }]
          : [same('table', 'a', 't')],
        left: [],
      }),
      drop: ({ objects }) => {
        dropped.push(...objects.map(({ id }) => id.database))
        return { outcomes: [] }
      },
      changes: () => ({
        isGap: false,
        changes: isDenied
          ? [
              { database: 'a', functions: true, atMs: Date.now() },
              { database: 'a', table: 't', isGone: true, atMs: Date.now() },
            ]
          : isGone
            ? [{ database: 'a', atMs: Date.now() }]
            : [],
        position: String(++position),
        behind: 0,
      }),
    },
  )
  await until('everything has arrived', async () => (await run.objects()).length === 3)
  isDenied = true
  isGone = true
  await until('it is told', async () =>
    (await run.objects()).some(({ kind, state }) => kind === 'database' && state === 'failed'),
  )
  const before = position
  await until('it goes on', () => position > before + 1)
  expect(dropped).toEqual([])
  expect(await run.objects()).toHaveLength(3)
  isDenied = false
  await until('it is dropped when the database is open again', () => dropped.length > 0)
  await until('all is told', async () => (await run.progress())?.figures.failed === 0)
})
