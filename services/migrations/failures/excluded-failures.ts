import { setTimeout as delay } from 'node:timers/promises'
import type { LedgerEntry } from '../../../broker/state/ledger.ts'
import type { RuleLists } from '../../engine/run/rules.ts'
import type { MigrationRecord } from '../lifecycle/record.ts'
import { exclusionsOf } from '../rules/excluded.ts'
import { pathOfFailure, type RecordedFailure } from './failures.ts'

/** Says which failures of a page the rules of a migration exclude by now, by their sequences. */
export type ExcludedFailures = (page: readonly LedgerEntry<RecordedFailure>[]) => Promise<ReadonlySet<number>>

/** Failures are judged for so long in a row: it is done where everybody waits meanwhile. */
const sliceMs = 10

let last: Promise<unknown> = Promise.resolve()

/** One slice after the other, and others have as long in between, however many lists are judged at once. */
function inSlice<T>(work: () => T): Promise<T> {
  const done = last.then(work)
  const pause = () => delay(sliceMs)
  last = done.then(pause, pause)
  return done
}

/** @param patienceMs those that are not judged by then count as not excluded; default: all are judged */
export function excludedFailures(
  rules: RuleLists,
  record: Pick<MigrationRecord, 'path'>,
  patienceMs = Number.POSITIVE_INFINITY,
): ExcludedFailures {
  let isExcluded: ReturnType<typeof exclusionsOf> | undefined
  return async (page) => {
    const excluded = new Set<number>()
    const untilMs = performance.now() + patienceMs
    for (let from = 0; from < page.length && performance.now() < untilMs;) {
      from = await inSlice(() => {
        isExcluded ??= exclusionsOf(rules, record)
        const endMs = performance.now() + sliceMs
        let at = from
        do {
          const { sequence, entry } = page[at]!
          const path = pathOfFailure(entry.path)
          // Files have a size. Anything else may be a folder on the way to what is included.
          const isFolder = entry.foundBytes === undefined
          if (path !== undefined && isExcluded({ path, isFolder })) excluded.add(sequence)
          at++
        } while (at < page.length && performance.now() < endMs)
        return at
      })
    }
    return excluded
  }
}
