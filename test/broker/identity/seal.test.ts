import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createSealer } from '../../../broker/identity/seal.ts'

const sealerOf = (key: Buffer) => createSealer({ derive: () => key })
const sealer = sealerOf(randomBytes(32))

test('a sealed secret comes back, differs each time and does not contain it', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 8 }), (secret) => {
      const sealed = sealer.seal(secret)
      expect(sealer.open(sealed)).toBe(secret)
      expect(sealer.seal(secret)).not.toBe(sealed)
      expect(Buffer.from(sealed, 'base64').includes(secret)).toBe(false)
    }),
  )
})

test('what was changed, cut off or sealed by another instance is refused', () => {
  const sealed = sealer.seal('account key')
  const bytes = Buffer.from(sealed, 'base64')
  for (const at of bytes.keys()) {
    const wrong = Buffer.from(bytes)
    wrong[at]! ^= 1
    expect(() => sealer.open(wrong.toString('base64'))).toThrow()
  }
  for (const length of bytes.keys())
    expect(() => sealer.open(bytes.subarray(0, length).toString('base64'))).toThrow()
  expect(() => sealerOf(randomBytes(32)).open(sealed)).toThrow()
})
