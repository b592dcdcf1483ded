import { Type } from 'typebox'
import { resource } from '../kit/contract.ts'
import { from, Part } from '../kit/download.ts'
import { migrationId } from './model/model.ts'
import { Count, model, Path, strict } from '../kit/schemas.ts'

const Load = (description: string) => Type.Number({ minimum: 0, description })

/** What of the existing product's figures this service has; the others are about a runtime that is not ours. */
export const DiagnosticSummary = model('DiagnosticSummary', {
  uptime: Count('Seconds since the platform started'),
  processCpuLoad: Load('Share of all processors that the platform has used since the last request, 0 to 1'),
  systemCpuLoad: Load('Load average of the last minute, divided by the number of processors'),
  pullThreads: Count('Number of threads that copy'),
  transferRateBytes10: Count('Bytes per second, over 10 seconds'),
  transferRateBytes60: Count('Bytes per second, over 60 seconds'),
  transferRateBytes300: Count('Bytes per second, over 300 seconds'),
  transferRateFiles10: Count('Files per second, over 10 seconds'),
  transferRateFiles60: Count('Files per second, over 60 seconds'),
  transferRateFiles300: Count('Files per second, over 300 seconds'),
  activeMigrationCount: Count('Active migrations'),
  migrationsRunning: Count('Migrations that scan and copy'),
  migrationsLive: Count('Migrations that follow changes'),
  migrationsStopped: Count('Stopped migrations'),
  actionStoreCurrent: Count('Pending and active work items of all migrations'),
  actionStoreLargestMigration: Count('Largest number of work items of one migration'),
  actionStoreLargestMigrationId: Type.Optional(migrationId),
  pendingRegionCurrent: Count('Pending rescans of folders, of all migrations'),
  pendingRegionAverage: Count('Average number of pending rescans per migration, rounded'),
  pendingRegionMaxMigration: Count('Largest number of pending rescans of one migration'),
  pendingRegionMaxMigrationPath: Type.Optional(Path('Path of the migration with the most pending rescans')),
  pendingRegionMaxMigrationId: Type.Optional(migrationId),
  totalEventQueued: Count('Changes of live migrations that are not at the target yet'),
  eventsBehindMax: Count('Largest number of such changes of one live migration'),
  eventsBehindAverage: Count('Average number of such changes per live migration, rounded'),
  retryCount: Count('Total number of retries, for all paths of all migrations'),
  retryAverage: Count('Average number of retries per migration, rounded'),
  avgRetries: Load('Average number of retries per migration, not rounded'),
  totalMigrationPathsRequeued: Count('The same as retryCount'),
  migrationCountMostRetries: Count('Largest number of retries of one migration'),
  migrationIdMostRetries: Type.Optional(migrationId),
  failedPathsCount: Count('Paths that could not be copied, of all migrations'),
  failedPathsAverage: Count('Average number of failed paths per migration, rounded'),
  avgFailedPaths: Load('Average number of failed paths per migration, not rounded'),
  migrationCountMostFailedPaths: Count('Largest number of failed paths of one migration'),
  migrationIdMostFailedPaths: Type.Optional(migrationId),
  totalFilesIterated: Count('Files found'),
  totalDirsIterated: Count('Folders found'),
  totalBytesIterated: Count('Bytes found'),
  totalFilesExcluded: Count('Files excluded by rules'),
  totalDirsExcluded: Count('Folders excluded by rules'),
  totalBytesExcluded: Count('Bytes of files excluded by rules'),
})

/** How the platform is doing, in figures. */
export const diagnostics = resource('diagnostics', {
  summary: {
    summary: 'Show diagnostics of the platform',
    input: strict({}),
    output: DiagnosticSummary,
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/diagnostics/summary' }],
  },
  text: {
    summary: 'Show diagnostics of the platform as text',
    input: strict({ from }),
    output: Part,
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/diagnostics/summary.txt' }],
    download: { types: ['text/plain'] },
  },
})
