import { expect, test } from 'vitest'
import { metadataSeen } from '../../../cli/watch/of-metadata.ts'
import { metadataMigration } from '../../support/metadata-migrations.ts'

const some = { databases: 1, tables: 1_200, partitions: 30_000 }
const arrived = '1 database, 1,200 tables, 30,000 partitions'

test('a line has what has arrived, what has not, the lag, and what it does', () => {
  const seen = metadataSeen(
    metadataMigration({ ...some, failed: 1, conflicts: 2, waiting: 3, held: 1, lagSeconds: 4, lagEvents: 1 }),
  )
  const parts = `${arrived}  1 failure  2 conflicts  3 waiting  1 held drop  lag 4 s, 1 event  following changes`
  expect(seen.line(200)).toBe(`lake  ${parts}`)
  expect(seen.line(40)).toHaveLength(40)
  expect(seen.plain).toBe(`lake  RUNNING  ${parts}`)
  expect([seen.isOver, seen.isDone, seen.below]).toEqual([false, false, []])
})

test('why it does not get on has a line of its own, and is told at once', () => {
  const away = metadataSeen(metadataMigration({ phase: 'comparing', reason: 'it is away\u001b' }))
  expect(away.below).toEqual([expect.stringMatching(/^ {2}it is away/)])
  expect(away.below[0]).not.toContain('\u001b')
  expect(away.said).not.toBe(metadataSeen(metadataMigration({ phase: 'comparing' })).said)
})

test.for([
  ['CREATED', {}, 'lake was not started; start it with: gantry metadata-migrations start lake'],
  ['PAUSED', {}, 'lake is paused; continue with: gantry metadata-migrations resume lake'],
  ['STOPPED', {}, 'lake is stopped; start it again with: gantry metadata-migrations start lake'],
  [
    'FAILED',
    { reason: 'it refuses' },
    'lake has failed: it refuses; fix the cause, then run: gantry metadata-migrations start lake',
  ],
  ['COMPLETED', some, `lake is completed: ${arrived} at the target`],
  [
    'COMPLETED',
    { ...some, failed: 1 },
    `lake is completed with 1 failure: ${arrived} at the target; list them with: gantry metadata-migrations objects lake`,
  ],
] as const)('the end of one that is %s', ([state, more, line]) => {
  const seen = metadataSeen(metadataMigration({ state, phase: undefined, ...more }))
  expect(seen.end).toBe(line)
  expect([seen.isOver, seen.isDone]).toEqual([true, line === `lake is completed: ${arrived} at the target`])
})
