import { createAccount, createOperator, createUser, fromPublic, fromSeed } from '@nats-io/nkeys'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  createKey,
  keyFromEntropy,
  type KeyRole,
  NativeKeyPair,
  verifySignature,
} from '../../../broker/identity/ed25519.ts'

const utf8 = new TextEncoder()
const role = fc.constantFrom<KeyRole>('O', 'A', 'U')
const entropy = fc.uint8Array({ minLength: 32, maxLength: 32 })
const input = fc.uint8Array({ maxLength: 500 })
/** The peer takes 10 ms an operation. */
const few = { numRuns: 40 }

test('a key has the public form and the signatures that nkeys gives the same seed', () => {
  fc.assert(
    fc.property(role, entropy, input, (role, entropy, input) => {
      const ours = keyFromEntropy(role, entropy)
      const theirs = fromSeed(utf8.encode(ours.seed))
      expect(ours.getPublicKey()).toBe(theirs.getPublicKey())
      expect(ours.getPublicKey()[0]).toBe(role)
      expect(Buffer.from(ours.sign(input))).toEqual(Buffer.from(theirs.sign(input)))
    }),
    few,
  )
})

test('each side verifies what the other signed, and nothing else', () => {
  fc.assert(
    fc.property(role, input, fc.nat(), (role, input, at) => {
      const ours = createKey(role)
      const theirs = fromPublic(ours.getPublicKey())
      const signature = ours.sign(input)
      expect(theirs.verify(input, signature)).toBe(true)
      expect(ours.verify(input, fromSeed(ours.getSeed()).sign(input))).toBe(true)
      expect(verifySignature(ours.getPublicKey(), input, signature)).toBe(true)
      const wrong = Buffer.from(signature)
      wrong[at % wrong.length]! ^= 1 << (at % 8)
      expect(verifySignature(ours.getPublicKey(), input, wrong)).toBe(false)
      expect(ours.verify(Buffer.concat([input, Buffer.of(0)]), signature)).toBe(false)
    }),
    few,
  )
})

test('seeds that nkeys made are taken', () => {
  for (const make of [createOperator, createAccount, createUser]) {
    const theirs = make()
    const ours = new NativeKeyPair(new TextDecoder().decode(theirs.getSeed()))
    expect(ours.getPublicKey()).toBe(theirs.getPublicKey())
  }
})

test('no text but the one canonical form of a seed is a seed', () => {
  fc.assert(
    fc.property(role, entropy, fc.nat(), fc.integer({ min: 1, max: 255 }), (role, entropy, at, flip) => {
      const bytes = utf8.encode(keyFromEntropy(role, entropy).seed)
      bytes[at % bytes.length]! ^= flip
      expect(() => new NativeKeyPair(Buffer.from(bytes).toString('latin1'))).toThrow()
    }),
    { numRuns: 300 },
  )
  const { seed } = createKey('O')
  // 58 characters carry two bits more than a seed has: another last character must not be another name of the same key.
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
  for (const last of alphabet.replace(seed.at(-1)!, '')) {
    expect(() => new NativeKeyPair(seed.slice(0, -1) + last)).toThrow()
  }
})

test('seeds that are cut off, too long or another thing are refused', () => {
  const { seed } = createKey('A')
  const wrong = ['', 'S', seed.slice(0, -1), `${seed}A`, `${seed}AA`, ` ${seed}`, `${seed}\n`]
  wrong.push(seed.toLowerCase(), createKey('A').getPublicKey())
  for (const text of wrong) expect(() => new NativeKeyPair(text), JSON.stringify(text)).toThrow()
})

test('a public key of another kind verifies nothing', () => {
  const { sign } = { sign: createKey('U').sign(utf8.encode('x')) }
  expect(verifySignature('', utf8.encode('x'), sign)).toBe(false)
  expect(verifySignature('NOTAKEY', utf8.encode('x'), sign)).toBe(false)
  expect(() => verifySignature('AAAA', utf8.encode('x'), sign)).toThrow()
})
