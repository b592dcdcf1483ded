import type { Table } from '../../../../subjects/metadata/objects.ts'
import { StoreError } from '../../../drivers/contract/store-error.ts'
import type { TableName } from '../../catalogs/contract/catalog.ts'
import { hiddenNameOf } from '../../catalogs/hidden-tables.ts'
import { hasPartitionPrivileges } from '../../catalogs/partition-privileges.ts'
import { carryAllPartitionStatistics, carryExtras, extrasOf } from './extras.ts'
import { type Gate, refusalOfGates } from './gates.ts'
import {
  type Extras,
  type Failure,
  failureOf,
  type Known,
  type Outcome,
  type SeenWriteIds,
  type Written,
} from './objects.ts'
import {
  dropHidden,
  isRevealed,
  isToBeHidden,
  madeByOther,
  madeOf,
  makeHidden,
  mayBeHidden,
  mostHiddenPartitions,
  otherMakerOf,
} from './hidden.ts'
import { type PartitionsDone, reconcilePartitions } from './partitions.ts'
import { carryPrivileges, type Standing } from './privileges.ts'
import {
  canBecome,
  conflictMessage,
  type Done,
  type OnConflict,
  outcomeOf,
  settle,
  standingOf,
  type Writing,
} from './reconcile.ts'
import type { Sides } from './sides.ts'
import {
  areWritesAhead,
  carryWriteIds,
  isMadeAnew,
  type WriteIdsCarried,
  writeIdsToSet,
} from './write-ids.ts'

/** A table that has another name at the source by now. Plain data. */
export interface Renamed extends TableName {
  /** As it was left at the target. */
  readonly known: Known
}

/** What is asked of one table or view. */
export interface TableAsked {
  readonly database: string
  readonly name: string
  readonly known: Known
  readonly onConflict: OnConflict
  readonly gates: readonly Gate[]
  /** When it was first asked to be brought; what its files were then must have arrived before. In milliseconds since 1970. */
  readonly sinceMs: number
  readonly renamedFrom?: Renamed | undefined
  /** Of its partitions only these; without them all. */
  readonly partitions?: readonly string[] | undefined
  /** Where a look at its partitions has ended. */
  readonly after?: string | undefined
  /** Partitions that were counted before that. */
  readonly counted: number
  /** What an earlier look has found that did not arrive. */
  readonly note?: Failure | undefined
  /** Why some of them are not added yet. */
  readonly waiting?: string | undefined
  /** Write ids of a transactional table that are to be set once the files of these writes are there. */
  readonly writeIds?: SeenWriteIds | undefined
  /** Which of its writes are at the target. */
  readonly written?: Written | undefined
  readonly maxDrops: number
  readonly isOver: () => boolean
}

/** What became of a table. */
export interface TableDone {
  readonly outcome: Outcome
  /** Where its partitions are not all looked at, how far they are, and what did not arrive of those that are. */
  readonly after?: string
  readonly note?: Failure | undefined
  readonly waiting?: string | undefined
}

