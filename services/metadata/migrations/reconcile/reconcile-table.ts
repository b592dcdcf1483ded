import type { Table } from '../../../../subjects/metadata/objects.ts'
import { StoreError } from '../../../drivers/contract/store-error.ts'
import { carryExtras } from './extras.ts'
import { type Gate, refusalOfGates } from './gates.ts'
import type { Failure, Known, Outcome } from './objects.ts'
import { reconcilePartitions } from './partitions.ts'
import {
  canBecome,
  conflictMessage,
  type Done,
  failureOf,
  type OnConflict,
  outcomeOf,
  settle,
  type Writing,
} from './reconcile.ts'
import type { Sides } from './sides.ts'

/** What is asked of one table or view. */
export interface TableAsked {
  readonly database: string
  readonly name: string
  readonly known: Known
  readonly onConflict: OnConflict
  readonly gates: readonly Gate[]
  /** When it was first asked to be brought; what its files were then must have arrived before. In milliseconds since 1970. */
  readonly sinceMs: number
  /** Of its partitions only these; without them all. */
  readonly partitions?: readonly string[] | undefined
  /** Where a look at its partitions has ended. */
  readonly after?: string | undefined
  /** Partitions that were counted before that. */
  readonly counted: number
  readonly maxDrops: number
  readonly isOver: () => boolean
}

/** What became of a table; `after` where its partitions are not all looked at. */
export interface TableDone {
  readonly outcome: Outcome
  readonly after?: string
}

/** Brings a table or view with all that belongs to it. Throws StoreError for what concerns the whole catalog. */
export async function reconcileTable(
  sides: Sides,
  asked: TableAsked,
  signal: AbortSignal,
): Promise<TableDone> {
  let after: string | undefined
  const { database, name, known, onConflict, gates } = asked
  const source = await sides.source.table(database, name, signal)
  const id = { kind: source?.view === undefined ? 'table' : 'view', database, name } as const
  const outcome = await outcomeOf(id, async (writing): Promise<Outcome> => {
    if (source === undefined) return { ...id, result: 'gone' }
    const wanted = sides.wanted.table(source)
    const refusal = sides.writer.refuses(wanted)
    if (refusal !== undefined) throw new StoreError('unsupported', refusal)
    const closed = refusalOfGates(gates, sides.locations.pathAtSource(source.storage.location), asked.sinceMs)
    if (closed !== undefined) return { ...id, result: 'waiting', message: closed }
    const settled = await settleTable(sides, { known, onConflict, wanted, writing }, signal)
    if (settled === undefined) return { ...id, result: 'conflict', message: conflictMessage }
    const isPartitioned = source.partitionKeys.length > 0 && source.view === undefined
    const done = isPartitioned
      ? await reconcilePartitions(
          sides,
          {
            table: { database, name },
            source,
            names: settled.result === 'created' ? undefined : asked.partitions,
            isNew: settled.result === 'created',
            after: asked.after,
            maxDrops: asked.maxDrops,
            isOver: asked.isOver,
          },
          signal,
        )
      : undefined
    after = done?.after
    if (done !== undefined && done.held > 0)
      return { ...id, result: 'held', failure: tooMany(done.held, asked.maxDrops), settled: settled.settled }
    const isToBeMade = sides.dry !== undefined && settled.result === 'created'
    const note =
      source.view === undefined && !isToBeMade
        ? await noteOf(() => carryExtras(sides, source, signal))
        : undefined
    const isWhole = asked.partitions === undefined || settled.result === 'created'
    return {
      ...id,
      result: settled.result === 'same' && (done?.written ?? 0) > 0 ? 'changed' : settled.result,
      settled: settled.settled,
      ...(settled.differences !== undefined && { differences: settled.differences }),
      ...(sides.dry !== undefined && isPartitioned && { planned: sides.dry.takePlanned() }),
      ...(done !== undefined && isWhole && { partitions: asked.counted + done.arrived }),
      ...(note !== undefined && { note }),
    }
  })
  return { outcome, ...(after !== undefined && { after }) }
}

async function settleTable(
  sides: Sides,
  {
    known,
    onConflict,
    wanted,
    writing,
  }: { known: Known; onConflict: OnConflict; wanted: Table; writing: Writing },
  signal: AbortSignal,
): Promise<Done | undefined> {
  const { writer, target } = sides
  const { database, name } = wanted
  return settle(
    sides,
    known,
    onConflict,
    {
      wanted,
      read: () => target.table(database, name, signal),
      create: () => writer.createTable(wanted, signal),
      alter: async (is) => {
        if (canBecome(is, wanted)) return writer.alterTable(wanted, signal)
        await writer.dropTable({ database, name }, signal)
        await writer.createTable(wanted, signal)
      },
    },
    writing,
  )
}

/** What of a table did not arrive, though the table has. */
async function noteOf(work: () => Promise<void>): Promise<Failure | undefined> {
  try {
    await work()
    return undefined
  } catch (error) {
    return failureOf(error)
  }
}

const tooMany = (count: number, maxDrops: number): Failure => ({
  failureClass: 'changed',
  message: `${count} of its partitions are not at the source any more, more than half of them and more than maxDrops (${maxDrops}): approve of it, or raise maxDrops`,
})
