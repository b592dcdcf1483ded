import type { ClaimsData } from '@nats-io/jwt'
import { type NativeKeyPair, verifySignature } from './ed25519.ts'

const header = Buffer.from(JSON.stringify({ typ: 'JWT', alg: 'ed25519-nkey' })).toString('base64url')

/** What a JWT says beside who signed it and when: of whom (a public key), and what. */
export interface NewClaims {
  readonly sub: string
  readonly aud: string
  readonly name?: string
  /** Seconds since 1970. */
  readonly exp?: number
  readonly nats: object
}

/**
 * A NATS JWT (version 2). Made here for those that each connect needs two of: the package hashes every one for an id that
 * nobody asks for, in another thread, and checks keys that are our own.
 */
export function encodeJwt({ nats, ...claims }: NewClaims, signer: NativeKeyPair): string {
  const iat = Math.floor(Date.now() / 1_000)
  const body = { ...claims, iss: signer.getPublicKey(), iat, nats: { ...nats, version: 2 } }
  const text = `${header}.${Buffer.from(JSON.stringify(body)).toString('base64url')}`
  return `${text}.${Buffer.from(signer.sign(Buffer.from(text))).toString('base64url')}`
}

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
