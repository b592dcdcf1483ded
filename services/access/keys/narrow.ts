import type { Settings } from '../../../subjects/access/settings.ts'
import type { User } from '../../../subjects/access/users.ts'
import { hiddenFrom, keyExceeds } from '../callers.ts'
import { type KeyCollection, keysOf, type StoredKey, whyInvalid } from './keys.ts'
import { intersection, seenByBoth } from '../permissions.ts'

/** A key that could do or see more than its owner, and what became of it. */
export interface NarrowedKey {
  readonly id: string
  readonly name: string
  readonly became: 'narrowed' | 'revoked'
}

/**
 * Brings the keys of a person within what the person may do and see now. A session is left alone: what it may do was
 * decided when it began, and holds until it ends.
 */
export async function narrowKeysOf(
  owner: Pick<User, 'subject' | 'permissions' | 'visible_extensions'>,
  decision: Settings['exceedingKeys'],
  { keys, kick }: { keys: KeyCollection; kick: (keyId: string) => Promise<void> },
): Promise<NarrowedKey[]> {
  const own = await keys.listGroup(keysOf(owner.subject))
  const exceeding = own.filter((key) => whyInvalid(key) === undefined && exceeds(owner, key))
  const ends = ({ kind }: StoredKey) => decision === 'revoke' || kind === 'agent'
  for (const key of exceeding) {
    await keys.update(key.id, (current) => (ends(key) ? revoked(current) : narrowed(current, owner)))
    await kick(key.id)
  }
  return exceeding.map((key) => ({ id: key.id, name: key.name, became: ends(key) ? 'revoked' : 'narrowed' }))
}

/** A session that has ended is not refreshed any more. */
export const revoked = ({
  refresh: _ended,
  sealedIdToken: _hint,
  ...key
}: StoredKey): StoredKey | undefined =>
  key.revoked === undefined ? { ...key, revoked: new Date().toISOString() } : undefined

/** An agent reaches no extension, whatever its key shows. */
const exceeds = (owner: Pick<User, 'permissions' | 'visible_extensions'>, key: StoredKey): boolean =>
  keyExceeds(owner.permissions, key) ||
  (key.kind !== 'agent' && hiddenFrom(owner, key.visible_extensions).length > 0)

const narrowed = (key: StoredKey, owner: Pick<User, 'permissions' | 'visible_extensions'>): StoredKey => ({
  ...key,
  capabilities: intersection(key.capabilities, owner.permissions),
  visible_extensions: seenByBoth(key.visible_extensions, owner.visible_extensions),
})
