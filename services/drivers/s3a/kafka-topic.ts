import { notAccepted } from '../../../subjects/kit/errors.ts'
import type { FilesystemOptions } from '../../../subjects/filesystems/kinds.ts'
import type { s3Properties } from '../../../subjects/filesystems/s3-properties.ts'
import type { StoreBounds } from '../contract/bounds.ts'
import type { Changes } from '../contract/driver.ts'
import type { PropertyValues } from '../contract/properties.ts'
import { StoreAddress } from '../http/store-address.ts'
import { objectsIn } from './object-events.ts'

type Options = FilesystemOptions<'s3a'>

const mechanisms = {
  PLAIN: 'PLAIN',
  'SCRAM-SHA-256': 'SCRAM-SHA-256',
  'SCRAM-SHA-512': 'SCRAM-SHA-512',
} as const

/**
 * What tells of the changes in a bucket whose notifications go into a topic of Kafka; undefined without one. The brokers that
 * are named tell the addresses of the others, which nobody judges: so an administrator has to vouch for those.
 * Throws GantryError NOT_ACCEPTED for options that do not go together, and for brokers that no administrator has named.
 */
export function topicOf(
  { bootstrapServers, topic, kafkaUser, kafkaPassword, bucketName, sqsQueue }: Options,
  property: PropertyValues<typeof s3Properties>,
  bounds: StoreBounds | undefined,
): { readonly changes: Changes; readonly requirePlace: () => void } | undefined {
  const given = { topic, kafkaUser, kafkaPassword }
  if (bootstrapServers === undefined) {
    const other = Object.entries(given).find(([, value]) => value !== undefined)?.[0]
    if (other !== undefined) throw notAccepted(other, 'is for bootstrapServers: give that, or leave it out')
    return undefined
  }
  if (sqsQueue !== undefined)
    throw notAccepted('bootstrapServers', 'is given besides sqsQueue: leave one of them out')
  if (topic === undefined) throw notAccepted('topic', 'is missing: the topic of bootstrapServers')
  if ((kafkaUser === undefined) !== (kafkaPassword === undefined))
    throw notAccepted(kafkaUser === undefined ? 'kafkaUser' : 'kafkaPassword', 'is missing')
  const tls = property('gantry.kafka.tls') === 'true'
  if (kafkaPassword !== undefined && !tls)
    throw notAccepted(
      'additionalProperties.gantry.kafka.tls',
      'must be true: kafkaPassword is not sent in the clear',
    )
  const brokers = bootstrapServers.split(',')
  const mechanism = mechanisms[property('gantry.kafka.sasl.mechanism') as keyof typeof mechanisms]
  const sasl =
    kafkaUser !== undefined && kafkaPassword !== undefined
      ? { mechanism, username: kafkaUser, password: kafkaPassword }
      : undefined
  const requirePlace = () => requireNamed(brokers, bounds)
  return {
    requirePlace,
    changes: {
      feed: async (folder) => {
        requirePlace()
        const { KafkaFeed } = await import('../notifications/kafka-feed.ts')
        const [bucket, root] = [bucketName, folder.toString('latin1')]
        return new KafkaFeed({ brokers, topic, tls, ...(sasl && { sasl }), parse: objectsIn, bucket, root })
      },
    },
  }
}

function requireNamed(brokers: readonly string[], bounds: StoreBounds | undefined): void {
  if (bounds === undefined) return
  for (const broker of brokers) {
    const [host = '', port] = broker.split(':')
    const address = new StoreAddress({ host, port: Number(port) }, bounds)
    if (!address.isNamed)
      throw notAccepted(
        'bootstrapServers',
        `has ${broker}, which tells addresses of other brokers: an administrator can add it to the setting storeHosts`,
      )
  }
}
