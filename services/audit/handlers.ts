import type { AuditReader } from '../../broker/audit/reader.ts'
import { type audit, AuditEntry, defaultAuditPage } from '../../subjects/access/audit.ts'
import type { Handlers, Input } from '../../subjects/kit/contract.ts'
import { roots } from '../../subjects/kit/names.ts'
import { matches } from '../../subjects/kit/validate.ts'

type Filter = Omit<Input<(typeof audit)['list']>, 'order' | 'after' | 'limit'>

/** The clocks of the broker's host and of the one that made a record may differ by so much. */
const clockSlackMs = 600_000

/** Whether a record is one that was asked for. */
export function fitsFilter(filter: Filter): (entry: AuditEntry) => boolean {
  const { user, key, what, object, result } = filter
  const sinceMs = momentOf(filter.since, Number.NEGATIVE_INFINITY)
  const untilMs = momentOf(filter.until, Number.POSITIVE_INFINITY)
  return (entry) => {
    // One that somebody has changed must not hide the others.
    if (!matches(AuditEntry, entry)) return false
    const timeMs = Date.parse(entry.time)
    return (
      timeMs >= sinceMs &&
      timeMs <= untilMs &&
      (user === undefined || entry.user === user) &&
      (key === undefined || entry.key === key) &&
      (what === undefined ||
        entry.what.startsWith(what) ||
        entry.what.startsWith(`${roots.services}.${what}`)) &&
      (object === undefined || entry.object === object) &&
      (result === undefined || (result === 'refused' ? entry.result !== 'ok' : entry.result === result))
    )
  }
}

const momentOf = (text: string | undefined, otherwise: number): number =>
  text === undefined ? otherwise : Date.parse(text)

/** The audit log, for administrators. */
export function auditHandlers(reader: AuditReader<AuditEntry>): Handlers<typeof audit> {
  return {
    list: async ({ order = 'newest', after, limit = defaultAuditPage, ...filter }) => {
      const { records, next } = await reader.page({
        order,
        after,
        limit,
        fits: fitsFilter(filter),
        sinceMs: momentOf(filter.since, 0) - clockSlackMs,
      })
      return {
        records: records.map(({ sequence, record }) => ({ sequence, ...record })),
        ...(next === undefined ? {} : { next }),
      }
    },
    verify: async ({ after }) => {
      const { records, fromFirst, oldest, newest, hash, broken, next } = await reader.verify(after)
      return {
        intact: broken === undefined,
        records,
        fromFirst,
        ...(oldest === undefined ? {} : { oldest: oldest.time }),
        ...(newest === undefined ? {} : { newest: newest.time }),
        ...(hash === undefined ? {} : { hash }),
        ...(broken === undefined ? {} : { brokenAt: broken.at, problem: broken.problem }),
        ...(next === undefined ? {} : { next }),
      }
    },
  }
}
