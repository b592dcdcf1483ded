import type { LedgerEntry } from '../../../broker/state/ledger.ts'
import type { RuleLists } from '../../engine/run/rules.ts'
import type { MigrationRecord } from '../lifecycle/record.ts'
import { exclusionsOf } from '../rules/excluded.ts'
import { pathOfFailure, type RecordedFailure } from './failures.ts'

/** Says which failures of a page the rules of a migration exclude by now, by their sequences. */
export type ExcludedFailures = (page: readonly LedgerEntry<RecordedFailure>[]) => ReadonlySet<number>

/** What may be spent on costly patterns is so for each page: others have their turn between two. */
export const excludedFailures =
  (rules: RuleLists, record: Pick<MigrationRecord, 'path'>): ExcludedFailures =>
  (page) => {
    const isExcluded = exclusionsOf(rules, record)
    const excluded = page.filter(({ entry: { path: text, foundBytes } }) => {
      const path = pathOfFailure(text)
      // Files have a size. Anything else may be a folder on the way to what is included.
      return path !== undefined && isExcluded({ path, isFolder: foundBytes === undefined })
    })
    return new Set(excluded.map(({ sequence }) => sequence))
  }
