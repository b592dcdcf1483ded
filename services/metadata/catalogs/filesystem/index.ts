import type { KindOfCatalog } from '../contract/kind.ts'

export const filesystem: KindOfCatalog<'filesystem'> = {
  kind: 'filesystem',
  defaults: { rootFolder: '/' },
  rules: async () => (await import('./writer.ts')).documentRules,
  open: async (options, bounds, spec) => {
    if (spec === undefined) throw new Error(`the filesystem ${options.fileSystemId} is not given`)
    const { openDocuments } = await import('./filesystem.ts')
    return openDocuments(options, spec, bounds)
  },
}
