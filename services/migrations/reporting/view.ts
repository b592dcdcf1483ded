import type { Output } from '../../../subjects/kit/contract.ts'
import type { Moved } from '../../engine/run/meter.ts'
import { bytesForFile, defaultLinks, defaultMetadata } from '../../../subjects/migrations/model/terms.ts'
import { maxPendingRegions, type Migration } from '../../../subjects/migrations/model/model.ts'
import type { migrations } from '../../../subjects/migrations/migrations.ts'
import { maxIterations } from '../../../subjects/migrations/model/recurrence.ts'
import type { Vanished } from '../../../subjects/migrations/model/vanished.ts'
import type { ChangesView } from '../live/following.ts'
import type { CleanupRecord } from '../jobs/cleanups/record.ts'
import { cleanupSetting } from '../jobs/cleanups/setting.ts'
import { cleanupTracker } from '../jobs/cleanups/record.ts'
import type { Counts } from '../../engine/run/counts.ts'
import type { RuleLists } from '../../engine/run/rules.ts'
import type { MigrationRecord } from '../lifecycle/record.ts'
import { type Recurrence, trackerOf } from '../../scheduling/recurrence.ts'
import { stateText } from './state-text.ts'
import { ruleView } from '../rules/view.ts'
import { isActive, isBetweenScans } from '../lifecycle/states.ts'
import { scannedFiles, scannedFolders, skippedFiles } from '../progress/wire.ts'
import { followsOnly } from '../../scheduling/admission.ts'
import { arrivedFiles, supersededOf, type WithFigures } from '../progress/with-figures.ts'

type Info = Output<(typeof migrations)['progress']>

/**
 * A migration as callers see it, without the oldest of its work.
 * @param cleanups of sources, those of other migrations included
 * @param iterations how many of its last scans are shown
 */
export function publicMigration(
  withFigures: WithFigures,
  rules: RuleLists,
  cleanups: readonly CleanupRecord[],
  iterations = maxIterations,
): Migration {
  const { record, counts, underWay, failed, changes, conditions } = withFigures
  const done = doneOf(withFigures)
  const {
    migrationId,
    internalId,
    path,
    source,
    target,
    state,
    resumable,
    abortReason,
    kind,
    priority,
    policy,
    recurrence,
    movedBy,
    created,
    started,
    scanned,
    completed,
    pendingRegions,
    comparisonSeconds,
    metadata = defaultMetadata,
    links = defaultLinks,
  } = record
  return {
    migrationId,
    internalId,
    path,
    source,
    target,
    state,
    stateText: stateText(record, { failed, conditions, ...vanishedOf(record, counts) }, Date.now()),
    conditions: [...conditions],
    resumable,
    ...(abortReason === undefined ? {} : { abortReason }),
    scanOnlyMigration: kind !== 'live',
    recurringMigration: kind === 'recurring',
    ...(recurrence === undefined ? {} : publicRecurrence(recurrence, iterations)),
    migrationPriority: priority,
    targetActionPolicy: policy,
    ...(movedBy === undefined ? {} : { movedBy }),
    migrationCreatedTime: created,
    ...(started === undefined ? {} : { migrationStartTime: started }),
    ...(completed === undefined ? {} : { migrationCompleteTime: completed }),
    runningSeconds: runningSeconds(record),
    filesSkipped: skippedFiles(counts),
    filesSuperseded: done.superseded.files,
    bytesSuperseded: done.superseded.bytes,
    bytesInProgress: underWay.bytes,
    ...percentageIn(withFigures, done),
    scannerSummary: {
      progressSummary: {
        filesScanned: scannedFiles(counts),
        directoriesScanned: scannedFolders(counts),
        bytesScanned: counts.bytesScanned,
        filesExcluded: counts.filesExcluded,
        dirsExcluded: counts.foldersExcluded,
        bytesExcluded: counts.bytesExcluded,
        ...(scanned === undefined ? {} : { baseScanCompletionTime: scanned }),
      },
      contentSummary: {
        byteCount: counts.bytesMigrated - counts.bytesChanged,
        fileCount: counts.filesMigrated + counts.linksMigrated - counts.filesChanged,
        directoryCount: counts.foldersMigrated - counts.foldersChanged,
      },
    },
    clientActivitySummary: {
      byteCount: counts.bytesChanged,
      fileCount: counts.filesChanged,
      directoryCount: counts.foldersChanged,
    },
    ...cleanupSetting(record),
    sourceCleanupTracker: cleanupTracker(cleanups, internalId),
    ...(comparisonSeconds === undefined ? {} : { comparisonPeriodSeconds: comparisonSeconds }),
    ...publicChanges(changes),
    ...toldUntil(record, changes?.toldUntilMs),
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
    ...publicRules(rules),
    ruleCount: (record.exclusions?.length ?? 0) + (record.inclusions?.length ?? 0),
    pathMappings: record.pathMappings ?? [],
    failedPathCount: failed,
    numberPathsRequeued: counts.pathsRequeued,
    targetMatch: record.targetMatch !== undefined,
    ...record.targetMatch,
    ...record.removals,
    ...(record.entriesAtTarget === undefined ? {} : { entriesAtTarget: record.entriesAtTarget }),
    ...(record.deletions === undefined ? {} : { deletions: record.deletions }),
    pendingRegionCount: pendingRegions.length,
    maxPendingRegions: record.maxPendingRegions ?? maxPendingRegions,
    ...(record.additionalProperties === undefined
      ? {}
      : { additionalProperties: record.additionalProperties }),
  }
}

