import { type TSchema, Type } from 'typebox'
import { AdditionalProperties } from '../../subjects/kit/schemas.ts'
import type { AbsentFields } from '../surface/reply.ts'
import { readableSizes } from './readable.ts'

/** Of what Gantry has no value for: null in every reply. */
const none = (description: string, type: TSchema = Type.Integer()): TSchema => ({ ...type, description })
const noneOf = (names: readonly string[], why: string, type?: TSchema): Record<string, TSchema> =>
  Object.fromEntries(names.map((name) => [name, none(why, type)]))
/** Where there is none, this. */
const usual = (type: TSchema, value: unknown, description: string): TSchema => ({
  ...type,
  default: value,
  description,
})

const text = Type.String()
const texts = Type.Array(text)
const numbers = Type.Array(Type.Number())
const noGates = 'Gates of a metadata migrator are not supported'
const notOnWire = 'Bytes are counted as file content, not on the wire'
const foundOnce = 'First scans and rescans are counted together'
const ofChange = 'Folders found through a change are counted as changes, with their contents'
const notKept = 'Only current values are available; no history is kept'
const ofHost = 'Not available: a value of another runtime or of the host. Use monitoring of the host'
const ofNameNode = 'Not available for a NameNode: see changeLagSeconds of each live migration'
const inHand = 'Not available: a thread copies many small files at once and reports them when they are done'
const byPath = 'Not used: a rename is processed as a removal and a copy, each with its own path'
const noTime = 'Not available: stores do not report the time of a change'
const duration = Type.Object({ inSeconds: Type.Integer(), asText: text })

/**
 * Fields that replies of the surface have beside those of the contracts, by the name of the model: clients break where one
 * is missing.
 */
export const absentFields: AbsentFields = {
  Migration: {
    migrationGates: usual(texts, [], noGates),
    migrationEdge: none('Not available: several folders are scanned at once', text),
    autoSourceCleanupQueuedPaths: usual(
      Type.Integer(),
      0,
      'Always 0: a cleanup scans the source and has no queue of paths',
    ),
    maxStoppedUnscheduledEventBufferSize: none(
      'Not used: changes are not buffered while a migration is stopped',
    ),
    oldestIncompleteWorkItem: none(
      'Not included, because it requires reading the queue: see oldestIncompleteWorkItem of the migration',
      Type.Object({}),
    ),
    unscheduledEvents: usual(Type.Integer(), 0, 'Number of known changes that are not queued yet'),
    scheduledEvents: usual(Type.Integer(), 0, 'Number of queued changes'),
    recurringPeriodSeconds: usual(
      Type.Integer(),
      0,
      'Seconds from the start of one scan to the start of the next',
    ),
    delayedDeletionPeriodSeconds: usual(Type.Integer(), 0, 'Seconds between completion and cleanup'),
    additionalProperties: usual(
      AdditionalProperties('Custom properties by name'),
      {},
      'Custom properties by name',
    ),
  },
  Progress: {
    ...readableSizes,
    etaEstimate: usual(
      duration,
      { inSeconds: 0, asText: 'unknown' },
      'Estimated remaining time of a running migration',
    ),
    migratedPercentage: usual(
      Type.Integer(),
      0,
      'Percentage of what was found that is at the target or was superseded; 0 until everything in the source is listed',
    ),
    filesVanished: usual(
      Type.Integer(),
      0,
      'Number of files that were deleted or renamed at the source before they were copied',
    ),
    foldersVanished: usual(
      Type.Integer(),
      0,
      'Number of folders that were deleted or renamed at the source before they were listed',
    ),
  },
  OldestIncompleteWorkItem: {
    newPath: none(byPath, text),
    sourceEventCreationTimestamp: none(noTime),
    sourceEventCreationDate: none(noTime, text),
  },
  FailedPath: {
    renamePath: none(byPath, text),
    excluded: usual(Type.Boolean(), false, 'Whether a rule of the migration excludes the path now'),
  },
  Notification: { code: none('Not available: use the type instead') },
  Stats: {
    ...noneOf(['filesRescanned', 'dirsRescanned'], foundOnce),
    ...noneOf(
      [
        'filesMigratedClientScan',
        'dirsMigratedClientScan',
        'rawBytesMigratedClientScan',
        'successfulBytesMigratedClientScan',
      ],
      ofChange,
    ),
    ...noneOf(
      ['fileSystemAction', 'fileSystemActionsScan'],
      'Not available: calls to stores are not counted',
    ),
    ...noneOf(['incomingTransportBytes', 'outgoingTransportBytes'], notOnWire),
  },
  ThroughputBucket: noneOf(['rescannedFiles', 'rescannedDirs'], foundOnce),
  DataAgent: {
    port: none('Not available: agents do not listen on a port, but connect to the broker of the platform'),
    type: none('Not available, as for port', text),
    security: none(
      'Not available: agents authenticate with the token of their key, not with certificates',
      Type.Object({}),
    ),
  },
  DiagnosticSummary: {
    ...noneOf(
      ['10', '60', '300'].flatMap((span) => [
        `incomingTransportBytes${span}`,
        `outgoingTransportBytes${span}`,
      ]),
      notOnWire,
    ),
    ...noneOf(
      [
        'incomingTransportRequestAvgSizeBytes',
        'outgoingTransportRequestAvgSizeBytes',
        'incomingDTADiagnosticsRequestAvgSizeBytes',
      ],
      notOnWire,
    ),
    ...noneOf(
      [
        'fileSizesPercentiles',
        'fileTransferRatesPercentiles',
        'activeFileSizesPercentiles',
        'activeFileTransferRatesPercentiles',
        'fileTrackerLatencyPercentiles',
      ],
      inHand,
      numbers,
    ),
    ...noneOf(
      [
        'activeFileTransferCount',
        'totalActiveFileSizeToTransfer',
        'totalActiveFileSizeTransferred',
        'totalFileTrackerCount',
      ],
      inHand,
    ),
    ...noneOf(
      ['cpuPressureSome', 'ioPressureSome', 'ioPressureFull', 'memoryPressureSome', 'memoryPressureFull'],
      ofHost,
      numbers,
    ),
    ...noneOf(
      [
        'connectionsEstablished',
        'connectionsTxOSBufferedBytes',
        'connectionsRxOSBufferedBytes',
        'connectionsRetransmit',
        'iowaitPercentage',
        'gcCount',
        'gcPauseTime',
      ],
      ofHost,
    ),
    ...noneOf(['totalEventAdded', 'actionStoreMigrationPeak'], notKept),
    actionStorePeakMigrationId: none(notKept, text),
    ...noneOf(['eventsBehindNameNode', 'eventRPCMax', 'eventRPCAverage'], ofNameNode),
    busyMigration: none(
      'Not available: see actionStoreLargestMigrationId for the migration with the most queued work',
      text,
    ),
    busyMigrationCount: none('Not available, as for busyMigration'),
  },
}
