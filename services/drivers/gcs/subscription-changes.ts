import { maxFeedAnswerBytes } from '../feeds/answers.ts'
import { hash } from 'node:crypto'
import type { FilesystemOptions } from '../../../subjects/filesystems/kinds.ts'
import type { StoreBounds } from '../contract/bounds.ts'
import type { Changes } from '../contract/driver.ts'
import type { Recipient } from '../host-credentials/permission.ts'
import type { RetryLimits } from '../http/requests.ts'
import { StoreAddress } from '../http/store-address.ts'
import type { TransportLimits } from '../http/transport.ts'
import { QueueFeed } from '../notifications/queue-feed.ts'
import { AuthorizedTransport } from './authorized-transport.ts'
import { gcsEndpoint } from './endpoint.ts'
import { noticesOf } from './object-events.ts'
import { defaultPubSubEndpoint, isPubSub, Subscription } from './subscription.ts'
import type { TokenSource } from './tokens.ts'

type Options = FilesystemOptions<'gcs'>

/** A pull without messages is answered when the service likes: a connection is silent for longer than with storage. */
const pullTimeoutMs = 120_000

/** Where the subscription is that the options name; undefined without one. */
export function subscriptionAt(
  { pubSubSubscription, pubSubEndpoint = defaultPubSubEndpoint }: Options,
  bounds: StoreBounds | undefined,
): Recipient | undefined {
  if (pubSubSubscription === undefined) return undefined
  const endpoint = gcsEndpoint(pubSubEndpoint)
  const address = bounds && new StoreAddress(endpoint, bounds)
  return { endpoint, address, isCloud: isPubSub(endpoint.host), field: 'pubSubEndpoint' }
}

/** The changes of a bucket that a subscription tells of. */
export function subscriptionChanges(
  options: Options,
  { endpoint, address }: Recipient,
  tokens: TokenSource | undefined,
  limits: TransportLimits & RetryLimits,
): Changes {
  const { bucketName, pubSubSubscription: path = '', customerKey: _, ...others } = options
  const open = () => {
    const idleTimeoutMs = Math.max(limits.idleTimeoutMs, pullTimeoutMs)
    const transport = new AuthorizedTransport(
      endpoint,
      tokens,
      { ...limits, idleTimeoutMs, maxAnswerBytes: maxFeedAnswerBytes },
      address,
    )
    return new Subscription(path, endpoint.host, transport, limits)
  }
  // What one filesystem receives no other gets: those with the same access share it.
  const key = hash('sha256', JSON.stringify([path, others]))
  return {
    feed: async (folder) => {
      const root = folder.toString('latin1')
      return new QueueFeed(
        { key, queue: open, parse: noticesOf, bucket: bucketName, root },
        `subscription ${path}`,
      )
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
