import type { Constraints, Table } from '../../../../subjects/metadata/objects.ts'
import { StoreError } from '../../../drivers/contract/store-error.ts'
import { digestOf } from './objects.ts'
import type { Sides } from './sides.ts'

/**
 * Brings constraints and column statistics of a table. Throws StoreError `unsupported` where the target has no word for
 * constraints that the source has; statistics, which engines gather again, are left out there.
 */
export async function carryExtras(sides: Sides, source: Table, signal: AbortSignal): Promise<void> {
  const table = { database: source.database, name: source.name }
  const { statistics } = sides.writer
  if (sides.source.statistics !== undefined && statistics !== undefined) {
    const [its, is] = await Promise.all([
      sides.source.statistics.ofTable(table, signal),
      sides.target.statistics?.ofTable(table, signal),
    ])
    if (its !== undefined && digestOf(its) !== digestOf(is)) await statistics.put(table, its, signal)
  }
  if (sides.source.constraints === undefined) return
  const its = await sides.source.constraints.of(table, signal)
  const { constraints: writer } = sides.writer
  if (writer === undefined || sides.target.constraints === undefined) {
    if (eachOf(its).length === 0) return
    throw new StoreError('unsupported', 'the target holds no constraints; the table itself has arrived')
  }
  const is = eachOf(await sides.target.constraints.of(table, signal))
  const wanted = eachOf(its)
  const isAmong = (one: Named, others: readonly Named[]) =>
    others.some((other) => digestOf(one) === digestOf(other))
  for (const { name, kind } of is.filter((one) => !isAmong(one, wanted)))
    if (name !== '' && kind !== undefined) await writer.drop(table, name, signal)
  const missing = wanted.filter((one) => !isAmong(one, is))
  if (missing.length > 0) await writer.add(table, among(its, missing), signal)
}

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
