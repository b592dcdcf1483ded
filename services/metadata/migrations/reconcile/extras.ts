import type { Constraints, Table, TableStatistics } from '../../../../subjects/metadata/objects.ts'
import { type CatalogWriter, partitionsAtOnce, type TableName } from '../../catalogs/contract/catalog.ts'
import { StoreError } from '../../../drivers/contract/store-error.ts'
import { byCodePoints } from '../../catalogs/order.ts'
import { type Difference, differencesIn } from './differences.ts'
import { digestOf, type Extras, failureOf, without } from './objects.ts'
import { carryPrivileges, type Standing } from './privileges.ts'
import type { Sides } from './sides.ts'

/**
 * Brings constraints, privileges and column statistics of a table. Throws StoreError `unsupported` where the target has no
 * word for constraints or privileges that the source has; statistics, which engines gather again, are left out there.
 */
export async function carryExtras(
  sides: Sides,
  source: Table,
  standing: Standing,
  signal: AbortSignal,
): Promise<Extras> {
  const table = { database: source.database, name: source.name }
  const { statistics } = sides.writer
  if (sides.statistics !== 'none' && sides.source.statistics !== undefined && statistics !== undefined) {
    const [its, is] = await Promise.all([
      sides.source.statistics.ofTable(table, signal),
      sides.target.statistics?.ofTable(table, signal),
    ])
    if (its !== undefined && isToBePut(its, is, statistics)) await statistics.put(table, its, signal)
  }
  const privileges = await carryPrivileges(sides, table, standing, signal)
  const constraints = await carryConstraints(sides, table, signal)
  return { ...privileges, differences: [...constraints, ...privileges.differences] }
}

/** What was brought beyond an object, which has arrived itself whatever fails here. */
export async function extrasOf(work: () => Promise<Extras>): Promise<Extras> {
  try {
    return await work()
  } catch (error) {
    return { differences: [], left: [], note: failureOf(error) }
  }
}

async function carryConstraints(sides: Sides, table: TableName, signal: AbortSignal): Promise<Difference[]> {
  if (sides.source.constraints === undefined) return []
  const its = await sides.source.constraints.of(table, signal)
  const { constraints: writer } = sides.writer
  if (writer === undefined || sides.target.constraints === undefined) {
    if (eachOf(its).length === 0) return []
    throw new StoreError(
      'unsupported',
      'the target does not support constraints; the table itself was migrated',
    )
  }
  const [there, wanted] = [eachOf(await sides.target.constraints.of(table, signal)), eachOf(its)]
  const [missing, surplus] = [without(wanted, there), without(there, wanted)]
  for (const { name, kind } of surplus)
    if (name !== '' && kind !== undefined) await writer.drop(table, name, signal)
  if (missing.length > 0) await writer.add(table, among(its, missing), signal)
  return differencesIn('constraints', missing, surplus)
}

/** Brings column statistics of partitions that are at both ends. Throws StoreError. */
export async function carryPartitionStatistics(
  sides: Sides,
  table: TableName,
  names: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const [from, to] = [sides.source.statistics, sides.target.statistics]
  const { statistics: writer } = sides.writer
  if (sides.statistics !== 'all' || from?.ofPartitions === undefined || writer?.putPartitions === undefined)
    return
  const wanted = await from.ofPartitions(table, names, signal)
  if (wanted.size === 0) return
  const there = await to?.ofPartitions?.(table, [...wanted.keys()], signal)
  const missing = [...wanted].filter(([name, its]) => isToBePut(its, there?.get(name), writer))
  if (missing.length > 0) await writer.putPartitions(table, new Map(missing), signal)
}

/** The same for all partitions of a table that has just been made with them. Throws StoreError. */
export async function carryAllPartitionStatistics(
  sides: Sides,
  table: TableName,
  signal: AbortSignal,
): Promise<void> {
  if (!bringsOfPartitions(sides)) return
  const names = await sides.target.partitionNames(table, signal)
  for (let at = 0; at < names.length; at += partitionsAtOnce)
    await carryPartitionStatistics(sides, table, names.slice(at, at + partitionsAtOnce), signal)
}

const bringsOfPartitions = ({ statistics, source, writer }: Sides): boolean =>
  statistics === 'all' &&
  source.statistics?.ofPartitions !== undefined &&
  writer.statistics?.putPartitions !== undefined

/** Whether a target does not have statistics, as far as it can hold them. */
function isToBePut(
  its: TableStatistics,
  is: TableStatistics | undefined,
  writer: NonNullable<CatalogWriter['statistics']>,
): boolean {
  const held = writer.held?.(its) ?? its
  return held.columns.length > 0 && digestOf(byColumn(held)) !== digestOf(is && byColumn(is))
}

/** In the order of the columns' names: each catalog tells them in its own. */
const byColumn = ({ columns }: TableStatistics) =>
  columns.toSorted((one, other) => byCodePoints(one.column, other.column))

interface Named {
  readonly kind: string
  readonly name: string
}

/** All constraints in one list, each with its kind. */
const eachOf = ({ primaryKey, ...lists }: Constraints): Named[] => [
  ...(primaryKey === undefined ? [] : [{ kind: 'primaryKey', ...primaryKey }]),
  ...Object.entries(lists).flatMap(([kind, constraints]) =>
    constraints.map((constraint) => ({ kind, ...constraint })),
  ),
]

/** Only those that are in the list, by their names. */
function among({ primaryKey, ...lists }: Constraints, wanted: readonly Named[]): Constraints {
  const isWanted = (kind: string, name: string) =>
    wanted.some((one) => one.kind === kind && one.name === name)
  const kept = Object.fromEntries(
    Object.entries(lists).map(([kind, constraints]) => [
      kind,
      constraints.filter(({ name }) => isWanted(kind, name)),
    ]),
  ) as typeof lists
  return { ...kept, ...(primaryKey && isWanted('primaryKey', primaryKey.name) && { primaryKey }) }
}
