import { GantryError } from '../../../subjects/kit/errors.ts'
import type { KeptOnlyKind } from '../../../subjects/metadata/kinds.ts'
import type { KindOfCatalog } from './contract/kind.ts'

/** A kind that is kept and not spoken to: whoever has a catalog of it in a migration hears so. */
export const kindKeptOnly = <K extends KeptOnlyKind>(kind: K): KindOfCatalog<K> => ({
  kind,
  defaults: {},
  open: () =>
    Promise.reject(
      new GantryError('UNSUPPORTED', `catalogs of kind ${kind} are not supported in this release`),
    ),
})
