import { isGantryError } from '../../subjects/errors.ts'
import type { ActiveMigration } from './active.ts'
import type { Changes } from './changes/changes.ts'
import type { WorkState } from './conditions.ts'
import type { MigrationRecord } from './record.ts'

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
  /** Why the work broke off last. */
  problem: string | undefined
}

export const newFollowed = (record: MigrationRecord): Followed => ({
  record,
  halt: new AbortController(),
  changes: 0,
  settings: undefined,
  work: undefined,
  active: undefined,
  following: undefined,
  problem: undefined,
})

/** Nobody is at work on it. */
export function ended(followed: Followed): void {
  followed.work = undefined
  followed.settings = undefined
  followed.active = undefined
  followed.following = undefined
}

/** Only what is meant for people says what it is. */
export const problemOf = (error: unknown): string =>
  isGantryError(error) || error instanceof Error ? error.message : String(error)

/** How the work on it goes. */
export function stateOf({ record, active, following, problem }: Followed): WorkState {
  const isMended = active !== undefined && performance.now() > active.sinceMs + mendedMs
  const { forStorage = false, putOffs = [] } = active?.work.waits ?? {}
  return {
    record,
    forStorage,
    putOffs,
    changes: following?.view(),
    problem: isMended ? undefined : problem,
  }
}
