import type { Key } from '../../subjects/keys.ts'
import type { Settings } from '../../subjects/settings.ts'
import type { User } from '../../subjects/users.ts'
import { keyExceeds } from './callers.ts'
import { type KeyCollection, keysOf, type StoredKey, whyInvalid } from './keys.ts'
import { intersection } from './permissions.ts'

/** A key that could do more than its owner, and what became of it. */
export interface NarrowedKey {
  readonly id: string
  readonly name: string
  readonly became: 'narrowed' | 'revoked'
}

/**
 * Brings the keys of a person within what the person may do now. A session is left alone: what it may do was decided when
 * it began, and holds until it ends.
 */
export async function narrowKeysOf(
  { subject, permissions }: Pick<User, 'subject' | 'permissions'>,
  decision: Settings['exceedingKeys'],
  { keys, kick }: { keys: KeyCollection; kick: (keyId: string) => Promise<void> },
): Promise<NarrowedKey[]> {
  const own = await keys.listGroup(keysOf(subject))
  const exceeding = own.filter((key) => whyInvalid(key) === undefined && keyExceeds(permissions, key))
  const ends = ({ kind }: StoredKey) => decision === 'revoke' || kind === 'agent'
  for (const key of exceeding) {
    await keys.update(key.id, (current) => (ends(key) ? revoked(current) : narrowed(current, permissions)))
    await kick(key.id)
  }
  return exceeding.map((key) => ({ id: key.id, name: key.name, became: ends(key) ? 'revoked' : 'narrowed' }))
}

/** A session that has ended is not refreshed any more. */
export const revoked = ({ refresh: _ended, ...key }: StoredKey): StoredKey | undefined =>
  key.revoked === undefined ? { ...key, revoked: new Date().toISOString() } : undefined

const narrowed = (key: StoredKey, permissions: Key['capabilities']): StoredKey => ({
  ...key,
  capabilities: intersection(key.capabilities, permissions),
})
