import type { Key } from '../../subjects/keys.ts'
import type { Settings } from '../../subjects/settings.ts'
import type { User } from '../../subjects/users.ts'
import { excessOf } from './callers.ts'
import { type KeyCollection, type StoredKey, whyInvalid } from './keys.ts'
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
  const all = await keys.list({ limit: Number.POSITIVE_INFINITY })
  const exceeding = all.filter(
    (key) =>
      key.owner === subject &&
      key.kind !== 'session' &&
      whyInvalid(key) === undefined &&
      excessOf(permissions, key.capabilities) !== undefined,
  )
  for (const { id } of exceeding) {
    await keys.update(id, (key) => (decision === 'revoke' ? revoked(key) : narrowed(key, permissions)))
    await kick(id)
  }
  const became = decision === 'revoke' ? 'revoked' : 'narrowed'
  return exceeding.map(({ id, name }) => ({ id, name, became }))
}

export const revoked = (key: StoredKey): StoredKey | undefined =>
  key.revoked === undefined ? { ...key, revoked: new Date().toISOString() } : undefined

const narrowed = (key: StoredKey, permissions: Key['capabilities']): StoredKey => ({
  ...key,
  capabilities: intersection(key.capabilities, permissions),
})
