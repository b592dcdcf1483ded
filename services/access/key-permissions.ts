import type { Handlers } from '../../subjects/contract.ts'
import type { keysInternal } from '../../subjects/keys.ts'
import { maxPageLength } from '../../subjects/schemas.ts'
import { isAdministrator } from './callers.ts'
import { type KeyCollection, whyInvalid } from './keys.ts'

/** What other services ask about who calls them. */
export const keyPermissionHandlers = (keys: KeyCollection): Handlers<typeof keysInternal> => ({
  permissions: async ({ id }, call) => {
    const key = await keys.get(id)
    if (key === undefined || whyInvalid(key) !== undefined)
      throw call.fail('NOT_FOUND', `the key ${id} is not valid any more`)
    const { name, owner, capabilities, visible_extensions } = key
    return { name, owner, capabilities, visible_extensions, isAdministrator: isAdministrator(key) }
  },
  expiring: async ({ by }) => {
    const until = Date.parse(by)
    return (await keys.all())
      .flatMap((key) =>
        key.expires !== undefined && key.kind !== 'session' && whyInvalid(key) === undefined
          ? [{ id: key.id, expires: key.expires }]
          : [],
      )
      .filter(({ expires }) => Date.parse(expires) <= until)
      .toSorted((a, b) => (a.expires < b.expires ? -1 : 1))
      .slice(0, maxPageLength)
  },
})
