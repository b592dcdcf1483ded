import { Type } from 'typebox'
import { events, resource } from './contract.ts'
import { list, model, strict } from './schemas.ts'

/** A working day; whoever is away for longer signs in again. */
export const defaultSessionHours = 12
/** A month: what a session may do is decided when it begins. */
export const maxSessionHours = 31 * 24

/** More migrations than that run at once only when their number is not limited. */
const maxLimit = 10_000

const fields = {
  exceedingKeys: Type.Enum(['narrow', 'revoke'], {
    description:
      'What becomes of keys that may do more than their owner, when the owner signs in with fewer permissions',
  }),
  sessionHours: Type.Integer({
    minimum: 1,
    maximum: maxSessionHours,
    description: `How long a sign-in lasts; default ${defaultSessionHours}`,
  }),
  maxRunningMigrations: Type.Integer({
    minimum: 0,
    maximum: maxLimit,
    description:
      'How many migrations may scan and copy at once, the others wait as SCHEDULED; default 0, any number',
  }),
}

export const Settings = model('Settings', fields)
export type Settings = Type.Static<typeof Settings>

/** What administrators decide at run time. */
export const settings = resource('settings', {
  get: {
    summary: 'The settings',
    input: strict({}),
    output: Settings,
    errors: [],
    http: [{ server: 'platform', method: 'GET', path: '/api/v1/admin/settings' }],
  },
  put: {
    summary: 'Change settings; those that are not given stay',
    input: strict({
      exceedingKeys: Type.Optional(fields.exceedingKeys),
      sessionHours: Type.Optional(fields.sessionHours),
      maxRunningMigrations: Type.Optional(fields.maxRunningMigrations),
    }),
    output: Settings,
    errors: [],
    audit: {},
    http: [{ server: 'platform', method: 'PUT', path: '/api/v1/admin/settings' }],
    cli: { example: 'gantry settings put --exceeding-keys revoke' },
  },
})

export const settingsEvents = events('settings', {
  changed: {
    summary: 'Settings were changed',
    payload: strict({ names: list(Type.Enum(Object.keys(fields) as (keyof Settings)[]), 100) }),
  },
})
