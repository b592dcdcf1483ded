import type { Properties } from './properties.ts'

const MiB = 1024 * 1024

/** Who asks: the key of a service account, the machine, an identity of elsewhere, or nobody. */
export const gcsAuthTypes = [
  'SERVICE_ACCOUNT_JSON_KEYFILE',
  'COMPUTE_ENGINE',
  'WORKLOAD_IDENTITY_FEDERATION_CREDENTIAL_CONFIG_FILE',
  'UNAUTHENTICATED',
] as const

/** The properties of buckets that are honoured, with the names that Hadoop's connector for Cloud Storage gave them. */
export const gcsProperties = {
  'fs.gs.auth.type': {
    meaning:
      'Authentication: with the key of a service account, as the service account of the machine, by workload identity federation, or none (public buckets)',
    values: gcsAuthTypes,
    default: 'SERVICE_ACCOUNT_JSON_KEYFILE',
  },
  'fs.gs.auth.workload.identity.federation.credential.config.file': {
    meaning:
      'Credential configuration file of workload identity federation on the host; must be listed in the setting hostCredentials. Default without jsonKey: GOOGLE_APPLICATION_CREDENTIALS of the service',
    pattern: '^/.{1,999}$',
    means: 'an absolute path',
    default: '',
  },
  'fs.gs.http.connect-timeout': {
    meaning: 'Timeout for establishing a connection',
    unit: 'ms',
    default: 10_000,
    min: 100,
    max: 300_000,
  },
  'fs.gs.http.read-timeout': {
    meaning: 'Timeout for a request without data sent or received',
    unit: 'ms',
    default: 60_000,
    min: 100,
    max: 600_000,
  },
  'fs.gs.http.max.retry': {
    meaning: 'Maximum number of retries after throttling, a server error or a network error',
    unit: 'retries',
    default: 6,
    min: 0,
    max: 30,
  },
  'fs.gs.outputstream.upload.chunk.size': {
    meaning:
      'Maximum size of a file written with one request, and part size of larger files unless that needs too many parts',
    unit: 'bytes',
    default: 16 * MiB,
    min: MiB,
    max: 512 * MiB,
  },
  'fs.gs.inputstream.min.range.request.size': {
    meaning: 'Bytes read when a file is opened; smaller files need no second request',
    unit: 'bytes',
    default: MiB / 8,
    min: 1,
    max: 16 * MiB,
  },
  'fs.gs.list.max.items.per.call': {
    meaning: 'Maximum number of entries per page of a listing',
    unit: 'entries',
    default: 1_000,
    min: 1,
    max: 1_000,
  },
  'fs.gs.requester.pays.project.id': {
    meaning: 'Project billed for requests to requester-pays buckets',
    pattern: '^[a-z][a-z0-9:.-]{4,100}$',
    means: 'a project id',
    default: '',
  },
  'gantry.gcs.connections': {
    meaning: 'Maximum number of concurrent requests and open connections per thread',
    unit: 'requests',
    default: 24,
    min: 1,
    max: 256,
  },
  'gantry.gcs.retry.interval': {
    meaning:
      'Delay before the first retry; doubled for each further retry up to 32 seconds, and shortened randomly by up to half',
    unit: 'ms',
    default: 250,
    min: 1,
    max: 32_000,
  },
  'gantry.gcs.storage.class': {
    meaning: 'Storage class of written objects; default: that of the bucket',
    values: ['', 'STANDARD', 'NEARLINE', 'COLDLINE', 'ARCHIVE'],
    default: '',
  },
  'gantry.gcs.kms.key': {
    meaning: 'Cloud KMS key that encrypts written objects; default: that of the bucket',
    pattern: '^projects/[^/?#]+/locations/[^/?#]+/keyRings/[^/?#]+/cryptoKeys/[^/?#]+$',
    means: 'projects/…/locations/…/keyRings/…/cryptoKeys/…',
    default: '',
  },
} as const satisfies Properties

/** Properties that people have in their configuration, and that change nothing here. */
export const gcsIneffectiveProperties = [
  'fs.gs.impl',
  'fs.AbstractFileSystem.gs.impl',
  'fs.gs.project.id',
  'fs.gs.working.dir',
  'fs.gs.block.size',
  'fs.gs.implicit.dir.repair.enable',
  'fs.gs.copy.with.rewrite.enable',
  'fs.gs.inputstream.fadvise',
  'fs.gs.outputstream.buffer.size',
  'fs.gs.outputstream.pipe.type',
  'fs.gs.batch.threads',
  'fs.gs.lazy.init.enable',
  'fs.gs.status.parallel.enable',
]
