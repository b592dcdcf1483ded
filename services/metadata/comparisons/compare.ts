import { csvLine } from '../../../subjects/kit/csv.ts'
import {
  type ComparisonCount,
  type ComparisonPurpose,
  comparisonReports,
  type ComparisonResult,
} from '../../../subjects/metadata/comparisons.ts'
import type { JobOutcome, Work } from '../../jobs/walk-jobs.ts'
import type { ObjectBook } from '../migrations/book.ts'
import type { MetadataMigrationRecord } from '../migrations/record.ts'
import { type Asked, tablesAtOnce } from '../migrations/run.ts'
import type { Scope } from '../migrations/scope.ts'
import type { Gate } from '../migrations/reconcile/gates.ts'
import type { Difference } from '../migrations/reconcile/differences.ts'
import { maxSamples, type PartitionsPlanned } from '../migrations/reconcile/dry-writer.ts'
import {
  type Failure,
  keyOf,
  type Known,
  type ObjectId,
  type Outcome,
} from '../migrations/reconcile/objects.ts'
import { unlessOfAll } from '../catalogs/unless-of-all.ts'
import type { TableWork } from '../migrations/reconcile/questions.ts'

const csvColumns = ['kind', 'database', 'name', 'result', 'field', 'wanted', 'found', 'reason'] as const
export const csvHead = csvLine(csvColumns)

const countOf: Readonly<Record<ComparisonResult, ComparisonCount>> = {
  SAME: 'same',
  TO_CREATE: 'toCreate',
  TO_CHANGE: 'toChange',
  TO_DROP: 'toDrop',
  ONLY_AT_TARGET: 'onlyAtTarget',
  CONFLICT: 'conflicts',
  WAITING: 'waiting',
  REFUSED: 'refused',
}

export interface ComparisonOf {
  readonly record: MetadataMigrationRecord
  readonly purpose: ComparisonPurpose
  readonly scope: Scope
  readonly book: ObjectBook
  readonly gates: readonly Gate[]
  /** Asks a thread, which writes nothing. */
  readonly ask: Asked
}

/** Goes through everything that the rules of a migration match, at both ends, and tells of each object. */
export async function compareAll(
  { record, purpose, scope, book, gates, ask }: ComparisonOf,
  { take }: Pick<Work, 'take'>,
): Promise<JobOutcome> {
  const isPlan = purpose === 'plan'
  // A verification looks at what is there alone, as what the migration knows may be wrong; but for whose it is.
  const knownOf = (id: ObjectId): Known => {
    const { wanted, ...whose } = book.knownOf(id)
    return { ...whose, ...(isPlan && wanted !== undefined && { wanted }) }
  }
  const seen = new Set<string>()
  const tell = async (outcomes: readonly Outcome[]): Promise<void> => {
    for (const outcome of outcomes) if (outcome.result !== 'gone') seen.add(keyOf(outcome))
    await take(findingsOf(outcomes.flatMap((outcome) => verdictOf(outcome) ?? [])))
  }
  const { databases } = await ask('databases', {})
  for (const database of databases.filter((name) => scope.hasDatabase(name))) {
    const found = await ask('bring-database', { database, known: knownOf({ kind: 'database', database }) })
    const functions = [...book.all()].filter((one) => one.kind === 'function' && one.database === database)
    const known = Object.fromEntries(functions.map((one) => [one.name ?? '', knownOf(one)]))
    const contents = await contentsOf(database, known, ask)
    if ('failure' in contents) {
      await tell([{ kind: 'database', database, result: 'failed', ...contents }])
      continue
    }
    await tell([...found.outcomes, ...contents.functions])
    const { tables, there } = contents
    const works = tables
      .filter(({ name }) => scope.hasTable(database, name))
      .map(({ name, type }): TableWork => {
        const kind = type.includes('VIEW') ? 'view' : 'table'
        return { name, known: knownOf({ kind, database, name }), sinceMs: 0 }
      })
    for (let at = 0; at < works.length; at += tablesAtOnce) {
      let left: readonly TableWork[] = works.slice(at, at + tablesAtOnce)
      /** Of a table whose partitions are not all looked at yet, by the pieces of work before. */
      let planned: PartitionsPlanned | undefined
      while (left.length > 0) {
        const asked = { database, tables: left, gates: isPlan ? gates : [], maxDrops: Infinity }
        const done = await ask('bring-tables', asked)
        const [first, ...others] = done.outcomes
        const outcomes = first === undefined ? [] : [withPlanned(first, planned), ...others]
        left = done.left
        planned = left[0]?.after === undefined ? undefined : plannedOf(outcomes.pop())
        await tell(outcomes)
      }
    }
    await take(
      findingsOf(
        there
          .filter(({ name }) => scope.hasTable(database, name))
          .map(({ name, type }) => {
            const kind = type.includes('VIEW') ? ('view' as const) : ('table' as const)
            return { kind, database, name }
          })
          .filter((id) => !seen.has(keyOf(id)))
          .map((id) => ({ id, result: isDropped(book, id, record) ? 'TO_DROP' : 'ONLY_AT_TARGET' })),
      ),
    )
  }
  return { status: 'COMPLETE' }
}

