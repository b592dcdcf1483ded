import { trashFolder } from '../../../subjects/migrations/model/plan-terms.ts'
import type { StoreKind } from '../contract/kind.ts'

export const hdfs: StoreKind<'hdfs'> = {
  kind: 'hdfs',
  defaults: { user: 'hdfs' },
  exclusions: [
    {
      id: 'default-hdfs-user-trash',
      description: 'Files that users of the cluster have deleted and that are still in its trash',
      type: 'regex',
      patternType: 'GLOB',
      regex: '.Trash',
    },
    {
      id: 'default-hdfs-trash',
      description: 'Trash of other migrations; not copied',
      type: 'paths',
      paths: [`/${trashFolder}`],
    },
  ],
  restrictions: [
    {
      id: 'restriction-hdfs-names',
      description:
        'Names that are not UTF-8, have a colon or are longer than the cluster takes (255 bytes); .snapshot and .reserved; paths of more than 8,000 characters',
    },
    { id: 'restriction-hdfs-types', description: 'Symbolic links, pipes, sockets and devices' },
  ],
  open: async (options, side, bounds) => {
    const { HdfsDriver } = await import('./hdfs.ts')
    const driver = new HdfsDriver(options, side, bounds)
    driver.requirePlace()
    return driver
  },
  uris: ({ defaultFS }) => {
    const { protocol, hostname, port } = new URL(defaultFS)
    // Of WebHDFS the port is that of another protocol; locations of tables have that of the RPC, or none.
    const rpcPort = protocol === 'hdfs:' && port !== '' ? `:${port}` : ''
    return [`hdfs://${hostname}${rpcPort}`, `webhdfs://${hostname}`, `swebhdfs://${hostname}`]
  },
  discover: async () => (await import('./discovery.ts')).discoverHdfs(),
}
