import type { StoreKind } from '../contract/kind.ts'

export const s3a: StoreKind<'s3a'> = {
  kind: 's3a',
  defaults: { endpoint: 's3.amazonaws.com' },
  exclusions: [],
  restrictions: [
    { id: 'restriction-s3a-names', description: 'Names that are not UTF-8; paths of more than 1,023 bytes' },
    { id: 'restriction-s3a-sizes', description: 'Files of more than 5 TiB' },
    { id: 'restriction-s3a-types', description: 'Symbolic links, pipes, sockets and devices' },
  ],
  uris: ({ bucketName }) => [`s3a://${bucketName}`, `s3://${bucketName}`, `s3n://${bucketName}`],
  open: async (options, _side, bounds) => {
    const { S3Driver } = await import('./s3a.ts')
    const driver = new S3Driver(options, bounds)
    driver.requirePlace()
    return driver
  },
}
