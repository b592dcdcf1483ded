import { randomBytes, timingSafeEqual } from 'node:crypto'
import { keyIdOf, type TokenLocation, tokenPrefix } from '../subjects/token.ts'
import { keyedHash } from './identity.ts'

export { keyIdOf, parseToken, type TokenLocation } from '../subjects/token.ts'

/** 96 bits name a key without collision; 256 bits cannot be guessed. */
const keyIdBytes = 9
const secretBytes = 32

/** Key ids become subject tokens and user names, so only letters and digits. */
export function createKeyId(): string {
  return `k${BigInt(`0x${randomBytes(keyIdBytes).toString('hex')}`)
    .toString(36)
    .padStart(14, '0')}`
}

export const createSecret = (): string => randomBytes(secretBytes).toString('base64url')

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
