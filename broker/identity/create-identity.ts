import { isDeepStrictEqual } from 'node:util'
import { type Account, encodeOperator } from '@nats-io/jwt'
import { platformExports, platformJwt } from './account-jwts.ts'
import { createKey, type NativeKeyPair } from './ed25519.ts'
import { type Identity, type IdentityFields, keysOf, type StorageLimits } from './identity.ts'
import { verifyClaims } from './jwt.ts'

/** A new identity, its JWTs signed for these limits. */
export async function createIdentity(limits: StorageLimits): Promise<Identity> {
  const seeds = {
    operator: createKey('O'),
    operatorSigning: createKey('O'),
    gantry: createKey('A'),
    signing: createKey('A'),
  }
  return signIdentity(seeds.operator, seeds.operatorSigning, seeds.gantry, seeds.signing, limits)
}

async function signIdentity(
  operator: NativeKeyPair,
  operatorSigning: NativeKeyPair,
  gantry: NativeKeyPair,
  gantrySigning: NativeKeyPair,
  limits: StorageLimits,
): Promise<Identity> {
  const fields: IdentityFields = {
    'gantry.jwt': '',
    'gantry.seed': gantry.seed,
    'gantry.signingseed': gantrySigning.seed,
    'operator.jwt': '',
    'operator.seed': operator.seed,
    'operator.signingseed': operatorSigning.seed,
  }
  const identity = keysOf(fields)
  fields['operator.jwt'] = await encodeOperator('gantry', operator, {
    signing_keys: [operatorSigning.getPublicKey()],
    system_account: identity.SYS.account.getPublicKey(),
  })
  fields['gantry.jwt'] = await platformJwt(identity, limits)
  return identity
}

/** The same identity, its JWTs signed again when they were made for other limits, or offered something else. */
export async function withLimits(identity: Identity, limits: StorageLimits): Promise<Identity> {
  const { limits: signed, exports: offered = [] } = verifyClaims<Account>(identity.fields['gantry.jwt']).nats
  const areLimitsRight =
    signed?.disk_storage === limits.maxFileBytes && signed.mem_storage === limits.maxMemBytes
  const isOfferRight = isDeepStrictEqual(
    offered.map(({ subject }) => subject).toSorted(),
    platformExports.map(({ subject }) => subject).toSorted(),
  )
  if (areLimitsRight && isOfferRight) return identity
  const { operator, PLATFORM } = identity
  return signIdentity(operator.account, operator.signing, PLATFORM.account, PLATFORM.signing, limits)
}
