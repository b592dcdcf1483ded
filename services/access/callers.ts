import type { Key } from '../../subjects/access.ts'
import type { Caller } from '../../subjects/contract.ts'
import { GantryError } from '../../subjects/errors.ts'
import { uncovered } from '../../subjects/patterns.ts'
import { admin } from './built-in-roles.ts'
import type { KeyCollection, StoredKey } from './keys.ts'

type Rules = Key['capabilities']

/** Whether a key may do all that an administrator may: it sees the keys of everybody. */
export const isAdministrator = (key: Key): boolean =>
  uncovered(key.capabilities.pub.allow, admin.pub.allow).length === 0 &&
  uncovered(key.capabilities.sub.allow, admin.sub.allow).length === 0

/** The key of a caller. @throws GantryError DENIED for the platform itself, NOT_FOUND */
export async function callersKey(keys: KeyCollection, caller: Caller): Promise<StoredKey> {
  if (caller.kind === 'platform') throw new GantryError('DENIED', 'the platform itself has no key')
  const key = await keys.get(caller.keyId)
  if (key === undefined) throw new GantryError('NOT_FOUND', `the key ${caller.keyId} is gone`)
  return key
}

/** @throws GantryError EXCEEDS_ROLE when `asked` reaches further than `own` */
export function refuseExcess(own: Rules, asked: Rules): void {
  const excess = {
    publish: uncovered(own.pub.allow, asked.pub.allow),
    subscribe: uncovered(own.sub.allow, asked.sub.allow),
  }
  if (excess.publish.length + excess.subscribe.length === 0) return
  const parts = Object.entries(excess).flatMap(([action, list]) =>
    list.length > 0 ? [`${action} ${list.join(', ')}`] : [],
  )
  throw new GantryError('EXCEEDS_ROLE', `exceeds role permissions: ${parts.join('; ')}`, { details: excess })
}
