import { expect, test } from 'vitest'
import { newFollowed, stateOf } from '../../../../../services/migrations/execution/followed.ts'
import { MigrationMetrics } from '../../../../../services/migrations/reporting/stats/metrics.ts'
import { MetricRegistry } from '../../../../../subjects/observability/metric-registry.ts'
import { migrationRecord } from '../../../../support/migration-records.ts'

test('how far a live migration is behind is measured for each, and for no other', () => {
  const registry = new MetricRegistry()
  const metrics = new MigrationMetrics(registry)
  const changes = {
    detection: 'watching',
    reason: undefined,
    lagSeconds: 12.5,
    unscheduled: 3,
    scheduled: 4,
  } as const
  metrics.measureLag([
    { record: migrationRecord({ migrationId: 'followed' }), changes },
    { record: migrationRecord({ migrationId: 'once' }), changes: undefined },
  ])
  const lags = () => registry.drain().filter(({ name }) => name.startsWith('migrations.lag.'))
  expect(lags().map(({ name, labels, value }) => [name, labels, value])).toEqual([
    ['migrations.lag.seconds', { migration: 'followed' }, 12.5],
    ['migrations.lag.changes', { migration: 'followed' }, 7],
  ])
  // One that was stopped falls behind.
  const behindSince = new Date(Date.now() - 60_000).toISOString()
  const left = migrationRecord({ kind: 'live', state: 'STOPPED', seeded: true, behindSince })
  metrics.measureLag([stateOf(newFollowed(left))])
  const [seconds, count] = lags()
  expect([seconds!.labels, count!.value]).toEqual([{ migration: 'one' }, 1])
  expect(seconds!.value).toBeGreaterThan(59)
  metrics.measureLag([])
  expect(lags()).toEqual([])
})
