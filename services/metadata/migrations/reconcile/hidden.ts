import type { Table } from '../../../../subjects/metadata/objects.ts'
import type { TableName } from '../../catalogs/contract/catalog.ts'
import { hiddenNameOf } from '../../catalogs/hidden-tables.ts'
import { canBecome } from './reconcile.ts'
import type { Sides } from './sides.ts'

/**
 * Makes a table by its hidden name, or makes what is there of it what it is to be.
 * @returns whether it has no partitions yet
 */
export async function makeHidden(
  { target, writer, digest }: Sides,
  wanted: Table,
  signal: AbortSignal,
): Promise<boolean> {
  const hidden = { ...wanted, ...hiddenNameOf(wanted) }
  const is = await target.table(hidden.database, hidden.name, signal)
  if (is !== undefined && digest(is) === digest(hidden)) return false
  if (is !== undefined && canBecome(is, hidden)) {
    await writer.alterTable(hidden, signal)
    return false
  }
  if (is !== undefined) await writer.dropTable(hidden, signal)
  await writer.createTable(hidden, signal)
  return true
}

/** Drops what has been made of a table by its hidden name, where that is not to become the table any more. */
export async function dropHidden(
  { target, writer }: Sides,
  table: TableName,
  signal: AbortSignal,
): Promise<void> {
  if (writer.revealTable === undefined) return
  const { database, name } = hiddenNameOf(table)
  if ((await target.table(database, name, signal)) !== undefined)
    await writer.dropTable({ database, name }, signal)
}
