import { Type } from 'typebox'
import { resource } from '../kit/contract.ts'
import { FilesBySize, MigrationRecord, Stats } from './model/figures.ts'
import { migrationId } from './model/model.ts'
import { Count, list, model, page, strict } from '../kit/schemas.ts'

/** Longest time of which the throughput can be asked for: half an hour, second by second. */
export const maxThroughputSeconds = 1_800

const ThroughputBucket = model('ThroughputBucket', {
  totalBytes: Count('Bytes that came to the target'),
  totalFiles: Count('Files and links that arrived'),
  totalFilesBySize: FilesBySize,
  peakFilesBySize: FilesBySize,
  peakBytes: Count('Most bytes in one second'),
  peakFiles: Count('Most files in one second'),
  scannedFiles: Count('Files found'),
  scannedDirs: Count('Folders found'),
  excludedFiles: Count('Files that rules left out'),
  excludedDirs: Count('Folders that rules left out'),
  excludedBytes: Count('Bytes of the files that rules left out'),
  excludedEvents: Count('Changes of live migrations that rules left out'),
})

/** Figures of what is moved; those of migrations by state are verbs of `migrations`. */
export const stats = resource('stats', {
  history: {
    summary:
      'What a migration had done at the end of each of the last minutes, hours and days, the newest first',
    input: strict({ migrationId }),
    output: list(MigrationRecord),
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/migrations/{migrationId}/stats' }],
    cli: { args: ['migrationId'] },
  },
  current: {
    summary: 'What each migration has done so far',
    input: strict(page),
    output: list(MigrationRecord),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/stats/current' }],
  },
  'current-one': {
    summary: 'What a migration has done so far',
    input: strict({ migrationId }),
    output: MigrationRecord,
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/stats/current/{migrationId}' }],
    cli: { args: ['migrationId'] },
  },
  cumulative: {
    summary: 'What all migrations together have done so far',
    input: strict({}),
    output: Stats,
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/stats/cumulative' }],
  },
  throughput: {
    summary: 'What was moved in the last 10, 60, 300 and 1800 seconds',
    description:
      'Since the platform was started. Bytes count in the second in which they came to the target, those of files that are under way too; a file when it has arrived.',
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
    summary: 'What was moved in the last seconds',
    input: strict({
      nSecs: Type.Integer({ minimum: 1, maximum: maxThroughputSeconds, description: 'How many seconds' }),
    }),
    output: ThroughputBucket,
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/stats/throughput/{nSecs}' }],
    cli: { args: ['nSecs'] },
  },
})
