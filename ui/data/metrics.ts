/** Metrics of the platform that pages show by themselves; all are in the list of them. */
export const metricNames = {
  bytesMigrated: 'migrations.bytes.migrated.total',
  storageBytes: 'storage.bytes',
} as const
