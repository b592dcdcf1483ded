import type { CatalogKind, CatalogSpec } from '../../../subjects/metadata/kinds.ts'
import type { StoreBounds } from '../../drivers/contract/bounds.ts'
import type { Catalog } from './contract/catalog.ts'
import type { KindOfCatalog } from './contract/kind.ts'
import { glue } from './glue/index.ts'
import { hive } from './hive/index.ts'

/** All kinds of catalogs. */
export const kindsOfCatalogs: { readonly [K in CatalogKind]: KindOfCatalog<K> } = { hive, glue }

/**
 * Opens a catalog; it connects with the first question. Throws GantryError NOT_ACCEPTED.
 * @param bounds where catalogs may be; without them anywhere
 */
export const openCatalog = ({ kind, options }: CatalogSpec, bounds?: StoreBounds): Promise<Catalog> =>
  // That options are those of the kind the compiler knows of a specification, but not of its parts.
  (kindsOfCatalogs[kind] as KindOfCatalog).open(options, bounds)