interface Contents {
  /** What became of the functions. */
  readonly functions: readonly Outcome[]
  /** At the source, and at the target. */
  readonly tables: readonly Named[]
  readonly there: readonly Named[]
}

interface Named {
  readonly name: string
  readonly type: string
}

/** What is in a database at both ends; why it alone cannot be read, where that is so. */
async function contentsOf(
  database: string,
  known: Readonly<Record<string, Known>>,
  ask: Asked,
): Promise<Contents | { readonly failure: Failure }> {
  try {
    const { outcomes: functions } = await ask('bring-functions', { database, known })
    const { tables = [] } = await ask('tables', { database, side: 'source' })
    const { tables: there = [] } = await ask('tables', { database, side: 'target' })
    return { functions, tables, there }
  } catch (error) {
    const { failure: failureClass, message } = unlessOfAll(error)
    return { failure: { failureClass, message } }
  }
}

const plannedOf = (outcome: Outcome | undefined): PartitionsPlanned | undefined =>
  outcome !== undefined && 'planned' in outcome ? outcome.planned : undefined

/** The outcome of the last piece of work on a table, with what the ones before have planned. */
function withPlanned(outcome: Outcome, before: PartitionsPlanned | undefined): Outcome {
  const its = plannedOf(outcome)
  if (before === undefined || its === undefined) return outcome
  const planned = {
    toAdd: before.toAdd + its.toAdd,
    toChange: before.toChange + its.toChange,
    toDrop: before.toDrop + its.toDrop,
    samples: [...before.samples, ...its.samples].slice(0, maxSamples),
  }
  return { ...outcome, planned } as Outcome
}

/** What is at the target only is dropped if the migration has brought it. */
const isDropped = (book: ObjectBook, id: ObjectId, { once }: MetadataMigrationRecord): boolean =>
  !once && book.get(id)?.is !== undefined

interface Verdict {
  readonly id: ObjectId
  readonly result: ComparisonResult
  readonly reason?: string | undefined
  readonly differences?: readonly Difference[] | undefined
  readonly counts?: Readonly<Partial<Record<ComparisonCount, number>>>
}

function verdictOf(outcome: Outcome): Verdict | undefined {
  const { kind, database, name } = outcome
  const id = { kind, database, ...(name !== undefined && { name }) }
  switch (outcome.result) {
    case 'gone':
    case 'kept':
    case 'dropped':
    case 'to-be-noted':
      return undefined
    case 'failed':
    case 'held':
      return { id, result: 'REFUSED', reason: outcome.failure.message }
    case 'conflict':
      return { id, result: 'CONFLICT', reason: outcome.message }
    case 'waiting':
      return { id, result: 'WAITING', reason: outcome.message }
    case 'same':
    case 'created':
    case 'changed': {
      const { planned, partitions = 0, note, differences } = outcome
      const { toAdd = 0, toChange = 0, toDrop = 0, samples = [] } = planned ?? {}
      const counts = {
        partitionsSame: partitions - toAdd - toChange,
        partitionsToAdd: toAdd,
        partitionsToChange: toChange,
        partitionsToDrop: toDrop,
      }
      const partitionsText =
        toAdd + toChange + toDrop === 0
          ? undefined
          : `partitions: ${toAdd} to add, ${toChange} to change, ${toDrop} to drop, such as ${samples.join(', ')}`
      // In what one differs that is the same, is not for the migration to change.
      const same = (differences ?? []).length === 0 ? 'SAME' : 'CONFLICT'
      const results = { same, created: 'TO_CREATE', changed: 'TO_CHANGE' } as const
      const reason = [partitionsText, note?.message].filter((text) => text !== undefined).join('; ')
      return {
        id,
        result: results[outcome.result],
        ...(reason !== '' && { reason }),
        differences,
        counts,
      }
    }
  }
}

/** Lines and counts of the reports. */
function findingsOf(verdicts: readonly Verdict[]) {
  const counts: Record<string, number> = {}
  const add = (name: ComparisonCount, more = 1) => (counts[name] = (counts[name] ?? 0) + more)
  let [all, json, csv] = ['', '', '']
  for (const { id, result, reason, differences = [], counts: its = {} } of verdicts) {
    const line = `${JSON.stringify({ ...id, result, reason, differences: differences.length > 0 ? differences : undefined })}\n`
    all += line
    add(countOf[result])
    for (const [name, more] of Object.entries(its)) add(name as ComparisonCount, more)
    if (result === 'SAME') continue
    add('totalDifferences')
    json += line
    const cells = [id.kind, id.database, id.name, result]
    if (differences.length === 0) csv += csvLine([...cells, undefined, undefined, undefined, reason])
    for (const { field, wanted, found } of differences)
      csv += csvLine([...cells, field, wanted, found, reason])
  }
  const { FULL, DIFFERENCES_JSON, DIFFERENCES_CSV } = comparisonReports
  return { lines: { [FULL.file]: all, [DIFFERENCES_JSON.file]: json, [DIFFERENCES_CSV.file]: csv }, counts }
}
