import { GantryError } from '../../../subjects/kit/errors.ts'
import type { MetadataState } from '../../../subjects/metadata/migrations.ts'

/** What people can ask for. */
export const commands = ['start', 'pause', 'resume', 'stop', 'reset', 'delete'] as const
export type MetadataCommand = (typeof commands)[number]

/** What else happens: `completed`, when one for once has nothing left to do; `failed`, when somebody has to decide before it goes on. */
export type MetadataTrigger = MetadataCommand | 'completed' | 'failed'

/** The state machine. What is not here is not allowed; `gone` is the end of the record. */
const transitions: Record<MetadataState, Partial<Record<MetadataTrigger, MetadataState | 'gone'>>> = {
  CREATED: { start: 'RUNNING', reset: 'CREATED', delete: 'gone' },
  RUNNING: { pause: 'PAUSED', stop: 'STOPPED', completed: 'COMPLETED', failed: 'FAILED' },
  PAUSED: { resume: 'RUNNING', stop: 'STOPPED', reset: 'CREATED', delete: 'gone' },
  STOPPED: { start: 'RUNNING', reset: 'CREATED', delete: 'gone' },
  COMPLETED: { start: 'RUNNING', reset: 'CREATED', delete: 'gone' },
  FAILED: { start: 'RUNNING', stop: 'STOPPED', reset: 'CREATED', delete: 'gone' },
}

/** The state after a trigger, or undefined when it is not allowed. */
export const next = (state: MetadataState, trigger: MetadataTrigger): MetadataState | 'gone' | undefined =>
  transitions[state][trigger]

/** The state after a command. @throws GantryError NOT_ALLOWED_IN_STATE with the state and what is allowed */
export function requireNext(
  migrationName: string,
  state: MetadataState,
  command: MetadataCommand,
): MetadataState | 'gone' {
  const to = next(state, command)
  if (to !== undefined) return to
  const allowed = commands.filter((one) => next(state, one) !== undefined)
  throw new GantryError(
    'NOT_ALLOWED_IN_STATE',
    `${migrationName} is ${state}: ${command} is not allowed; allowed: ${allowed.join(', ')}`,
    { details: { state, allowed } },
  )
}
