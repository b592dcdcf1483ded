import { Type } from 'typebox'
import { resource } from '../kit/contract.ts'
import { model, strict } from '../kit/schemas.ts'

/** From which on lines are written. */
export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const

const level = Type.Enum([...logLevels], {
  description: 'From which on lines are written; debug has a line for each request',
})
const Logging = model('Logging', { level })

/** The log of the platform, while it runs. */
export const logging = resource('logging', {
  get: {
    summary: 'What is logged',
    input: strict({}),
    output: Logging,
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/admin/logging' }],
  },
  put: {
    summary: 'Change what is logged, until the platform is restarted',
    input: strict({ level }),
    output: Logging,
    errors: [],
    audit: { object: 'level' },
    http: [{ method: 'PUT', path: '/api/v1/admin/logging' }],
    cli: { args: ['level'], example: 'gantry logging put debug' },
  },
})
