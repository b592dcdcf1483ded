import { GantryError } from '../../subjects/errors.ts'
import type { MigrationState } from '../../subjects/migration-model.ts'

/** What can happen to a migration; `finished` and `drained` are said by the engine, the others by people. */
export type Trigger = 'start' | 'resume' | 'stop' | 'delete' | 'finished' | 'drained'

/**
 * The state machine of one-time migrations. What is not here is not allowed; `gone` is the end of the record.
 * NONSCHEDULED: never started. RUNNING: work is handed out. STOPPING: no more work is handed out, what is in hand ends.
 * STOPPED: nobody works; what is left waits in the queue if it is resumable. COMPLETED: nothing is left.
 */
const transitions: Record<MigrationState, Partial<Record<Trigger, MigrationState | 'gone'>>> = {
  NONSCHEDULED: { start: 'RUNNING', delete: 'gone' },
  RUNNING: { stop: 'STOPPING', finished: 'COMPLETED' },
  STOPPING: { drained: 'STOPPED' },
  STOPPED: { start: 'RUNNING', resume: 'RUNNING', delete: 'gone' },
  COMPLETED: { delete: 'gone' },
}

const people: readonly Trigger[] = ['start', 'resume', 'stop', 'delete']

/** What people may do with a migration in this state. */
export const allowedIn = (state: MigrationState, resumable: boolean): Trigger[] =>
  people.filter((trigger) => next(state, resumable, trigger) !== undefined)

/** The state after a trigger, or undefined when it is not allowed. */
export function next(
  state: MigrationState,
  resumable: boolean,
  trigger: Trigger,
): MigrationState | 'gone' | undefined {
  const goesOn = trigger === 'start' || trigger === 'resume'
  if (state === 'STOPPED' && goesOn && !resumable) return undefined
  return transitions[state][trigger]
}

/** The state after a command of a person. @throws GantryError NOT_ALLOWED_IN_STATE with the state and what is allowed */
export function requireNext(
  migrationId: string,
  { state, resumable }: { state: MigrationState; resumable: boolean },
  trigger: Trigger,
): MigrationState | 'gone' {
  const to = next(state, resumable, trigger)
  if (to !== undefined) return to
  const allowed = allowedIn(state, resumable)
  const can = allowed.length === 0 ? 'nothing until that ends' : allowed.join(', ')
  const described = state === 'STOPPED' && !resumable ? 'STOPPED and not resumable' : state
  throw new GantryError(
    'NOT_ALLOWED_IN_STATE',
    `${migrationId} is ${described}: cannot ${trigger}; allowed: ${can}`,
    {
      details: { state, resumable, allowed },
    },
  )
}
