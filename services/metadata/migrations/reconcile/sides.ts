import type { CatalogSpec } from '../../../../subjects/metadata/kinds.ts'
import type {
  CatalogFunction,
  Database,
  Parameters,
  Partition,
  Table,
} from '../../../../subjects/metadata/objects.ts'
import type { StatisticsOf } from '../../../../subjects/metadata/migrations.ts'
import { StoreError } from '../../../drivers/contract/store-error.ts'
import type { Catalog, CatalogWriter } from '../../catalogs/contract/catalog.ts'
import { type Difference, differencesOf } from './differences.ts'
import { DryWriter } from './dry-writer.ts'
import { digestOf, type RoleMember } from './objects.ts'
import { type LocationRules, Locations } from './locations.ts'

/** Both ends of a migration. Plain data. */
export interface SidesSpec {
  readonly source: CatalogSpec
  readonly target: CatalogSpec
  readonly locations: LocationRules
  readonly statistics: StatisticsOf
  /** Absent for none. */
  readonly privileges?: PrivilegesOfSome
  /** Whether nothing is written, and only told what would be. */
  readonly isDry?: boolean
  /** Internal id of the migration, by which it knows its hidden tables again. */
  readonly migration?: string
  /** Names of the other migrations of metadata that there are, by their internal ids: what they make is theirs. */
  readonly others?: Readonly<Record<string, string>>
}

/** Of which objects privileges are brought: of those that the migration made, of all, or of none. */
export type PrivilegesOfSome = 'own' | 'all' | 'none'

type CatalogObject = Database | Table | Partition | CatalogFunction

/** Both ends, open. */
export class Sides {
  readonly source: Catalog
  readonly target: Catalog
  readonly writer: CatalogWriter
  readonly locations: Locations
  /** Which are brought. */
  readonly statistics: StatisticsOf
  readonly privileges: PrivilegesOfSome
  /** Roles that were looked at already, with the members in which they differ and are left. */
  readonly roles = new Map<string, readonly RoleMember[]>()
  /** There where nothing is written, and only told what would be. */
  readonly dry: DryWriter | undefined
  /** Internal id of the migration; undefined where none writes. */
  readonly migration: string | undefined
  readonly others: Readonly<Record<string, string>>

  /** Throws StoreError `unsupported` for a target that can only be read. */
  constructor(
    source: Catalog,
    target: Catalog,
    {
      locations,
      statistics,
      privileges = 'none',
      isDry = false,
      migration,
      others = {},
    }: Pick<SidesSpec, 'locations' | 'statistics' | 'privileges' | 'isDry' | 'migration' | 'others'>,
  ) {
    const { writer } = target
    if (writer === undefined)
      throw new StoreError('unsupported', `${target.place} is read-only; use another catalog as target`)
    this.source = source
    this.target = target
    this.dry = isDry ? new DryWriter(writer) : undefined
    this.writer = this.dry ?? writer
    this.locations = new Locations(locations)
    this.statistics = statistics
    this.privileges = privileges
    this.migration = migration
    this.others = others
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
  readonly digest = (object: CatalogObject): string => digestOf(this.#compared(object))

  /** Whether the target has what is wanted, whoever made it so. */
  isSame<T extends CatalogObject>(wanted: T, found: T): boolean {
    return this.digest(wanted) === this.digest(asked(wanted, found))
  }

  /** In what two objects differ, by the same measure. */
  differences<T extends CatalogObject>(wanted: T, found: T): Difference[] {
    return differencesOf(this.#compared(wanted), this.#compared(asked(wanted, found)))
  }

  #compared(object: CatalogObject): object {
    const { createdMs: _created, ...rest } = {
      createdMs: undefined,
      ...('parameters' in object ? this.#own(object) : object),
    }
    return withoutEmptyAuthorities(rest)
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

/** What is there, without what was not asked for: an object without owner gets one where all have one. */
function asked<T extends CatalogObject>(wanted: T, found: T): T {
  if (!('owner' in found) || 'owner' in wanted) return found
  const { owner: _owner, ...rest } = found
  return rest as T
}

/** `file:///folder` and `file:/folder` are one place, and metastores make the one of the other. */
function withoutEmptyAuthorities(object: object): object {
  const {
    location,
    managedLocation,
    storage,
  }: Partial<Pick<Database, 'location' | 'managedLocation'> & Pick<Table, 'storage'>> = object
  return {
    ...object,
    ...(location !== undefined && { location: plain(location) }),
    ...(managedLocation !== undefined && { managedLocation: plain(managedLocation) }),
    ...(storage?.location !== undefined && { storage: { ...storage, location: plain(storage.location) } }),
  }
}

const plain = (location: string): string => location.replace(/^([a-z][a-z0-9+.-]*):\/\/\/(?!\/)/i, '$1:/')
