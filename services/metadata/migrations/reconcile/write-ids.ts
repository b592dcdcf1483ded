import type { Table } from '../../../../subjects/metadata/objects.ts'
import { StoreError } from '../../../drivers/contract/store-error.ts'
import type { WriteIds } from '../../catalogs/contract/catalog.ts'
import { isTransactional } from '../../catalogs/transactional.ts'
import type { Difference } from './differences.ts'
import { type Gate, refusalOfGates } from './gates.ts'
import { type Failure, failureOf, type SeenWriteIds, type Written } from './objects.ts'
import type { Sides } from './sides.ts'

/** What became of the write ids of a table. */
export interface WriteIdsCarried {
  /** Those that are to be set next. */
  readonly seen?: SeenWriteIds
  /** Why they are not set, or not all of them. */
  readonly waiting?: string
  readonly written?: Written
  readonly note?: Failure
  /** Where nothing is written. */
  readonly differences: readonly Difference[]
}

export interface WriteIdsAsked {
  /** As it is at the source. */
  readonly source: Table
  readonly seen: SeenWriteIds | undefined
  /** Which of its writes are at the target; undefined of a table that had none before. */
  readonly written: Written | undefined
  readonly gates: readonly Gate[]
  /** Whether the table is not at the target yet, as nothing is written. */
  readonly isToBeMade: boolean
}

/** Stored with a table: a major compaction at the source makes an end of them. */
export const maxAborted = 10_000

const nothing: WriteIdsCarried = { differences: [] }

/**
 * Sets the write ids of a transactional table at the target to those of the source, once the files of these writes have
 * arrived: without them Hive takes the files for those of writes that are yet to come. Throws what concerns the whole catalog.
 */
export async function carryWriteIds(
  sides: Sides,
  asked: WriteIdsAsked,
  signal: AbortSignal,
): Promise<WriteIdsCarried> {
  if (!isTransactional(asked.source)) return nothing
  // Whose writes the target may have by then, should the table be made anew at the source before all of them are set.
  const begunWith = (seen: SeenWriteIds | undefined) =>
    seen !== undefined && asked.written === undefined ? { written: writtenOf({ ...seen, highest: 0 }) } : {}
  try {
    const its = await carried(sides, asked, signal)
    return { ...begunWith(its.seen), ...its }
  } catch (error) {
    const { seen } = asked
    return { ...(seen && { seen }), ...begunWith(seen), note: failureOf(error), differences: [] }
  }
}

async function carried(
  sides: Sides,
  { source, seen, gates, isToBeMade }: WriteIdsAsked,
  signal: AbortSignal,
): Promise<WriteIdsCarried> {
  const table = { database: source.database, name: source.name }
  const { writeIds: writer } = sides.writer
  if (writer === undefined || sides.target.writeIds === undefined) {
    const its = await decidedAtSource(sides, source, signal)
    if (its === undefined || its.highest === 0) return nothing
    throw new StoreError(
      'unsupported',
      'the target does not keep write ids of transactional tables; the table itself was migrated',
    )
  }
  if (seen === undefined || sides.dry !== undefined) {
    const its = await decidedAtSource(sides, source, signal)
    if (its === undefined)
      throw new StoreError(
        'unsupported',
        'the source does not tell the write ids of transactional tables, without which the table looks empty at the target: migrate a copy that is not transactional',
      )
    const there = isToBeMade ? undefined : (await sides.target.writeIds.of([table], signal))?.[0]
    if (there?.highest === its.highest && there.open.length === 0)
      return { written: writtenOf(its), differences: [] }
    if (sides.dry !== undefined)
      return isToBeMade
        ? nothing
        : { differences: [{ field: 'writeIds', wanted: `${its.highest}`, found: `${there?.highest ?? 0}` }] }
    return toBeSet(its)
  }
  const path = sides.locations.pathAtSource(source.storage.location)
  const closed = refusalOfGates(gates, path, seen.sinceMs)
  if (closed !== undefined) return { seen, waiting: waitingText(seen, closed), differences: [] }
  await writer.put(table, seen, signal)
  return { written: writtenOf(seen), differences: [] }
}

/**
 * What is to be set next; undefined of a table that is not transactional, and where the source does not say. What fails of it
 * alone is told when the table has arrived.
 */
export async function writeIdsToSet(
  sides: Sides,
  source: Table,
  signal: AbortSignal,
): Promise<SeenWriteIds | undefined> {
  if (!isTransactional(source) || sides.writer.writeIds === undefined || sides.dry !== undefined)
    return undefined
  try {
    return await decidedAtSource(sides, source, signal)
  } catch (error) {
    failureOf(error)
    return undefined
  }
}

/** All up to the first write that is still open. Throws `too-large` where too many were aborted. */
async function decidedAtSource(
  { source: catalog }: Sides,
  { database, name, createdMs }: Table,
  signal: AbortSignal,
): Promise<SeenWriteIds | undefined> {
  const [told] = (await catalog.writeIds?.of([{ database, name }], signal)) ?? []
  if (told === undefined) return undefined
  const { highest, aborted } = decidedOf(told)
  if (aborted.length > maxAborted)
    throw new StoreError(
      'too-large',
      `${aborted.length} writes to it were aborted at the source, and at most ${maxAborted} can be migrated: run a major compaction of the table there`,
    )
  return { highest, aborted, sinceMs: Date.now(), ...(createdMs !== undefined && { createdMs }) }
}

/** Those before the first write that is still open. */
export function decidedOf({ highest, open, aborted }: WriteIds): Pick<WriteIds, 'highest' | 'aborted'> {
  const decided = open.reduce((least, id) => Math.min(least, id - 1), highest)
  return { highest: decided, aborted: aborted.filter((id) => id <= decided) }
}

const writtenOf = ({ highest, createdMs }: SeenWriteIds): Written => ({
  upTo: highest,
  ...(createdMs !== undefined && { createdMs }),
})

/** Whether a table is another one than that whose writes these are. */
export const isMadeAnew = ({ createdMs }: Table, of: Pick<SeenWriteIds, 'createdMs'> | undefined): boolean =>
  createdMs !== undefined && of?.createdMs !== undefined && of.createdMs !== createdMs

/** Whether the target has write ids of a table that the source, which tells them, does not have. */
export async function areWritesAhead(sides: Sides, source: Table, signal: AbortSignal): Promise<boolean> {
  if (!isTransactional(source)) return false
  const { database, name } = source
  const [there] = (await sides.target.writeIds?.of([{ database, name }], signal)) ?? []
  if (there === undefined || there.highest === 0) return false
  // After the target: another migration may set at it what the source gives meanwhile.
  const [its] = (await sides.source.writeIds?.of([{ database, name }], signal)) ?? []
  return its !== undefined && there.highest > its.highest
}

const toBeSet = (seen: SeenWriteIds): WriteIdsCarried => ({
  seen,
  waiting: waitingText(seen, 'they are set next'),
  differences: [],
})

const waitingText = ({ highest }: SeenWriteIds, why: string): string =>
  `its writes up to ${highest} are not visible at the target yet: ${why}`
