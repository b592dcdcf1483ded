import { expect, test } from 'vitest'
import { MetadataMetrics } from '../../../../services/metadata/migrations/metrics.ts'
import { MetricRegistry } from '../../../../subjects/observability/metric-registry.ts'
import { metadataMigration } from '../../../support/metadata-migrations.ts'

test('migrations of metadata are counted by state, their objects together, and the lag of each is measured', () => {
  const registry = new MetricRegistry()
  const metrics = new MetadataMetrics(registry)
  const values = () =>
    Object.fromEntries(
      registry
        .drain()
        .filter(({ value }) => value !== 0)
        .map(({ name, labels, value }) => [`${name} ${Object.values(labels ?? {}).join()}`, value]),
    )
  metrics.measure([
    metadataMigration({ tables: 3, partitions: 5, failed: 1, lagSeconds: 7, lagEvents: 2 }),
    metadataMigration({ migrationName: 'other', tables: 4, held: 2, lagSeconds: 9 }),
    metadataMigration({ migrationName: 'over', state: 'COMPLETED', phase: undefined, databases: 1 }),
  ])
  expect(values()).toEqual({
    'metadata.migrations.count RUNNING': 2,
    'metadata.migrations.count COMPLETED': 1,
    'metadata.objects.count database': 1,
    'metadata.objects.count table': 7,
    'metadata.objects.count partition': 5,
    'metadata.objects.unsettled.count failed': 1,
    'metadata.objects.unsettled.count held': 2,
    'metadata.migrations.lag.seconds lake': 7,
    'metadata.migrations.lag.events lake': 2,
    'metadata.migrations.lag.seconds other': 9,
  })
  metrics.measure([])
  expect(values()).toEqual({})
})
