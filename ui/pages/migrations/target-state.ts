import { type Info, settledFiles, shareOf } from '../../../subjects/migrations/rate.ts'
import { countOf, countText } from '../../kit/format.ts'

interface TargetState {
  /** undefined where there is nothing to be done that could be measured. */
  readonly percentage?: number
  readonly says: string
}

/**
 * How far the target is at present. The percentage of the progress is of all that was found since the last beginning from
 * the root, so it means the target only until that scan is complete: what is found or copied again counts again.
 * @param isScanned whether that scan was complete already
 * @param scans of a recurring migration, the one that runs included
 */
export function targetState({
  isScanned,
  isBlocked = false,
  scans,
  ...info
}: Pick<Info, 'state' | 'baseScanCompletionTime'> & {
  readonly progress: Pick<
    Info['progress'],
    | 'failedPaths'
    | 'migratedPercentage'
    | 'filesScanned'
    | 'filesMigrated'
    | 'filesSkipped'
    | 'filesSuperseded'
    | 'unscheduledEvents'
    | 'scheduledEvents'
  >
  readonly isScanned: boolean
  /** Whether something keeps it from following its source. */
  readonly isBlocked?: boolean
  readonly scans: number
}): TargetState {
  const { state, progress } = info
  const { failedPaths, filesScanned, unscheduledEvents = 0, scheduledEvents = 0 } = progress
  const missing = failedPaths === 0 ? '' : `, except ${countOf(failedPaths, 'failed path')}`
  if (state === 'LIVE' && isBlocked)
    return { says: `First scan complete${missing}; does not follow its source now` }
  const pending = unscheduledEvents + scheduledEvents
  if (state === 'LIVE' && pending > 0)
    return { says: `First scan complete${missing}; ${countOf(pending, 'change')} on the way to the target` }
  if (state === 'LIVE') return { percentage: 100, says: `First scan complete${missing}; follows changes` }
  if (state === 'COMPLETED' && failedPaths > 0)
    return { says: `Completed with ${countOf(failedPaths, 'failure')}` }
  const share = shareOf(info)
  const percentage = share === undefined ? {} : { percentage: share }
  if (state === 'COMPLETED' || state === 'WAITING_FOR_NEXT_RECURRENCE')
    return { ...percentage, says: `Complete${missing}` }
  if (isScanned && state === 'RUNNING') return { says: 'First scan complete; a rescan or retry is running' }
  if (isScanned) return { says: `First scan complete${missing}; later changes may be missing` }
  if (filesScanned === 0 && state !== 'RUNNING') return { says: 'Nothing was copied yet' }
  const which = scans > 1 ? `Scan ${scans}: ` : ''
  if (share !== undefined) return { ...percentage, says: `${which}${share} % of what was found` }
  const settled = settledFiles(info)
  const all = Math.max(settled, filesScanned)
  return { says: `${which}${countText(settled)} of ${countOf(all, 'file')} found so far` }
}
