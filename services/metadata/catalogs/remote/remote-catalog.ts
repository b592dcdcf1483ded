import type { CatalogSpec } from '../../../../subjects/metadata/kinds.ts'
import type { CatalogOperation, CatalogReply } from '../../../../subjects/metadata/catalog-work.ts'
import { receivedError } from '../../../drivers/contract/sent-error.ts'
import { StoreError } from '../../../drivers/contract/store-error.ts'
import type {
  Catalog,
  CatalogFeed,
  CatalogSettings,
  CatalogWriter,
  ColumnStatistics,
  Functions,
  Indexes,
  Privileges,
  TableConstraints,
  WriteIdsOfTables,
} from '../contract/catalog.ts'
import type { CatalogRules } from '../contract/kind.ts'
import type { AskAgent } from './asking.ts'

type Description = CatalogReply<'describe'>
type Ask = <O extends CatalogOperation>(
  operation: O,
  args: readonly unknown[],
  signal: AbortSignal,
) => Promise<CatalogReply<O>>

/** Opens a catalog that an agent reaches, and asks that what it can do. Throws as `AskAgent`. @param rules of its kind */
export async function openRemoteCatalog(
  spec: CatalogSpec,
  agent: string,
  rules: CatalogRules | undefined,
  askAgent: AskAgent,
): Promise<Catalog> {
  const options = Object.fromEntries(Object.entries(spec.options).filter(([name]) => name !== 'agent'))
  // Without where it is reached from, it is the same catalog, opened there.
  const its = { ...spec, options } as unknown as CatalogSpec
  const ask: Ask = (operation, args, signal) => askAgent(agent, { spec: its, operation, args }, signal)
  const description = await ask('describe', [], new AbortController().signal)
  return remoteCatalog(agent, description, rules, ask)
}

function remoteCatalog(agent: string, has: Description, rules: CatalogRules | undefined, ask: Ask): Catalog {
  const { settings } = has
  return {
    place: `${has.place} (through agent ${agent})`,
    // The agent has opened it by its own bounds and the platform's, and does so with each question.
    requirePlace: () => undefined,
    probe: async (signal) => void (await ask('probe', [], signal)),
    version: (signal) => ask('version', [], signal),
    databases: (signal) => ask('databases', [], signal),
    database: (name, signal) => ask('database', [name], signal),
    tables: (database, signal) => ask('tables', [database], signal),
    table: (database, name, signal) => ask('table', [database, name], signal),
    partitionNames: (table, signal) => ask('partitionNames', [table], signal),
    partitions: (table, names, signal) => ask('partitions', [table, names], signal),
    ...(has.functions && { functions: functionsOf(ask) }),
    ...(has.constraints && { constraints: constraintsOf(ask) }),
    ...(has.statistics && { statistics: statisticsOf(ask, has.statisticsOfPartitions) }),
    ...(has.indexes && { indexes: indexesOf(ask) }),
    ...(settings && { settings: settingsOf(ask, settings) }),
    ...(has.privileges && { privileges: privilegesOf(ask, has.roles) }),
    ...(has.writeIds && { writeIds: writeIdsOf(ask) }),
    ...(has.feed && { feed: feedOf(ask) }),
    ...(has.writer && rules && { writer: writerOf(ask, has.writer, rules) }),
    // Nothing is open here.
    close: () => undefined,
  }
}

const functionsOf = (ask: Ask): Functions => ({
  list: async (database, signal, onUnreadable) => {
    const { functions, unreadable } = await ask('functions', [database], signal)
    for (const { name, error } of unreadable) {
      const failure = receivedError({ stack: undefined, ...error })
      if (onUnreadable === undefined || !(failure instanceof StoreError)) throw failure
      onUnreadable(name, failure)
    }
    return functions
  },
})

const constraintsOf = (ask: Ask): TableConstraints => ({
  of: (table, signal) => ask('constraints', [table], signal),
})

