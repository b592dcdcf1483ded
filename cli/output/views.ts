import { rateText, sizeText } from '../../subjects/kit/binary-size.ts'
import { shareOfMigration } from '../../subjects/migrations/rate.ts'
import { plural } from '../../subjects/kit/plural.ts'
import { fieldOf, type Row } from './fields.ts'
import { countText, durationText } from './format.ts'

/** What people are shown of an object; `--wide` shows all of it. */
export interface View {
  readonly fields: readonly string[]
  /** Shown after these, once the object has begun; before that one line says that it has not. */
  readonly onceStarted?: readonly string[]
  /** What several fields say together, by name. */
  readonly figures?: (reply: Row) => Row
  /** Shown where they are not zero, false or empty. */
  readonly ifAny?: readonly string[]
}

const filesAndBytes = (files: number, bytes: number): string =>
  `${plural(files, 'file', countText)} (${sizeText(bytes)})`

/** While it is not over: the share that is done, once it is known. */
function progressIn(reply: Row): Row {
  if (reply['state'] === 'COMPLETED') return {}
  const share = shareOfMigration(reply as Parameters<typeof shareOfMigration>[0] & Row)
  return share === undefined ? {} : { progress: `${share} %` }
}

/** What was found and copied; how long and how fast once that is over. */
function migrationFigures(reply: Row): Row {
  const { migrationCompleteTime: end, recurringMigration, bytesInProgress, filesSkipped } = reply
  if (reply['migrationStartTime'] === undefined) return {}
  const sum = (...paths: string[]) =>
    paths.reduce((all, path) => all + (Number(fieldOf(reply, path)) || 0), 0)
  const found = 'scannerSummary.progressSummary'
  const copied = ['scannerSummary.contentSummary', 'clientActivitySummary']
  const files = sum(...copied.map((one) => `${one}.fileCount`))
  const bytes = sum(...copied.map((one) => `${one}.byteCount`))
  const skipped = Number(filesSkipped) || 0
  const superseded = Number(reply['filesSuperseded']) || 0
  const partial = Number(bytesInProgress) || 0
  const deleted = { file: Number(reply['filesDeleted']) || 0, folder: Number(reply['foldersDeleted']) || 0 }
  // Of one that repeats its scans, the figures are those of all of them.
  const seconds = end !== undefined && recurringMigration !== true ? Number(reply['runningSeconds']) : 0
  return {
    found: filesAndBytes(sum(`${found}.filesScanned`), sum(`${found}.bytesScanned`)),
    copied: filesAndBytes(files, bytes),
    ...(skipped > 0 && { alreadyAtTarget: plural(skipped, 'file', countText) }),
    ...(superseded > 0 && {
      superseded: `${filesAndBytes(superseded, sum('bytesSuperseded'))} changed, deleted or retried since ${superseded === 1 ? 'it was' : 'they were'} found`,
    }),
    ...deletedAtTarget(deleted),
    ...(partial > 0 && { inProgress: sizeText(partial) }),
    ...progressIn(reply),
    ...(seconds > 0 && {
      duration: durationText(seconds),
      ...(files > 0 && { rate: `${countText(files / seconds)} files/s, ${rateText(bytes / seconds)}` }),
    }),
  }
}

/** What a live migration took away, as the source does not have it: also what others have put there. */
function deletedAtTarget(deleted: Readonly<Record<'file' | 'folder', number>>): Row {
  const texts = (['file', 'folder'] as const).flatMap((of) =>
    deleted[of] > 0 ? [plural(deleted[of], of, countText)] : [],
  )
  return texts.length === 0 ? {} : { deletedAtTarget: `${texts.join(' and ')} not at the source` }
}

/** What a plan comes to: files and their bytes together, and only what there is of each. */
function planFigures(reply: Row): Row {
  const number = (name: string) => Number(reply[name]) || 0
  const of = (name: string, files: number, bytes: string) =>
    files === 0 ? {} : { [name]: filesAndBytes(files, number(bytes)) }
  return {
    // Said also where there is nothing, as it is what people look for.
    toCopy: filesAndBytes(number('filesToCopy'), number('bytesToCopy')),
    ...of('toReplace', number('filesToReplace'), 'bytesToReplace'),
    ...of('toCompare', number('filesToCompare'), 'bytesToCompare'),
    ...of('alreadyAtTarget', number('filesToSkip'), 'bytesToSkip'),
    ...of('excluded', number('filesExcluded'), 'bytesExcluded'),
    ...of('toDelete', number('filesToDelete'), 'bytesToDelete'),
  }
}

