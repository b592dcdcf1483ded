import { createHmac, hkdfSync } from 'node:crypto'
import type { Account, ClaimsData, Operator } from '@nats-io/jwt'
import { keyFromEntropy, type KeyRole, NativeKeyPair } from './ed25519.ts'
import { verifyClaims } from './jwt.ts'

/** The identity fields of `gantry.config`, as the specification names them. `gantry.*` is the PLATFORM account. */
export interface IdentityFields {
  'gantry.jwt': string
  'gantry.seed': string
  'gantry.signingseed': string
  'operator.jwt': string
  'operator.seed': string
  'operator.signingseed': string
}
export const identityFieldNames = [
  'gantry.jwt',
  'gantry.seed',
  'gantry.signingseed',
  'operator.jwt',
  'operator.seed',
  'operator.signingseed',
] as const satisfies readonly (keyof IdentityFields)[]

/** What the accounts may store, in bytes: the limits of `messaging.config`. */
export interface StorageLimits {
  maxMemBytes: number
  maxFileBytes: number
}

interface AccountKeys {
  readonly account: NativeKeyPair
  readonly signing: NativeKeyPair
}

/** The keys of a platform instance. All nodes with the same `gantry.config` have the same. */
export interface Identity {
  readonly operator: AccountKeys
  readonly PLATFORM: AccountKeys
  readonly GANTRY: AccountKeys
  readonly AGENTS: AccountKeys
  readonly SYS: AccountKeys
  readonly AUTH: AccountKeys
  /** The user that answers auth callouts. */
  readonly calloutUser: NativeKeyPair
  readonly fields: IdentityFields
  /** Short id of this instance, in every API token: the start of the PLATFORM account's public key. */
  readonly instance: string
  /** 32 bytes for a purpose, the same on every node; secret. */
  derive(purpose: string): Buffer
}

/** 10 characters of base32 are 50 bits: enough to tell instances apart, short enough to be read aloud. */
const instanceIdLength = 10

function derived(operatorSeed: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', operatorSeed, 'gantry', purpose, 32))
}

/** All keys that these fields and those derived from them are. */
export function keysOf(fields: IdentityFields): Identity {
  const operatorSeed = fields['operator.seed']
  const derivedKey = (role: KeyRole, purpose: string) => keyFromEntropy(role, derived(operatorSeed, purpose))
  const accountKeys = (name: string): AccountKeys => ({
    account: derivedKey('A', `account ${name}`),
    signing: derivedKey('A', `signing ${name}`),
  })
  const platform = {
    account: new NativeKeyPair(fields['gantry.seed']),
    signing: new NativeKeyPair(fields['gantry.signingseed']),
  }
  return {
    operator: {
      account: new NativeKeyPair(operatorSeed),
      signing: new NativeKeyPair(fields['operator.signingseed']),
    },
    PLATFORM: platform,
    GANTRY: accountKeys('GANTRY'),
    AGENTS: accountKeys('AGENTS'),
    SYS: accountKeys('SYS'),
    AUTH: accountKeys('AUTH'),
    calloutUser: derivedKey('U', 'user callout'),
    fields,
    instance: platform.account.getPublicKey().slice(1, 1 + instanceIdLength),
    derive: (purpose) => derived(operatorSeed, purpose),
  }
}

/**
 * The identity of these fields.
 * @throws Error that names the field which is missing or corrupt, or does not belong to the others.
 */
export function readIdentity(fields: Partial<Record<keyof IdentityFields, unknown>>): Identity {
  for (const name of identityFieldNames) {
    const value = fields[name]
    if (typeof value !== 'string' || value === '') throw new Error(`${name} is missing`)
  }
  // The caller's object has other fields beside these.
  const complete = Object.fromEntries(
    identityFieldNames.map((name) => [name, fields[name]]),
  ) as unknown as IdentityFields
  requireSeed(complete, 'operator.seed', 'O')
  requireSeed(complete, 'operator.signingseed', 'O')
  requireSeed(complete, 'gantry.seed', 'A')
  requireSeed(complete, 'gantry.signingseed', 'A')
  const identity = keysOf(complete)
  requireJwt(complete, 'operator.jwt', identity.operator, [identity.operator.account])
  requireJwt(complete, 'gantry.jwt', identity.PLATFORM, [
    identity.operator.account,
    identity.operator.signing,
  ])
  return identity
}

function requireSeed(fields: IdentityFields, name: keyof IdentityFields, role: KeyRole): void {
  let key: NativeKeyPair
  try {
    key = new NativeKeyPair(fields[name])
  } catch (cause) {
    throw new Error(`${name} is corrupt: it is not the seed of a key`, { cause })
  }
  if (!key.getPublicKey().startsWith(role))
    throw new Error(`${name} is corrupt: it is the seed of a different type of key`)
}

/** The JWT must speak of the account's key, name its signing key, and be signed by one of the issuers. */
function requireJwt(
  fields: IdentityFields,
  name: keyof IdentityFields,
  subject: AccountKeys,
  issuers: readonly NativeKeyPair[],
): void {
  let claims: ClaimsData<Operator | Account>
  try {
    claims = verifyClaims<Operator | Account>(fields[name])
  } catch (cause) {
    throw new Error(`${name} is corrupt: ${(cause as Error).message}`, { cause })
  }
  if (claims.sub !== subject.account.getPublicKey()) throw new Error(`${name} does not belong to its seed`)
  if (!issuers.some((issuer) => issuer.getPublicKey() === claims.iss)) {
    throw new Error(`${name} was signed by another operator`)
  }
  if (!claims.nats.signing_keys?.some((key) => key === subject.signing.getPublicKey())) {
    throw new Error(`${name} does not name its signing key`)
  }
}

/** Keyed hash, hex: the only form in which a token's secret is stored. */
export const keyedHash = (salt: string, secret: string): string =>
  createHmac('sha256', salt).update(secret).digest('hex')
