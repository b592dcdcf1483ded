import type { Properties } from './properties.ts'

const MiB = 1024 * 1024

const flag = (meaning: string, byDefault: boolean) => ({
  meaning,
  values: ['true', 'false'],
  default: String(byDefault),
})

/** Name and value, from "Object tagging" of the service; a comma ends it here. */
const tag = String.raw`[A-Za-z0-9 _.:/+@-]{1,128}=[A-Za-z0-9 _.:/=+@-]{0,256}`

/** The properties of buckets that are honoured, with the names that Hadoop's S3A connector gave them. */
export const s3Properties = {
  'fs.s3a.endpoint.region': {
    meaning:
      'Region used to sign requests; default: the region of the endpoint, or the one that the service reports',
    pattern: '^[a-z0-9-]{1,50}$',
    means: 'a region such as eu-west-1',
    default: '',
  },
  'fs.s3a.path.style.access': {
    meaning:
      'Path-style addressing: the bucket is in the path of requests instead of the host name. auto: only if the bucket name cannot be part of a host name, or the endpoint is not known to support that',
    values: ['auto', 'true', 'false'],
    default: 'auto',
  },
  'fs.s3a.connection.ssl.enabled': flag(
    'Whether to use TLS; a scheme in the endpoint takes precedence',
    true,
  ),
  'fs.s3a.connection.maximum': {
    meaning: 'Maximum number of concurrent requests and open connections per thread',
    unit: 'requests',
    default: 24,
    min: 1,
    max: 256,
  },
  'fs.s3a.connection.establish.timeout': {
    meaning: 'Timeout for establishing a connection',
    unit: 'ms',
    default: 10_000,
    min: 100,
    max: 300_000,
  },
  'fs.s3a.connection.timeout': {
    meaning: 'Timeout for a request without data sent or received',
    unit: 'ms',
    default: 60_000,
    min: 100,
    max: 600_000,
  },
  'fs.s3a.attempts.maximum': {
    meaning: 'Maximum number of retries after throttling, a server error or a network error',
    unit: 'retries',
    default: 5,
    min: 0,
    max: 30,
  },
  'fs.s3a.retry.interval': {
    meaning:
      'Delay before the first retry; doubled for each further retry up to 20 seconds, and shortened randomly by up to half',
    unit: 'ms',
    default: 250,
    min: 1,
    max: 20_000,
  },
  'fs.s3a.multipart.size': {
    meaning:
      'Maximum size of a file written with one request, and part size of larger files unless that needs too many parts',
    unit: 'bytes',
    default: 16 * MiB,
    min: 5 * MiB,
    max: 512 * MiB,
  },
  'fs.s3a.readahead.range': {
    meaning: 'Bytes read when a file is opened; smaller files need no second request',
    unit: 'bytes',
    default: MiB / 8,
    min: 1,
    max: 16 * MiB,
  },
  'fs.s3a.paging.maximum': {
    meaning: 'Maximum number of entries per page of a listing',
    unit: 'entries',
    default: 1_000,
    min: 1,
    max: 1_000,
  },
  'fs.s3a.requester.pays.enabled': flag('Whether the requester pays for requests to the bucket', false),
  'fs.s3a.encryption.algorithm': {
    meaning: 'Server-side encryption; default: the setting of the bucket',
    values: ['', 'AES256', 'SSE-KMS', 'DSSE-KMS', 'SSE-C'],
    default: '',
  },
  'fs.s3a.encryption.key': {
    meaning: 'ARN or id of the KMS key; default: the default key of the account. For SSE-C, use customerKey',
    pattern: '^[A-Za-z0-9:/_+=,.@-]{1,512}$',
    means: 'the ARN or id of a KMS key',
    default: '',
  },
  'fs.s3a.create.storage.class': {
    meaning: 'Storage class of written objects; default: that of the service',
    pattern: '^[A-Za-z0-9_]{1,40}$',
    means: 'a storage class such as standard_ia',
    default: '',
  },
  'fs.s3a.create.checksum.algorithm': {
    meaning:
      'Checksum algorithm for uploads; default: depends on the service, usually SHA256 for files written with one request and full-object CRC32C for larger files',
    values: ['', 'SHA256', 'CRC32C', 'CRC64NVME', 'MD5'],
    default: '',
  },
  'fs.s3a.create.tags': {
    meaning:
      'Tags of written objects, including folders; specific to Gantry. Tags of a source are not copied',
    pattern: `^${tag}(?:,${tag}){0,9}$`,
    means: 'up to ten tags such as project=lake,owner=data',
    default: '',
  },
  'gantry.kafka.tls': {
    meaning: 'Whether to connect to the Kafka brokers (bootstrapServers) with TLS',
    values: ['true', 'false'],
    default: 'true',
  },
  'gantry.kafka.sasl.mechanism': {
    meaning: 'SASL mechanism for kafkaUser and kafkaPassword',
    values: ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'],
    default: 'PLAIN',
  },
  'fs.s3a.acl.default': {
    meaning: 'Canned ACL of written objects; default: none is sent, as buckets with disabled ACLs require',
    values: [
      '',
      'Private',
      'PublicRead',
      'PublicReadWrite',
      'AuthenticatedRead',
      'BucketOwnerRead',
      'BucketOwnerFullControl',
    ],
    default: '',
  },
} as const satisfies Properties