/** Of a key with more rules than these a screen would be full. */
const maxShownRules = 8

/** What a key may do: its rules where they are few, else how many there are. */
function keyFigures(reply: Row): Row {
  const rules = (way: string) => {
    const allow = fieldOf(reply, `capabilities.${way}.allow`)
    return Array.isArray(allow) ? allow : []
  }
  const [publish, subscribe] = [rules('pub'), rules('sub')]
  if (publish.length + subscribe.length <= maxShownRules) return { capabilities: reply['capabilities'] }
  const counted = `publish to ${plural(publish.length, 'subject')}, subscribe to ${plural(subscribe.length, 'subject')}`
  return { permissions: `${counted} (all with --wide)` }
}

const key: View = {
  fields: [
    'id',
    'name',
    'notes',
    'owner',
    'kind',
    'created',
    'expires',
    'lastUsed',
    'revoked',
    'oldTokenExpires',
  ],
  figures: keyFigures,
  ifAny: ['roles', 'visible_extensions', 'token'],
}

const migration: View = {
  figures: migrationFigures,
  fields: [
    'migrationId',
    'state',
    'stateText',
    'conditions',
    'path',
    'source',
    'target',
    'migrationPriority',
    'targetActionPolicy',
    'movedBy',
    'changeDetection',
    'changeDetectionReason',
    'changeLagSeconds',
    'recurringPeriodSeconds',
    'recurringSchedule',
    'recurringTimeZone',
    'nextRecurrenceTime',
    'migrationStartTime',
    'migrationCompleteTime',
    'failedPathCount',
    'deletions',
    'accepted',
  ],
  ifAny: ['pendingRegionCount'],
}

/** Its `status` says whether it has begun. */
const job = ['id', 'migrationId', 'status', 'message', 'createdAt', 'startedAt', 'finishedAt']

/** By the name of the model, of those that are longer than a screen. */
export const views: Readonly<Record<string, View>> = {
  Migration: migration,
  AcceptedSource: migration,
  Key: key,
  KeyWithToken: key,
  MigrationPlan: {
    fields: ['planId', 'migrationId', 'status', 'message', 'startedAt'],
    figures: planFigures,
    ifAny: [
      'foldersToMake',
      'foldersExcluded',
      'foldersToDelete',
      'pathsKept',
      'pathsRefused',
      'unreadablePaths',
      'deletionsNeedApproval',
      'warning',
      'samples',
    ],
  },
  Verification: {
    fields: [...job, 'level', 'paths'],
    onceStarted: ['filesOnSource', 'filesOnTarget', 'totalDiscrepancies'],
    ifAny: [
      'failedPaths',
      'filesMissingOnTarget',
      'directoriesMissingOnTarget',
      'filesMissingOnSource',
      'directoriesMissingOnSource',
      'typeMismatches',
      'fileSizeMismatches',
      'fileDigestMismatches',
      'fileTimeMismatches',
      'metadataMismatches',
      'filesExcluded',
      'filesIgnored',
      'unreadablePaths',
      'bytesRead',
      'rowsLeftOut',
    ],
  },
  MetadataComparison: {
    fields: ['id', 'migrationName', 'purpose', 'status', 'message', 'createdAt', 'startedAt', 'finishedAt'],
    onceStarted: ['same', 'totalDifferences'],
    ifAny: [
      'toCreate',
      'toChange',
      'toDrop',
      'onlyAtTarget',
      'conflicts',
      'waiting',
      'refused',
      'partitionsSame',
      'partitionsToAdd',
      'partitionsToChange',
      'partitionsToDrop',
    ],
  },
  SourceCleanup: {
    fields: [...job, 'dryRun'],
    onceStarted: ['filesRemoved', 'bytesRemoved', 'filesKept'],
    ifAny: [
      'foldersRemoved',
      'filesRemovable',
      'bytesRemovable',
      'bytesKept',
      'filesExcluded',
      'foldersExcluded',
      'filesNotAtTarget',
      'foldersNotAtTarget',
      'filesDifferent',
      'filesChanged',
      'filesNotRemoved',
      'foldersNotRemoved',
      'unreadablePaths',
      'rowsLeftOut',
    ],
  },
}
