import type { ConditionReason } from '../../subjects/migrations/model/condition-terms.ts'
import type { Payload } from '../../subjects/kit/contract.ts'
import type { migrationEvents } from '../../subjects/migrations/events.ts'
import { product } from '../../subjects/kit/names.ts'
import { shellArgument, shellWord } from '../../subjects/kit/shell-word.ts'
import { vanishedText } from '../../subjects/migrations/model/vanished.ts'
import { rateText, sizeText } from '../../subjects/kit/binary-size.ts'
import { countText, durationText, momentText } from '../output/format.ts'
import { printable } from '../output/terminal.ts'
import { type Info, isFollowing, type Rate, settledFiles, shareOf } from '../../subjects/migrations/rate.ts'

/** Of a name, what tells it from others where there is no room for all of it. */
const minName = 12
/** A narrower bar says nothing, a wider one nothing more. */
const minBar = 10
const maxBar = 30

/** A platform that is started again is back within seconds; after this it is not coming. */
export const patienceMs = 60_000
export const awayText = `The platform does not respond; retrying for ${patienceMs / 1_000} s.`

/**
 * One line that fits in a terminal: bar, percent, files, bytes, rates, time left, failures; of one that follows its source,
 * or did when it was stopped, rates, failures, lag and state.
 */
export function liveLine(info: Info, rate: Rate, columns: number): string {
  const rest = fitting(partsOf(info, rate), columns - minName - '  '.length).join('  ')
  const name = shortName(printable(info.id), Math.max(minName, columns - rest.length - '  '.length))
  const bar = Math.min(maxBar, columns - name.length - rest.length - '    '.length)
  const share = shareOf(info)
  const line =
    bar < minBar || share === undefined ? `${name}  ${rest}` : `${name}  ${barText(share, bar)}  ${rest}`
  return line.slice(0, columns)
}

/** As much of a name as there is room for; names that begin alike end differently. */
function shortName(name: string, maxLength: number): string {
  if (name.length <= maxLength) return name
  const end = Math.floor((maxLength - 1) / 2)
  return `${name.slice(0, maxLength - 1 - end)}…${name.slice(-end)}`
}

/** Figures that a narrow terminal does without, the first ones first: those of bytes say as much. */
const lessNeeded = [/ files\/s$/, / of .+ files(?: found so far)?$/]

/** Of the figures those that fit; the ETA and what went wrong are kept. */
function fitting(parts: readonly string[], columns: number): readonly string[] {
  let kept = parts
  for (const pattern of lessNeeded) {
    if (kept.join('  ').length <= columns) break
    kept = kept.filter((part) => !pattern.test(part))
  }
  return kept
}

/** The same without the bar, for logs. */
export const plainLine = (info: Info, rate: Rate): string =>
  [printable(info.id), info.state, ...partsOf(info, rate), ...conditionTexts(info)].join('  ')

/** What is in the way of a migration, a line for each. */
export const conditionLines = (info: Info): string[] => conditionTexts(info).map((text) => `  ${text}`)

export type FailuresTold = Payload<(typeof migrationEvents)['failures-changed']>

/** What came onto the list of a migration: the first of the paths, each with the class of its reason. */
export function failuresLine({ added, failedPaths }: FailuresTold): string {
  const paths = failedPaths.map(({ path, failureClass }) => `${printable(path)} (${failureClass})`)
  const more = added > paths.length ? [`${countText(added - paths.length)} more`] : []
  return `failed: ${[...paths, ...more].join(', ')}`
}

/** Conditions that the state or the figures of a migration tell already. */
const toldOtherwise: readonly ConditionReason[] = ['WAITS_FOR_TURN', 'PATHS_FAILED']

const conditionTexts = ({ conditions }: Info): string[] =>
  conditions
    .filter(({ reason }) => !toldOtherwise.includes(reason))
    .map(
      ({ reason, message, since }) => `${reason} since ${momentText(new Date(since))}: ${printable(message)}`,
    )

function barText(share: number, width: number): string {
  const full = Math.floor((share * width) / 100)
  return '█'.repeat(full) + '░'.repeat(width - full)
}

function filesDone(info: Info): string {
  const settled = settledFiles(info)
  // One that came while others were scanned may be counted first.
  return `${countText(settled)} of ${countText(Math.max(settled, info.progress.filesScanned))} files`
}

