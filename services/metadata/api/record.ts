import { type Static, Type } from 'typebox'
import { type Catalog } from '../../../subjects/metadata/catalogs.ts'
import { type CatalogKind, catalogKinds, type CatalogSpec } from '../../../subjects/metadata/kinds.ts'
import { Name, Subject } from '../../../subjects/kit/schemas.ts'
import type { Sealer } from '../../../broker/identity/seal.ts'
import {
  maskOptions,
  openOptions,
  type Options,
  sealOptions,
} from '../../../broker/identity/sealed-options.ts'

/** A catalog as it is stored: secrets sealed. */
export const CatalogRecord = Type.Object(
  {
    catalogId: Name('Name of the catalog'),
    kind: Type.Enum(Object.keys(catalogKinds) as CatalogKind[]),
    options: Type.Record(Type.String(), Type.Unknown()),
    /** Of one that the platform itself made, nobody. */
    owner: Type.Optional(Subject('Owner of the key that made it')),
  },
  { additionalProperties: false },
)
export type CatalogRecord = Static<typeof CatalogRecord>

/** Options as they are stored. */
export const sealedOptions = (kind: CatalogKind, options: Options, sealer: Sealer) =>
  sealOptions(catalogKinds[kind].secrets, options, sealer)

/** As it is opened, secrets in the clear: never stored, logged or answered. */
export const specOf = ({ kind, options }: Pick<CatalogRecord, 'kind' | 'options'>, sealer: Sealer) =>
  specWith(kind, openOptions(catalogKinds[kind].secrets, options, sealer))

/** The same of options in the clear; they were checked against the kind's schema when they came in. */
export const specWith = (kind: CatalogKind, options: Options): CatalogSpec =>
  ({ kind, options }) as unknown as CatalogSpec

/** As callers see it. */
export const publicCatalog = ({ catalogId, kind, options }: CatalogRecord): Catalog => ({
  catalogId,
  kind,
  properties: Object.fromEntries(
    Object.entries(maskOptions(catalogKinds[kind].secrets, options)).map(([name, value]) => [
      name,
      String(value),
    ]),
  ),
})
