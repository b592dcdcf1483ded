import { hash } from 'node:crypto'
import type { FilesystemOptions } from '../../../subjects/filesystems/kinds.ts'
import { notAccepted } from '../../../subjects/kit/errors.ts'
import { type BlobEndpoint, isOfAzure } from '../azure-blob/endpoint.ts'
import type { StoreBounds } from '../contract/bounds.ts'
import type { Changes } from '../contract/driver.ts'
import type { Recipient } from '../host-credentials/permission.ts'
import { endpointOf } from '../http/client-credentials.ts'
import { StoreAddress } from '../http/store-address.ts'
import type { MessageQueue } from '../notifications/message-queue.ts'
import { QueueFeed } from '../notifications/queue-feed.ts'
import { joinPath } from '../paths/path-text.ts'
import { noticesOf } from './events.ts'

type Options = FilesystemOptions<'adls2-shared-key' | 'adls2-oauth2' | 'adls2-sas'>

/** Where the queue is that Event Grid fills. */
interface QueuePlace extends Recipient {
  readonly url: string
  readonly endpoint: BlobEndpoint
}

/**
 * The queue that the options name; undefined without one.
 * @throws GantryError NOT_ACCEPTED for one to which the credentials would go in the clear
 */
export function queueAt(
  { eventQueue, accountName, insecure = false }: Options,
  blobs: BlobEndpoint,
  bounds: StoreBounds | undefined,
): QueuePlace | undefined {
  if (eventQueue === undefined) return undefined
  const field = 'eventQueue'
  const given = URL.parse(eventQueue)
  const isPath = blobs.containerPath.startsWith(`/${accountName}/`)
  const endpoint: BlobEndpoint =
    given === null
      ? {
          ...blobs,
          host: blobs.host.replace('.blob.', '.queue.'),
          containerPath: isPath ? `/${accountName}/${eventQueue}` : `/${eventQueue}`,
        }
      : { ...endpointOf(given), containerPath: given.pathname }
  const { secure, host, port, containerPath } = endpoint
  if (!secure && !insecure)
    throw notAccepted(field, 'is not https: give an address of https, or insecure as well')
  const url = new URL(`${secure ? 'https' : 'http'}://${host}:${port}${containerPath}`).href
  const address = bounds && new StoreAddress(endpoint, bounds)
  return { url, endpoint, address, isCloud: isOfAzure(host), field }
}

/** The changes of a container that a queue tells of. @param open the queue, with the credentials of these options */
export function queueChanges(
  options: Options,
  { url }: Pick<QueuePlace, 'url'>,
  open: () => MessageQueue,
): Changes {
  const { containerName, changeFeed: _, ...others } = options
  // What one filesystem receives no other gets: those with the same access share it.
  const key = hash('sha256', JSON.stringify([url, { ...others, directory: undefined }]))
  const directory = 'directory' in options ? (options.directory ?? '') : ''
  return {
    feed: async (folder) => {
      const root = joinPath(Buffer.from(directory), folder).toString('latin1')
      const how = { key, queue: open, parse: noticesOf, bucket: containerName, root }
      return new QueueFeed(how, `queue ${url}`)
    },
    check: async (signal) => {
      const queue = open()
      try {
        await queue.identify(signal)
        return queue.name
      } finally {
        queue.close()
      }
    },
  }
}
