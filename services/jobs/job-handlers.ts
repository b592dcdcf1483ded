import type { Owned, Owners } from '../../broker/rpc/owners.ts'
import type { Caller } from '../../subjects/kit/contract.ts'
import { GantryError } from '../../subjects/kit/errors.ts'
import type { Part } from '../../subjects/kit/download.ts'
import { product } from '../../subjects/kit/names.ts'
import { maxPageLength } from '../../subjects/kit/schemas.ts'
import { endJob } from './forget-jobs.ts'
import { hasEnded } from '../../subjects/migrations/model/jobs.ts'
import { byAge, type JobRecord } from './job-record.ts'
import { tooManyOf } from './owners-turns.ts'
import type { ReportStore } from './reports.ts'
import type { StoredRecords } from './kept-records.ts'
import type { WalkJobs } from './walk-jobs.ts'
import { pageAfter } from '../kit/page.ts'

export interface JobHandlersOptions<R extends JobRecord, N extends string, V> {
  /** What a job of this sort is called in messages. */
  readonly name: string
  readonly owners: Owners
  readonly records: StoredRecords<R>
  readonly reports: ReportStore<N>
  readonly jobs: Pick<WalkJobs<R, N>, 'cancel' | 'countsOf' | 'wake'>
  /** @param running counts of one that is under way */
  readonly view: (record: R, running?: Readonly<Record<string, number>>) => V
}

/** So many are kept; of the owner with the most that have ended the oldest goes first. A page of the list holds them all. */
const maxKept = maxPageLength

/** What people ask of jobs, and tell them. */
export function jobHandlers<R extends JobRecord, N extends string, V>({
  name,
  owners,
  records,
  reports,
  jobs,
  view,
}: JobHandlersOptions<R, N, V>) {
  const find = async (id: string): Promise<R> => {
    const record = await records.get(id)
    if (record === undefined) throw new GantryError('NOT_FOUND', `there is no ${name} ${id}`)
    return record
  }
  const shown = (record: R) => view(record, jobs.countsOf(record.id))
  const all = () => records.all()
  const forget = async (id: string) => {
    await records.delete(id, requireEnded)
    reports.remove(id)
  }

  const owned: Owned = {
    limit: 'maxJobs',
    what: `${name}s that wait or are under way`,
    fix: `wait for them, or cancel some with "${product} ${name}s cancel"`,
    count: async (owner) => (await all()).filter((one) => one.owner === owner && !hasEnded(one)).length,
  }
  const forgetOldest = async (): Promise<void> => {
    const known = await all()
    const tooMany = Math.max(0, known.length - maxKept + 1)
    for (const { id } of tooManyOf(known.filter(hasEnded), tooMany)) await forget(id)
  }

  return {
    find,
    shown,
    /** Stores a new one for its owner, and begins with it when it is its turn. @throws GantryError LIMIT_REACHED */
    make: async (caller: Caller, record: R): Promise<V> => {
      await owners.make(await owners.allowanceOf(caller), owned, async (owner) => {
        await forgetOldest()
        await records.create(record.id, { ...record, ...(owner === undefined ? {} : { owner }) })
      })
      jobs.wake()
      return shown(record)
    },
    list: async (
      { after, limit = maxPageLength }: { after?: string; limit?: number },
      isWanted: (record: R) => boolean,
    ): Promise<V[]> => {
      const newestFirst = (await all()).toSorted(byAge).toReversed()
      return pageAfter(newestFirst, after).filter(isWanted).slice(0, limit).map(shown)
    },
    get: async (id: string): Promise<V> => {
      // Its figures first: they are forgotten when it ends, and then its record has them.
      const counts = jobs.countsOf(id)
      return view(await find(id), counts)
    },
    cancel: async (id: string): Promise<V> => {
      const record = await find(id)
      if (hasEnded(record)) {
        throw new GantryError('NOT_ALLOWED_IN_STATE', `${id} is ${record.status}: it has ended`)
      }
      await endJob({ records, reports, jobs }, id)
      return shown(await find(id))
    },
    delete: async (id: string) => {
      await find(id)
      await forget(id)
      return {}
    },
    reports: async (id: string) => {
      const { reports: files = [] } = await find(id)
      return files.map(({ type, sizeBytes, createdMs, checksum }) => {
        const known = type as N
        return {
          descriptor: { name: known, type: known, fileSuffix: reports.suffixOf(known) },
          size: sizeBytes,
          created: createdMs,
          checksum,
        }
      })
    },
    report: async (id: string, reportId: N, from = 0): Promise<Part> => {
      requireEnded(await find(id))
      return (await reports.read(id, reportId, from)) ?? gone(id)
    },
    /** All reports. @param type media type of a tar archive */
    archive: async (id: string, type: string, from = 0): Promise<Part> => {
      requireEnded(await find(id))
      const part = await reports.archive(id, from)
      return part === undefined ? gone(id) : { name: `${id}.tar`, type, ...part }
    },
  }
}

function gone(id: string): never {
  throw new GantryError(
    'NOT_FOUND',
    `the reports of ${id} no longer exist: they were removed to free space, or it was cancelled before it began`,
  )
}

function requireEnded(record: JobRecord): void {
  if (hasEnded(record)) return
  const { id, status } = record
  throw new GantryError('NOT_ALLOWED_IN_STATE', `${id} is ${status}: wait until it ends, or cancel it first`)
}
