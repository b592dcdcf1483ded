import type { ClaimsData } from '@nats-io/jwt'
import { verifySignature } from './ed25519.ts'

/** The claims of a NATS JWT, its signature not looked at: for tokens that only the server itself can have sent. */
export function readClaims<T>(jwt: string): ClaimsData<T> {
  const body = jwt.split('.')[1]
  if (body === undefined) throw new Error('not a JWT')
  return JSON.parse(Buffer.from(body, 'base64url').toString()) as ClaimsData<T>
}

/**
 * The claims of a NATS JWT whose signature is right.
 * @throws when it is not a JWT of NATS, or was not signed by its issuer.
 */
export function verifyClaims<T>(jwt: string): ClaimsData<T> {
  const parts = jwt.split('.')
  const [head, body, signature] = parts
  if (head === undefined || body === undefined || signature === undefined || parts.length > 3)
    throw new Error('not a JWT')
  // Node reads base64 leniently, nats-server does not: what it would refuse must not pass here.
  if (!parts.every(isBase64Url)) throw new Error('not a JWT: a part is not base64url')
  const { alg } = JSON.parse(Buffer.from(head, 'base64url').toString()) as { alg?: string }
  if (alg !== 'ed25519-nkey') throw new Error(`not a NATS JWT: algorithm ${String(alg)}`)
  const claims = readClaims<T>(jwt)
  if (!verifySignature(claims.iss, Buffer.from(`${head}.${body}`), Buffer.from(signature, 'base64url'))) {
    throw new Error('its signature is wrong')
  }
  return claims
}

const isBase64Url = (part: string): boolean => Buffer.from(part, 'base64url').toString('base64url') === part
