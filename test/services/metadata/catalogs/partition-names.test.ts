import { expect, test } from 'vitest'
import { partitionName, valuesIn } from '../../../../services/metadata/catalogs/partition-names.ts'

test.each([
  [['year', 'Month'], ['2026', '11'], 'year=2026/month=11'],
  [['place'], ['here: 50% = ü/ö'], 'place=here%3A 50%25 %3D ü%2Fö'],
  [['odd'], ['\t{[]^}'], 'odd=%09%7B%5B%5D%5E}'],
])('%j of %j is %s', (keys, values, name) => {
  expect(partitionName(keys, values)).toBe(name)
  expect(valuesIn(name)).toEqual(values)
})

test('a value that is not there', () => {
  expect(partitionName(['day'], [''])).toBe('day=__HIVE_DEFAULT_PARTITION__')
})
