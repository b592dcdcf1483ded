import { expect, test } from 'vitest'
import { allowedIn, next, requireNext, type Trigger } from '../../../services/migrations/states.ts'
import { type MigrationState, migrationStates } from '../../../subjects/migration-model.ts'
import { isGantryError } from '../../../subjects/errors.ts'

const triggers = ['start', 'resume', 'stop', 'delete', 'finished', 'drained'] as const satisfies Trigger[]

/** Every state, resumable (r) and not (n), with what each trigger makes of it; `-` is not allowed. */
const table: [MigrationState, 'r' | 'n', ...(MigrationState | 'gone' | '-')[]][] = [
  // state, resumable, start, resume, stop, delete, finished, drained
  ['NONSCHEDULED', 'r', 'RUNNING', '-', '-', 'gone', '-', '-'],
  ['NONSCHEDULED', 'n', 'RUNNING', '-', '-', 'gone', '-', '-'],
  ['RUNNING', 'r', '-', '-', 'STOPPING', '-', 'COMPLETED', '-'],
  ['RUNNING', 'n', '-', '-', 'STOPPING', '-', 'COMPLETED', '-'],
  ['STOPPING', 'r', '-', '-', '-', '-', '-', 'STOPPED'],
  ['STOPPING', 'n', '-', '-', '-', '-', '-', 'STOPPED'],
  ['STOPPED', 'r', 'RUNNING', 'RUNNING', '-', 'gone', '-', '-'],
  ['STOPPED', 'n', '-', '-', '-', 'gone', '-', '-'],
  ['COMPLETED', 'r', '-', '-', '-', 'gone', '-', '-'],
  ['COMPLETED', 'n', '-', '-', '-', 'gone', '-', '-'],
]

test('the table has every state', () => {
  expect(new Set(table.map(([state]) => state))).toEqual(new Set(migrationStates))
  expect(table).toHaveLength(2 * migrationStates.length)
})

test.each(table)('%s (%s)', (state, kind, ...after) => {
  const resumable = kind === 'r'
  for (const [index, trigger] of triggers.entries()) {
    const to = after[index] === '-' ? undefined : after[index]
    expect(next(state, resumable, trigger), trigger).toBe(to)
    if (to !== undefined) expect(requireNext('one', { state, resumable }, trigger)).toBe(to)
    else expect(() => requireNext('one', { state, resumable }, trigger)).toThrow(/^one is .+: cannot /)
  }
  const allowed = triggers.slice(0, 4).filter((_, index) => after[index] !== '-')
  expect(allowedIn(state, resumable)).toEqual(allowed)
})

test('a refusal says the state and what is allowed', () => {
  const error = refusal('STOPPED', false)
  expect(error.message).toBe('one is STOPPED and not resumable: cannot start; allowed: delete')
  expect(error.details).toEqual({ state: 'STOPPED', resumable: false, allowed: ['delete'] })
  expect(refusal('STOPPING', true).message).toBe(
    'one is STOPPING: cannot start; allowed: nothing until that ends',
  )
})

function refusal(state: MigrationState, resumable: boolean) {
  try {
    requireNext('one', { state, resumable }, 'start')
  } catch (error) {
    if (isGantryError(error, 'NOT_ALLOWED_IN_STATE')) return error
  }
  throw new Error('it was not refused')
}
