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
const noGates = 'Gates hold back tables of a metadata migrator; there are none'
const notOnWire = 'Bytes are counted as content, not on the wire'
const foundOnce = 'What a scan finds is counted as found, whether it is the first one or not'
const ofChange = 'Folders that a change makes known count as changes, with all that is in them'
const notKept = 'Figures are of the moment, none is kept over time'
const ofHost = 'Of a runtime that is not ours, or of the host: ask the host'
const ofNameNode = 'Of a NameNode; changeLagSeconds of each live migration says how far behind it is'
const inHand = 'A thread has many small files in hand at once, and tells of them when they are done'
const byPath = 'A rename is a removal and a copy; the work for each has its own path'
const noTime = 'Stores do not say when a change was made'
const duration = Type.Object({ inSeconds: Type.Integer(), asText: text })

/**
 * Fields that replies of the surface have beside those of the contracts, by the name of the model: clients break where one
 * is missing.
 */
export const absentFields: AbsentFields = {
  Migration: {
    migrationGates: usual(texts, [], noGates),
    migrationEdge: none('Several folders are scanned at once', text),
    autoSourceCleanupQueuedPaths: usual(
      Type.Integer(),
      0,
      'Paths do not wait for a cleanup: it walks through the source',
    ),
    maxStoppedUnscheduledEventBufferSize: none(
      'Nothing is kept of what changes while a migration is stopped',
    ),
    oldestIncompleteWorkItem: none(
      'It costs a look into the queue: see oldestIncompleteWorkItem of the migration',
      Type.Object({}),
    ),
    unscheduledEvents: usual(Type.Integer(), 0, 'Changes that are known and not in the queue yet'),
    scheduledEvents: usual(Type.Integer(), 0, 'Changes that are in the queue'),
    recurringPeriodSeconds: usual(
      Type.Integer(),
      0,
      'Seconds from the start of one scan to the start of the next',
    ),
    delayedDeletionPeriodSeconds: usual(Type.Integer(), 0, 'Seconds from the completion to the cleanup'),
    additionalProperties: usual(
      AdditionalProperties('Notes of the caller by name'),
      {},
      'Notes of the caller by name',
    ),
  },
  Progress: {
    ...readableSizes,
    etaEstimate: usual(
      duration,
      { inSeconds: 0, asText: 'unknown' },
      'Time that is left, of a migration that runs',
    ),
    filesVanished: usual(Type.Integer(), 0, 'Files that were gone from the source before they were copied'),
    foldersVanished: usual(
      Type.Integer(),
      0,
      'Folders that were gone from the source before they were listed',
    ),
  },
  OldestIncompleteWorkItem: {
    newPath: none(byPath, text),
    sourceEventCreationTimestamp: none(noTime),
    sourceEventCreationDate: none(noTime, text),
  },
  FailedPath: { renamePath: none(byPath, text) },
  Notification: { code: none('Numbers of that product: the type says the same') },
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
    ...noneOf(['fileSystemAction', 'fileSystemActionsScan'], 'Calls to stores are not counted'),
    ...noneOf(['incomingTransportBytes', 'outgoingTransportBytes'], notOnWire),
  },
  ThroughputBucket: noneOf(['rescannedFiles', 'rescannedDirs'], foundOnce),
  DataAgent: {
    port: none('An agent listens nowhere: it connects to the broker of the platform'),
    type: none('The same', text),
    security: none(
      'There are no certificates to hand out: an agent shows the token of its key',
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
    busyMigration: none('actionStoreLargestMigrationId has the most work waiting', text),
    busyMigrationCount: none('The same'),
  },
}
