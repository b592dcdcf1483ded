import { hasEnded } from '../../subjects/migrations/model/jobs.ts'
import { byAge, type JobRecord } from './job-record.ts'

type Owned = Pick<JobRecord, 'id' | 'owner' | 'created' | 'started' | 'status'>

/**
 * The jobs that begin next, so that nobody waits for all that somebody else has asked for: of the owners with the fewest
 * under way, the one whose last began the longest ago, and of that owner's the oldest. Jobs without an owner are one's.
 * @param all those known, with what is under way
 * @param isWaiting whether one is to be begun
 */
export function nextOf<R extends Owned>(
  all: readonly R[],
  isWaiting: (job: R) => boolean,
  count: number,
): R[] {
  const owners = [...Map.groupBy(all, ({ owner }) => owner).values()].map((jobs) => ({
    waiting: jobs.filter(isWaiting).toSorted(byAge),
    // Of one that has just begun the record may not say so yet.
    underWay: jobs.filter((job) => !isWaiting(job) && !hasEnded(job)).length,
    begun: jobs.reduce((latest, { started = '' }) => (started > latest ? started : latest), ''),
  }))
  const next: R[] = []
  while (next.length < count) {
    const [first] = owners
      .filter(({ waiting }) => waiting.length > 0)
      .toSorted(
        (one, other) =>
          one.underWay - other.underWay ||
          one.begun.localeCompare(other.begun) ||
          byAge(one.waiting[0]!, other.waiting[0]!),
      )
    if (first === undefined) break
    next.push(first.waiting.shift()!)
    first.underWay += 1
  }
  return next
}

/** The jobs that are forgotten first: of the owner with the most of them the oldest, again and again. */
export function tooManyOf<R extends Owned>(ended: readonly R[], count: number): R[] {
  const owners = [...Map.groupBy(ended, ({ owner }) => owner).values()].map((jobs) => jobs.toSorted(byAge))
  const forgotten: R[] = []
  while (forgotten.length < Math.min(count, ended.length)) {
    const most = owners.reduce((one, other) => (other.length > one.length ? other : one))
    forgotten.push(most.shift()!)
  }
  return forgotten
}