const statisticsOf = (ask: Ask, hasOfPartitions: boolean): ColumnStatistics => ({
  ofTable: (table, signal) => ask('tableStatistics', [table], signal),
  ...(hasOfPartitions && {
    ofPartitions: async (table, names, signal) => {
      const found = await ask('partitionStatistics', [table, names], signal)
      return new Map(found.map(({ name, statistics }) => [name, statistics]))
    },
  }),
})

const indexesOf = (ask: Ask): Indexes => ({ of: (table, signal) => ask('indexes', [table], signal) })

const settingsOf = (ask: Ask, names: readonly string[]): CatalogSettings => ({
  names,
  value: (name, signal) => ask('setting', [name], signal),
})

const privilegesOf = (ask: Ask, hasRoles: boolean): Privileges => ({
  of: (object, signal) => ask('privileges', [object], signal),
  ...(hasRoles && { members: (role, signal) => ask('roleMembers', [role], signal) }),
})

const writeIdsOf = (ask: Ask): WriteIdsOfTables => ({
  of: (tables, signal) => ask('writeIds', [tables], signal),
})

const feedOf = (ask: Ask): CatalogFeed => ({
  position: (signal) => ask('position', [], signal),
  changes: (after, limit, signal) => ask('changes', [after, limit], signal),
})

function writerOf(ask: Ask, has: NonNullable<Description['writer']>, rules: CatalogRules): CatalogWriter {
  const change = async (operation: CatalogOperation, args: readonly unknown[], signal: AbortSignal) => {
    await ask(operation, args, signal)
  }
  return {
    refuses: rules.refuses,
    isOwnParameter: rules.isOwnParameter,
    createDatabase: (database, signal) => change('createDatabase', [database], signal),
    alterDatabase: (database, signal) => change('alterDatabase', [database], signal),
    dropDatabase: (name, signal) => change('dropDatabase', [name], signal),
    createTable: (table, signal) => change('createTable', [table], signal),
    alterTable: (table, signal) => change('alterTable', [table], signal),
    ...(has.renameTable && {
      renameTable: (before, table, signal) => change('renameTable', [before, table], signal),
    }),
    ...(has.revealTable && {
      revealTable: (table, signal) => change('revealTable', [table], signal),
    }),
    dropTable: (table, signal) => change('dropTable', [table], signal),
    addPartitions: (table, partitions, signal) => change('addPartitions', [table, partitions], signal),
    alterPartitions: (table, partitions, signal) => change('alterPartitions', [table, partitions], signal),
    dropPartitions: (table, names, signal) => change('dropPartitions', [table, names], signal),
    ...(has.functions && {
      functions: {
        create: (made, signal) => change('createFunction', [made], signal),
        alter: (made, signal) => change('alterFunction', [made], signal),
        drop: (database, name, signal) => change('dropFunction', [database, name], signal),
      },
    }),
    ...(has.constraints && {
      constraints: {
        add: (table, constraints, signal) => change('addConstraints', [table, constraints], signal),
        drop: (table, name, signal) => change('dropConstraint', [table, name], signal),
      },
    }),
    ...(has.statistics && {
      statistics: {
        ...(rules.heldStatistics && { held: rules.heldStatistics }),
        put: (table, statistics, signal) => change('putTableStatistics', [table, statistics], signal),
        ...(has.statisticsOfPartitions && {
          putPartitions: (table, statistics, signal) =>
            change('putPartitionStatistics', [table, [...statistics]], signal),
        }),
      },
    }),
    ...(has.writeIds && {
      writeIds: { put: (table, its, signal) => change('putWriteIds', [table, its], signal) },
    }),
    ...(has.privileges && {
      privileges: {
        ...(rules.heldPrivilege && { held: rules.heldPrivilege }),
        grant: (object, privileges, signal) => change('grant', [object, privileges], signal),
        revoke: (object, privileges, signal) => change('revoke', [object, privileges], signal),
        ...(has.roles && {
          roles: {
            create: (role, signal) => change('createRole', [role], signal),
            add: (role, member, signal) => change('addToRole', [role, member], signal),
          },
        }),
      },
    }),
  }
}