/** Brings a table or view with all that belongs to it. Throws StoreError for what concerns the whole catalog. */
export async function reconcileTable(
  sides: Sides,
  asked: TableAsked,
  signal: AbortSignal,
): Promise<TableDone> {
  let after: string | undefined
  let [note, waiting] = [asked.note, asked.waiting]
  let renamed: Known | undefined
  const { database, name, onConflict, gates } = asked
  let { known } = asked
  let source: Table | undefined
  try {
    source = await sides.source.table(database, name, signal)
  } catch (error) {
    return { outcome: { kind: 'table', database, name, result: 'failed', failure: failureOf(error) } }
  }
  const id = { kind: source?.view === undefined ? 'table' : 'view', database, name } as const
  const outcome = await outcomeOf(sides, id, known, async (writing): Promise<Outcome> => {
    if (source === undefined) return { ...id, result: 'gone' }
    const wanted = sides.wanted.table(source)
    const refusal = sides.writer.refuses(wanted)
    if (refusal !== undefined) throw new StoreError('unsupported', refusal)
    const seen = isMadeAnew(source, asked.writeIds) ? undefined : asked.writeIds
    const closed = refusalOfGates(gates, sides.locations.pathAtSource(source.storage.location), asked.sinceMs)
    if (closed !== undefined) {
      const isOfWrites = writesAlone(asked.partitions)
      const writeIds = seen ?? (await writeIdsToSet(sides, source, signal))
      return {
        ...id,
        result: 'waiting',
        message: closed,
        ...(writeIds && { writeIds }),
        ...(isOfWrites && { isOfWrites }),
      }
    }
    if (await dropRemade(sides, asked, source, writing, signal)) known = { ...known, inHand: true }
    renamed = await renamedAtTarget(sides, asked, wanted, writing, signal)
    const isPartitioned = source.partitionKeys.length > 0 && source.view === undefined
    const partitions = {
      table: { database, name },
      source,
      gates: sides.dry === undefined ? gates : [],
      isOver: asked.isOver,
    }
    // Where the table that an earlier look has given partitions is gone, it begins anew.
    let { after: from, counted } = asked
    let made: Done | undefined
    let done: PartitionsDone | undefined
    let first =
      renamed === undefined && mayBeHidden(sides, wanted)
        ? { is: await sides.target.table(database, name, signal) }
        : undefined
    const mayHide = first !== undefined && isToBeHidden(sides, known, onConflict, wanted, first.is)
    const listed = mayHide ? await sides.source.partitionNames({ database, name }, signal) : undefined
    const isToHide = known.isHidden === true || (listed?.length ?? 0) <= mostHiddenPartitions
    if (first !== undefined && listed !== undefined && isToHide) {
      const waitsFor = (other: string): Outcome => ({ ...id, result: 'waiting', message: madeByOther(other) })
      const other = await otherMakerOf(sides, wanted, signal)
      if (other !== undefined) return waitsFor(other)
      writing()
      const isNew = await makeHidden(sides, wanted, signal)
      if (typeof isNew === 'object') return waitsFor(isNew.other)
      const hidden = hiddenNameOf(wanted)
      if (isNew) [from, counted] = [undefined, 0]
      done = await reconcilePartitions(
        sides,
        { ...partitions, listed, after: from, hidden, isNew, maxDrops: Infinity },
        signal,
      )
      note ??= done.failure
      waiting ??= done.waiting
      if (done.after !== undefined) {
        after = done.after
        const partitionsSoFar = counted + done.arrived
        const message = `${partitionsSoFar} of its partitions are added; it gets its name when all of them are`
        return { ...id, result: 'waiting', message, isHidden: true, partitions: partitionsSoFar }
      }
      // Of one that was not known when this look began, what it has made in place of ours is not whole yet.
      const next = await otherMakerOf(sides, wanted, signal)
      if (next !== undefined) return waitsFor(next)
      if (await isRevealed(sides, first.is, wanted, signal)) {
        await carryAllPartitionStatistics(sides, wanted, signal)
        made = await madeOf(sides, wanted, signal)
      } else {
        await dropHidden(sides, wanted, signal)
        ;[done, from, counted, first] = [undefined, undefined, 0, undefined]
      }
    } else if (asked.known.isHidden === true || asked.known.inHand === true) {
      // Others have made it by its own name meanwhile, or it has no partitions any more.
      await dropHidden(sides, wanted, signal)
      if (asked.known.isHidden === true) [from, counted] = [undefined, 0]
    }
    const settled =
      made ??
      (await settleTable(sides, { known: renamed ?? known, onConflict, wanted, first, writing }, signal))
    if (settled === undefined) return { ...id, result: 'conflict', message: conflictMessage }
    if (isPartitioned && done === undefined) {
      if (settled.result === 'created') [from, counted] = [undefined, 0]
      done = await reconcilePartitions(
        sides,
        {
          ...partitions,
          after: from,
          names: settled.result === 'created' || renamed !== undefined ? undefined : asked.partitions,
          isNew: settled.result === 'created',
          maxDrops: asked.maxDrops,
        },
        signal,
      )
    }
    after = done?.after
    if (done !== undefined && done.held > 0)
      return { ...id, result: 'held', failure: tooMany(done.held, asked.maxDrops), settled: settled.settled }
    const extras = await extrasOf(() => extrasOfTable(sides, source, standingOf(sides, settled), signal))
    const writes: WriteIdsCarried =
      after === undefined && source.view === undefined
        ? await carryWriteIds(
            sides,
            {
              source,
              seen,
              written: settled.result === 'created' ? undefined : asked.written,
              gates,
              isToBeMade: standingOf(sides, settled).isToBeMade,
            },
            signal,
          )
        : { differences: [] }
    // Of partitions that failed, only a look at all of them tells again.
    const isOfWrites = (note ?? done?.failure) === undefined
    note ??= done?.failure ?? extras.note ?? writes.note
    waiting ??= done?.waiting ?? writes.waiting
    const isWhole = asked.partitions === undefined || settled.result === 'created' || renamed !== undefined
    const isSame = settled.result === 'same'
    const { left } = extras
    const differences = [...extras.differences, ...writes.differences]
    const isDifferent = sides.dry !== undefined && differences.length > 0
    const isChanged = (done?.written ?? 0) > 0 || renamed !== undefined || isDifferent
    // Should the next look never come, it would be taken for whole.
    const unfinished =
      after !== undefined && done !== undefined && sides.dry === undefined
        ? `${counted + done.arrived} of its partitions are there so far`
        : undefined
    const stillWaiting = waiting ?? unfinished
    return {
      ...id,
      result: isSame && isChanged ? 'changed' : settled.result,
      settled: settled.settled,
      ...(sides.dry && { differences: [...(settled.differences ?? []), ...differences, ...left] }),
      ...(sides.dry !== undefined && isPartitioned && { planned: sides.dry.takePlanned() }),
      ...(done !== undefined && isWhole && { partitions: counted + done.arrived }),
      ...(note !== undefined && { note }),
      ...(stillWaiting !== undefined && { waiting: stillWaiting }),
      ...(writes.seen && { writeIds: writes.seen }),
      ...(writes.written && { written: writes.written }),
      ...(isOfWrites && waiting !== undefined && waiting === writes.waiting && { isOfWrites }),
    }
  })
  const { renamedFrom } = asked
  const isRenamed = renamed !== undefined && renamedFrom !== undefined
  const before = isRenamed && { database: renamedFrom.database, name: renamedFrom.name }
  return {
    outcome: { ...outcome, ...(before && { renamedFrom: before }) },
    ...(after !== undefined && { after, note, waiting }),
  }
}

