import { encodeUser, type User } from '@nats-io/jwt'
import { type AccountName, inboxPrefix } from '../subjects/names.ts'
import { denyBeyond } from '../subjects/patterns.ts'
import type { Identity } from './identity.ts'

/** What a connection may publish and subscribe to. */
export interface Capabilities {
  pub: { allow: string[] }
  sub: { allow: string[] }
}

/**
 * A user's JWT. Its name is the key id; replies to it arrive under its own inbox only, and it may answer anybody's.
 * @param expires seconds since 1970
 */
export async function userJwt(
  identity: Identity,
  account: AccountName,
  user: { publicKey: string; name: string; capabilities?: Capabilities; expires?: number },
): Promise<string> {
  const keys = identity[account]
  const permissions: Partial<User> =
    user.capabilities === undefined
      ? {}
      : {
          pub: { allow: [...user.capabilities.pub.allow, '_INBOX.>'] },
          sub: {
            allow: [...user.capabilities.sub.allow, `${inboxPrefix(user.name)}.>`],
            deny: denyBeyond(user.capabilities.sub.allow),
          },
        }
  return encodeUser(
    user.name,
    user.publicKey,
    keys.account,
    permissions,
    user.expires === undefined ? { signer: keys.signing } : { signer: keys.signing, exp: user.expires },
  )
}
