import { expect, test } from 'vitest'
import { matching } from '../../../../services/metadata/catalogs/name-pattern.ts'

test.each([
  ['*', '', true],
  ['*', 'anything', true],
  ['sales', 'sales', true],
  ['SALES', 'sales', true],
  ['sales', 'SALES', true],
  ['sales', 'sales_2026', false],
  ['sales*', 'sales_2026', true],
  ['*2026', 'sales_2026', true],
  ['s*s*6', 'sales_2026', true],
  ['a*a', 'a', false],
  ['a*a', 'aa', true],
  ['*a*b*', 'xbxaxb', true],
  ['*a*b*', 'xbxa', false],
  ['sales|orders', 'orders', true],
  ['sales | orders*', 'orders_1', true],
  ['sales|orders', 'sales|orders', false],
  ['.', 'a', false],
  ['a.c', 'a.c', true],
])('%s and %s: %s', (pattern, name, does) => {
  expect(matching(pattern)(name)).toBe(does)
})

test('a pattern of many asterisks takes no longer than the name has characters', () => {
  expect(matching('*a'.repeat(1_000) + 'b')('a'.repeat(100_000))).toBe(false)
})