/**
 * Drops a transactional table that was dropped and made anew at the source, as what is said of its writes is of others, or that
 * others have written to, where that is to be overwritten.
 * @returns whether it did
 */
async function dropRemade(
  sides: Sides,
  { database, name, known, onConflict, written }: TableAsked,
  source: Table,
  writing: Writing,
  signal: AbortSignal,
): Promise<boolean> {
  const { target, writer, digest, dry } = sides
  if (dry !== undefined) return false
  const isWrittenByOthers = async () =>
    onConflict === 'overwrite' && (await areWritesAhead(sides, source, signal))
  if (!isMadeAnew(source, written) && !(await isWrittenByOthers())) return false
  const is = await target.table(database, name, signal)
  const isOurs = known.inHand === true || onConflict === 'overwrite'
  if (is === undefined || !(isOurs || known.is === digest(is))) return false
  writing()
  await writer.dropTable({ database, name }, signal)
  return true
}

/**
 * Renames at the target what has got another name at the source, with its partitions, where it is as this migration has left
 * it, and nothing has the new name there.
 * @returns what is known of it by its new name; undefined where nothing was renamed
 */
async function renamedAtTarget(
  { writer, target, digest }: Sides,
  { renamedFrom, database, name }: TableAsked,
  wanted: Table,
  writing: Writing,
  signal: AbortSignal,
): Promise<Known | undefined> {
  if (renamedFrom === undefined || writer.renameTable === undefined) return undefined
  const is = await target.table(renamedFrom.database, renamedFrom.name, signal)
  const { known } = renamedFrom
  const isOurs = is !== undefined && (known.inHand === true || digest(is) === known.is)
  if (!isOurs || !canBecome(is, wanted)) return undefined
  if ((await target.table(database, name, signal)) !== undefined) return undefined
  writing()
  try {
    await writer.renameTable(renamedFrom, wanted, signal)
  } catch (error) {
    // It is made anew then.
    if (error instanceof StoreError && error.failure === 'unsupported') return undefined
    throw error
  }
  return { inHand: true, ...(known.isTheirs && { isTheirs: true }) }
}

async function settleTable(
  sides: Sides,
  {
    known,
    onConflict,
    wanted,
    first,
    writing,
  }: {
    known: Known
    onConflict: OnConflict
    wanted: Table
    /** What is at the target, where it has just been read. */
    first: { readonly is: Table | undefined } | undefined
    writing: Writing
  },
  signal: AbortSignal,
): Promise<Done | undefined> {
  const { writer, target } = sides
  const { database, name } = wanted
  let unread = first
  const read = async () => {
    const { is } = unread ?? { is: await target.table(database, name, signal) }
    unread = undefined
    return is
  }
  return settle(
    sides,
    known,
    onConflict,
    {
      wanted,
      read,
      create: () => writer.createTable(wanted, signal),
      alter: async (is) => {
        if (canBecome(is, wanted)) return writer.alterTable(wanted, signal)
        await writer.dropTable({ database, name }, signal)
        await writer.createTable(wanted, signal)
      },
      isMadeAnew: (is) => !canBecome(is, wanted),
    },
    writing,
  )
}

/** A view has neither constraints nor statistics, and what is yet to be made has nothing that they could be compared with. */
async function extrasOfTable(
  sides: Sides,
  source: Table,
  standing: Standing,
  signal: AbortSignal,
): Promise<Extras> {
  const extras = await (source.view === undefined && !standing.isToBeMade
    ? carryExtras(sides, source, standing, signal)
    : carryPrivileges(sides, { database: source.database, name: source.name }, standing, signal))
  return sides.privileges === 'none' || !hasPartitionPrivileges(source)
    ? extras
    : { ...extras, note: extras.note ?? partitionPrivilegesLeft }
}

const partitionPrivilegesLeft: Failure = {
  failureClass: 'unsupported',
  message:
    'its partitions may have privileges of their own (PARTITION_LEVEL_PRIVILEGE is true), which are not migrated: grant them at the target; everything else of the table was migrated',
}

/** Whether a table is looked at for new writes to it, and not for its partitions. */
const writesAlone = (partitions: readonly string[] | undefined): true | undefined =>
  partitions?.length === 0 ? true : undefined

const tooMany = (count: number, maxDrops: number): Failure => ({
  failureClass: 'changed',
  message: `${count} of its partitions are no longer at the source, which is more than half of them and more than maxDrops (${maxDrops}): approve the drops, or raise maxDrops`,
})
