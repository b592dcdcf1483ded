import type { ActionPolicy } from '../../../subjects/migration-terms.ts'
import type { Entry } from '../../drivers/driver.ts'

/**
 * A microsecond, as exact as times are kept, and what a double near today's milliseconds is off by. Stores with coarser
 * times say so (`Features.timeGrainMs`).
 */
export const exactMs = 0.0015

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
      // A store that gives no time says 0.
      return source.modifiedMs !== 0 && Math.abs(source.modifiedMs - target.modifiedMs) <= grainMs
    case 'SkipIfDigestMatch':
      return 'unread'
  }
}
