import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  allowedIn,
  commands,
  happenings,
  isActive,
  isBetweenScans,
  isWorkedOn,
  type MigrationKind,
  migrationKinds,
  next,
  requireNext,
  type Situation,
  type Trigger,
} from '../../../../services/migrations/lifecycle/states.ts'
import { type MigrationState, migrationStates } from '../../../../subjects/migrations/model/model.ts'
import { isGantryError } from '../../../../subjects/kit/errors.ts'

const triggers = [...commands, ...happenings] satisfies Trigger[]

const short = {
  non: 'NONSCHEDULED',
  sch: 'SCHEDULED',
  run: 'RUNNING',
  live: 'LIVE',
  ing: 'STOPPING',
  stop: 'STOPPED',
  done: 'COMPLETED',
  wait: 'WAITING_FOR_NEXT_RECURRENCE',
  rec: 'RECURRENCE_SCHEDULED',
  gone: 'gone',
  '-': undefined,
} as const

/** Every state with what each trigger makes of it; `-` is not allowed, `*` is by the kind: done, wait or live. */
const table = `
      start resume stop reset rescan delete due admitted displaced scanned aborted lost drained
non   sch   -      -    non   -      gone   -   -        -         -       -       -    -
sch   -     -      ing  sch   sch    -      -   run      -         -       -       -    -
run   -     -      ing  sch   run    -      -   -        sch       *       stop    run  -
live  -     -      ing  sch   run    -      -   -        -         -       stop    run  -
ing   -     -      ing  -     -      -      -   -        -         -       -       -    stop
stop  sch   sch    -    sch   -      gone   -   -        -         -       -       -    -
done  -     -      -    sch   sch    gone   -   -        -         -       -       -    -
wait  rec   -      ing  sch   sch    gone   rec -        -         -       -       -    -
rec   -     -      ing  sch   -      -      -   run      -         -       -       -    -
`
  .trim()
  .split('\n')
  .map((line) => line.trim().split(/\s+/))

const [header, ...rows] = table as [string[], ...string[][]]
const isShort = (text: string): text is keyof typeof short => Object.hasOwn(short, text)
const ends = { once: 'COMPLETED', recurring: 'WAITING_FOR_NEXT_RECURRENCE', live: 'LIVE' } as const

function expected(state: string, cell: string, { kind, resumable }: Situation, trigger: Trigger) {
  if (state === 'stop' && !resumable && (trigger === 'start' || trigger === 'resume')) return undefined
  if (cell === '*') return ends[kind]
  if (!isShort(cell)) throw new Error(`the table has ${cell}`)
  return short[cell]
}

test('the table has every state and every trigger', () => {
  expect(header).toEqual(triggers)
  expect(new Set(rows.map(([state]) => isShort(state!) && short[state]))).toEqual(new Set(migrationStates))
  expect(rows).toHaveLength(migrationStates.length)
})

test.each(rows.map((row) => [row[0]!, row.slice(1)] as const))('%s', (name, cells) => {
  if (!isShort(name)) throw new Error(name)
  const state = short[name] as MigrationState
  for (const kind of migrationKinds) {
    for (const resumable of [true, false]) {
      const situation = { state, kind, resumable }
      const allowed = triggers.filter((trigger, index) => {
        const to = expected(name, cells[index]!, situation, trigger)
        expect(next(situation, trigger), `${kind} ${resumable} ${trigger}`).toBe(to)
        return to !== undefined
      })
      const allowedCommands = commands.filter((one) => allowed.includes(one))
      expect(allowedIn(situation)).toEqual(allowedCommands)
      for (const command of commands) {
        if (allowedCommands.includes(command)) requireNext('one', situation, command)
        else expect(() => requireNext('one', situation, command)).toThrow(/^one is .+: cannot /)
      }
    }
  }
})

/** States that can be reached from the first one, and `gone`. */
function reachable(kind: MigrationKind): Set<string> {
  const seen = new Set<string>(['NONSCHEDULED'])
  for (const state of seen) {
    if (state === 'gone') continue
    for (const trigger of triggers) {
      for (const resumable of [true, false]) {
        const to = next({ state: state as MigrationState, kind, resumable }, trigger)
        if (to !== undefined) seen.add(to)
      }
    }
  }
  return seen
}

test('each kind reaches the states that are its own', () => {
  const shared = ['NONSCHEDULED', 'SCHEDULED', 'RUNNING', 'STOPPING', 'STOPPED', 'gone']
  expect(reachable('once')).toEqual(new Set([...shared, 'COMPLETED']))
  expect(reachable('recurring')).toEqual(
    new Set([...shared, 'WAITING_FOR_NEXT_RECURRENCE', 'RECURRENCE_SCHEDULED']),
  )
  expect(reachable('live')).toEqual(new Set([...shared, 'LIVE']))
})

const anyKind = fc.constantFrom(...migrationKinds)
const anyTrigger = fc.constantFrom(...triggers)

test('whatever happens, nobody is stuck: a stop, its end and a deletion are always possible', () => {
  const step = fc.tuple(anyTrigger, fc.boolean())
  fc.assert(
    fc.property(anyKind, fc.array(step, { maxLength: 40 }), (kind, steps) => {
      let state: MigrationState = 'NONSCHEDULED'
      let resumable = true
      for (const [trigger, isResumable] of steps) {
        const to = next({ state, kind, resumable }, trigger)
        if (to === undefined || to === 'gone') continue
        if (trigger === 'stop') resumable = isResumable
        // Work is handed out only to whom the scheduler has admitted, and who was not stopped since.
        if (isWorkedOn(to) && !isWorkedOn(state)) expect(trigger).toBe('admitted')
        expect(isActive(to)).toBe(isWorkedOn(to) || to === 'STOPPING')
        if (isBetweenScans(to)) expect(kind).not.toBe('live')
        state = to
      }
      const wayOut: Trigger[] = ['stop', 'drained', 'delete']
      let end: MigrationState | 'gone' = state
      for (const trigger of wayOut) {
        if (end !== 'gone') end = next({ state: end, kind, resumable }, trigger) ?? end
      }
      expect(end).toBe('gone')
    }),
  )
})

test('a refusal says the state and what is allowed', () => {
  const error = refusal({ state: 'STOPPED', kind: 'once', resumable: false })
  expect(error.message).toBe('one is STOPPED and not resumable: cannot start; allowed: reset, delete')
  expect(error.details).toEqual({ state: 'STOPPED', resumable: false, allowed: ['reset', 'delete'] })
  expect(refusal({ state: 'STOPPING', kind: 'once', resumable: true }).message).toBe(
    'one is STOPPING: cannot start; wait until it has stopped: "gantry migrations stop one --wait"',
  )
})

function refusal(situation: Situation) {
  try {
    requireNext('one', situation, 'start')
  } catch (error) {
    if (isGantryError(error, 'NOT_ALLOWED_IN_STATE')) return error
  }
  throw new Error('it was not refused')
}
