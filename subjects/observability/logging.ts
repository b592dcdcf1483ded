import { Type } from 'typebox'
import { resource } from '../kit/contract.ts'
import { model, strict } from '../kit/schemas.ts'

/** From which on lines are written. */
export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const
export const defaultLogLevel = 'info'

const level = Type.Enum([...logLevels], {
  description: 'Minimum level of log lines; debug logs each request',
})
const Logging = model('Logging', { level })

/** The log of the platform, while it runs. */
export const logging = resource('logging', {
  get: {
    summary: 'Show the log level',
    input: strict({}),
    output: Logging,
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/admin/logging' }],
  },
  put: {
    summary: 'Set the log level until the next restart',
    input: strict({ level }),
    output: Logging,
    errors: [],
    audit: { object: 'level' },
    http: [{ method: 'PUT', path: '/api/v1/admin/logging' }],
    cli: { args: ['level'], example: 'gantry logging put debug' },
  },
})
