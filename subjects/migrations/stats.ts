import { Type } from 'typebox'
import { resource } from '../kit/contract.ts'
import { FilesBySize, MigrationRecord, recordColumns, Stats } from './model/figures.ts'
import { migrationId } from './model/model.ts'
import { Count, list, model, page, strict } from '../kit/schemas.ts'

/** Longest time of which the throughput can be asked for: half an hour, second by second. */
export const maxThroughputSeconds = 1_800

const ThroughputBucket = model('ThroughputBucket', {
  totalBytes: Count('Bytes written to the target'),
  totalFiles: Count('Files and links copied'),
  totalFilesBySize: FilesBySize,
  peakFilesBySize: FilesBySize,
  peakBytes: Count('Maximum number of bytes in one second'),
  peakFiles: Count('Maximum number of files in one second'),
  scannedFiles: Count('Files found'),
  scannedDirs: Count('Folders found'),
  excludedFiles: Count('Files excluded by rules'),
  excludedDirs: Count('Folders excluded by rules'),
  excludedBytes: Count('Bytes of files excluded by rules'),
  excludedEvents: Count('Changes excluded by rules (live migrations)'),
})

/** Figures of what is moved; those of migrations by state are verbs of `migrations`. */
export const stats = resource('stats', {
  history: {
    summary: 'Show the statistics of a migration by minute, hour and day, newest first',
    input: strict({ migrationId }),
    output: list(MigrationRecord),
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/migrations/{migrationId}/stats' }],
    cli: { args: ['migrationId'], columns: recordColumns },
  },
  current: {
    summary: 'Show the statistics of each migration',
    input: strict(page),
    output: list(MigrationRecord),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/stats/current' }],
    cli: { columns: recordColumns },
  },
  'current-one': {
    summary: 'Show the statistics of a migration',
    input: strict({ migrationId }),
    output: MigrationRecord,
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/stats/current/{migrationId}' }],
    cli: { args: ['migrationId'] },
  },
  cumulative: {
    summary: 'Show the total statistics of all migrations',
    description:
      'Adds up what each migration shows now: a reset, or the deletion of a migration, takes its earlier figures out of the total.',
    input: strict({}),
    output: Stats,
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/stats/cumulative' }],
  },
  throughput: {
    summary: 'Show the throughput of the last 10, 60, 300 and 1800 seconds',
    description:
      'Counted since the platform started. Bytes are counted when they are written to the target, including those of files being copied; files are counted when they are complete.',
    input: strict({}),
    output: model('ThroughputSummary', {
      last10Secs: ThroughputBucket,
      last60Secs: ThroughputBucket,
      last300Secs: ThroughputBucket,
      last1800Secs: ThroughputBucket,
    }),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/stats/throughput' }],
  },
  'throughput-in': {
    summary: 'Show the throughput of the last seconds',
    input: strict({
      nSecs: Type.Integer({ minimum: 1, maximum: maxThroughputSeconds, description: 'Number of seconds' }),
    }),
    output: ThroughputBucket,
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/stats/throughput/{nSecs}' }],
    cli: { args: ['nSecs'] },
  },
})
