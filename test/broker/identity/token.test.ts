import fc from 'fast-check'
import { expect, test } from 'vitest'
import { keyedHash } from '../../../broker/identity/identity.ts'
import {
  createKeyId,
  createSecret,
  formatToken,
  isSealed,
  keyIdOf,
  parseToken,
  secretMatches,
} from '../../../broker/identity/token.ts'

const salt = 'salt of sixteen a'
const location = { instance: 'ABCDEFGHIJ', nats: 'nats://127.0.0.1:4222', http: 'http://127.0.0.1:8080' }

test('a token says where its instance is, and which key it is of', () => {
  const keyId = createKeyId()
  const secret = createSecret(salt, keyId)
  const token = formatToken(location, keyId, secret)
  expect(parseToken(token)).toEqual({ location, keyId, secret })
  expect(keyIdOf(token)).toBe(keyId)
  expect(token).toMatch(/^gantry\.[\w-]+\.k[0-9a-z]+\.[\w-]{75}$/)
})

test('key ids and secrets do not repeat, and ids are subject tokens', () => {
  const ids = Array.from({ length: 1_000 }, createKeyId)
  expect(new Set(ids).size).toBe(1_000)
  for (const id of ids) expect(id).toMatch(/^k[0-9a-z]{14,}$/)
  expect(createSecret(salt, 'k1')).not.toBe(createSecret(salt, 'k1'))
})

test('whatever is presented, reading it never throws', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 1_200 }), (text) => {
      expect(parseToken(text)).toBeUndefined()
      expect(parseToken(`gantry.${text}.k1.s`)).toBeUndefined()
    }),
  )
  const place = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const right = formatToken(location, 'k1', 's')
  const wrong = [
    `${right}.more`,
    right.replace('gantry', 'Gantry'),
    right.replace('.k1.', '.k1>.'),
    right.replace('.k1.', '.K1.'),
    `gantry.${place(null)}.k1.s`,
    `gantry.${place({ i: 1, n: '', h: '' })}.k1.s`,
    `gantry.${place([])}.k1.s`,
    `gantry.${'A'.repeat(1_000)}.k1.s`,
  ]
  for (const text of wrong) expect(parseToken(text), text).toBeUndefined()
})

test('a secret matches its keyed hash under its salt alone', () => {
  const secret = createSecret(salt, 'k1')
  const hash = keyedHash('salt of sixteen c', secret)
  expect(secretMatches('salt of sixteen c', secret, hash)).toBe(true)
  expect(secretMatches('salt of sixteen d', secret, hash)).toBe(false)
  expect(secretMatches('salt of sixteen c', `${secret}x`, hash)).toBe(false)
  expect(secretMatches('salt of sixteen c', secret, hash.slice(1))).toBe(false)
  expect(secretMatches('salt of sixteen c', secret, '')).toBe(false)
})

test('a token has a seal of the salt that it was made under', () => {
  const secret = createSecret(salt, 'k1')
  const token = formatToken(location, 'k1', secret)
  expect(isSealed(salt, token)).toBe(true)
  expect(isSealed('salt of sixteen b', token)).toBe(false)
  const other = (text: string) => (text.endsWith('0') ? `${text.slice(0, -1)}1` : `${text.slice(0, -1)}0`)
  const guessed = [formatToken(location, 'k1', other(secret)), formatToken(location, 'k2', secret)]
  for (const guess of [...guessed, formatToken(location, 'k1', 's'), 'letmein']) {
    expect(isSealed(salt, guess), guess).toBe(false)
  }
})
