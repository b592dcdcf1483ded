import { emission } from '../../broker/events.ts'
import type { Handlers } from '../../subjects/contract.ts'
import { GantryError } from '../../subjects/errors.ts'
import { maxPageLength } from '../../subjects/schemas.ts'
import { type Settings, type settings as settingsContracts, settingsEvents } from '../../subjects/settings.ts'
import type { users as userContracts } from '../../subjects/users.ts'
import { callersKey } from './callers.ts'
import { defaultSettings, readSettings, settingsId } from './people.ts'
import type { AccessState } from './state.ts'

/** People who have signed in. */
export function userHandlers({ keys, users }: AccessState): Handlers<typeof userContracts> {
  return {
    list: ({ limit = maxPageLength, after }) =>
      users.list({ limit, ...(after === undefined ? {} : { after }) }),
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

/** What administrators decide at run time. */
export function settingsHandlers(state: Pick<AccessState, 'settings'>): Handlers<typeof settingsContracts> {
  return {
    get: () => readSettings(state),
    put: (changes) =>
      state.settings.upsert(
        settingsId,
        (current) => ({ ...defaultSettings, ...current, ...changes }),
        () => [
          emission(settingsEvents.changed, settingsId, { names: Object.keys(changes) as (keyof Settings)[] }),
        ],
      ),
  }
}
