import { expect, test } from 'vitest'
import type { CatalogChange } from '../../../../services/metadata/catalogs/contract/catalog.ts'
import { startRun } from '../../../support/metadata-run.ts'
import { until } from '../../../support/until.ts'

const settled = { wanted: 'digest', is: 'digest' }
const database = { kind: 'database', database: 'a' } as const

test('what is told to be gone while its database is not there is dropped, though the database is made again before that is told', async () => {
  const about = (of: Partial<CatalogChange>): CatalogChange => ({ database: 'a', atMs: 1, ...of })
  const looks = ['same', 'gone', 'same'] as const
  let look = 0
  await using run = await startRun(
    {
      brought: [{ kind: 'table', database: 'a', name: 't', result: 'created', settled }],
      told: [
        [about({}), about({ table: 't', isGone: true }), about({ functions: true })],
        [about({ isGone: true }), about({})],
      ],
    },
    {
      'bring-database': () => {
        const result = looks[look++]
        return {
          outcomes: [result === 'same' ? { ...database, result, settled } : { ...database, result: 'gone' }],
        }
      },
      'bring-functions': () => ({
        outcomes: [{ ...database, kind: 'function', name: 'f', result: 'same', settled }],
      }),
    },
  )
  await until('all is told', () => run.isTold() && look === looks.length)
  expect(run.askedToDrop.toSorted()).toEqual(['f', 't'])
  expect((await run.objects()).map(({ kind }) => kind)).toEqual(['database'])
})
