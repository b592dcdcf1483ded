import type { KindOfCatalog } from '../contract/kind.ts'

export const icebergRest: KindOfCatalog<'iceberg-rest'> = {
  kind: 'iceberg-rest',
  defaults: {},
  rules: async () => (await import('./writer.ts')).icebergRules,
  open: async (options, bounds) => {
    const { IcebergCatalog } = await import('./iceberg.ts')
    const catalog = new IcebergCatalog(options, bounds)
    catalog.requirePlace()
    return catalog
  },
}
