import { expect, test } from 'vitest'
import { StoreError } from '../../../../../services/drivers/contract/store-error.ts'
import { methods } from '../../../../../services/metadata/catalogs/hive/idl.ts'
import type { Metastore } from '../../../../../services/metadata/catalogs/hive/metastore.ts'
import { HiveWriter } from '../../../../../services/metadata/catalogs/hive/writer.ts'

const never = new AbortController().signal
const writes = { database: 'sales', name: 'writes' }

/** A metastore whose tables somebody else drops as soon as they are renamed. */
function writerOf(parameters: Readonly<Record<string, string>>) {
  const its = {
    dbName: writes.database,
    tableName: writes.name,
    tableType: 'MANAGED_TABLE',
    parameters: new Map(Object.entries(parameters)),
    sd: { location: 'file:/writes' },
  }
  const metastore = {
    what: (operation: string) => () => operation,
    either: (_: object, newer: () => Promise<unknown>) => newer(),
    ask: async () => ({ table: its }),
    change: async (method: object) => {
      if (method === methods.dropTable) throw new StoreError('gone', 'there is no such table')
    },
  } as unknown as Metastore
  const beyond = { writeIds: { of: async () => [{ highest: 3, open: [], aborted: [] }] } }
  return new HiveWriter(metastore, beyond as unknown as ConstructorParameters<typeof HiveWriter>[1])
}

test('a table that was renamed to be dropped may be dropped by another process', async () => {
  await writerOf({ transactional: 'true' }).dropTable(writes, never)
})

test('one that is gone by its own name was dropped by somebody else', async () => {
  await expect(writerOf({}).dropTable(writes, never)).rejects.toMatchObject({ failure: 'changed' })
})
