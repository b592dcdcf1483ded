import { maxStateTextLength, type MigrationState } from '../../../subjects/migrations/model/model.ts'
import { type ConditionReason, conditionReasons } from '../../../subjects/migrations/model/condition-terms.ts'
import type { Condition } from '../../../subjects/migrations/model/conditions.ts'
import { plural } from '../../../subjects/kit/plural.ts'
import { shortened } from '../../../subjects/kit/shortened.ts'
import { type Vanished, vanishedText } from '../../../subjects/migrations/model/vanished.ts'
import type { MigrationRecord } from '../lifecycle/record.ts'
import { mayRun, windowChangeMs } from '../../scheduling/recurrence.ts'
import { isBetweenScans } from '../lifecycle/states.ts'
import type { WithFigures } from '../progress/with-figures.ts'

const texts: Readonly<Record<MigrationState, string>> = {
  NONSCHEDULED: 'not started yet',
  SCHEDULED: 'waits for its turn',
  RUNNING: 'scans and copies',
  LIVE: 'follows changes',
  STOPPING: 'finishing work in progress',
  STOPPED: 'stopped',
  COMPLETED: 'completed',
  RECURRENCE_SCHEDULED: 'waits for its turn to scan again',
  WAITING_FOR_NEXT_RECURRENCE: 'waits for its next scan',
}

type Told = Pick<
  MigrationRecord,
  'state' | 'resumable' | 'deletions' | 'abortCause' | 'recurrence' | 'scheduled' | 'created'
>

/** Of these, what is kept for the number of failures. */
const maxFailuresLength = 60

/**
 * The state of a migration in words, and what is wrong: one with failures never reads as if all had arrived, and one whose
 * scan is over never as if all that was found had.
 */
export function stateText(
  record: Told,
  { failed: failedPathCount, conditions, ...vanished }: Pick<WithFigures, 'failed' | 'conditions'> & Vanished,
  nowMs: number,
): string {
  const text =
    (record.state === 'STOPPED' ? stoppedText(record) : waitText(record, nowMs)) ??
    blockedText(record, conditions) ??
    texts[record.state]
  const maxLength = maxStateTextLength - maxFailuresLength
  const shown = shortened(text, maxLength)
  const failures =
    failedPathCount === 0
      ? ''
      : `, but ${plural(failedPathCount, 'path')} ${failedPathCount === 1 ? 'was' : 'were'} not copied`
  return `${shown}${failures}${goneText(record, vanished)}`
}

/** What was gone before it was copied, and how what was renamed arrives. States between scans have short texts: it fits. */
function goneText({ state }: Told, vanished: Vanished): string {
  const gone = isBetweenScans(state) ? vanishedText(vanished) : undefined
  if (gone === undefined) return ''
  return state === 'COMPLETED'
    ? `; ${gone}: to copy renamed files, use add-pending-region`
    : `; ${gone}: renamed files are copied by the next scan`
}

function stoppedText({ resumable, deletions, abortCause }: Told): string | undefined {
  if (deletions?.isHeld === true) {
    const { files, folders, removedWithinHour } = deletions
    const held = [
      ...(files > 0 ? [plural(files, 'file')] : []),
      ...(folders > 0 ? [plural(folders, 'folder')] : []),
    ].join(' and ')
    return removedWithinHour === undefined
      ? `stopped before deleting ${held} at the target: see plan, then approve-deletions`
      : `stopped before deleting ${held} more at the target, after ${removedWithinHour} within an hour: see plan, then approve-deletions`
  }
  if (!resumable) return 'stopped, cannot be resumed'
  return abortCause === undefined ? undefined : `stopped because of an error: ${abortCause}`
}

/** Conditions in which nothing moves, in a few words; the most telling first. */
const blocking = {
  SOURCE_CHANGED: 'the source has changed',
  SOURCE_EMPTY: 'the source is empty',
  SOURCE_UNREACHABLE: 'the source does not answer',
  SOURCE_REFUSES: 'the source rejects requests',
  SOURCE_THROTTLED: 'the source throttles requests',
  TARGET_UNREACHABLE: 'the target does not answer',
  TARGET_REFUSES: 'the target rejects requests',
  TARGET_THROTTLED: 'the target throttles requests',
  CANNOT_GO_ON: 'the work failed',
  WAITS_FOR_STORAGE: 'the storage of the platform is nearly full',
  WAITS_FOR_AGENT: 'no transfer agent reaches both stores',
} as const satisfies Partial<Record<ConditionReason, string>>
const blockingReasons = Object.keys(blocking) as (keyof typeof blocking)[]

/** Between two tries nobody scans, and nobody follows. */
function blockedText({ state }: Told, conditions: readonly Condition[]): string | undefined {
  if (state !== 'RUNNING' && state !== 'LIVE') return undefined
  for (const known of blockingReasons) {
    const found = conditions.find(({ reason }) => reason === known)
    if (found === undefined) continue
    const detail = detailOf(known, found.message)
    return `${state === 'LIVE' ? 'Live' : 'Running'}, blocked: ${blocking[known]}${detail === '' ? '' : `: ${detail}`}`
  }
  return undefined
}

/** What a condition says beyond what is told of it anyway: that, and which side it is on, may be what it begins with. */
function detailOf(known: keyof typeof blocking, message: string): string {
  const [, side = ''] = /^the (source|target) /.exec(blocking[known]) ?? []
  return [conditionReasons[known], blocking[known], ...(side === '' ? [] : [side])].reduce(
    (detail, said) =>
      detail === said ? '' : detail.startsWith(`${said}: `) ? detail.slice(said.length + 2) : detail,
    message,
  )
}

function waitText({ state, recurrence, scheduled, created }: Told, nowMs: number): string | undefined {
  if (state !== 'SCHEDULED' && state !== 'RECURRENCE_SCHEDULED') return undefined
  if (recurrence === undefined || mayRun(recurrence, Date.parse(scheduled ?? created), nowMs))
    return undefined
  const opensMs = windowChangeMs(recurrence, nowMs)
  return opensMs === undefined
    ? undefined
    : `waits for its next window, at ${new Date(opensMs).toISOString()}`
}
