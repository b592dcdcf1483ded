import { Type } from 'typebox'
import { resource } from './contract.ts'
import { model, strict } from './schemas.ts'

/** A working day; whoever is away for longer signs in again. */
export const defaultSessionHours = 12
/** A month: what a session may do is decided when it begins. */
export const maxSessionHours = 31 * 24

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
    }),
    output: Settings,
    errors: [],
    audit: {},
    http: [{ server: 'platform', method: 'PUT', path: '/api/v1/admin/settings' }],
    cli: { example: 'gantry settings put --exceeding-keys revoke' },
  },
})
