import { type Static, Type } from 'typebox'
import { Collection } from '../../../broker/state/collection.ts'
import type { NatsConnection } from '../../../broker/rpc/connection.ts'
import { keyedHash } from '../../../broker/identity/identity.ts'
import type { RecordJournals } from '../../../broker/state/books/record-journal.ts'
import { createKeyId, createSecret, formatToken, type TokenLocation } from '../../../broker/identity/token.ts'
import { Key } from '../../../subjects/access/keys.ts'
import { product } from '../../../subjects/kit/names.ts'
import { strict, Timestamp } from '../../../subjects/kit/schemas.ts'
import { admin } from '../roles/built-in-roles.ts'

const SecretHash = Type.String({ minLength: 64, maxLength: 64 })

/** Some hold all that the provider knows; each key is read at every connect, so a session with a longer one is not refreshed. */
export const maxRefreshTokenLength = 8_000
/** It goes into an address. */
export const maxIdTokenHintLength = 4_000
/** Sealed they are a third longer, and a few bytes. */
const sealedLength = (length: number): number => 1.5 * length

const { oldTokenExpires: _derived, ...keyFields } = Key.properties

/** A key as it is stored: the token's secret only as a keyed hash. */
const StoredKey = Type.Object(
  {
    ...keyFields,
    secretHash: SecretHash,
    /** The secret before the last rotation, and until when it is taken too. */
    previous: Type.Optional(strict({ secretHash: SecretHash, until: Timestamp('Its end') })),
    /** Of a session: what its identity provider is asked with whether it still vouches for the person. */
    refresh: Type.Optional(
      strict({
        client: Type.Enum(['ui', 'cli']),
        sealedToken: Type.String({ maxLength: sealedLength(maxRefreshTokenLength) }),
        until: Type.Optional(Timestamp('When the token ends, if the provider says so')),
      }),
    ),
    /** Of a session of a browser: what its identity provider is told with whose session there is to end. */
    sealedIdToken: Type.Optional(Type.String({ maxLength: sealedLength(maxIdTokenHintLength) })),
  },
  { additionalProperties: false },
)
export type StoredKey = Static<typeof StoredKey>

export type KeyCollection = Collection<typeof StoredKey>

/** The group of an owner's keys. */
export const keysOf = (owner: string): string => owner
/** The group of a person's sessions: no owner has a line break in its name. */
export const sessionsOf = (owner: string): string => `sessions\n${owner}`

/** Keys by id, and in groups by their owners, sessions in others. */
export const openKeys = (connection: NatsConnection, journals?: RecordJournals): Promise<KeyCollection> =>
  Collection.open(connection, {
    bucket: 'keys',
    schema: StoredKey,
    version: 2,
    upcasters: { 1: withVisible },
    journals,
    // Nobody knows whether it was revoked or narrowed since.
    inDoubt: (key) => ({ ...key, revoked: key.revoked ?? new Date().toISOString() }),
    groupOf: ({ owner, kind }) => (kind === 'session' ? sessionsOf(owner) : keysOf(owner)),
  })

/** Keys of the first version did not say which extensions they see. */
const withVisible = (document: unknown): unknown => {
  const key = document as Omit<StoredKey, 'visible_extensions'>
  const isAdmin = key.roles.includes(admin.name)
  return {
    ...key,
    owner: key.owner === 'operator' ? localOperator : key.owner,
    visible_extensions: isAdmin ? admin.visible_extensions : [],
  }
}

/** The record without what nobody outside may see. */
export function publicKey(stored: StoredKey): Key {
  const { secretHash: _secret, previous, refresh: _refresh, sealedIdToken: _idToken, ...key } = stored
  const isTaken = previous !== undefined && Date.parse(previous.until) > Date.now()
  return { ...key, ...(isTaken && key.revoked === undefined && { oldTokenExpires: previous.until }) }
}

export type NewKey = Pick<
  Key,
  'name' | 'notes' | 'owner' | 'kind' | 'roles' | 'capabilities' | 'visible_extensions'
> & {
  expires?: string
  createdBy?: string
}

/** What a token is made with. */
export interface Issuer {
  readonly salt: string
  readonly location: TokenLocation
}

/** Owner of the keys of whoever runs the platform on its own host; no identity provider can say so. */
export const localOperator = 'local:operator'

/** Makes a key and stores it; the token is in the result alone. */
export async function issueKey(
  keys: KeyCollection,
  { salt, location }: Issuer,
  asked: NewKey,
): Promise<{ key: StoredKey; token: string }> {
  const id = createKeyId()
  const secret = createSecret(salt, id)
  const key = { id, ...asked, created: new Date().toISOString(), secretHash: keyedHash(salt, secret) }
  await keys.create(id, key)
  return { key, token: formatToken(location, id, secret) }
}

/** That there is no key, for whoever may have given its name, which several keys can have. */
export const noKeyText = (id: string): string =>
  `there is no key ${id}: use an id of "${product} keys list"; names are not unique`

/** Why nobody can connect with a key any more, or undefined when one can. */
export function whyInvalid({ id, revoked, expires }: Key): string | undefined {
  if (revoked !== undefined) return `key ${id} was revoked at ${revoked}`
  if (expires !== undefined && Date.parse(expires) <= Date.now()) return `key ${id} expired at ${expires}`
  return undefined
}

/** Gives a key a new secret; the old one is taken until the time given. The token is in the result alone. */
export async function rotateKey(
  keys: KeyCollection,
  { salt, location }: Issuer,
  { id, until }: { id: string; until: string },
): Promise<{ key: StoredKey; token: string }> {
  const secret = createSecret(salt, id)
  const key = await keys.update(id, (current) => ({
    ...current,
    secretHash: keyedHash(salt, secret),
    previous: { secretHash: current.secretHash, until },
  }))
  return { key, token: formatToken(location, id, secret) }
}
