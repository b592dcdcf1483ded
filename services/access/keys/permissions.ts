import type { Handlers } from '../../../subjects/kit/contract.ts'
import type { keysInternal } from '../../../subjects/access/keys.ts'
import { maxPageLength } from '../../../subjects/kit/schemas.ts'
import { GantryError } from '../../../subjects/kit/errors.ts'
import { isAdministrator } from '../callers.ts'
import type { KeyEnds } from './ends.ts'
import { type KeyCollection, type StoredKey, whyInvalid } from './keys.ts'
import { ownerLimitsOf } from './owner-limits.ts'
import type { AccessState } from '../state.ts'

/** What other services ask about who calls them. */
export const keyPermissionHandlers = (
  state: Pick<AccessState, 'keys' | 'users' | 'settings'>,
  ends: Pick<KeyEnds, 'all'>,
): Omit<Handlers<typeof keysInternal>, 'recover' | 'end-sessions'> => ({
  permissions: async ({ id }) => {
    const key = await validKey(state.keys, id)
    const { name, owner, capabilities, visible_extensions } = key
    return { name, owner, capabilities, visible_extensions, isAdministrator: isAdministrator(key) }
  },
  limits: async ({ id }) => {
    const key = await validKey(state.keys, id)
    return { owner: key.owner, limits: await ownerLimitsOf(state, key) }
  },
  expiring: ({ by }) => {
    const until = Date.parse(by)
    return [...ends.all()]
      .flatMap(({ id, kind, created, expires, revoked }) =>
        expires !== undefined && kind !== 'session' && revoked === undefined
          ? [{ id, created, expires }]
          : [],
      )
      .filter(({ expires }) => Date.parse(expires) > Date.now() && Date.parse(expires) <= until)
      .toSorted((a, b) => (a.expires < b.expires ? -1 : 1))
      .slice(0, maxPageLength)
  },
})

/** @throws GantryError NOT_FOUND */
async function validKey(keys: KeyCollection, id: string): Promise<StoredKey> {
  const key = await keys.get(id)
  if (key === undefined || whyInvalid(key) !== undefined)
    throw new GantryError('NOT_FOUND', `the key ${id} is no longer valid`)
  return key
}
