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
      'Who asks: a service account by its key, the service account of the machine, an identity of elsewhere (workload identity federation), or nobody (public buckets)',
    values: gcsAuthTypes,
    default: 'SERVICE_ACCOUNT_JSON_KEYFILE',
  },
  'fs.gs.auth.workload.identity.federation.credential.config.file': {
    meaning:
      'File of the host with the configuration of the federation, which the setting hostCredentials names; without it and without jsonKey that of GOOGLE_APPLICATION_CREDENTIALS of the service',
    pattern: '^/.{1,999}$',
    means: 'an absolute path',
    default: '',
  },
  'fs.gs.http.connect-timeout': {
    meaning: 'Longest time for a connection to be made',
    unit: 'ms',
    default: 10_000,
    min: 100,
    max: 300_000,
  },
  'fs.gs.http.read-timeout': {
    meaning: 'Longest time without a byte sent or received on a connection that has a request under way',
    unit: 'ms',
    default: 60_000,
    min: 100,
    max: 600_000,
  },
  'fs.gs.http.max.retry': {
    meaning: 'How often a request is repeated after throttling, a server error or a network error',
    unit: 'retries',
    default: 6,
    min: 0,
    max: 30,
  },
  'fs.gs.outputstream.upload.chunk.size': {
    meaning:
      'Largest file written with one request, and size of the parts of larger files where their number allows it',
    unit: 'bytes',
    default: 16 * MiB,
    min: MiB,
    max: 512 * MiB,
  },
  'fs.gs.inputstream.min.range.request.size': {
    meaning: 'Bytes that are read when a file is opened: smaller files need no second request',
    unit: 'bytes',
    default: MiB / 8,
    min: 1,
    max: 16 * MiB,
  },
  'fs.gs.list.max.items.per.call': {
    meaning: 'Entries in one page of a listing',
    unit: 'entries',
    default: 1_000,
    min: 1,
    max: 1_000,
  },
  'fs.gs.requester.pays.project.id': {
    meaning: 'Project that pays for the requests, for buckets whose requester pays',
    pattern: '^[a-z][a-z0-9:.-]{4,100}$',
    means: 'the id of a project',
    default: '',
  },
  'gantry.gcs.connections': {
    meaning: 'Requests that one thread has under way at once, and connections that it keeps',
    unit: 'requests',
    default: 24,
    min: 1,
    max: 256,
  },
  'gantry.gcs.retry.interval': {
    meaning:
      'Wait before the first retry; doubled for each further one up to 32 seconds, and shortened by up to half at random',
    unit: 'ms',
    default: 250,
    min: 1,
    max: 32_000,
  },
  'gantry.gcs.storage.class': {
    meaning: 'Storage class of what is written; without it that of the bucket',
    values: ['', 'STANDARD', 'NEARLINE', 'COLDLINE', 'ARCHIVE'],
    default: '',
  },
  'gantry.gcs.kms.key': {
    meaning: 'Key of Cloud KMS that what is written is encrypted with; without it that of the bucket',
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
