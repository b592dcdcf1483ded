import { sizeText } from '../../../subjects/kit/binary-size.ts'
import type { Verification } from '../../../subjects/migrations/verifications.ts'
import type { Migration } from '../../../subjects/migrations/model/model.ts'
import { countOf, countText, wordsOf } from '../../kit/format.ts'

/** Of one that has not compared everything nobody knows that there are none. */
export const differencesText = ({
  status,
  totalDiscrepancies,
}: Pick<Verification, 'status' | 'totalDiscrepancies'>): string =>
  totalDiscrepancies > 0 ? countText(totalDiscrepancies) : status === 'COMPLETE' ? 'none' : '–'

/** What it has seen of one side; nothing is known before it begins. */
export const sideText = (
  { startedAt }: Pick<Verification, 'startedAt'>,
  files: number,
  bytes: number,
): string => (startedAt === undefined ? '–' : `${countOf(files, 'file')}, ${sizeText(bytes)}`)

/** What was found of a path, where words of the constant alone leave open which side lacks it. */
export const resultText = (result: string): string =>
  ({ MISSING_ON_TARGET: 'missing at the target', MISSING_ON_SOURCE: 'only at the target' })[result] ??
  wordsOf(result)

/** What it came to, or how far it is. */
export const outcomeText = ({
  status,
  totalDiscrepancies,
  filesOnSource,
}: Pick<Verification, 'status' | 'totalDiscrepancies' | 'filesOnSource'>): string => {
  if (status === 'COMPLETE') return countOf(totalDiscrepancies, 'difference')
  return status === 'IN_PROGRESS' ? `in progress (${countOf(filesOnSource, 'file')} so far)` : wordsOf(status)
}

/** What differs, by what makes it go: what a copy makes equal, what stays nevertheless, and what to do with that. */
export function differenceKinds({
  totalDiscrepancies,
  filesMissingOnTarget,
  directoriesMissingOnTarget,
  fileSizeMismatches,
  fileDigestMismatches,
  fileTimeMismatches,
  metadataMismatches,
  filesMissingOnSource,
  directoriesMissingOnSource,
  typeMismatches,
  unreadablePaths,
}: Counted) {
  const copied =
    filesMissingOnTarget +
    directoriesMissingOnTarget +
    fileSizeMismatches +
    fileDigestMismatches +
    fileTimeMismatches +
    metadataMismatches
  const onlyAtTarget = filesMissingOnSource + directoriesMissingOnSource
  const known = copied + onlyAtTarget + typeMismatches + unreadablePaths
  const staying = [
    [onlyAtTarget, 'only at the target', 'What is only at the target stays until you delete it there.'],
    [
      // Those that no other figure has.
      totalDiscrepancies - known,
      'excluded',
      'An excluded path differs until you delete it at the target, or remove the exclusion and verify again.',
    ],
    [typeMismatches, 'of another type', 'Rename or delete one of two paths of different types.'],
    [unreadablePaths, 'unreadable', 'Paths that cannot be read need permission at their store.'],
  ] as const
  const there = staying.filter(([count]) => count > 0)
  return {
    /** Whether a copy makes some of it go. */
    isCopied: copied > 0,
    /** `4 differences: 3 only at the target, 1 excluded`; without parts where a copy makes all of it go. */
    says: [
      countOf(totalDiscrepancies, 'difference'),
      ...(there.length === 0
        ? []
        : [[...(copied > 0 ? [`${countText(copied)} to copy`] : []), ...there.map(partText)].join(', ')]),
    ].join(': '),
    advice: there.map(([, , advice]) => advice).join(' '),
  }
}

type Counted = Pick<
  Verification,
  | 'totalDiscrepancies'
  | 'filesMissingOnTarget'
  | 'directoriesMissingOnTarget'
  | 'fileSizeMismatches'
  | 'fileDigestMismatches'
  | 'fileTimeMismatches'
  | 'metadataMismatches'
  | 'filesMissingOnSource'
  | 'directoriesMissingOnSource'
  | 'typeMismatches'
  | 'unreadablePaths'
>

const partText = ([count, what]: readonly [number, string, string]): string => `${countText(count)} ${what}`

/** Whether the migration has copied since a verification ended, so that the target may be another one now. */
export function isOutdated(
  { finishedAt }: Pick<Verification, 'finishedAt'>,
  {
    migrationCompleteTime,
    recurringMigrationTracker,
  }: Partial<Pick<Migration, 'migrationCompleteTime' | 'recurringMigrationTracker'>>,
): boolean {
  const iterations = recurringMigrationTracker?.iterations ?? []
  const ends = [migrationCompleteTime, ...iterations.map(({ completeTime }) => completeTime)]
  return (
    finishedAt !== undefined &&
    ends.some((end) => end !== undefined && Date.parse(end) > Date.parse(finishedAt))
  )
}

/**
 * Whether a one-time migration is completed and nobody knows what its target is like since. Differences that were found are
 * a notice of their own.
 * @param verified its last verification that is complete
 */
export const isToVerify = (
  migration: Pick<Migration, 'state' | 'scanOnlyMigration' | 'recurringMigration'> &
    Parameters<typeof isOutdated>[1],
  verified: Pick<Verification, 'totalDiscrepancies' | 'finishedAt'> | undefined,
): boolean =>
  migration.state === 'COMPLETED' &&
  migration.scanOnlyMigration &&
  !migration.recurringMigration &&
  (verified === undefined || (verified.totalDiscrepancies === 0 && isOutdated(verified, migration)))
