import type { Table } from '../../../../subjects/metadata/objects.ts'
import { StoreError } from '../../../drivers/contract/store-error.ts'
import type { TableName } from '../../catalogs/contract/catalog.ts'
import { beingDropped, hiddenNameOf, hiddenParameter } from '../../catalogs/hidden-tables.ts'
import { unlessOfAll } from '../../catalogs/unless-of-all.ts'
import type { Known } from './objects.ts'
import { canBecome, type Done, droppedMeanwhile, type OnConflict } from './reconcile.ts'
import type { Sides } from './sides.ts'

/**
 * A table with more partitions gets its own name at once: to rename it, a metastore takes all of them into its memory, some 5 kB
 * each, and asks for the statistics of one after the other. With 20,000 that is 5 s, with 200,000 and a small heap minutes.
 */
export const mostHiddenPartitions = 20_000

/** Whether a table may get a hidden name: without a location, its folder would get that one too. */
export const mayBeHidden = ({ writer, dry }: Sides, { partitionKeys, storage, view }: Table): boolean =>
  writer.revealTable !== undefined &&
  dry === undefined &&
  partitionKeys.length > 0 &&
  view === undefined &&
  storage.location !== undefined

/**
 * Whether a table is to be made at the target, and may be by a hidden name: who reads it by its own name finds all of its
 * partitions, or no table.
 * @param is what is at the target
 */
export function isToBeHidden(
  { digest }: Sides,
  known: Known,
  onConflict: OnConflict,
  wanted: Table,
  is: Table | undefined,
): boolean {
  const isOurs =
    known.inHand === true ||
    onConflict === 'overwrite' ||
    known.is === (is && digest(is)) ||
    (is === undefined && known.isHidden === true)
  return isOurs && (is === undefined || !canBecome(is, wanted))
}

/** The other migration that makes a table by its hidden name at the moment; undefined for none that still is. */
export async function otherMakerOf(
  sides: Sides,
  table: TableName,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { database, name } = hiddenNameOf(table)
  return makerIn(sides, await sides.target.table(database, name, signal))
}

function makerIn({ migration, others }: Sides, hidden: Table | undefined): string | undefined {
  const mark = hidden?.parameters[hiddenParameter]
  if (mark === undefined || mark === migration) return undefined
  return Object.hasOwn(others, mark) ? others[mark] : undefined
}

/** Why a table waits that another migration makes. */
export const madeByOther = (other: string): string =>
  `the metadata migration ${other} is creating this table at the target; waiting until it has finished, or is reset or deleted`

/**
 * Makes a table by its hidden name, or makes what is there of it what it is to be. What a migration has left that is gone is made
 * anew.
 * @returns whether it has no partitions yet; or the other migration that has begun to make it just now
 */
export async function makeHidden(
  sides: Sides,
  wanted: Table,
  signal: AbortSignal,
): Promise<boolean | { readonly other: string }> {
  const { target, writer, digest, migration } = sides
  const mark = migration === undefined ? {} : { [hiddenParameter]: migration }
  const hidden = { ...wanted, ...hiddenNameOf(wanted), parameters: { ...wanted.parameters, ...mark } }
  const is = await target.table(hidden.database, hidden.name, signal)
  const other = makerIn(sides, is)
  if (other !== undefined) return { other }
  if (is !== undefined && digest(is) === digest(hidden)) return false
  const { [hiddenParameter]: maker = migration } = is?.parameters ?? {}
  if (is !== undefined && maker === migration && canBecome(is, hidden)) {
    await writer.alterTable(hidden, signal)
    return false
  }
  if (is !== undefined) await writer.dropTable(hidden, signal)
  await writer.createTable(hidden, signal)
  return true
}

/**
 * Drops what has been made of a table by its hidden name, where that is not to become the table any more; not what another
 * migration makes.
 */
export async function dropHidden(sides: Sides, table: TableName, signal: AbortSignal): Promise<void> {
  const { target, writer } = sides
  if (writer.revealTable === undefined) return
  const { database, name } = hiddenNameOf(table)
  const is = await target.table(database, name, signal)
  if (is !== undefined && makerIn(sides, is) === undefined) await writer.dropTable({ database, name }, signal)
}

/**
 * Drops those of these hidden tables that are of this migration, or that somebody was about to drop. Throws StoreError of the
 * first that cannot be dropped.
 */
export async function dropLeft(
  { target, writer, migration }: Sides,
  database: string,
  names: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  let failure: StoreError | undefined
  for (const name of names) {
    try {
      const its = (await target.table(database, name, signal))?.parameters[hiddenParameter]
      if (its !== undefined && (its === migration || its === beingDropped))
        await writer.dropTable({ database, name }, signal)
    } catch (error) {
      // The others are dropped all the same.
      failure ??= unlessOfAll(error)
    }
  }
  if (failure !== undefined) throw failure
}

/**
 * Gives a hidden table its name.
 * @param before what it takes the place of: of other partition keys, or a view
 * @returns false where somebody has made or changed what has its name meanwhile
 */
export async function isRevealed(
  sides: Sides,
  before: Table | undefined,
  wanted: Table,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    if (before !== undefined) await dropUnchanged(sides, before, signal)
    await sides.writer.revealTable!(wanted, signal)
    return true
  } catch (error) {
    if (error instanceof StoreError && error.failure === 'changed') return false
    throw error
  }
}

/** Drops a table for one that takes its place, unless somebody has changed it meanwhile. */
async function dropUnchanged(
  { target, writer, digest }: Sides,
  before: Table,
  signal: AbortSignal,
): Promise<void> {
  const { database, name } = before
  const is = await target.table(database, name, signal)
  if (is === undefined) return
  if (digest(is) !== digest(before))
    throw new StoreError('changed', 'another program changed it at the same time')
  await writer.dropTable({ database, name }, signal)
}

/** What a table has become that has just got its name. */
export async function madeOf(sides: Sides, wanted: Table, signal: AbortSignal): Promise<Done> {
  const now = await sides.target.table(wanted.database, wanted.name, signal)
  if (now === undefined) throw new StoreError('changed', droppedMeanwhile)
  return {
    result: 'created',
    settled: { wanted: sides.digest(wanted), is: sides.digest(now) },
    isOwn: true,
  }
}
