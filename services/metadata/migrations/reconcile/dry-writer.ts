import type { Partition, Table } from '../../../../subjects/metadata/objects.ts'
import type { CatalogWriter } from '../../catalogs/contract/catalog.ts'

/** What would be done with the partitions of a table. Plain data. */
export interface PartitionsPlanned {
  readonly toAdd: number
  readonly toChange: number
  readonly toDrop: number
  /** Names of some of them. */
  readonly samples: readonly string[]
}

/** Partitions that are named of one table. */
export const maxSamples = 10

/** Takes everything for done that it is told to write, and counts it. */
export class DryWriter implements CatalogWriter {
  readonly #writer: CatalogWriter
  #planned = { toAdd: 0, toChange: 0, toDrop: 0, samples: [] as string[] }

  readonly functions?: NonNullable<CatalogWriter['functions']>
  readonly constraints?: NonNullable<CatalogWriter['constraints']>
  readonly statistics?: NonNullable<CatalogWriter['statistics']>
  readonly privileges?: NonNullable<CatalogWriter['privileges']>
  readonly writeIds?: NonNullable<CatalogWriter['writeIds']>

  constructor(writer: CatalogWriter) {
    this.#writer = writer
    if (writer.functions !== undefined) this.functions = { create: nothing, alter: nothing, drop: nothing }
    if (writer.constraints !== undefined) this.constraints = { add: nothing, drop: nothing }
    if (writer.statistics !== undefined) this.statistics = { put: nothing }
    if (writer.writeIds !== undefined) this.writeIds = { put: nothing }
    if (writer.privileges !== undefined) {
      const { roles, held } = writer.privileges
      this.privileges = {
        grant: nothing,
        revoke: nothing,
        ...(held && { held }),
        ...(roles && { roles: { create: nothing, add: nothing } }),
      }
    }
  }

  /** What was told since it was asked last. */
  takePlanned(): PartitionsPlanned {
    const planned = this.#planned
    this.#planned = { toAdd: 0, toChange: 0, toDrop: 0, samples: [] }
    return planned
  }

  refuses = (table: Table): string | undefined => this.#writer.refuses(table)
  isOwnParameter = (name: string): boolean => this.#writer.isOwnParameter(name)
  createDatabase = nothing
  alterDatabase = nothing
  dropDatabase = nothing
  createTable = nothing
  alterTable = nothing
  dropTable = nothing

  async addPartitions(_table: object, partitions: readonly Partition[]): Promise<void> {
    this.#planned.toAdd += partitions.length
    this.#sample(partitions.map(({ values }) => values.join('/')))
  }

  async alterPartitions(_table: object, partitions: readonly Partition[]): Promise<void> {
    this.#planned.toChange += partitions.length
    this.#sample(partitions.map(({ values }) => values.join('/')))
  }

  async dropPartitions(_table: object, names: readonly string[]): Promise<void> {
    this.#planned.toDrop += names.length
    this.#sample(names)
  }

  #sample(names: readonly string[]): void {
    const { samples } = this.#planned
    samples.push(...names.slice(0, Math.max(0, maxSamples - samples.length)))
  }
}

async function nothing(): Promise<void> {}
