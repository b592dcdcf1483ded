import { glueLimits } from '../../../../subjects/metadata/glue-limits.ts'
import type { KindOfCatalog } from '../contract/kind.ts'

export const glue: KindOfCatalog<'glue'> = {
  kind: 'glue',
  defaults: {
    awsRegion: 'us-east-1',
    ...Object.fromEntries(Object.entries(glueLimits).map(([name, { usual }]) => [name, String(usual)])),
  },
  rules: async () => (await import('./writer.ts')).glueRules,
  open: async (options, bounds) => {
    const { GlueCatalog } = await import('./glue.ts')
    const catalog = new GlueCatalog(options, bounds)
    catalog.requirePlace()
    return catalog
  },
}
