import type { StoreKind } from '../contract/kind.ts'

export const adls2: StoreKind<'adls2-shared-key'> = {
  kind: 'adls2-shared-key',
  defaults: { endpoint: 'dfs.core.windows.net', insecure: 'false' },
  exclusions: [],
  restrictions: [
    {
      id: 'restriction-adls2-names',
      description:
        'Names that are not UTF-8, have a backslash, a control character or a dot at the end of a segment; paths of more than 1,024 characters or 254 segments',
    },
    { id: 'restriction-adls2-sizes', description: 'Files of more than 190.7 TiB' },
    { id: 'restriction-adls2-types', description: 'Symbolic links, pipes, sockets and devices' },
  ],
  open: async (options, _side, bounds) => {
    const { Adls2Driver } = await import('./adls2.ts')
    const driver = new Adls2Driver(options, bounds)
    driver.requirePlace()
    return driver
  },
}
