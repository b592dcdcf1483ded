import { expect, test } from 'vitest'
import { noCounts } from '../../../../services/engine/run/counts.ts'
import { type MigrationRecord, scanned } from '../../../../services/migrations/lifecycle/record.ts'
import { migrationRecord } from '../../../support/migration-records.ts'

test.for(['once', 'recurring', 'live'] as const)(
  'a target stays in doubt while paths have failed in the scan that reads it: %s',
  (kind) => {
    const record = migrationRecord({ kind, state: 'RUNNING', seeded: true, inDoubt: true })
    const after = (failedPathCount: number) =>
      scanned(record, { counts: noCounts(), failedPathCount }, new Date()).inDoubt
    expect([after(1), after(0)]).toEqual([true, undefined])
  },
)

test('a live migration that was scanned again as a whole has what was there when that was asked for', () => {
  const region = (path: string, second: number) => ({
    id: second,
    path,
    created: `2026-02-01T22:00:0${second}.000Z`,
    queued: true,
  })
  const after = (...pendingRegions: MigrationRecord['pendingRegions']) =>
    scanned(
      migrationRecord({ kind: 'live', path: '/lake', state: 'RUNNING', seeded: true, pendingRegions }),
      { counts: noCounts(), failedPathCount: 0 },
      new Date(),
    ).rescanned
  expect(after(region('/lake', 1), region('/lake/table', 2))).toBe(region('/lake', 1).created)
  expect(after(region('/lake/table', 2))).toBeUndefined()
  expect(after({ ...region('/lake', 3), failures: { upTo: 1 } })).toBeUndefined()
})
