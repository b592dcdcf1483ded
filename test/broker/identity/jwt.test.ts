import { encodeUser } from '@nats-io/jwt'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createKey } from '../../../broker/identity/ed25519.ts'
import { verifyClaims } from '../../../broker/identity/jwt.ts'

const account = createKey('A')
const jwt = await encodeUser('someone', createKey('U').getPublicKey(), account, {}, { signer: account })

test('a JWT with its signature is read', () => {
  const claims = verifyClaims(jwt)
  expect(claims).toMatchObject({ name: 'someone', iss: account.getPublicKey() })
})

test('a JWT in which any one byte was changed is refused', () => {
  fc.assert(
    fc.property(fc.nat(), fc.integer({ min: 1, max: 255 }), (at, flip) => {
      const bytes = Buffer.from(jwt)
      bytes[at % bytes.length]! ^= flip
      expect(() => verifyClaims(bytes.toString('latin1'))).toThrow()
    }),
    { numRuns: 2_000 },
  )
})

test('a JWT has one form: the last character of the signature cannot be another with the same bits', () => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  for (const last of alphabet.replace(jwt.at(-1)!, ''))
    expect(() => verifyClaims(jwt.slice(0, -1) + last)).toThrow()
})

test('what is added to a JWT, cut off or put into another is refused', () => {
  const [head, body, signature] = jwt.split('.')
  const other = { alg: 'none', typ: 'JWT' }
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const wrong = [
    '',
    'x',
    `${head}.${body}`,
    `${head}.${body}.`,
    `${jwt}.`,
    `${jwt}.${signature}`,
    `${jwt}!`,
    ` ${jwt}`,
    `${jwt}\n`,
    `${jwt}=`,
    `${encode(other)}.${body}.${signature}`,
    `${encode(other)}.${body}.`,
    `${head}.${encode({ ...verifyClaims(jwt), iss: createKey('A').getPublicKey() })}.${signature}`,
    `${head}.${encode({})}.${signature}`,
    `${head}.${encode([])}.${signature}`,
    'null.null.null',
  ]
  for (const text of wrong) expect(() => verifyClaims(text), text).toThrow()
})
