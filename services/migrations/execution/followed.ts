import { isGantryError } from '../../../subjects/kit/errors.ts'
import type { ActiveMigration } from './active.ts'
import type { Changes } from '../live/changes.ts'
import { type ChangesView, lagSeconds } from '../live/following.ts'
import { momentOf, monotonicMs, timeOf } from '../../../broker/common/monotonic.ts'
import type { WorkState } from '../progress/conditions.ts'
import type { Left, MigrationRecord } from '../lifecycle/record.ts'
import { isWorkedOn } from '../lifecycle/states.ts'
import type { KnownRoots } from './roots.ts'

/** Work that was begun again has to go on for so long until it is taken for mended. */
const mendedMs = 5_000

/** A migration that is worked on. */
export interface Followed {
  /** As it was seen last. */
  record: MigrationRecord
  /** Ends the present work on it. */
  halt: AbortController
  /** Grows with every change of its record. */
  changes: number
  /** The settings that are worked by (`settingsKey`). */
  settings: string | undefined
  /** The work that is under way. */
  work: { readonly workId: string; readonly changed: (record: MigrationRecord) => void } | undefined
  active: { readonly work: ActiveMigration; readonly sinceMs: number } | undefined
  /** Of a live migration. */
  following: Changes | undefined
  /** Since when its target is behind as its work broke off (`monotonicMs`). */
  behindMs: number | undefined
  /** Why the work broke off last; that the source has been replaced is in the record. */
  problem: string | undefined
  /** Why it broke off, as the log was told last. */
  logged: string | undefined
  readonly roots: KnownRoots
}

export const newFollowed = (record: MigrationRecord): Followed => ({
  record,
  halt: new AbortController(),
  changes: 0,
  settings: undefined,
  work: undefined,
  active: undefined,
  following: undefined,
  behindMs: undefined,
  problem: undefined,
  logged: undefined,
  roots: { isRootReplaced: false },
})

/** Nobody is at work on it. */
export function ended(followed: Followed): void {
  followed.behindMs = behindMsOf(followed)
  followed.active?.work.close()
  followed.work = undefined
  followed.settings = undefined
  followed.active = undefined
  followed.following = undefined
}

/** Only what is meant for people says what it is. */
export const problemOf = (error: unknown): string =>
  isGantryError(error) || error instanceof Error ? error.message : String(error)

/** How the work on it goes. */
export function stateOf(followed: Followed): WorkState {
  const { record, active, problem } = followed
  const { forStorage = false, deferrals = [] } = active?.work.waits ?? {}
  return {
    record,
    forStorage,
    deferrals,
    changes: changesViewOf(followed),
    problem: isMended(followed) ? undefined : problem,
  }
}

/** Whether what broke its work off is over: it has gone on for long enough. */
const isMended = ({ active }: Followed): boolean =>
  active !== undefined && performance.now() > active.sinceMs + mendedMs

/** Whether the log does not have this reason yet: one that stays is found with each try. */
export function isNews(followed: Followed, reason: string): boolean {
  const isKnown = followed.logged === reason && !isMended(followed)
  followed.logged = reason
  return !isKnown
}

/** Since when its target is behind, or would be without more work; undefined where its source need not be followed. */
function behindMsOf({ record, following, behindMs }: Followed): number | undefined {
  const { kind, seeded, sourceChanged } = record
  const behindSince = record.behindSince ?? sourceChanged?.since
  if (kind !== 'live' || !seeded) return undefined
  if (following !== undefined) return following.behindMs
  return behindMs ?? (behindSince === undefined ? undefined : momentOf(Date.parse(behindSince)))
}

/**
 * Since when nobody followed the source of a migration whose work begins; undefined before its first scan, which finds all.
 * When its queue was lost, so were changes, and with what was written last may be what was removed: what went from the source
 * meanwhile no scan finds.
 */
export const gapOf = (followed: Followed): number | undefined =>
  followed.record.seeded || followed.record.lost !== undefined || followed.record.inDoubt === true
    ? (behindMsOf(followed) ?? monotonicMs())
    : undefined

/** What a record keeps when the work on it ends. */
export function leftOf(followed: Followed): Left {
  const behindMs = behindMsOf(followed)
  const handedBack = followed.active?.work.handedBack ?? followed.record.handedBack
  return {
    ...(behindMs !== undefined && { behindSince: new Date(timeOf(behindMs)).toISOString() }),
    ...(handedBack !== undefined && { handedBack }),
  }
}

/** How far its target is behind; undefined where its source is not followed, or was not yet. */
export function changesViewOf(followed: Followed): ChangesView | undefined {
  const { following, problem, record } = followed
  if (following !== undefined) return following.view()
  const behindMs = behindMsOf(followed)
  if (behindMs === undefined) return undefined
  return {
    detection: 'off',
    reason: problem ?? record.sourceChanged?.difference ?? whyOff(record),
    lagSeconds: lagSeconds(behindMs),
    // Everything is to be compared.
    unscheduled: 1,
    scheduled: 0,
  }
}

function whyOff({ state }: MigrationRecord): string {
  if (isWorkedOn(state)) return 'the migration is about to follow its source'
  return state === 'SCHEDULED' ? 'the migration waits to run' : 'the migration is not running'
}

/** Equal for equal rules, movers, policies and trash, and as long as what is at the target is read or is not. */
export const settingsKey = ({
  exclusions = [],
  inclusions = [],
  movedBy,
  policy,
  inDoubt = false,
  removals,
}: MigrationRecord) => JSON.stringify([exclusions, inclusions, movedBy, policy, inDoubt, removals?.trash])

/** Whether work that was put into the queue cannot have been done: the queue of a scan that is over is deleted. */
export const isLost = ({ seeded, kind, scanned }: MigrationRecord): boolean =>
  seeded && (kind === 'live' || scanned === undefined)
