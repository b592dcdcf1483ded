import { randomBytes, timingSafeEqual } from 'node:crypto'
import { keyIdOf, parseToken, type TokenLocation, tokenPrefix } from '../../subjects/access/token.ts'
import { keyedHash } from './identity.ts'

export { keyIdOf, parseToken, type TokenLocation } from '../../subjects/access/token.ts'

/** 96 bits name a key without collision; 256 bits cannot be guessed. */
const keyIdBytes = 9
const secretBytes = 32

/** Key ids become subject tokens and user names, so only letters and digits. */
export function createKeyId(): string {
  return `k${BigInt(`0x${randomBytes(keyIdBytes).toString('hex')}`)
    .toString(36)
    .padStart(14, '0')}`
}

/** The secret of a new token: random, and sealed. */
export function createSecret(salt: string, keyId: string): string {
  const random = randomBytes(secretBytes).toString('base64url')
  return `${random}${sealOf(salt, keyId, random)}`
}

/** 128 bits, so that nobody makes a seal without the salt. */
const sealHexLength = 32
const sealOf = (salt: string, keyId: string, random: string): string =>
  keyedHash(salt, `seal ${keyId} ${random}`).slice(0, sealHexLength)

/**
 * Whether a token was made here, under this salt: its key may be revoked or expired by now, but nobody has guessed it.
 * Costs some microseconds and no look into any store.
 */
export function isSealed(salt: string, token: string): boolean {
  const parsed = parseToken(token)
  if (parsed === undefined) return false
  const { keyId, secret } = parsed
  const given = Buffer.from(secret.slice(-sealHexLength))
  const right = Buffer.from(sealOf(salt, keyId, secret.slice(0, -sealHexLength)))
  return given.length === right.length && timingSafeEqual(given, right)
}

export function formatToken(location: TokenLocation, keyId: string, secret: string): string {
  const { instance: i, nats: n, http: h } = location
  return `${tokenPrefix}.${Buffer.from(JSON.stringify({ i, n, h })).toString('base64url')}.${keyId}.${secret}`
}

/** Whether a text, parted by dots as subjects are, has a token in it: it is then not to be shown to anybody. */
export function hidesToken(text: string): boolean {
  const parts = text.split('.')
  return parts.some(
    (part, at) => part === tokenPrefix && keyIdOf(parts.slice(at, at + 4).join('.')) !== undefined,
  )
}

/** Whether a secret is the one whose keyed hash is stored; takes the same time whichever byte differs. */
export function secretMatches(salt: string, secret: string, storedHash: string): boolean {
  const given = Buffer.from(keyedHash(salt, secret))
  const stored = Buffer.from(storedHash)
  return given.length === stored.length && timingSafeEqual(given, stored)
}
