import { expect, test } from 'vitest'
import { decimalOf, decimalText } from '../../../../services/metadata/catalogs/decimals.ts'

test.each(['0', '7', '-7', '123.45', '-0.001', '128', '-128', '0.00', '9'.repeat(38)])(
  'the decimal %s comes back as it was',
  (text) => expect(decimalText(decimalOf(text)!)).toBe(text),
)

test.each(['', 'abc', '1.', '.5', '1e5', '0x10', '9'.repeat(161)])('%s is no decimal', (text) => {
  expect(decimalOf(text)).toBeUndefined()
})

test('a negative scale is zeros at the end', () => {
  expect(decimalText({ unscaled: Buffer.from([5]), scale: -2 })).toBe('500')
  expect(decimalText({ unscaled: Buffer.from([0]), scale: -2 })).toBe('0')
})

test.each([
  ['more digits than any metastore has', Buffer.alloc(65, 0x7f), 0],
  ['a scale that would take memory without end', Buffer.from([1]), 1_001],
  ['a negative scale that would', Buffer.from([1]), -1_001],
  ['a scale that is not a whole number', Buffer.from([1]), 0.5],
])('a decimal with %s is none', (_, unscaled, scale) => {
  expect(decimalText({ unscaled, scale })).toBeUndefined()
})