/** How far a live migration is behind its source; nothing for others. */
export function publicChanges(changes: ChangesView | undefined) {
  if (changes === undefined) return {}
  const { detection, reason, lagSeconds, unscheduled, scheduled } = changes
  return {
    changeDetection: detection,
    ...(reason === undefined ? {} : { changeDetectionReason: reason }),
    changeLagSeconds: lagSeconds,
    unscheduledEvents: unscheduled,
    scheduledEvents: scheduled,
  }
}

/** Of a live migration the counts have what is looked at again too: that is told as superseded alone. */
const vanishedOf = (
  { kind }: MigrationRecord,
  { filesVanished, foldersVanished }: Readonly<Counts>,
): Vanished => (kind === 'live' ? {} : { filesVanished, foldersVanished })

function publicRules({ exclusions, inclusions }: RuleLists) {
  const shown = exclusions.map((rule) => ruleView('exclusion', rule))
  return {
    exclusions: shown,
    userDefinedExclusions: shown.filter(({ defaultExclusion }) => !defaultExclusion),
    inclusions: inclusions.map((rule) => ruleView('inclusion', rule)),
  }
}

function publicRecurrence(recurrence: Recurrence, iterations: number) {
  const { periodSeconds, schedule, timeZone, windowSeconds, nextRun } = recurrence
  return {
    ...(periodSeconds === undefined ? {} : { recurringPeriodSeconds: periodSeconds }),
    ...(schedule === undefined ? {} : { recurringSchedule: schedule }),
    ...(timeZone === undefined ? {} : { recurringTimeZone: timeZone }),
    ...(windowSeconds === undefined ? {} : { recurringWindowSeconds: windowSeconds }),
    ...(nextRun === undefined ? {} : { nextRecurrenceTime: nextRun }),
    recurringMigrationTracker: trackerOf(recurrence, Date.now(), iterations),
  }
}

