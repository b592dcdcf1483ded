import { type Static, Type } from 'typebox'
import { Collection } from '../../broker/collection.ts'
import type { NatsConnection } from '../../broker/connection.ts'
import { keyedHash } from '../../broker/identity.ts'
import { createKeyId, createSecret, formatToken, type TokenLocation } from '../../broker/token.ts'
import { Key } from '../../subjects/access.ts'

/** A key as it is stored: the token's secret only as a keyed hash. */
const StoredKey = Type.Object(
  { ...Key.properties, secretHash: Type.String({ minLength: 64, maxLength: 64 }) },
  { additionalProperties: false },
)
export type StoredKey = Static<typeof StoredKey>

export type KeyCollection = Collection<typeof StoredKey>

export const openKeys = (connection: NatsConnection): Promise<KeyCollection> =>
  Collection.open(connection, { bucket: 'keys', schema: StoredKey, version: 1 })

/** The record without what nobody outside may see. */
export function publicKey({ secretHash: _secret, ...key }: StoredKey): Key {
  return key
}

export type NewKey = Pick<Key, 'name' | 'notes' | 'owner' | 'kind' | 'roles' | 'capabilities'> & {
  expires?: string
}

/** Makes a key and stores it; the token is in the result alone. */
export async function issueKey(
  keys: KeyCollection,
  { salt, location }: { salt: string; location: TokenLocation },
  asked: NewKey,
): Promise<{ key: StoredKey; token: string }> {
  const id = createKeyId()
  const secret = createSecret()
  const key = { id, ...asked, created: new Date().toISOString(), secretHash: keyedHash(salt, secret) }
  await keys.create(id, key)
  return { key, token: formatToken(location, id, secret) }
}

/** Why nobody can connect with a key any more, or undefined when one can. */
export function whyInvalid({ id, revoked, expires }: Key): string | undefined {
  if (revoked !== undefined) return `key ${id} was revoked at ${revoked}`
  if (expires !== undefined && Date.parse(expires) <= Date.now()) return `key ${id} expired at ${expires}`
  return undefined
}
