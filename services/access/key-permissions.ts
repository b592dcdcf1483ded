import type { Handlers } from '../../subjects/contract.ts'
import type { keysInternal } from '../../subjects/keys.ts'
import { isAdministrator } from './callers.ts'
import { type KeyCollection, whyInvalid } from './keys.ts'

/** What other services ask about who calls them. */
export const keyPermissionHandlers = (keys: KeyCollection): Handlers<typeof keysInternal> => ({
  permissions: async ({ id }, call) => {
    const key = await keys.get(id)
    if (key === undefined || whyInvalid(key) !== undefined)
      throw call.fail('NOT_FOUND', `the key ${id} is not valid any more`)
    const { owner, capabilities, visible_extensions } = key
    return { owner, capabilities, visible_extensions, isAdministrator: isAdministrator(key) }
  },
})
