import type { CatalogSpec } from '../../../../subjects/metadata/kinds.ts'
import type {
  CatalogFunction,
  Database,
  Parameters,
  Partition,
  Table,
} from '../../../../subjects/metadata/objects.ts'
import { StoreError } from '../../../drivers/contract/store-error.ts'
import type { Catalog, CatalogWriter } from '../../catalogs/contract/catalog.ts'
import { type Difference, differencesOf } from './differences.ts'
import { DryWriter } from './dry-writer.ts'
import { digestOf } from './objects.ts'
import { type LocationRules, Locations } from './locations.ts'

/** Both ends of a migration. Plain data. */
export interface SidesSpec {
  readonly source: CatalogSpec
  readonly target: CatalogSpec
  readonly locations: LocationRules
}

type CatalogObject = Database | Table | Partition | CatalogFunction

/** Both ends, open. */
export class Sides {
  readonly source: Catalog
  readonly target: Catalog
  readonly writer: CatalogWriter
  readonly locations: Locations
  /** There where nothing is written, and only told what would be. */
  readonly dry: DryWriter | undefined

  /** Throws StoreError `unsupported` for a target that can only be read. */
  constructor(source: Catalog, target: Catalog, locations: LocationRules, isDry = false) {
    const { writer } = target
    if (writer === undefined)
      throw new StoreError('unsupported', `${target.place} can only be read; take another catalog as target`)
    this.source = source
    this.target = target
    this.dry = isDry ? new DryWriter(writer) : undefined
    this.writer = this.dry ?? writer
    this.locations = new Locations(locations)
  }

  /** What the target is to have of something at the source. */
  readonly wanted = {
    database: (database: Database): Database => this.#own(this.locations.database(database)),
    table: (table: Table): Table => this.#own(this.locations.table(table)),
    partition: (partition: Partition, table: Table): Partition =>
      this.#own(this.locations.partition(partition, table)),
    function: (its: CatalogFunction): CatalogFunction => this.locations.function(its),
  }

  /** What an object is but for what the target says of its own work. */
  digest(object: CatalogObject): string {
    return digestOf(this.#compared(object))
  }

  /** In what two objects differ, by the same measure. */
  differences(wanted: CatalogObject, found: CatalogObject): Difference[] {
    return differencesOf(this.#compared(wanted), this.#compared(found))
  }

  #compared(object: CatalogObject): object {
    const { createdMs: _created, ...rest } = {
      createdMs: undefined,
      ...('parameters' in object ? this.#own(object) : object),
    }
    return rest
  }

  /** Without what a catalog says of its own work. */
  #own<T extends { readonly parameters: Parameters }>(object: T): T {
    const { source, writer } = this
    const parameters = Object.fromEntries(
      Object.entries(object.parameters).filter(
        ([name]) => !writer.isOwnParameter(name) && source.writer?.isOwnParameter(name) !== true,
      ),
    )
    return { ...object, parameters }
  }
}
