import type { KindOfCatalog } from '../contract/kind.ts'

export const hive: KindOfCatalog<'hive'> = {
  kind: 'hive',
  defaults: { user: 'hive', framed: 'false', ssl: 'false' },
  open: async (options, bounds) => {
    const { HiveCatalog } = await import('./hive.ts')
    const catalog = new HiveCatalog(options, bounds)
    catalog.requirePlace()
    return catalog
  },
}
