import { expect, test } from 'vitest'
import { parseSize } from '../../config/sizes.ts'

test.each([
  ['0', 0],
  ['4096', 4096],
  ['4096B', 4096],
  ['1k', 1e3],
  ['1K', 1e3],
  ['2KB', 2e3],
  ['2KiB', 2048],
  ['256M', 256e6],
  ['256MB', 256e6],
  ['256MiB', 256 * 2 ** 20],
  ['1.5 GB', 1.5e9],
  ['10GiB', 10 * 2 ** 30],
  ['1T', 1e12],
  ['1TB', 1e12],
  ['1TiB', 2 ** 40],
  [' 7 gib ', 7 * 2 ** 30],
])('%j is %d bytes', (text, bytes) => expect(parseSize(text)).toBe(bytes))

test.each([
  '',
  ' ',
  '-1',
  '-1GB',
  'GB',
  'lots',
  '1e9',
  '0x10',
  '1,5GB',
  '1.GB',
  '.5GB',
  '1GBps',
  '1 G B',
  '١GB',
  '9007199254740993TiB',
  'NaN',
  'Infinity',
])('%j is no size', (text) => expect(parseSize(text)).toBeUndefined())

test.each([-1, 1.5, NaN, Infinity, 2 ** 60])('the number %d is no size', (value) =>
  expect(parseSize(value)).toBeUndefined(),
)
test('a number is bytes', () => expect(parseSize(1024)).toBe(1024))
