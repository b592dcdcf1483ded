import type { ActionPolicy } from '../../../subjects/migrations/model/terms.ts'
import type { Entry } from '../../drivers/contract/driver.ts'

/**
 * A microsecond, as exact as times are kept, and what a double near today's milliseconds is off by. Stores with coarser
 * times say so (`Features.timeGrainMs`).
 */
export const exactMs = 0.0015

/**
 * Whether two entries were changed last at the same time; undefined where a store gives none.
 * @param grainMs times that differ by no more are the same
 */
export const isSameTime = (
  { modifiedMs }: Pick<Entry, 'modifiedMs'>,
  { modifiedMs: itsMs }: Pick<Entry, 'modifiedMs'>,
  grainMs = exactMs,
): boolean | undefined =>
  modifiedMs === undefined || itsMs === undefined ? undefined : Math.abs(modifiedMs - itsMs) <= grainMs

type Seen = Pick<Entry, 'type' | 'sizeBytes' | 'modifiedMs'>

/**
 * Whether what stands at the target makes a copy of a file needless by the migration's policy; `unread` when only the
 * content can tell.
 * @param grainMs times that differ by no more are the same
 */
export function isKnown(
  policy: ActionPolicy,
  source: Seen,
  target: Seen | undefined,
  grainMs = exactMs,
): boolean | 'unread' {
  if (policy === 'Overwrite' || source.type !== 'file' || target?.type !== 'file') return false
  if (source.sizeBytes !== target.sizeBytes) return false
  switch (policy) {
    case 'SkipIfSizeMatch':
      return true
    case 'SkipIfSizeAndTimeMatch':
      return isSameTime(source, target, grainMs) === true
    case 'SkipIfDigestMatch':
      return 'unread'
  }
}
