import { emission } from '../../../broker/state/events.ts'
import type { Call, Contract, Handlers } from '../../../subjects/kit/contract.ts'
import { GantryError } from '../../../subjects/kit/errors.ts'
import {
  defaultSettings,
  type Settings,
  type settings as settingsContracts,
  settingsEvents,
} from '../../../subjects/access/settings.ts'
import type { users as userContracts } from '../../../subjects/access/users.ts'
import { requireHosts } from '../../../broker/common/inner-hosts.ts'
import { pathFromText } from '../../drivers/paths/path-text.ts'
import { callersKey } from '../callers.ts'
import { type AccessState, readSettings, settingsId } from '../state.ts'

/** People who have signed in. */
export function userHandlers({ keys, users }: AccessState): Handlers<typeof userContracts> {
  return {
    list: (page) => users.list(page),
    get: async ({ subject }) => {
      const user = await users.get(subject)
      if (user === undefined) throw new GantryError('NOT_FOUND', `${subject} has never signed in`)
      return user
    },
    self: async (_, call) => {
      const key = await callersKey(keys, call.caller)
      const known = await users.get(key.owner)
      return {
        // Whoever runs the platform on its own host never signs in.
        ...(known ?? { subject: key.owner, groups: [] }),
        roles: key.roles,
        permissions: key.capabilities,
        visible_extensions: key.visible_extensions,
      }
    },
  }
}

/**
 * What administrators decide at run time.
 * @param onChange called with what holds from now on, before the change is answered
 */
export function settingsHandlers(
  state: Pick<AccessState, 'settings'>,
  onChange: (settings: Settings) => void,
): Handlers<typeof settingsContracts> {
  let earlier: Promise<unknown> = Promise.resolve()
  const put = async (changes: Partial<Settings>, call: Call<Contract>): Promise<Settings> => {
    const changed = await state.settings.upsert(
      settingsId,
      (current) => {
        const before = { ...defaultSettings, ...current }
        call.replaces(before)
        return { ...before, ...changes }
      },
      () => [
        emission(settingsEvents.changed, settingsId, { names: Object.keys(changes) as (keyof Settings)[] }),
      ],
    )
    onChange(changed)
    return changed
  }
  return {
    get: () => readSettings(state),
    put: (changes, call) => {
      for (const root of changes.filesystemRoots ?? []) pathFromText(root, 'filesystemRoots')
      requireHosts(changes.storeHosts ?? [], 'storeHosts')
      // One after the other: the last that is stored is the last that is told.
      const done = earlier.then(() => put(changes, call))
      earlier = done.catch(() => undefined)
      return done
    },
  }
}
