import { expect, test } from 'vitest'
import { parseDuration } from '../../config/durations.ts'

const hourMs = 3_600_000

test.each([
  ['12h', 12 * hourMs],
  ['90d', 90 * 24 * hourMs],
  ['26w', 26 * 7 * 24 * hourMs],
  ['2y', 730 * 24 * hourMs],
  [' 7 D ', 7 * 24 * hourMs],
])('%j is %d ms', (text, ms) => expect(parseDuration(text)).toBe(ms))

test.each(['', '90', 'd', '-1d', '1.5d', '1e3d', '90days', '3m', '1d2h', '٣d', '9999999d'])(
  '%j is no duration',
  (text) => expect(parseDuration(text)).toBeUndefined(),
)
