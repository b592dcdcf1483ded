import { type Emission, emission } from '../../../broker/state/events.ts'
import type { Log } from '../../../broker/common/log.ts'
import { every, type Task } from '../../../broker/tasks/tasks.ts'
import {
  type ConditionReason,
  conditionReasons,
  type Deferral,
} from '../../../subjects/migrations/model/condition-terms.ts'
import type { Condition } from '../../../subjects/migrations/model/conditions.ts'
import { migrationEvents } from '../../../subjects/migrations/events.ts'
import { plural } from '../../../subjects/kit/plural.ts'
import { maxTextLength } from '../../../subjects/kit/schemas.ts'
import { shellArgument } from '../../../subjects/kit/shell-word.ts'
import { shortened } from '../../../subjects/kit/shortened.ts'
import type { ChangesView } from '../live/following.ts'
import { lossText } from './proof.ts'
import { factOf, type MigrationRecord, workIdOf } from '../lifecycle/record.ts'
import { windowChangeMs } from '../../scheduling/recurrence.ts'
import { isActive, isBetweenScans } from '../lifecycle/states.ts'
import { isInTime } from '../../scheduling/admission.ts'

/** How the work on a migration goes, as whoever does it knows. */
export interface WorkState {
  readonly record: MigrationRecord
  readonly forStorage: boolean
  readonly deferrals: readonly Deferral[]
  readonly changes: ChangesView | undefined
  readonly problem: string | undefined
}

export interface ConditionsOptions {
  /** Of all migrations that are worked on here. */
  readonly states: () => readonly WorkState[]
  /** Whether a migration is left to agents, and none is there that can do it. */
  readonly waitsForAgent: (workId: string) => boolean
  /** The limits on bandwidth that hold for a migration, in words; undefined when none does. */
  readonly limitsOf: (migrationId: string, target: string) => string | undefined
  /** Paths of a migration that did not arrive, as they were counted last. */
  readonly failedPaths: (record: MigrationRecord) => number
  /** Since when a migration with such paths has some. */
  readonly failingSince: (record: MigrationRecord) => string
  /** A migration as it is now; undefined when it is gone. */
  readonly latest: (migrationId: string) => Promise<MigrationRecord | undefined>
  /** What was wrong with its stored record. */
  readonly damageOf: (migrationId: string) => { readonly message: string; readonly since: string } | undefined
  readonly publish: (emission: Emission) => Promise<void>
  readonly log: Log
}

/** What is so, and since when where that is known. */
type Found = Deferral & { readonly since?: string }

interface Known {
  readonly record: MigrationRecord
  readonly conditions: readonly Condition[]
}

/** Knows why migrations that are worked on do not move, or not as they could, and tells of each change. */
export class Conditions {
  readonly #options: ConditionsOptions
  /** By internal id. */
  #known = new Map<string, Known>()
  #task: Task | undefined

  constructor(options: ConditionsOptions) {
    this.#options = options
  }

  start(): void {
    this.#task = every('migrations.conditions', () => this.look())
  }

  stop(): void {
    this.#task?.stop()
  }

