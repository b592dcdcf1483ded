import type { VerificationLevel } from '../../../../subjects/migrations/model/verification-terms.ts'
import type { Unresolved } from '../../../../subjects/migrations/internal.ts'
import { pathFromText } from '../../../drivers/paths/path-text.ts'
import { isWithin } from '../../../engine/items/paths.ts'
import { byAge } from '../../../jobs/job-record.ts'
import type { VerificationRecord } from './record.ts'

/** What each level compares besides what it adds itself. */
const alsoCompares: Readonly<Record<VerificationLevel, readonly VerificationLevel[]>> = {
  existence: [],
  size: ['existence'],
  time: ['existence', 'size'],
  metadata: ['existence', 'size', 'time'],
  digest: ['existence', 'size'],
}

/**
 * Of each migration the newest complete verification that found the target to be different, unless a later one that looked at
 * all of that, at least as closely, found nothing: one of a single folder says nothing of the others.
 */
export function unresolved(records: readonly VerificationRecord[]): Unresolved[] {
  const clean = new Map<string, VerificationRecord[]>()
  const found = new Map<string, Unresolved>()
  const complete = records.filter(({ status }) => status === 'COMPLETE')
  for (const record of complete.toSorted(byAge).toReversed()) {
    const { id, migrationId, internalId, level, counts = {} } = record
    const { totalDiscrepancies = 0, unreadablePaths = 0 } = counts
    const later = clean.get(internalId) ?? []
    if (found.has(internalId) || later.some((one) => looksAtAllOf(one, record))) continue
    if (totalDiscrepancies + unreadablePaths === 0) clean.set(internalId, [...later, record])
    else found.set(internalId, { id, migrationId, internalId, level, totalDiscrepancies, unreadablePaths })
  }
  return [...found.values()]
}

function looksAtAllOf(one: VerificationRecord, other: VerificationRecord): boolean {
  const isAsClose = one.level === other.level || alsoCompares[one.level].includes(other.level)
  const isAsLate = one.ignoreAfterMs === undefined || one.ignoreAfterMs >= (other.ignoreAfterMs ?? Infinity)
  if (!isAsClose || !isAsLate) return false
  if (one.depth !== undefined)
    return one.depth >= (other.depth ?? Infinity) && other.paths.every((path) => one.paths.includes(path))
  const folders = one.paths.map((path) => pathFromText(path))
  return other.paths.every((path) => folders.some((folder) => isWithin(folder, pathFromText(path))))
}
