import { expect, test } from 'vitest'
import { maxPayloadBytes } from '../../../../broker/common/message-limits.ts'
import { noCounts } from '../../../../services/engine/run/counts.ts'
import type { MigrationDependencies } from '../../../../services/migrations/api/dependencies.ts'
import { InFlightProgress } from '../../../../services/migrations/progress/in-flight-progress.ts'
import { migrationHandlers } from '../../../../services/migrations/api/handlers.ts'
import type { MigrationRecord } from '../../../../services/migrations/lifecycle/record.ts'
import { RollingStats } from '../../../../services/migrations/reporting/stats/rolling-stats.ts'
import { migrationStates } from '../../../../subjects/migrations/model/model.ts'
import { migrationRecord } from '../../../support/migration-records.ts'

const counts = { ...noCounts(), filesScanned: 7, filesMigrated: 7 }
const running = migrationRecord({ state: 'RUNNING', seeded: true })

/** What handlers ask for, of some migrations. */
function dependenciesWith(fakes: object): MigrationDependencies {
  const all = {
    failures: { count: () => Promise.resolve(0), counts: () => Promise.resolve(new Map()) },
    stats: new RollingStats(),
    plans: { handlers: {} },
    changesOf: () => undefined,
    conditionsOf: () => [],
    allCleanups: async () => [],
    inFlight: new InFlightProgress(),
    rules: { known: () => Promise.resolve({ exclusions: [], inclusions: [] }) },
    ...fakes,
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the handlers under test ask for no more
  return all as unknown as MigrationDependencies
}

/** A migration that is completed, and its progress forgotten, between the first question about it and the second. */
function completedMeanwhile(): MigrationDependencies {
  let questions = 0
  const isOver = () => questions++ > 0
  const record = (): MigrationRecord =>
    isOver() ? { ...running, state: 'COMPLETED', completed: running.created, counts } : running
  return dependenciesWith({
    records: {
      get: () => Promise.resolve(record()),
      all: () => Promise.resolve([record()]),
      list: () => Promise.resolve([record()]),
    },
    progress: {
      totals: () => Promise.resolve(isOver() ? new Map() : new Map([[running.internalId, counts]])),
    },
  })
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

test('a summary of more migrations than fit into a message leaves some out, what is under way last, and counts all', async () => {
  const ofState = 1_000
  const inStates = migrationStates.flatMap((state) =>
    Array.from({ length: ofState }, (_, n) =>
      migrationRecord({ state, migrationId: `${state}-${n}-${'x'.repeat(60)}`, path: '/deep'.repeat(120) }),
    ),
  )
  const large = migrationHandlers(
    dependenciesWith({
      records: { all: () => Promise.resolve(inStates) },
      progress: { totals: () => Promise.resolve(new Map()) },
    }),
  )
  const summary = await large.summary({}, call)
  expect(JSON.stringify(summary).length).toBeLessThan(maxPayloadBytes)
  const { overallCount, live, running, completed } = summary
  expect(overallCount).toBe(inStates.length)
  expect([running.migrations.length, live.migrations.length]).toEqual([ofState, ofState])
  expect(completed).toEqual({ count: ofState, migrations: [] })
})
