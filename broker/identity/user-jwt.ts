import { type AccountName, everyInbox, inboxPrefix, roots } from '../../subjects/kit/names.ts'
import { denyBeyond } from '../../subjects/kit/patterns.ts'
import type { Identity } from './identity.ts'
import { encodeJwt } from './jwt.ts'

/** Without these the server would take every number for 0. */
const unlimited = { subs: -1, data: -1, payload: -1 } as const

/** What a connection may publish and subscribe to. */
export interface Capabilities {
  pub: { allow: string[] }
  sub: { allow: string[] }
}

/** What nats-server is told of a user: the rules that let through, and the stronger ones that do not. */
export interface Permissions {
  readonly pub: { readonly allow: string[]; readonly deny: string[] }
  readonly sub: { readonly allow: string[]; readonly deny: string[] }
}

/**
 * What a key with these capabilities may do: replies to it arrive under its own inbox only, and it may answer anybody's.
 * The platform alone hears its requests (one is a secret of its caller, and an answer of another would be believed) and
 * publishes its facts, whatever the rules of a key say; its audit log is no subject of a key even inside its account.
 * @param withheld subjects that it may not publish to either
 */
export const permissionsOf = (
  keyId: string,
  { pub, sub }: Capabilities,
  withheld: readonly string[] = [],
): Permissions => ({
  pub: { allow: [...pub.allow, everyInbox], deny: [`${roots.events}.>`, `${roots.audit}.>`, ...withheld] },
  sub: {
    allow: [...sub.allow, `${inboxPrefix(keyId)}.>`],
    deny: [`${roots.services}.>`, `${roots.audit}.>`, ...denyBeyond(sub.allow)],
  },
})

/**
 * A user's JWT; its name is the key id. Without capabilities it is one of the platform's own, with no bounds.
 * @param expires seconds since 1970
 */
export function userJwt(
  identity: Identity,
  account: AccountName,
  user: {
    publicKey: string
    name: string
    capabilities?: Capabilities
    withheld?: readonly string[]
    expires?: number
  },
): string {
  const keys = identity[account]
  const permissions =
    user.capabilities === undefined ? {} : permissionsOf(user.name, user.capabilities, user.withheld)
  const claims = {
    sub: user.publicKey,
    aud: 'NATS',
    name: user.name,
    ...(user.expires === undefined ? {} : { exp: user.expires }),
    nats: { type: 'user', ...unlimited, ...permissions, issuer_account: keys.account.getPublicKey() },
  }
  return encodeJwt(claims, keys.signing)
}