/** Properties that configurations of Hadoop have, and that change nothing here: they are accepted and kept. */
export const s3IneffectiveProperties = [
  'fs.s3a.impl',
  'fs.s3a.impl.disable.cache',
  'fs.AbstractFileSystem.s3a.impl',
  'fs.s3a.threads.max',
  'fs.s3a.threads.core',
  'fs.s3a.threads.keepalivetime',
  'fs.s3a.max.total.tasks',
  'fs.s3a.executor.capacity',
  'fs.s3a.fast.upload',
  'fs.s3a.fast.upload.buffer',
  'fs.s3a.fast.upload.active.blocks',
  'fs.s3a.multipart.threshold',
  'fs.s3a.multipart.purge',
  'fs.s3a.multipart.purge.age',
  'fs.s3a.block.size',
  'fs.s3a.buffer.dir',
  'fs.s3a.list.version',
  'fs.s3a.directory.marker.retention',
  'fs.s3a.change.detection.mode',
  'fs.s3a.change.detection.source',
  'fs.s3a.committer.name',
  'fs.s3a.experimental.input.fadvise',
  'fs.s3a.input.fadvise',
  'fs.s3a.metadatastore.impl',
  'fs.s3a.socket.send.buffer',
  'fs.s3a.socket.recv.buffer',
  'fs.s3a.ssl.channel.mode',
  'fs.s3a.audit.enabled',
  'fs.s3a.change.detection.version.required',
  'fs.s3a.committer.abort.pending.uploads',
  'fs.s3a.committer.magic.enabled',
  'fs.s3a.committer.staging.conflict-mode',
  'fs.s3a.committer.staging.tmp.path',
  'fs.s3a.committer.staging.unique-filenames',
  'fs.s3a.committer.threads',
  'fs.s3a.connection.acquisition.timeout',
  'fs.s3a.connection.expect.continue',
  'fs.s3a.connection.idle.time',
  'fs.s3a.connection.keepalive',
  'fs.s3a.connection.request.timeout',
  'fs.s3a.connection.ttl',
  'fs.s3a.create.performance',
  'fs.s3a.downgrade.syncable.exceptions',
  'fs.s3a.etag.checksum.enabled',
  'fs.s3a.multiobjectdelete.enable',
  'fs.s3a.performance.flags',
  'fs.s3a.prefetch.block.count',
  'fs.s3a.prefetch.block.size',
  'fs.s3a.prefetch.enabled',
  'fs.s3a.retry.limit',
  'fs.s3a.retry.throttle.interval',
  'fs.s3a.retry.throttle.limit',
  'fs.s3a.vectored.read.max.merged.size',
  'fs.s3a.vectored.read.min.seek.size',
  'fs.s3a.user.agent.prefix',
] as const
