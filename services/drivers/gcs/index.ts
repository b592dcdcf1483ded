import type { StoreKind } from '../contract/kind.ts'
import { defaultEndpoint } from './endpoint.ts'

export const gcs: StoreKind<'gcs'> = {
  kind: 'gcs',
  defaults: { endpoint: defaultEndpoint },
  exclusions: [],
  restrictions: [
    {
      id: 'restriction-gcs-names',
      description:
        'Names that are not UTF-8 or have line feeds or carriage returns; paths of more than 1,023 bytes',
    },
    { id: 'restriction-gcs-sizes', description: 'Files of more than 5 TiB' },
    { id: 'restriction-gcs-types', description: 'Symbolic links, pipes, sockets and devices' },
  ],
  uris: ({ bucketName }) => [`gs://${bucketName}`],
  open: async (options, _side, bounds) => {
    const { GcsDriver } = await import('./gcs.ts')
    const driver = new GcsDriver(options, bounds)
    driver.requirePlace()
    return driver
  },
}
