import { type Static, Type } from 'typebox'
import { type Catalog } from '../../../subjects/metadata/catalogs.ts'
import { type CatalogKind, catalogKinds, type CatalogSpec } from '../../../subjects/metadata/kinds.ts'
import { Name, Subject } from '../../../subjects/kit/schemas.ts'

/** A catalog as it is stored. */
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

/** As it is opened; its options were checked against the kind's schema when they came in. */
export const specOf = ({ kind, options }: Pick<CatalogRecord, 'kind' | 'options'>): CatalogSpec =>
  ({ kind, options }) as unknown as CatalogSpec

/** As callers see it. */
export const publicCatalog = ({ catalogId, kind, options }: CatalogRecord): Catalog => ({
  catalogId,
  kind,
  properties: Object.fromEntries(Object.entries(options).map(([name, value]) => [name, String(value)])),
})