/** How far a migration is. */
export function progressOf(withFigures: WithFigures): Info {
  const { record, counts, underWay, failed, changes, conditions } = withFigures
  const done = doneOf(withFigures)
  const { superseded } = done
  const totalMigratedBytes = counts.bytesMigrated + underWay.bytes
  const nextRun = record.recurrence?.nextRun
  const seconds = Math.round(runningSeconds(record))
  const left = counts.bytesScanned - done.bytes
  // What is under way of a change is found when it is done.
  const bytesFound = Math.max(counts.bytesScanned, done.bytes)
  const sizes = {
    totalBytes: bytesFound,
    migratedBytes: totalMigratedBytes + counts.bytesSkipped,
    excludedBytes: counts.bytesExcluded,
    totalMigratedBytes,
    totalScannedBytes: bytesFound,
  }
  // What follows its source has no end.
  const eta =
    record.state === 'RUNNING' && seconds > 0 && totalMigratedBytes > 0 && left > 0
      ? Math.ceil((left / totalMigratedBytes) * seconds)
      : undefined
  return {
    id: record.migrationId,
    internalId: record.internalId,
    path: record.path,
    pathRetryCount: counts.pathsRequeued,
    state: record.state,
    ...(followsOnly(record) ? { baseScanCompletionTime: record.scanned } : {}),
    ...(nextRun === undefined ? {} : { nextRecurrenceTime: nextRun }),
    conditions: [...conditions],
    progress: {
      ...sizes,
      ...percentageIn(withFigures, done),
      duration: span(seconds),
      ...(eta === undefined ? {} : { etaEstimate: span(eta) }),
      filesScanned: scannedFiles(counts),
      filesMigrated: counts.filesMigrated + counts.linksMigrated + underWay.files,
      filesSkipped: skippedFiles(counts),
      filesSuperseded: superseded.files,
      bytesSuperseded: superseded.bytes,
      foldersScanned: scannedFolders(counts),
      failedPaths: failed,
      filesDeleted: counts.filesRemoved,
      foldersDeleted: counts.foldersRemoved,
      ...vanishedOf(record, counts),
      ...publicChanges(changes),
      migratedBytesByScan: counts.bytesMigrated - counts.bytesChanged,
      migratedBytesByChanges: counts.bytesChanged,
    },
  }
}

/** What needs no more work, what is under way included. */
interface Done extends Moved {
  readonly superseded: Moved
}

function doneOf({ counts, underWay, failed }: WithFigures): Done {
  const superseded = supersededOf(counts, failed)
  return {
    superseded,
    files: arrivedFiles(counts) + superseded.files + underWay.files,
    bytes: counts.bytesMigrated + counts.bytesSkipped + superseded.bytes + underWay.bytes,
  }
}

/**
 * The share of what was found that is done; none until everything is listed: it would fall whenever more is found. All of it
 * only when nothing is left and nothing failed.
 */
function percentageIn(
  { record, counts, failed }: WithFigures,
  { files, bytes }: Done,
): { migratedPercentage?: number } {
  const { state, listed } = record
  const isFollowing = followsOnly(record)
  if (listed === undefined && !isFollowing && !isBetweenScans(state)) return {}
  const left = scannedFiles(counts) - files
  const isOver = isBetweenScans(state) || state === 'LIVE' || (isFollowing && left <= 0)
  if (failed === 0 && isOver) return { migratedPercentage: 100 }
  const all = scannedFiles(counts) * bytesForFile + counts.bytesScanned
  const done = files * bytesForFile + bytes
  const percentage = all === 0 ? 0 : Math.floor((done / all) * 100)
  return { migratedPercentage: Math.max(0, Math.min(99, percentage)) }
}

/** When the last scan began and ended. */
function timesOf({
  started,
  completed,
  recurrence,
}: MigrationRecord): [string | undefined, string | undefined] {
  const last = recurrence?.iterations.at(-1)
  return last === undefined ? [started, completed] : [last.started, last.completed]
}

/**
 * Seconds of the last scan, or until now, to the millisecond, without those in which nobody worked on it: it was stopped, had
 * nothing left to do, or waited for its turn. As far as its states are kept.
 */
function runningSeconds(record: MigrationRecord): number {
  const [started, completed] = timesOf(record)
  if (started === undefined) return 0
  const [from, to] = [Date.parse(started), completed === undefined ? Date.now() : Date.parse(completed)]
  const { states = [] } = record
  const idle = states.map(({ state, since }, index) => {
    if (isActive(state)) return 0
    const next = states[index + 1]
    const until = next === undefined ? to : Math.min(to, Date.parse(next.since))
    return Math.max(0, until - Math.max(from, Date.parse(since)))
  })
  const ranMs = idle.reduce((left, one) => left - one, to - from)
  return Math.max(0, ranMs / 1_000)
}

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

/** @param toldMs until when the source has told of changes; undefined where it tells at once, or nobody follows it */
function toldUntil(
  { rescanned }: Pick<MigrationRecord, 'rescanned'>,
  toldMs: number | undefined,
): Pick<Migration, 'changesToldUntil'> {
  if (toldMs === undefined) return {}
  const ms = rescanned === undefined ? toldMs : Math.max(toldMs, Date.parse(rescanned))
  return { changesToldUntil: new Date(ms).toISOString() }
}
