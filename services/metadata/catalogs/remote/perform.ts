import type { CatalogOperation, CatalogReply } from '../../../../subjects/metadata/catalog-work.ts'
import { maxTextLength } from '../../../../subjects/kit/schemas.ts'
import { shortened } from '../../../../subjects/kit/shortened.ts'
import { isGantryError } from '../../../../subjects/kit/errors.ts'
import { StoreError, storeError } from '../../../drivers/contract/store-error.ts'
import type { Catalog, CatalogWriter } from '../contract/catalog.ts'

/** Arguments as they came: the platform has sealed them for this agent, and sends what `remote-catalog.ts` makes. */
type Args = readonly [never, never]

type Performers = {
  readonly [O in CatalogOperation]: (
    catalog: Catalog,
    args: Args,
    signal: AbortSignal,
  ) => Promise<CatalogReply<O> | void>
}

/** Throws what the platform has been told that the catalog does not have. */
function had<T>(part: T | undefined, catalog: Catalog): T {
  if (part === undefined) throw unsupported(catalog)
  return part
}
const unsupported = ({ place }: Catalog): StoreError =>
  new StoreError('unsupported', `${place} does not provide this`)
const writerOf = (catalog: Catalog): CatalogWriter => had(catalog.writer, catalog)

const performers: Performers = {
  describe: async ({
    place,
    functions,
    constraints,
    statistics,
    indexes,
    settings,
    feed,
    privileges,
    writeIds,
    writer,
  }) => ({
    place: shortened(place, maxTextLength),
    functions: functions !== undefined,
    constraints: constraints !== undefined,
    statistics: statistics !== undefined,
    statisticsOfPartitions: statistics?.ofPartitions !== undefined,
    indexes: indexes !== undefined,
    ...(settings && { settings: [...settings.names] }),
    feed: feed !== undefined,
    privileges: privileges !== undefined,
    roles: privileges?.members !== undefined,
    writeIds: writeIds !== undefined,
    ...(writer && {
      writer: {
        renameTable: writer.renameTable !== undefined,
        revealTable: writer.revealTable !== undefined,
        functions: writer.functions !== undefined,
        constraints: writer.constraints !== undefined,
        statistics: writer.statistics !== undefined,
        statisticsOfPartitions: writer.statistics?.putPartitions !== undefined,
        privileges: writer.privileges !== undefined,
        roles: writer.privileges?.roles !== undefined,
        writeIds: writer.writeIds !== undefined,
      },
    }),
  }),
  probe: (catalog, _, signal) => catalog.probe(signal),
  version: (catalog, _, signal) => catalog.version(signal),
  databases: async (catalog, _, signal) => [...(await catalog.databases(signal))],
  database: (catalog, [name], signal) => catalog.database(name, signal),
  tables: async (catalog, [database], signal) => [...(await catalog.tables(database, signal))],
  table: (catalog, [database, name], signal) => catalog.table(database, name, signal),
  partitionNames: async (catalog, [table], signal) => [...(await catalog.partitionNames(table, signal))],
  partitions: async (catalog, [table, names], signal) => [
    ...(await catalog.partitions(table, names, signal)),
  ],
  functions: async (catalog, [database], signal) => {
    const unreadable: CatalogReply<'functions'>['unreadable'] = []
    const functions = await had(catalog.functions, catalog).list(database, signal, (name, failure) => {
      unreadable.push({ name, error: sentFailure(failure) })
    })
    return { functions: [...functions], unreadable }
  },
  constraints: (catalog, [table], signal) => had(catalog.constraints, catalog).of(table, signal),
  tableStatistics: (catalog, [table], signal) => had(catalog.statistics, catalog).ofTable(table, signal),
  partitionStatistics: async (catalog, [table, names], signal) => {
    const statistics = had(catalog.statistics, catalog)
    const found = (await statistics.ofPartitions?.(table, names, signal)) ?? new Map()
    return Array.from(found, ([name, its]) => ({ name, statistics: its }))
  },
  indexes: async (catalog, [table], signal) => {
    const found = await had(catalog.indexes, catalog).of(table, signal)
    return found && [...found]
  },
  setting: (catalog, [name], signal) => had(catalog.settings, catalog).value(name, signal),
  privileges: async (catalog, [object], signal) => [
    ...(await had(catalog.privileges, catalog).of(object, signal)),
  ],
  roleMembers: async (catalog, [role], signal) => {
    const found = await had(catalog.privileges, catalog).members?.(role, signal)
    return found && [...found]
  },
  writeIds: async (catalog, [tables], signal) =>
    (await had(catalog.writeIds, catalog).of(tables, signal))?.map(({ highest, open, aborted }) => ({
      highest,
      open: [...open],
      aborted: [...aborted],
    })),
  position: (catalog, _, signal) => had(catalog.feed, catalog).position(signal),
  changes: async (catalog, [after, limit], signal) => {
    const { changes, ...rest } = await had(catalog.feed, catalog).changes(after, limit, signal)
    const copied = changes.map(({ partitions, ...change }) => ({
      ...change,
      ...(partitions && { partitions: [...partitions] }),
    }))
    return { ...rest, changes: copied }
  },
  createDatabase: (catalog, [database], signal) => writerOf(catalog).createDatabase(database, signal),
  alterDatabase: (catalog, [database], signal) => writerOf(catalog).alterDatabase(database, signal),
  dropDatabase: (catalog, [name], signal) => writerOf(catalog).dropDatabase(name, signal),
  createTable: (catalog, [table], signal) => writerOf(catalog).createTable(table, signal),
  alterTable: (catalog, [table], signal) => writerOf(catalog).alterTable(table, signal),
  revealTable: async (catalog, [table], signal) => {
    const writer = writerOf(catalog)
    if (writer.revealTable === undefined) throw unsupported(catalog)
    await writer.revealTable(table, signal)
  },
  renameTable: async (catalog, [before, table], signal) => {
    const writer = writerOf(catalog)
    if (writer.renameTable === undefined) throw unsupported(catalog)
    await writer.renameTable(before, table, signal)
  },
  dropTable: (catalog, [table], signal) => writerOf(catalog).dropTable(table, signal),
  addPartitions: (catalog, [table, partitions], signal) =>
    writerOf(catalog).addPartitions(table, partitions, signal),
  alterPartitions: (catalog, [table, partitions], signal) =>
    writerOf(catalog).alterPartitions(table, partitions, signal),
  dropPartitions: (catalog, [table, names], signal) => writerOf(catalog).dropPartitions(table, names, signal),
  createFunction: (catalog, [made], signal) => had(writerOf(catalog).functions, catalog).create(made, signal),
  alterFunction: (catalog, [made], signal) => had(writerOf(catalog).functions, catalog).alter(made, signal),
  dropFunction: (catalog, [database, name], signal) =>
    had(writerOf(catalog).functions, catalog).drop(database, name, signal),
  addConstraints: (catalog, [table, constraints], signal) =>
    had(writerOf(catalog).constraints, catalog).add(table, constraints, signal),
  dropConstraint: (catalog, [table, name], signal) =>
    had(writerOf(catalog).constraints, catalog).drop(table, name, signal),
  putTableStatistics: (catalog, [table, statistics], signal) =>
    had(writerOf(catalog).statistics, catalog).put(table, statistics, signal),
  putPartitionStatistics: async (catalog, [table, statistics], signal) => {
    const its = had(writerOf(catalog).statistics, catalog)
    if (its.putPartitions === undefined) throw unsupported(catalog)
    await its.putPartitions(table, new Map<string, never>(statistics), signal)
  },
  grant: (catalog, [object, privileges], signal) =>
    had(writerOf(catalog).privileges, catalog).grant(object, privileges, signal),
  revoke: (catalog, [object, privileges], signal) =>
    had(writerOf(catalog).privileges, catalog).revoke(object, privileges, signal),
  createRole: (catalog, [role], signal) =>
    had(writerOf(catalog).privileges?.roles, catalog).create(role, signal),
  addToRole: (catalog, [role, member], signal) =>
    had(writerOf(catalog).privileges?.roles, catalog).add(role, member, signal),
  putWriteIds: (catalog, [table, its], signal) =>
    had(writerOf(catalog).writeIds, catalog).put(table, its, signal),
}

/** Does on an agent's host what the platform asks of a catalog. Throws StoreError as the catalog does. */
export async function perform(
  catalog: Catalog,
  operation: CatalogOperation,
  args: readonly unknown[],
  signal: AbortSignal,
): Promise<unknown> {
  if (!Object.hasOwn(performers, operation))
    throw new StoreError('unsupported', 'the agent does not know this operation; update the agent')
  return performers[operation](catalog, args as unknown as Args, signal)
}

const codes = ['NOT_ACCEPTED', 'INVALID_INPUT', 'UNSUPPORTED'] as const

/** A failure as it is told to the platform: without stacks and details, which stay in the agent's log. */
export function sentFailure(error: unknown) {
  const text = (message: string) => shortened(message, maxTextLength)
  const code = codes.find((one) => isGantryError(error, one))
  if (code !== undefined) return { message: text((error as Error).message), code }
  const { message, failure, retryAfterMs } = storeError(error)
  return { message: text(message), failure, ...(retryAfterMs !== undefined && { retryAfterMs }) }
}
