import type { FilesystemSpec } from '../../../../subjects/filesystems/kinds.ts'
import type { CatalogKind, CatalogOptions } from '../../../../subjects/metadata/kinds.ts'
import type { Privilege, TableStatistics } from '../../../../subjects/metadata/objects.ts'
import type { StoreBounds } from '../../../drivers/contract/bounds.ts'
import type { Catalog, CatalogWriter } from './catalog.ts'

/** What a kind can hold by its own rules, and what is its own account: known without a catalog that is open. */
export interface CatalogRules extends Pick<CatalogWriter, 'refuses' | 'isOwnParameter'> {
  /** As `held` of the writer's statistics and privileges. */
  readonly heldStatistics?: (statistics: TableStatistics) => TableStatistics
  readonly heldPrivilege?: (privilege: Privilege) => Privilege
}

/** A kind of catalog: all that is known of it beside its options, which are in `subjects/metadata/kinds.ts`. */
export interface KindOfCatalog<K extends CatalogKind = CatalogKind> {
  readonly kind: K
  /** What options are when they are not given, for people. */
  readonly defaults: Readonly<Record<string, string>>
  /** Of its writer; absent for a kind that nothing writes to. */
  readonly rules?: () => Promise<CatalogRules>
  /**
   * Throws GantryError NOT_ACCEPTED for options that do not go together, and for a place where no catalog may be.
   * @param bounds where catalogs may be; without them nothing is looked at
   * @param filesystem of a kind that opens one
   */
  open(
    options: CatalogOptions<K>,
    bounds: StoreBounds | undefined,
    filesystem: FilesystemSpec | undefined,
  ): Promise<Catalog>
}
