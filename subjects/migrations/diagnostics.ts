import { Type } from 'typebox'
import { resource } from '../kit/contract.ts'
import { from, Part } from '../kit/download.ts'
import { migrationId } from './model/model.ts'
import { Count, model, Path, strict } from '../kit/schemas.ts'

const Load = (description: string) => Type.Number({ minimum: 0, description })

/** What of the existing product's figures this service has; the others are about a runtime that is not ours. */
export const DiagnosticSummary = model('DiagnosticSummary', {
  uptime: Count('Seconds since the platform was started'),
  processCpuLoad: Load('Share of all processors that the platform used since the last question, 0 to 1'),
  systemCpuLoad: Load('Processes that want a processor, for each that there is: the mean of a minute'),
  pullThreads: Count('Threads that copy'),
  transferRateBytes10: Count('Bytes a second, over 10 seconds'),
  transferRateBytes60: Count('Bytes a second, over 60 seconds'),
  transferRateBytes300: Count('Bytes a second, over 300 seconds'),
  transferRateFiles10: Count('Files a second, over 10 seconds'),
  transferRateFiles60: Count('Files a second, over 60 seconds'),
  transferRateFiles300: Count('Files a second, over 300 seconds'),
  activeMigrationCount: Count('Migrations that are worked on'),
  migrationsRunning: Count('Migrations that scan and copy'),
  migrationsLive: Count('Migrations that follow changes'),
  migrationsStopped: Count('Migrations that were stopped'),
  actionStoreCurrent: Count('Work items that wait or are under way, of all migrations'),
  actionStoreLargestMigration: Count('The most of one migration'),
  actionStoreLargestMigrationId: Type.Optional(migrationId),
  pendingRegionCurrent: Count('Folders that are to be scanned again, of all migrations'),
  pendingRegionAverage: Count('The mean of a migration, rounded'),
  pendingRegionMaxMigration: Count('The most of one migration'),
  pendingRegionMaxMigrationPath: Type.Optional(Path('Folder that this migration migrates')),
  pendingRegionMaxMigrationId: Type.Optional(migrationId),
  totalEventQueued: Count('Changes of live migrations that are not at the target yet'),
  eventsBehindMax: Count('The most of one live migration'),
  eventsBehindAverage: Count('The mean of a live migration, rounded'),
  retryCount: Count('Tries after the first, of all paths of all migrations'),
  retryAverage: Count('The mean of a migration, rounded'),
  avgRetries: Load('The same, not rounded'),
  totalMigrationPathsRequeued: Count('The same as retryCount: each of these tries was put off'),
  migrationCountMostRetries: Count('The most of one migration'),
  migrationIdMostRetries: Type.Optional(migrationId),
  failedPathsCount: Count('Paths that did not arrive, of all migrations'),
  failedPathsAverage: Count('The mean of a migration, rounded'),
  avgFailedPaths: Load('The same, not rounded'),
  migrationCountMostFailedPaths: Count('The most of one migration'),
  migrationIdMostFailedPaths: Type.Optional(migrationId),
  totalFilesIterated: Count('Files found'),
  totalDirsIterated: Count('Folders found'),
  totalBytesIterated: Count('Bytes found'),
  totalFilesExcluded: Count('Files that rules left out'),
  totalDirsExcluded: Count('Folders that rules left out'),
  totalBytesExcluded: Count('Bytes of the files that rules left out'),
})

/** How the platform is doing, in figures. */
export const diagnostics = resource('diagnostics', {
  summary: {
    summary: 'How the platform is doing, in figures',
    input: strict({}),
    output: DiagnosticSummary,
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/diagnostics/summary' }],
  },
  text: {
    summary: 'The same as text for people',
    input: strict({ from }),
    output: Part,
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/diagnostics/summary.txt' }],
    download: { types: ['text/plain'] },
  },
})
