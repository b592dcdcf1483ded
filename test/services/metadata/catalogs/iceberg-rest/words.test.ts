import { expect, test } from 'vitest'
import { databaseName, levelsOf } from '../../../../../services/metadata/catalogs/iceberg-rest/names.ts'
import { hiveType } from '../../../../../services/metadata/catalogs/iceberg-rest/types.ts'

test.each([
  [['sales'], 'sales'],
  [['sales', 'eu'], 'sales.eu'],
  [['a.b', 'c'], 'a%2Eb.c'],
  [['50%', '%2E'], '50%25.%252E'],
])('the namespace %j is the database %s, and back', (levels, name) => {
  expect(databaseName(levels)).toBe(name)
  expect(levelsOf(name)).toEqual(levels)
})

test.each([
  ['boolean', 'boolean'],
  ['long', 'bigint'],
  ['decimal(10, 2)', 'decimal(10,2)'],
  ['timestamptz', 'timestamp with local time zone'],
  ['fixed[16]', 'binary'],
  [{ type: 'list', element: 'uuid' }, 'array<string>'],
  [{ type: 'map', key: 'string', value: 'int' }, 'map<string,int>'],
  [{ type: 'struct', fields: [{ name: 'a', type: 'time' }] }, 'struct<a:string>'],
])('%j is %s', (type, words) => {
  expect(hiveType(type)).toBe(words)
})

test('what is no type, or too deep for one, is refused', () => {
  const deep = Array.from({ length: 10_000 }).reduce<unknown>(
    (type) => ({ type: 'list', element: type }),
    'int',
  )
  for (const type of [deep, null, 7, { type: 'other' }, { type: 'struct', fields: 'a' }])
    expect(() => hiveType(type)).toThrow(expect.objectContaining({ failure: 'unsupported' }))
})
