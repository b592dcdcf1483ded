import { GantryError } from '../../../subjects/kit/errors.ts'
import { product } from '../../../subjects/kit/names.ts'
import { shellArgument } from '../../../subjects/kit/shell-word.ts'
import type { MigrationState } from '../../../subjects/migrations/model/model.ts'

/** `once` ends when its scan is done, `recurring` waits for the next one, `live` follows what changes from then on. */
export const migrationKinds = ['once', 'recurring', 'live'] as const
export type MigrationKind = (typeof migrationKinds)[number]

/** What people can ask for; `rescan` is for a folder that is to be scanned again. */
export const commands = ['start', 'resume', 'stop', 'reset', 'rescan', 'delete'] as const
export type Command = (typeof commands)[number]

/**
 * What else happens to a migration, and who says so. The scheduler: `due`, when the time of the next recurrence has come;
 * `admitted`, when it may run; `displaced`, when one of a higher priority takes its place, or the window of its schedule is
 * over. The runner: `scanned`, when its queue has become empty after it was seeded; `aborted`, when somebody has to decide
 * before it goes on: there are more deletions than may be made without approval, or it fails again and again for a reason
 * that does not pass; `lost`, when its queue is not there any more though it cannot be done; `drained`, when a stopped one
 * has no work in progress any more.
 */
export const happenings = ['due', 'admitted', 'displaced', 'scanned', 'aborted', 'lost', 'drained'] as const
export type Happening = (typeof happenings)[number]

export type Trigger = Command | Happening
type Next = MigrationState | 'gone'

/** All that decides what may happen next. */
export interface Situation {
  readonly state: MigrationState
  readonly kind: MigrationKind
  /** Whether it can go on after it was stopped. */
  readonly resumable: boolean
}

const afterScan: Record<MigrationKind, MigrationState> = {
  once: 'COMPLETED',
  recurring: 'WAITING_FOR_NEXT_RECURRENCE',
  live: 'LIVE',
}

/**
 * The state machine. What is not here is not allowed; `gone` is the end of the record.
 * NONSCHEDULED: never started. SCHEDULED: waits until it may run. RUNNING: scans and copies. LIVE: all that was there is
 * copied, changes are followed. STOPPING: no more work is handed out, work in progress ends. STOPPED: nobody works; what is
 * left waits in the queue if it is resumable. COMPLETED: nothing is left. WAITING_FOR_NEXT_RECURRENCE: nothing is left
 * until its next time. RECURRENCE_SCHEDULED: that has come, and it waits until it may run.
 */
const transitions: Record<MigrationState, Partial<Record<Trigger, Next | 'after scan'>>> = {
  NONSCHEDULED: { start: 'SCHEDULED', reset: 'NONSCHEDULED', delete: 'gone' },
  SCHEDULED: { admitted: 'RUNNING', stop: 'STOPPING', reset: 'SCHEDULED', rescan: 'SCHEDULED' },
  RUNNING: {
    scanned: 'after scan',
    aborted: 'STOPPED',
    lost: 'RUNNING',
    displaced: 'SCHEDULED',
    stop: 'STOPPING',
    reset: 'SCHEDULED',
    rescan: 'RUNNING',
  },
  LIVE: { aborted: 'STOPPED', lost: 'RUNNING', stop: 'STOPPING', reset: 'SCHEDULED', rescan: 'RUNNING' },
  // Whoever stops it once more may wait for its end, or want the remaining work discarded.
  STOPPING: { drained: 'STOPPED', stop: 'STOPPING' },
  STOPPED: { start: 'SCHEDULED', resume: 'SCHEDULED', reset: 'SCHEDULED', delete: 'gone' },
  COMPLETED: { reset: 'SCHEDULED', rescan: 'SCHEDULED', delete: 'gone' },
  WAITING_FOR_NEXT_RECURRENCE: {
    due: 'RECURRENCE_SCHEDULED',
    start: 'RECURRENCE_SCHEDULED',
    stop: 'STOPPING',
    reset: 'SCHEDULED',
    rescan: 'SCHEDULED',
    delete: 'gone',
  },
  RECURRENCE_SCHEDULED: { admitted: 'RUNNING', stop: 'STOPPING', reset: 'SCHEDULED' },
}

/** What people may do in this situation. */
export const allowedIn = (situation: Situation): Command[] =>
  commands.filter((command) => next(situation, command) !== undefined)

/** The state after a trigger, or undefined when it is not allowed. */
export function next({ state, kind, resumable }: Situation, trigger: Trigger): Next | undefined {
  const goesOn = trigger === 'start' || trigger === 'resume'
  if (state === 'STOPPED' && goesOn && !resumable) return undefined
  const to = transitions[state][trigger]
  return to === 'after scan' ? afterScan[kind] : to
}

/** What commands are called that people call by another name. */
const calls: Partial<Record<Command, string>> = { rescan: 'add-pending-region' }

/**
 * The state after a command. @throws GantryError NOT_ALLOWED_IN_STATE with the state and what is allowed
 * @param called what the caller asked for, if it has another name
 */
export function requireNext(
  migrationId: string,
  situation: Situation,
  command: Command,
  called: string = calls[command] ?? command,
): Next {
  const to = next(situation, command)
  if (to !== undefined) return to
  const { state, resumable } = situation
  const allowed = allowedIn(situation)
  const can =
    state === 'STOPPING'
      ? `wait until it has stopped: "${product} migrations stop ${shellArgument(migrationId)} --wait"`
      : `allowed: ${allowed.map((one) => calls[one] ?? one).join(', ')}`
  const described = state === 'STOPPED' && !resumable ? 'STOPPED and not resumable' : state
  throw new GantryError('NOT_ALLOWED_IN_STATE', `${migrationId} is ${described}: cannot ${called}; ${can}`, {
    details: { state, resumable, allowed },
  })
}

/** Whether the runner has something to do: work, or to end it. */
export const isActive = (state: MigrationState): boolean => isWorkedOn(state) || state === 'STOPPING'

/** Whether work is handed out. */
export const isWorkedOn = (state: MigrationState): boolean => state === 'RUNNING' || state === 'LIVE'

/** Whether it works, or begins to, though nobody asks for it. */
export const actsByItself = (state: MigrationState): boolean =>
  isWorkedOn(state) ||
  state === 'SCHEDULED' ||
  state === 'RECURRENCE_SCHEDULED' ||
  state === 'WAITING_FOR_NEXT_RECURRENCE'

/** Whether the last scan is over and the next has not begun: its figures are in the record. */
export const isBetweenScans = (state: MigrationState): boolean =>
  state === 'COMPLETED' || state === 'WAITING_FOR_NEXT_RECURRENCE' || state === 'RECURRENCE_SCHEDULED'
