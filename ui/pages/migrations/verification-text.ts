import { sizeText } from '../../../subjects/kit/binary-size.ts'
import type { Verification } from '../../../subjects/migrations/verifications.ts'
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
