import type { KindOfCatalog } from '../contract/kind.ts'

export const hive: KindOfCatalog<'hive'> = {
  kind: 'hive',
  defaults: { user: 'hive', framed: 'false', ssl: 'false' },
  rules: async () => (await import('./writer.ts')).hiveRules,
  open: async (options, bounds) => {
    const { HiveCatalog } = await import('./hive.ts')
    const { metastoreOptions } = await import('./configured.ts')
    const catalog = new HiveCatalog(await metastoreOptions(options, bounds), bounds)
    catalog.requirePlace()
    return catalog
  },
}