  /**
   * Those of a migration, of its record, its failures and its work: when that is over, what was in its way is so too.
   * @param failed paths that did not arrive
   */
  of(record: MigrationRecord, failed: number): Condition[] {
    const ofWork = isActive(record.state) ? knownOf(this.#known, record)?.conditions : undefined
    const damage = this.#options.damageOf(record.migrationId)
    const damaged =
      damage === undefined ? [] : [{ ...said('RECORD_DAMAGED', damage.message), since: damage.since }]
    return [
      ...damaged,
      ...recordConditions(record, Date.now()),
      ...(ofWork ?? []).filter(({ reason }) => reason !== 'PATHS_FAILED' && !isAccepted(record, reason)),
      ...(failed === 0 ? [] : [{ ...pathsFailed(failed), since: this.#options.failingSince(record) }]),
    ]
  }

  /** Asks how all goes, and tells of what has changed. */
  look(): void {
    const before = this.#known
    const now = new Map<string, Known>()
    for (const state of this.#options.states()) {
      const { record } = state
      if (!isActive(record.state)) continue
      const found = this.#found(state)
      const known = knownOf(before, record)
      if (found.length === 0) continue
      const conditions = merged(found, known).map((one) =>
        one.reason === 'PATHS_FAILED' ? { ...one, since: this.#options.failingSince(record) } : one,
      )
      now.set(record.internalId, { record, conditions })
    }
    this.#known = now
    for (const [id, { record, conditions }] of now)
      if (reasonsOf(conditions) !== reasonsOf(before.get(id)?.conditions ?? []))
        this.#tell(record, conditions)
    for (const [id, { record }] of before) if (!now.has(id)) void this.#tellEnd(record)
  }

  #found({ record, forStorage, deferrals, changes, problem }: WorkState): Found[] {
    const { waitsForAgent, limitsOf, failedPaths } = this.#options
    const failed = failedPaths(record)
    const limits = limitsOf(record.migrationId, record.target)
    const { writtenTo, comparesAtMs } = changes ?? {}
    const isComparing = changes?.detection === 'comparing' && changes.reason !== undefined
    return [
      ...(waitsForAgent(workIdOf(record)) ? [plain('WAITS_FOR_AGENT')] : []),
      ...(forStorage ? [plain('WAITS_FOR_STORAGE')] : []),
      ...(limits === undefined ? [] : [said('BANDWIDTH_LIMITED', limits)]),
      ...deferrals,
      ...(record.sourceChanged === undefined ? [] : [sourceChanged(record, record.sourceChanged)]),
      ...(problem === undefined ? [] : [said('CANNOT_GO_ON', problem)]),
      ...(record.lost === undefined ? [] : [said('WORK_LOST', lossText(record.lost))]),
      ...(record.inDoubt === true ? [plain('TARGET_IN_DOUBT')] : []),
      ...(isComparing ? [said('COMPARING', changes.reason)] : []),
      ...(writtenTo === undefined ? [] : [said('BEING_WRITTEN', pathBelow(record, writtenTo))]),
      ...(comparesAtMs === undefined
        ? []
        : [said('HARD_LINKS', `next comparison at ${isoTime(comparesAtMs)}`)]),
      ...(failed === 0 ? [] : [pathsFailed(failed)]),
    ]
  }

  /** Nothing is in the way of the work, or it is over: then the state that it is in by now is told too. Never rejects. */
  async #tellEnd({ migrationId, internalId }: MigrationRecord): Promise<void> {
    const { latest, log } = this.#options
    try {
      const record = await latest(migrationId)
      // That it is gone was told.
      if (record?.internalId === internalId)
        this.#tell(record, this.of(record, this.#options.failedPaths(record)))
    } catch (error) {
      log.debug({ err: error, migration: migrationId }, 'Its conditions could not be told.')
    }
  }

  /** Not kept with a change: who follows these missed one sees the next, and can ask. */
  #tell(record: MigrationRecord, conditions: readonly Condition[]): void {
    const { publish, log } = this.#options
    const { migrationId } = record
    publish(
      emission(migrationEvents['conditions-changed'], migrationId, {
        ...factOf(record),
        conditions: [...conditions],
      }),
    ).catch((err: unknown) => log.debug({ err, migration: migrationId }, 'Its conditions could not be told.'))
  }
}

/** What is known of a migration since it was asked to run last: what was in the way before that is over, or is found again. */
function knownOf(all: ReadonlyMap<string, Known>, { internalId, scheduled }: MigrationRecord) {
  const known = all.get(internalId)
  return known?.record.scheduled === scheduled ? known : undefined
}

/** Whoever accepts a source is told at once that it is over, and not when somebody looks next. */
const isAccepted = ({ sourceChanged }: MigrationRecord, reason: ConditionReason): boolean =>
  reason === 'SOURCE_CHANGED' && sourceChanged === undefined

/** What a record says of itself, whoever works on it. */
export function recordConditions(record: MigrationRecord, nowMs: number): Condition[] {
  const { state } = record
  const ofSource =
    record.sourceChanged === undefined || isActive(state) ? [] : [sourceChanged(record, record.sourceChanged)]
  return [...ofSource, ...notFlushed(record), ...doubt(record), ...stateConditions(record, nowMs)]
}

/** Of work that has ended: what goes on writes, and flushes at its own end. */
const notFlushed = ({ state, unflushed }: MigrationRecord): Condition[] =>
  unflushed === undefined || isActive(state)
    ? []
    : [{ ...said('TARGET_NOT_FLUSHED', unflushed.reason), since: unflushed.since }]

/** Of a scan that is over: what failed in it is not known to be whole. */
function doubt({ migrationId, state, inDoubt = false, created, scanned }: MigrationRecord): Condition[] {
  if (!inDoubt || !isBetweenScans(state)) return []
  const left = `this is done except for failed paths: retry them with "gantry migrations retry-failures ${shellArgument(migrationId)}"`
  return [{ ...said('TARGET_IN_DOUBT', left), since: scanned ?? created }]
}

function stateConditions(record: MigrationRecord, nowMs: number): Condition[] {
  const { state, scheduled, created, deletions } = record
  if (state === 'SCHEDULED' || state === 'RECURRENCE_SCHEDULED') {
    const waits = isInTime(record, nowMs) ? plain('WAITS_FOR_TURN') : forWindow(record, nowMs)
    return [{ ...waits, since: scheduled ?? created }]
  }
  if (state !== 'STOPPED' || deletions?.isHeld !== true) return []
  const { files, folders, percent, entriesAtTarget, samples = [], time } = deletions
  const share =
    percent === undefined || entriesAtTarget === undefined
      ? ''
      : `, ${Math.round(percent * 10) / 10} % of the ${entriesAtTarget} entries of the target`
  const held = `${plural(files, 'file')} and ${plural(folders, 'folder')}${share}`
  return [
    {
      ...said('WAITS_FOR_APPROVAL', samples.length === 0 ? held : `${held}, such as ${some(samples)}`),
      since: time,
    },
  ]
}

/** The difference can be long; what to do about it is told all the same. */
const maxDifferenceLength = maxTextLength / 2

function sourceChanged(
  { migrationId, kind, targetMatch }: Pick<MigrationRecord, 'migrationId' | 'kind' | 'targetMatch'>,
  { since, difference, isGone = false }: NonNullable<MigrationRecord['sourceChanged']>,
): Condition {
  const told = shortened(difference, maxDifferenceLength)
  if (isGone) return { ...said('SOURCE_CHANGED', `${told}. Mount it or restore it`), since }
  const name = shellArgument(migrationId)
  const removes = kind === 'live' || targetMatch !== undefined
  const effect = removes
    ? 'files that are not at the source are then removed at the target'
    : 'nothing is then removed at the target'
  const fix = `Restore the original source, or accept the current one with "gantry migrations accept-source ${name}"; ${effect}`
  return { ...said('SOURCE_CHANGED', `${told}. ${fix}`), since }
}

/** So many paths go into a message; the record has more. */
const shownSamples = 3

/** Some of the paths in words. */
const some = (paths: readonly string[]): string => paths.slice(0, shownSamples).join(', ')

function forWindow({ recurrence }: MigrationRecord, nowMs: number): Deferral {
  const nextMs = recurrence && windowChangeMs(recurrence, nowMs)
  return nextMs === undefined
    ? plain('WAITS_FOR_WINDOW')
    : said('WAITS_FOR_WINDOW', `next window at ${isoTime(nextMs)}`)
}

const pathBelow = ({ path }: MigrationRecord, below: string): string =>
  path === '/' ? below : `${path}${below}`

const isoTime = (ms: number): string => new Date(ms).toISOString()

const pathsFailed = (count: number): Deferral => said('PATHS_FAILED', plural(count, 'path'))

const plain = (reason: ConditionReason): Deferral => ({ reason, message: conditionReasons[reason] })

const said = (reason: ConditionReason, message: string): Deferral => ({
  reason,
  message: shortened(`${conditionReasons[reason]}: ${message}`, maxTextLength),
})

/** The same as before keeps its time. */
function merged(found: readonly Found[], before: Known | undefined): Condition[] {
  const now = new Date().toISOString()
  return found.map(({ reason, message, since }) => ({
    reason,
    message: shortened(message, maxTextLength),
    since: since ?? before?.conditions.find((one) => one.reason === reason)?.since ?? now,
  }))
}

const reasonsOf = (conditions: readonly Condition[]): string =>
  conditions
    .map(({ reason }) => reason)
    .toSorted()
    .join()
