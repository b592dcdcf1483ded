import { expect, test } from 'vitest'
import { noCounts } from '../../../services/migrations/engine/run/counts.ts'
import type { MigrationDependencies } from '../../../services/migrations/dependencies.ts'
import { Flights } from '../../../services/migrations/flights.ts'
import { migrationHandlers } from '../../../services/migrations/index.ts'
import type { MigrationRecord } from '../../../services/migrations/record.ts'
import { RollingStats } from '../../../services/migrations/stats/rolling-stats.ts'
import { migrationRecord } from '../../support/migration-records.ts'

const counts = { ...noCounts(), filesScanned: 7, filesMigrated: 7 }
const running = migrationRecord({ state: 'RUNNING', seeded: true })

/** A migration that is completed, and its progress forgotten, between the first question about it and the second. */
function completedMeanwhile(): MigrationDependencies {
  let questions = 0
  const isOver = () => questions++ > 0
  const record = (): MigrationRecord =>
    isOver() ? { ...running, state: 'COMPLETED', completed: running.created, counts } : running
  const fakes = {
    records: { get: () => Promise.resolve(record()), all: () => Promise.resolve([record()]) },
    progress: {
      totals: () => Promise.resolve(isOver() ? new Map() : new Map([[running.internalId, counts]])),
    },
    failures: { count: () => Promise.resolve(0), counts: () => Promise.resolve(new Map()) },
    stats: new RollingStats(),
    plans: { handlers: {} },
    changesOf: () => undefined,
    conditionsOf: () => [],
    allCleanups: async () => [],
    flights: new Flights(),
    rules: { known: () => Promise.resolve({ exclusions: [], inclusions: [] }) },
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the handlers under test ask for no more
  return fakes as unknown as MigrationDependencies
}

/** The handlers under test look at nothing of a call. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
const call = {} as never

test('a migration that is completed while it is looked at has its figures all the same', async () => {
  const { progress } = await migrationHandlers(completedMeanwhile()).progress({ migrationId: 'one' }, call)
  expect(progress).toMatchObject({ filesScanned: 7, filesMigrated: 7 })
  const one = await migrationHandlers(completedMeanwhile()).get({ migrationId: 'one' }, call)
  expect(one.scannerSummary.contentSummary.fileCount).toBe(7)
  const [listed] = await migrationHandlers(completedMeanwhile()).list({}, call)
  expect(listed?.scannerSummary.contentSummary.fileCount).toBe(7)
  const { completed } = await migrationHandlers(completedMeanwhile()).summary({}, call)
  expect(completed.migrations.map(({ progress }) => progress.filesMigrated)).toEqual([7])
})
