import { expect, test } from 'vitest'
import { partitionName, valuesIn } from '../../../../services/metadata/catalogs/partition-names.ts'

test.each([
  [['2026', '11'], 'year=2026/month=11'],
  [['a/b=c', '50%'], 'year=a%2Fb%3Dc/month=50%25'],
  [['größe x', '{[^]}\\\u007f\u0001'], 'year=größe x/month=%7B%5B%5E%5D}%5C%7F%01'],
])('%j is %s, and back', (values, name) => {
  expect(partitionName(['Year', 'month'], values)).toBe(name)
  expect(valuesIn(name)).toEqual(values)
})

test('no value has a name, too', () => {
  expect(partitionName(['year'], [''])).toBe('year=__HIVE_DEFAULT_PARTITION__')
})
