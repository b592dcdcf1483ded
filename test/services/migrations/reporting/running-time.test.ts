import { expect, test } from 'vitest'
import { noCounts } from '../../../../services/engine/run/counts.ts'
import { publicMigration } from '../../../../services/migrations/reporting/view.ts'
import type { MigrationState } from '../../../../subjects/migrations/model/model.ts'
import { migrationRecord } from '../../../support/migration-records.ts'

const at = (second: number) => new Date(Date.UTC(2026, 0, 2) + second * 1_000).toISOString()

/** Of a migration that entered these states at these seconds, and was completed at the last one. */
function runningSeconds(started: number, entered: readonly (readonly [MigrationState, number])[]): number {
  const [state, completed] = entered.at(-1)!
  const record = migrationRecord({
    state,
    started: at(started),
    completed: at(completed),
    states: entered.map(([its, second]) => ({ state: its, since: at(second) })),
  })
  const figures = { record, counts: noCounts(), failed: 0, changes: undefined, conditions: [] }
  const rules = { exclusions: [], inclusions: [] }
  return publicMigration({ ...figures, underWay: { bytes: 0, files: 0 } }, rules, []).runningSeconds
}

test('the time that a migration was stopped, or completed before it went on, is not part of its duration', () => {
  expect(
    runningSeconds(10, [
      ['NONSCHEDULED', 0],
      ['SCHEDULED', 10],
      ['RUNNING', 10.5],
      ['COMPLETED', 20],
    ]),
  ).toBe(10)
  expect(
    runningSeconds(10, [
      ['RUNNING', 10],
      ['STOPPING', 15],
      ['STOPPED', 16],
      ['RUNNING', 1_016],
      ['COMPLETED', 1_020],
      ['RUNNING', 5_020],
      ['COMPLETED', 5_021.5],
    ]),
  ).toBe(11.5)
})

test('of one that was started anew, what was before does not count', () => {
  expect(
    runningSeconds(1_000, [
      ['RUNNING', 0],
      ['STOPPED', 10],
      ['RUNNING', 1_000],
      ['COMPLETED', 1_004],
    ]),
  ).toBe(4)
})
