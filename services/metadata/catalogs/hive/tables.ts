import type { Value } from '../../thrift/types.ts'
import { methods, type Table } from './idl.ts'
import type { Metastore } from './metastore.ts'

/** Where a release has catalogs, what is in none is in this one. */
export const defaultCatalog = 'hive'

/** `TestCapability` has no use; without this, tables into which rows are only inserted are refused. */
const insertOnlyTables = 2

/** What release 4 asks for before it shows and takes tables as they are, ACID tables among them. */
export const processor = {
  processorCapabilities: [
    'EXTREAD',
    'EXTWRITE',
    'HIVESQL',
    'HIVEMQT',
    'HIVEBUCKET2',
    'HIVEFULLACIDREAD',
    'HIVEFULLACIDWRITE',
    'HIVEMANAGEDINSERTREAD',
    'HIVEMANAGEDINSERTWRITE',
    'HIVEMANAGESTATS',
    'HIVECACHEINVALIDATE',
    'CONNECTORREAD',
    'CONNECTORWRITE',
  ],
  processorIdentifier: 'gantry',
} as const

/** A table as the server tells it. Throws `gone`. */
export async function hiveTable(
  metastore: Metastore,
  database: string,
  name: string,
  signal: AbortSignal,
): Promise<Value<typeof Table>> {
  const what = metastore.what(`table ${database}.${name}`)
  const request = {
    dbName: database,
    tblName: name,
    capabilities: { values: [insertOnlyTables] },
    ...processor,
  }
  return await metastore.either(
    methods.tableByRequest,
    async () => (await metastore.ask(methods.tableByRequest, { request }, what, signal)).table ?? {},
    () => metastore.ask(methods.table, { database, table: name }, what, signal),
  )
}
