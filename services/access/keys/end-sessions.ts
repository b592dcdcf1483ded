import { concurrently } from '../../../broker/common/concurrently.ts'
import { keys as keyContracts } from '../../../subjects/access/keys.ts'
import type { Trail } from '../audit.ts'
import { type KeyCollection, sessionsOf, whyInvalid } from './keys.ts'
import { revoked } from './narrow.ts'

export interface SessionEnds {
  readonly keys: KeyCollection
  readonly trail: Pick<Trail, 'append'>
  /** Drops every live connection of a key. */
  readonly kick: (keyId: string) => Promise<void>
}

const atOnce = 8

/** Ends all sessions of a user, and drops their connections. Returns how many there were. */
export async function endSessions({ keys, trail, kick }: SessionEnds, owner: string): Promise<number> {
  const all = await keys.listGroup(sessionsOf(owner))
  const live = all.filter((key) => whyInvalid(key) === undefined)
  await concurrently(live, atOnce, async ({ id }) => {
    await keys.update(id, revoked)
    await kick(id)
    await trail.append({
      time: new Date().toISOString(),
      kind: 'platform',
      user: owner,
      what: keyContracts.revoke.subject,
      object: id,
      result: 'ok',
    })
  })
  return live.length
}
