import type { Output } from '../../subjects/contract.ts'
import { defaultLinks, defaultMetadata } from '../../subjects/migration-metadata.ts'
import { actionPolicies, type Migration } from '../../subjects/migration-model.ts'
import type { migrations } from '../../subjects/migrations.ts'
import { type Counts, noCounts } from './engine/counts.ts'
import type { MigrationRecord } from './record.ts'

type Info = Output<(typeof migrations)['progress']>

/** What was done for a migration so far: its own totals once it is completed, else the sum over its workers. */
export const countsOf = (record: MigrationRecord, running: Map<string, Counts>): Counts => ({
  ...noCounts(),
  ...(record.counts ?? running.get(record.internalId)),
})

/** A migration as callers see it. */
export function publicMigration(record: MigrationRecord, counts: Counts, failedPathCount: number): Migration {
  const {
    policy,
    seeded: _seeded,
    created,
    started,
    completed,
    counts: _counts,
    abortReason,
    metadata = defaultMetadata,
    links = defaultLinks,
    ...own
  } = record
  return {
    ...own,
    ...(abortReason === undefined ? {} : { abortReason }),
    scanOnlyMigration: true,
    targetActionPolicy: actionPolicies[policy],
    migrationCreatedTime: created,
    ...(started === undefined ? {} : { migrationStartTime: started }),
    ...(completed === undefined ? {} : { migrationCompleteTime: completed }),
    scannerSummary: {
      progressSummary: {
        filesScanned: counts.filesScanned + counts.linksScanned + counts.othersScanned,
        directoriesScanned: counts.foldersScanned,
        bytesScanned: counts.bytesScanned,
      },
      contentSummary: {
        byteCount: counts.bytesMigrated,
        fileCount: counts.filesMigrated + counts.linksMigrated,
        directoryCount: counts.foldersMigrated,
      },
    },
    // Changes after the scan: a one-time migration copies none.
    clientActivitySummary: { byteCount: 0, fileCount: 0, directoryCount: 0 },
    metadata,
    links,
    notKept: {
      times: counts.timesNotKept,
      modes: counts.modesNotKept,
      owners: counts.ownersNotKept,
      attributes: counts.attributesNotKept,
      links: counts.linksNotKept,
      hardLinks: counts.hardLinksSplit,
    },
    failedPathCount,
  }
}

/** How far a migration is. */
export function progressOf(record: MigrationRecord, counts: Counts, failedPathCount: number): Info {
  const files = counts.filesScanned + counts.linksScanned + counts.othersScanned
  const filesSkipped = counts.filesSkipped + counts.linksSkipped
  const settled =
    counts.filesMigrated + counts.linksMigrated + filesSkipped + counts.filesVanished + counts.failures
  const migratedBytes = counts.bytesMigrated + counts.bytesSkipped
  const percentage = percentageOf(record, { files, settled, bytes: counts.bytesScanned, migratedBytes })
  const seconds = secondsBetween(record.started, record.completed)
  const left = counts.bytesScanned - migratedBytes
  const eta =
    record.state === 'RUNNING' && seconds > 0 && counts.bytesMigrated > 0 && left > 0
      ? Math.ceil((left / counts.bytesMigrated) * seconds)
      : undefined
  return {
    id: record.migrationId,
    internalId: record.internalId,
    path: record.path,
    state: record.state,
    progress: {
      totalBytes: counts.bytesScanned,
      migratedBytes,
      excludedBytes: 0,
      totalMigratedBytes: counts.bytesMigrated,
      totalScannedBytes: counts.bytesScanned,
      migratedPercentage: percentage,
      duration: span(seconds),
      ...(eta === undefined ? {} : { etaEstimate: span(eta) }),
      filesScanned: files,
      filesMigrated: counts.filesMigrated + counts.linksMigrated,
      filesSkipped,
      foldersScanned: counts.foldersScanned,
      failedPaths: failedPathCount,
    },
  }
}

/** Of what was found so far: the mean of files and bytes; all of it only when nothing is left. */
function percentageOf(
  { state }: MigrationRecord,
  {
    files,
    settled,
    bytes,
    migratedBytes,
  }: { files: number; settled: number; bytes: number; migratedBytes: number },
): number {
  if (state === 'COMPLETED') return 100
  const share = (done: number, all: number) => (all === 0 ? 0 : done / all)
  const mean = bytes === 0 ? share(settled, files) : (share(settled, files) + share(migratedBytes, bytes)) / 2
  return Math.max(0, Math.min(99, Math.floor(mean * 100)))
}

const secondsBetween = (start: string | undefined, end: string | undefined): number =>
  start === undefined
    ? 0
    : Math.max(0, Math.round(((end === undefined ? Date.now() : Date.parse(end)) - Date.parse(start)) / 1000))

/** Seconds, and the same for people: `1h 02m 03s`. */
function span(inSeconds: number): { inSeconds: number; asText: string } {
  const two = (value: number) => String(value).padStart(2, '0')
  const hours = Math.floor(inSeconds / 3600)
  const minutes = Math.floor((inSeconds % 3600) / 60)
  const seconds = inSeconds % 60
  const asText =
    hours > 0
      ? `${hours}h ${two(minutes)}m ${two(seconds)}s`
      : minutes > 0
        ? `${minutes}m ${two(seconds)}s`
        : `${seconds}s`
  return { inSeconds, asText }
}
