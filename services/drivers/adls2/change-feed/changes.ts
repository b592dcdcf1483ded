import type { FilesystemOptions } from '../../../../subjects/filesystems/kinds.ts'
import { notAccepted } from '../../../../subjects/kit/errors.ts'
import type { BlobClient } from '../../azure-blob/client.ts'
import { type BlobEndpoint, blobEndpoint } from '../../azure-blob/endpoint.ts'
import type { SharedAccessSignature } from '../../azure-blob/sas.ts'
import type { Changes } from '../../contract/driver.ts'
import { joinPath } from '../../paths/path-text.ts'

/** The container of an account that has its feed. */
const feedContainer = '$blobchangefeed'

type Options = FilesystemOptions<'adls2-shared-key' | 'adls2-oauth2' | 'adls2-sas'>

/**
 * The changes of a container that the change feed of its account tells of; undefined where the options want no such.
 * @param open a client at an endpoint of the account, with the credentials of these options
 * @throws GantryError NOT_ACCEPTED where they do not go together
 */
export function feedChanges(
  options: Options,
  {
    sas,
    open,
  }: {
    readonly sas: SharedAccessSignature | undefined
    readonly open: (endpoint: BlobEndpoint) => BlobClient
  },
): Changes | undefined {
  const { changeFeed = false, eventQueue, accountName, containerName } = options
  if (!changeFeed) return undefined
  if (eventQueue !== undefined)
    throw notAccepted('changeFeed', 'is given besides eventQueue: leave one of them out')
  sas?.requireAccount('changeFeed')
  const endpoint = blobEndpoint({ ...options, containerName: feedContainer })
  // Only who follows changes loads what reads them.
  const log = async () => {
    const { ChangeLog } = await import('./change-log.ts')
    return new ChangeLog(accountName, open(endpoint))
  }
  const directory = 'directory' in options ? (options.directory ?? '') : ''
  return {
    feed: async (folder) => {
      const root = joinPath(Buffer.from(directory), folder).toString('latin1')
      const { BlobChangeFeed } = await import('./change-feed.ts')
      return new BlobChangeFeed({ log: await log(), container: containerName, root })
    },
    check: async (signal) => {
      const { timeOfSegment } = await import('./change-log.ts')
      const its = await log()
      try {
        await its.identity(signal)
        const consumable = await its.consumable(signal)
        const until = consumable === undefined ? undefined : new Date(timeOfSegment(consumable)).toISOString()
        return until === undefined ? `${its.name}, which is empty` : `${its.name}, complete until ${until}`
      } finally {
        its.close()
      }
    },
  }
}
