import type { Sealer } from '../../../broker/identity/seal.ts'
import { call } from '../../../broker/rpc/client.ts'
import type { NatsConnection } from '../../../broker/rpc/connection.ts'
import { filesystems } from '../../../subjects/filesystems/filesystems.ts'
import { filesystemsInternal } from '../../../subjects/filesystems/internal.ts'
import type { Entry, StorePath } from '../../drivers/contract/driver.ts'
import { openSecrets } from '../../drivers/contract/secrets.ts'
import { part } from '../../kit/part.ts'
import { canRename, locate, refusalAt } from './asked-drivers.ts'

interface PlaceNeeds {
  readonly connection: NatsConnection
  readonly sealer: Sealer
}

/** What migrations ask of filesystems. */
export const places = part({
  name: 'places',
  start: ({ connection, sealer }: PlaceNeeds) => {
    const place = (fileSystemId: string) => call(connection, filesystemsInternal.resolve, { fileSystemId })
    const specOf = async (fileSystemId: string) => {
      const { kind, options } = await place(fileSystemId)
      return openSecrets(kind, options, sealer)
    }
    return {
      gives: {
        place,
        specOf,
        sources: async () => {
          const known = await call(connection, filesystems.list, { role: 'source' })
          return known.map(({ fileSystemId }) => fileSystemId)
        },
        requireFolder: async (fileSystemId: string, path: string) => {
          await call(connection, filesystems['list-paths'], { fileSystemId, path, limit: 1 })
        },
        lookAt: (fileSystemId: string, path: string) =>
          call(connection, filesystemsInternal.look, { fileSystemId, path }),
        locate: async (fileSystemId: string, path: string) => locate(await specOf(fileSystemId), path),
        canRename: async (fileSystemId: string) => canRename(await specOf(fileSystemId)),
        refusalAt: async (fileSystemId: string, path: StorePath, entry: Pick<Entry, 'type' | 'sizeBytes'>) =>
          refusalAt(await specOf(fileSystemId), path, entry),
      },
    }
  },
})
