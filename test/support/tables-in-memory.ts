import { StoreError } from '../../services/drivers/contract/store-error.ts'
import type {
  Catalog,
  CatalogWriter,
  TableName,
  WriteIds,
  WriteIdsOfTables,
} from '../../services/metadata/catalogs/contract/catalog.ts'
import { hiddenNameOf } from '../../services/metadata/catalogs/hidden-tables.ts'
import type { Partition, Table } from '../../subjects/metadata/objects.ts'

const none: WriteIds = { highest: 0, open: [], aborted: [] }

interface Has {
  table: Table
  readonly partitions: Map<string, Partition>
  writeIds: WriteIds
}

/** A catalog of tables of one database, in memory, that names a table when it is whole, and knows write ids. */
export class Tables implements Partial<Catalog> {
  readonly place = 'the catalog'
  readonly has = new Map<string, Has>()
  readonly writer: CatalogWriter

  constructor() {
    const { has } = this
    const its = ({ name }: TableName) => {
      const found = has.get(name)
      if (found === undefined) throw new StoreError('gone', `no ${name}`)
      return found
    }
    const writer: Partial<CatalogWriter> = {
      refuses: () => undefined,
      isOwnParameter: () => false,
      createTable: async (one) => this.put(one, []),
      alterTable: async (one) => void (its(one).table = one),
      dropTable: async ({ name }) => void has.delete(name),
      addPartitions: async (one, added) => {
        for (const each of added) its(one).partitions.set(`day=${each.values.join()}`, each)
      },
      revealTable: async (one) => {
        if (has.has(one.name)) throw new StoreError('changed', 'already exists')
        this.put(one, [...its(hiddenNameOf(one)).partitions.values()])
        has.delete(hiddenNameOf(one).name)
      },
      writeIds: { put: async (one, of) => void (its(one).writeIds = { ...of, open: [] }) },
    }
    this.writer = writer as CatalogWriter
  }

  put(one: Table, partitions: readonly Partition[]): void {
    const byName = partitions.map((each) => [`day=${each.values.join()}`, each] as const)
    this.has.set(one.name, { table: one, partitions: new Map(byName), writeIds: none })
  }

  readonly writeIds: WriteIdsOfTables = {
    of: async (tables) => tables.map(({ name }) => this.has.get(name)?.writeIds ?? none),
  }

  tables = async () => [...this.has.values()].map(({ table: { name, type } }) => ({ name, type }))
  table = async (_: string, name: string) => this.has.get(name)?.table
  partitionNames = async ({ name }: TableName) =>
    [...(this.has.get(name)?.partitions.keys() ?? [])].toSorted()
  partitions = async ({ name }: TableName, names: readonly string[]) =>
    names.flatMap((one) => this.has.get(name)?.partitions.get(one) ?? [])
}
