import type { CatalogKind, CatalogSpec } from '../../../subjects/metadata/kinds.ts'
import type { StoreBounds } from '../../drivers/contract/bounds.ts'
import type { Catalog } from './contract/catalog.ts'
import type { KindOfCatalog } from './contract/kind.ts'
import { glue } from './glue/index.ts'
import { filesystem } from './filesystem/index.ts'
import { hive } from './hive/index.ts'
import { icebergRest } from './iceberg-rest/index.ts'

/** All kinds of catalogs. */
export const kindsOfCatalogs: { readonly [K in CatalogKind]: KindOfCatalog<K> } = {
  hive,
  glue,
  filesystem,
  'iceberg-rest': icebergRest,
}

/**
 * Opens a catalog; it connects with the first question. Throws GantryError NOT_ACCEPTED.
 * @param bounds where catalogs may be; without them anywhere
 */
export function openCatalog(
  { kind, options, filesystem: its }: CatalogSpec,
  bounds?: StoreBounds,
): Promise<Catalog> {
  const known: KindOfCatalog = kindsOfCatalogs[kind]
  return known.open(options, bounds, its)
}
