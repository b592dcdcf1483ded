import { expect, test } from 'vitest'
import { glueStatisticsOf } from '../../../../../services/metadata/catalogs/glue/column-statistics.ts'

test.each([
  ['decimal', 'decimal(10,2)'],
  ['date', 'date'],
])('bounds of a %s that are none are left out, and all else is kept', (kind, type) => {
  const statistics = { kind, lowValue: 'none', highValue: '9'.repeat(1_000_000), numNulls: '1', numDVs: '2' }
  const given = glueStatisticsOf({ column: 'c', type, statistics })
  const [values] = Object.values(given!.StatisticsData!).filter((one) => typeof one === 'object')
  expect(values).toEqual({ NumberOfNulls: 1, NumberOfDistinctValues: 2 })
})