function partsOf(info: Info, { filesPerSecond, bytesPerSecond, etaSeconds }: Rate): string[] {
  const { progress, state } = info
  const { migratedBytes, bytesSuperseded, totalBytes, failedPaths } = progress
  const share = shareOf(info)
  const running = state === 'RUNNING' || state === 'LIVE' || state === 'STOPPING'
  return [
    ...(isFollowing(info)
      ? []
      : [
          ...(share === undefined ? [] : [`${String(share).padStart(3)} %`]),
          // While it runs, a scan may find more.
          `${filesDone(info)}${state === 'RUNNING' ? ' found so far' : ''}`,
          `${sizeText(migratedBytes + bytesSuperseded)} of ${sizeText(totalBytes)}`,
        ]),
    ...(running ? [`${countText(filesPerSecond)} files/s`, rateText(bytesPerSecond)] : []),
    ...(running && etaSeconds !== undefined ? [`ETA ${durationText(etaSeconds)}`] : []),
    ...(failedPaths > 0
      ? [`${state === 'COMPLETED' ? 'completed with ' : ''}${failuresText(failedPaths)}`]
      : []),
    ...lagText(info),
    ...stateText(info),
  ]
}

/** How far a live migration is behind its source; of one that does not follow it, for how long it has not. */
function lagText({ state, progress }: Info): string[] {
  const { changeDetection, changeLagSeconds, unscheduledEvents = 0, scheduledEvents = 0 } = progress
  if (changeLagSeconds === undefined) return []
  if (state === 'STOPPED' || changeDetection === 'off')
    return [`changes not followed for ${durationText(changeLagSeconds)}`]
  const changes = unscheduledEvents + scheduledEvents
  return [
    `lag ${changeLagSeconds.toFixed(1)} s, ${countText(changes)} ${changes === 1 ? 'change' : 'changes'}`,
  ]
}

/** The same at the end of a sentence. */
const lagAfter = (info: Info): string =>
  lagText(info)
    .map((text) => `, ${text}`)
    .join('')

/** What a migration waits for, when it does not just move files. */
function stateText(info: Info): string[] {
  const { state, nextRecurrenceTime, conditions } = info
  switch (state) {
    case 'STOPPING':
      return ['stopping']
    case 'LIVE':
      // Between two tries it does not; why is among the conditions.
      return conditions.some(({ reason }) => reason === 'CANNOT_GO_ON' || reason === 'SOURCE_CHANGED')
        ? []
        : ['following changes']
    case 'SCHEDULED':
    case 'RECURRENCE_SCHEDULED':
      return ['waiting for its turn']
    case 'WAITING_FOR_NEXT_RECURRENCE':
      return [
        nextRecurrenceTime === undefined
          ? 'done'
          : `waiting until ${momentText(new Date(nextRecurrenceTime))}`,
      ]
    case 'RUNNING':
    case 'STOPPED':
      // Of others the share says how far they are.
      return isFollowing(info) ? [state.toLowerCase()] : []
    case 'NONSCHEDULED':
    case 'COMPLETED':
      break
  }
  return []
}

/** How far one was when it was stopped. */
function stoppedAt(info: Info): string {
  if (isFollowing(info)) return lagAfter(info)
  const share = shareOf(info)
  return share === undefined
    ? ` before everything was found, at ${filesDone(info)} found so far`
    : ` at ${share} %`
}

/** How a migration ended, and what can be done next. */
export function endLine(info: Info): string {
  const { id, state, progress } = info
  const { failedPaths, filesMigrated, filesSkipped, totalMigratedBytes, duration } = progress
  const name = printable(id)
  const command = (verb: string) => `${product} migrations ${verb} ${shellArgument(id)}`
  switch (state) {
    case 'NONSCHEDULED':
      return `${name} was not started; start it with: ${command('start')}`
    case 'STOPPED':
      if (info.conditions.some(({ reason }) => reason === 'WAITS_FOR_APPROVAL'))
        return `${name} waits for approval of its deletions; list them with: ${command('plan')}, approve them with: ${command('approve-deletions')}`
      return `${name} is stopped${stoppedAt(info)}; continue with: ${command('resume')}`
    case 'COMPLETED': {
      const skipped = filesSkipped > 0 ? `, ${countText(filesSkipped)} already at the target` : ''
      const done = `${countText(filesMigrated)} ${filesMigrated === 1 ? 'file' : 'files'} (${sizeText(totalMigratedBytes)}) copied${skipped}, in ${durationText(duration.inSeconds)}`
      const gone = vanishedText(progress, countText)
      const again =
        gone === undefined
          ? ''
          : `; ${gone}; copy renamed paths with: ${command('add-pending-region')} ${printable(shellWord(info.path))}`
      return failedPaths === 0
        ? `${name} is completed: ${done}${again}`
        : `${name} is completed with ${failuresText(failedPaths)}: ${done}; list them with: ${command('failures')}${again}`
    }
    case 'SCHEDULED':
    case 'RUNNING':
    case 'LIVE':
    case 'STOPPING':
    case 'WAITING_FOR_NEXT_RECURRENCE':
    case 'RECURRENCE_SCHEDULED':
      return `${name} is ${state}`
  }
}

const failuresText = (count: number) => `${countText(count)} ${count === 1 ? 'failure' : 'failures'}`
