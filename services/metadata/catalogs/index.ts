import { GantryError } from '../../../subjects/kit/errors.ts'
import type { CatalogKind, CatalogSpec } from '../../../subjects/metadata/kinds.ts'
import type { StoreBounds } from '../../drivers/contract/bounds.ts'
import type { Catalog } from './contract/catalog.ts'
import type { KindOfCatalog } from './contract/kind.ts'
import { filesystem } from './filesystem/index.ts'
import { glue } from './glue/index.ts'
import { hive } from './hive/index.ts'
import { icebergRest } from './iceberg-rest/index.ts'
import { kindKeptOnly } from './kept-only.ts'
import type { AskAgent } from './remote/asking.ts'
import { openRemoteCatalog } from './remote/remote-catalog.ts'

/** All kinds of catalogs. */
export const kindsOfCatalogs: { readonly [K in CatalogKind]: KindOfCatalog<K> } = {
  hive,
  glue,
  filesystem,
  'iceberg-rest': icebergRest,
  azure: kindKeptOnly('azure'),
  databricks: kindKeptOnly('databricks'),
  snowflake: kindKeptOnly('snowflake'),
}

/** Of whoever opens catalogs. */
export interface CatalogOpening {
  /** Where catalogs may be; without them anywhere. */
  readonly bounds?: StoreBounds | undefined
  /** Asks agents, for catalogs that are reached through one; absent where there are none, as at an agent itself. */
  readonly askAgent?: AskAgent | undefined
}

/**
 * Opens a catalog; it connects with the first question, and at once to an agent that it is reached through. Throws GantryError
 * NOT_ACCEPTED, and StoreError where the agent does not answer.
 */
export async function openCatalog(
  spec: CatalogSpec,
  { bounds, askAgent }: CatalogOpening = {},
): Promise<Catalog> {
  const known: KindOfCatalog = kindsOfCatalogs[spec.kind]
  const agent = 'agent' in spec.options ? spec.options.agent : undefined
  if (agent === undefined) return known.open(spec.options, bounds, spec.filesystem)
  if (askAgent === undefined)
    throw new GantryError('UNSUPPORTED', 'an agent cannot reach a catalog through another agent')
  return openRemoteCatalog(spec, agent, await known.rules?.(), askAgent)
}
