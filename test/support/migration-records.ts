import type { MigrationRecord } from '../../services/migrations/lifecycle/record.ts'

/** A one-time migration as it is stored, that was never started unless the fields say so. */
export const migrationRecord = (fields: Partial<MigrationRecord> = {}): MigrationRecord => ({
  migrationId: 'one',
  internalId: '00000000-0000-4000-8000-000000000000',
  path: '/',
  source: 'from',
  target: 'to',
  policy: 'Overwrite',
  kind: 'once',
  priority: 'NORMAL',
  state: 'NONSCHEDULED',
  resumable: true,
  generation: 1,
  seeded: false,
  created: '2026-01-31T12:00:00.000Z',
  pendingRegions: [],
  ...fields,
})
