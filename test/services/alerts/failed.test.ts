import { expect, test } from 'vitest'
import { failed } from '../../../services/alerts/failed.ts'
import type { Condition } from '../../../subjects/migrations/model/conditions.ts'

const since = '2026-01-02T00:00:00.000Z'
const condition = (reason: Condition['reason'], message: string): Condition => ({ reason, message, since })
const calm = {
  migrationId: 'my data',
  state: 'STOPPED',
  stateText: 'stopped',
  conditions: [] as Condition[],
  failedPathCount: 0,
} as const
const summary = (more: Partial<Parameters<typeof failed>[0]>) => failed({ ...calm, ...more })[0]?.summary

test('an alert of a migration says what it is that somebody is to do', () => {
  expect(summary({})).toBeUndefined()
  const held = condition('WAITS_FOR_APPROVAL', 'Deletions at the target exceed the limit: 4 files')
  expect(summary({ abortReason: 'AUTO_ABORTED', conditions: [held] })).toBe(
    `migration “my data” waits for approval of its deletions at the target: see "gantry migrations plan 'my data'", then run "gantry migrations approve-deletions 'my data'"`,
  )
  const stateText = 'stopped because of an error: there is no filesystem to'
  expect(summary({ abortReason: 'AUTO_ABORTED', stateText })).toBe(`migration “my data” was ${stateText}`)
  const blocked = condition('TARGET_REFUSES', 'no space left')
  expect(summary({ state: 'RUNNING', conditions: [blocked] })).toBe(
    'migration “my data” is blocked: no space left',
  )
  expect(summary({ state: 'COMPLETED', failedPathCount: 2 })).toBe(
    'migration “my data” has 2 paths that were not copied',
  )
  expect(summary({ state: 'RUNNING', failedPathCount: 2 })).toBeUndefined()
})
