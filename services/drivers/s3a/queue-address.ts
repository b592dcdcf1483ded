import type { FilesystemOptions } from '../../../subjects/filesystems/kinds.ts'
import { notAccepted } from '../../../subjects/kit/errors.ts'
import type { StoreEndpoint } from '../http/transport.ts'
import { type BucketEndpoint, isOfAmazon, isSqsOfAmazon, regionOfSqs, sqsHost } from './endpoint.ts'

/** Which queue it is, and where its service is. */
export interface QueueAddress {
  readonly name: string
  /** Number of the account that it is of; undefined for that of the credentials. */
  readonly account?: string | undefined
  /** Undefined as long as the service was not asked for it. */
  readonly url?: string | undefined
  readonly endpoint: StoreEndpoint
  /** That requests are signed for. */
  readonly region: string
  readonly isOfAmazon: boolean
  /** The option that its host is from. */
  readonly field: 'sqsQueue' | 'sqsEndpoint'
}

type Options = Pick<FilesystemOptions<'s3a'>, 'sqsQueue' | 'sqsEndpoint' | 'cleanUpSqsQueue'>

/**
 * The queue into which a bucket's notifications go; undefined without one.
 * Throws GantryError NOT_ACCEPTED for options that do not go together.
 */
export function queueAddress(options: Options, bucket: BucketEndpoint): QueueAddress | undefined {
  const { sqsQueue, sqsEndpoint, cleanUpSqsQueue } = options
  if (cleanUpSqsQueue === true)
    throw notAccepted(
      'cleanUpSqsQueue',
      'must be false: Gantry makes no queues, and deletes none that others may read; delete it yourself once no migration needs it',
    )
  if (sqsQueue === undefined) {
    if (sqsEndpoint !== undefined)
      throw notAccepted('sqsEndpoint', 'is for sqsQueue: give that, or leave it out')
    return undefined
  }
  const arn = /^arn:aws[a-z-]*:sqs:([a-z0-9-]+):(\d{12}):(.+)$/.exec(sqsQueue)
  const url = /^https?:/.test(sqsQueue) ? URL.parse(sqsQueue) : null
  if (arn !== null) {
    const [, region = '', account, name = ''] = arn
    return { name, account, ...placeOf(sqsEndpoint, region, bucket) }
  }
  if (url === null) return { name: sqsQueue, ...placeOf(sqsEndpoint, undefined, bucket) }
  const name = url.pathname.split('/').at(-1) ?? ''
  const region = regionOfSqs(url.hostname)
  const place = placeOf(sqsEndpoint ?? url.origin, region, bucket)
  return { name, url: sqsQueue, ...place, field: sqsEndpoint === undefined ? 'sqsQueue' : 'sqsEndpoint' }
}

function placeOf(
  sqsEndpoint: string | undefined,
  ofQueue: string | undefined,
  bucket: BucketEndpoint,
): Omit<QueueAddress, 'name'> {
  if (sqsEndpoint === undefined) {
    if (!isOfAmazon(bucket.host))
      throw notAccepted(
        'sqsEndpoint',
        `is missing: the bucket is at ${bucket.host}, and nothing says where the queue is`,
      )
    const region = ofQueue ?? bucket.region
    const endpoint = { secure: true, host: sqsHost(region), port: 443 }
    return { endpoint, region, isOfAmazon: true, field: 'sqsEndpoint' }
  }
  const [, scheme = 'https', host = '', port] =
    /^(?:(https?):\/\/)?([^:/]+)(?::(\d+))?\/?$/.exec(sqsEndpoint.toLowerCase()) ?? []
  const secure = scheme === 'https'
  return {
    endpoint: { secure, host, port: port === undefined ? (secure ? 443 : 80) : Number(port) },
    region: ofQueue ?? regionOfSqs(host) ?? bucket.region,
    isOfAmazon: isSqsOfAmazon(host),
    field: 'sqsEndpoint',
  }
}
