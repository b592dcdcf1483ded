import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { joinedCrc } from '../../../../services/drivers/digests/joined-crc.ts'
import { digestOf } from '../../../../services/drivers/digests/running-digest.ts'
import { pattern } from '../../../conformance/driver-store.ts'

test('a digest is as services have it', async () => {
  // The check values of CRC-32C, e3069283, and CRC-64/NVME, ae8b14860a799888.
  const bytes = Buffer.from('123456789')
  expect(await digestOf('crc32c', [bytes])).toBe('4waSgw==')
  expect(await digestOf('crc64nvme', [bytes])).toBe(Buffer.from('ae8b14860a799888', 'hex').toString('base64'))
  expect(await digestOf('sha256', [bytes.subarray(0, 4), bytes.subarray(4)])).toBe(
    hash('sha256', bytes, 'base64'),
  )
})

test.for(['crc32c', 'crc64nvme'] as const)(
  '%s of contents one after another is made of those of each',
  async (kind) => {
    const bytes = pattern(100_003)
    const all = await digestOf(kind, [bytes])
    for (const size of [1_000, 4_096, 65_537, bytes.length]) {
      const parts = []
      for (let at = 0; at < bytes.length; at += size) {
        const part = bytes.subarray(at, at + size)
        parts.push({ digest: await digestOf(kind, [part]), sizeBytes: part.length })
      }
      const empty = { digest: await digestOf(kind, []), sizeBytes: 0 }
      expect(joinedCrc(kind, [empty, ...parts, empty]), `${size}`).toBe(all)
    }
    for (const digest of ['', 'wrong', hash('md5', bytes, 'base64')])
      expect(joinedCrc(kind, [{ digest, sizeBytes: 1 }])).toBeUndefined()
  },
)
