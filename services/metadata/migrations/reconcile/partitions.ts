import type { Partition, Table } from '../../../../subjects/metadata/objects.ts'
import { partitionsAtOnce, type TableName } from '../../catalogs/contract/catalog.ts'
import { byCodePoints } from '../../catalogs/order.ts'
import { valuesIn, valuesKey } from '../../catalogs/partition-names.ts'
import { carryPartitionStatistics } from './extras.ts'
import { type Gate, refusalOfGates } from './gates.ts'
import type { Failure } from './objects.ts'
import { failureOf } from './objects.ts'
import type { Sides } from './sides.ts'

/** How far the partitions of a table are. Plain data. */
export interface PartitionsDone {
  /** The last one that was looked at; undefined when all were. */
  readonly after?: string
  /** How many there are at the source, of those that were looked at. */
  readonly arrived: number
  readonly written: number
  /** Those that would be dropped and are not, as they are too many. */
  readonly held: number
  /** Why some could not be added. */
  readonly failure?: Failure
  /** Why some are not added yet. */
  readonly waiting?: string
}

export interface PartitionsAsked {
  readonly table: TableName
  /** What it is called at the target until all of them are there; absent for the same. Its statistics come after that. */
  readonly hidden?: TableName | undefined
  /** As it is at the source. */
  readonly source: Table
  /** Only these; without them all. */
  readonly names?: readonly string[] | undefined
  /** Names of all at the source, where they are known. */
  readonly listed?: readonly string[] | undefined
  /** Whether the table has just been made, or would have been: it has none at the target. */
  readonly isNew: boolean
  /** Where an earlier look has ended. */
  readonly after?: string | undefined
  /** Partitions that may be dropped, however many of the table's they are. */
  readonly maxDrops: number
  /** What brings their files. */
  readonly gates: readonly Gate[]
  /** Ends the look between two batches. */
  readonly isOver: () => boolean
}

/** A metastore has the second in which a partition was made. */
const createdGrainMs = 1_000

/** A look takes so many times as long as the listing of all names that it begins with, at least. */
const lookPerListing = 20
/** Longer a look does not go on for that. */
const mostLookMs = 60_000

/** More than this share of a table's partitions is not dropped without approval, where they are more than `maxDrops`. */
const guardedShare = 0.5

/**
 * Makes, changes and drops partitions at the target until it has those of the source, in batches, in the order of their
 * names. Whoever dies after a batch has lost nothing of it. One that was made after the table was seen waits for its own
 * files. Throws StoreError.
 */
export async function reconcilePartitions(
  sides: Sides,
  { table, hidden, source, names, listed, isNew, after, maxDrops, gates, isOver }: PartitionsAsked,
  signal: AbortSignal,
): Promise<PartitionsDone> {
  const beganMs = performance.now()
  const there = hidden ?? table
  const [atSource, atTarget] =
    names === undefined
      ? await Promise.all([
          listed ?? sides.source.partitionNames(table, signal),
          isNew ? [] : sides.target.partitionNames(there, signal),
        ])
      : [names, names]
  const union = sortedUnion(atSource, atTarget).filter((name) => after === undefined || isAfter(name, after))
  const listedMs = performance.now()
  // Whoever goes on later lists all names again.
  const leastMs = Math.min(mostLookMs, (listedMs - beganMs) * lookPerListing)
  const inSource = new Set(atSource)
  const inTarget = new Set(atTarget)
  const surplus = names === undefined ? atTarget.filter((name) => !inSource.has(name)) : []
  const mayDrop = surplus.length <= Math.max(maxDrops, atTarget.length * guardedShare)
  let [arrived, written] = [0, 0]
  let failure: Failure | undefined
  let waiting: string | undefined
  const done = () => ({
    arrived,
    written,
    ...(failure && { failure }),
    ...(waiting !== undefined && { waiting }),
  })
  const refusalOf = ({ storage, createdMs }: Partition) =>
    createdMs === undefined
      ? undefined
      : refusalOfGates(gates, sides.locations.pathAtSource(storage.location), createdMs + createdGrainMs)
  const batchAt = (at: number) => union.slice(at, at + partitionsAtOnce)
  const readAt = (at: number): Promise<Map<string, Partition>> => {
    const names = batchAt(at).filter((name) => inSource.has(name))
    const reading = partitionsByKey(
      partitionsOf(names, (some) => sides.source.partitions(table, some, signal)),
    )
    // Nobody may wait for it, where an error or the end of the look comes first.
    reading.catch(() => undefined)
    return reading
  }
  let reading = readAt(0)
  for (let at = 0; at < union.length; at += partitionsAtOnce) {
    const batch = batchAt(at)
    const [theirs, ours] = await Promise.all([
      reading,
      partitionsByKey(
        // Of a table with many partitions a metastore takes long to say that it has none of these.
        partitionsOf(
          batch.filter((name) => inTarget.has(name)),
          (some) => sides.target.partitions(there, some, signal),
        ),
      ),
    ])
    // The source reads the next ones while the target writes these.
    if (at + partitionsAtOnce < union.length) reading = readAt(at + partitionsAtOnce)
    const [added, altered, dropped]: [Partition[], Partition[], string[]] = [[], [], []]
    for (const name of batch) {
      const key = valuesKey(valuesIn(name))
      const [its, is] = [theirs.get(key), ours.get(key)]
      if (its === undefined) {
        if (is !== undefined) dropped.push(name)
        continue
      }
      const closed = is === undefined ? refusalOf(its) : undefined
      if (closed !== undefined) {
        waiting ??= `${name}: ${closed}`
        theirs.delete(key)
        continue
      }
      arrived++
      const wanted = sides.wanted.partition(its, source)
      if (is === undefined) added.push(wanted)
      else if (sides.digest(is) !== sides.digest(wanted)) altered.push(wanted)
    }
    let missing = 0
    try {
      if (added.length > 0) await sides.writer.addPartitions(there, added, signal)
    } catch (error) {
      // The other partitions of the table arrive all the same.
      const names = batch.filter((name) => theirs.has(valuesKey(valuesIn(name))))
      failure ??= failureOf(error)
      missing = names.length - (await sides.target.partitions(there, names, signal)).length
      arrived -= missing
    }
    if (altered.length > 0) await sides.writer.alterPartitions(there, altered, signal)
    if (dropped.length > 0 && mayDrop) await sides.writer.dropPartitions(there, dropped, signal)
    const left = batch.filter((name) => theirs.has(valuesKey(valuesIn(name))))
    if (sides.dry === undefined && hidden === undefined)
      await carryPartitionStatistics(sides, table, left, signal)
    written += added.length - missing + altered.length + (mayDrop ? dropped.length : 0)
    const isLast = at + partitionsAtOnce >= union.length
    if (!isLast && isOver() && performance.now() - listedMs > leastMs)
      return { ...done(), after: batch.at(-1)!, held: 0 }
  }
  return { ...done(), held: mayDrop ? 0 : surplus.length }
}

const partitionsOf = async (
  names: readonly string[],
  ask: (names: readonly string[]) => Promise<readonly Partition[]>,
): Promise<readonly Partition[]> => (names.length === 0 ? [] : ask(names))

const partitionsByKey = async (asked: Promise<readonly Partition[]>): Promise<Map<string, Partition>> =>
  new Map((await asked).map((partition) => [valuesKey(partition.values), partition]))

const isAfter = (name: string, after: string): boolean => byCodePoints(name, after) > 0

/** Both lists as one, in the order of their code points. */
const sortedUnion = (one: readonly string[], other: readonly string[]): string[] =>
  [...new Set([...one, ...other])].toSorted(byCodePoints)
