import { expect, test } from 'vitest'
import { crcOf, crcText, joinedCrc, readCrc } from '../../../../services/drivers/gcs/crc32c.ts'
import { pattern } from '../../../conformance/driver-store.ts'

test('a digest is as the service has it', () => {
  // The check value of CRC-32C, e3069283.
  expect(crcText(crcOf(Buffer.from('123456789')))).toBe('4waSgw==')
  expect(readCrc('4waSgw==')).toBe(0xe3069283)
  for (const text of ['', '4waSgw', '4waSgw=', '=4waSgw=', 'wrong']) expect(readCrc(text)).toBeUndefined()
})

test('the digest of one content after another is made of those of both', () => {
  const bytes = pattern(100_003)
  for (const at of [0, 1, 2, 7, 4_096, 65_537, bytes.length - 1, bytes.length]) {
    const [first, second] = [bytes.subarray(0, at), bytes.subarray(at)]
    expect(joinedCrc(crcOf(first), crcOf(second), second.length), `${at}`).toBe(crcOf(bytes) >>> 0)
  }
})
