import { expect, test } from 'vitest'
import { partitionName, valuesIn } from '../../../../services/metadata/catalogs/partition-names.ts'

test.each([
  [['year', 'month'], ['2026', '11'], 'year=2026/month=11'],
  [['Day'], ['2026-11-25 10:00:00'], 'day=2026-11-25 10%3A00%3A00'],
  [['place'], ['50% = ü/ö'], 'place=50%25 %3D ü%2Fö'],
  [['tab'], ['a\tb'], 'tab=a%09b'],
  [['a{b]'], ['[x]^"\''], 'a%7Bb%5D=%5Bx%5D%5E%22%27'],
])('the partition of %j with %j is %s, and back', (keys, values, name) => {
  expect(partitionName(keys, values)).toBe(name)
  expect(valuesIn(name)).toEqual(values)
})

test('a value that is empty has Hive’s name for none', () => {
  expect(partitionName(['a', 'b'], ['', '1'])).toBe('a=__HIVE_DEFAULT_PARTITION__/b=1')
})

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
