import type { Properties } from './properties.ts'

const MiB = 1024 * 1024

/** The properties of clusters that are honoured, with the names that Hadoop gave them where it has one. */
export const hdfsProperties = {
  'dfs.http.policy': {
    meaning:
      'HTTPS_ONLY: requests go over TLS. Without it, as the scheme of defaultFS says: swebhdfs over TLS, all others without',
    values: ['', 'HTTP_ONLY', 'HTTPS_ONLY', 'HTTP_AND_HTTPS'],
    default: '',
  },
  'dfs.namenode.http-address': {
    meaning:
      'Host and port of the name node for HTTP, where defaultFS has the port of its RPC; without it port 9870',
    pattern: '^[A-Za-z0-9._-]+:\\d{1,5}$',
    means: 'a host and a port, such as namenode.example:9870',
    default: '',
  },
  'dfs.namenode.https-address': {
    meaning: 'The same for HTTPS; without it port 9871',
    pattern: '^[A-Za-z0-9._-]+:\\d{1,5}$',
    means: 'a host and a port, such as namenode.example:9871',
    default: '',
  },
  'dfs.blocksize': {
    meaning: 'Size of the blocks of what is written, and least size of the parts of large files',
    unit: 'bytes',
    default: 128 * MiB,
    min: MiB,
    max: 4_096 * MiB,
  },
  'dfs.replication': {
    meaning: 'Replicas of what is written; 0: as many as the cluster makes by default',
    unit: 'replicas',
    default: 0,
    min: 0,
    max: 512,
  },
  'dfs.namenode.fs-limits.max-component-length': {
    meaning: 'Longest name that the cluster takes, in bytes of UTF-8',
    unit: 'bytes',
    default: 255,
    min: 1,
    max: 8_000,
  },
  'dfs.namenode.fs-limits.max-blocks-per-file': {
    meaning: 'Most blocks of a file that the cluster takes: the blocks of larger files are made larger',
    unit: 'blocks',
    default: 10_000,
    min: 1,
    max: 1_048_576,
  },
  'dfs.webhdfs.socket.connect-timeout': {
    meaning: 'Longest time for a connection to be made',
    unit: 'ms',
    default: 10_000,
    min: 100,
    max: 300_000,
  },
  'dfs.webhdfs.socket.read-timeout': {
    meaning: 'Longest time without a byte sent or received on a connection that has a request under way',
    unit: 'ms',
    default: 60_000,
    min: 100,
    max: 600_000,
  },
  'dfs.http.client.retry.max.attempts': {
    meaning: 'How often a request is repeated after a server error or a network error, at each name node',
    unit: 'retries',
    default: 5,
    min: 0,
    max: 30,
  },
  'dfs.http.client.failover.sleep.base.millis': {
    meaning:
      'Wait before the first retry; doubled for each further one, and shortened by up to half at random',
    unit: 'ms',
    default: 250,
    min: 1,
    max: 20_000,
  },
  'dfs.http.client.failover.sleep.max.millis': {
    meaning: 'Longest wait between retries',
    unit: 'ms',
    default: 15_000,
    min: 1,
    max: 300_000,
  },
  'gantry.hdfs.connections': {
    meaning: 'Requests that one thread has under way at once',
    unit: 'requests',
    default: 16,
    min: 1,
    max: 256,
  },
  'gantry.hdfs.verify': {
    meaning:
      'How what was written is verified: by the checksum of the cluster, or, for half the requests, by its size alone',
    values: ['checksum', 'size'],
    default: 'checksum',
  },
  'gantry.hdfs.doas': {
    meaning: 'User as whom all is done, where the cluster lets `user` act for others (a proxy user)',
    pattern: '^[A-Za-z0-9._@/-]{1,256}$',
    means: 'the name of a user',
    default: '',
  },
  'dfs.web.authentication.kerberos.principal': {
    meaning:
      'Principal of the web servers of the name nodes, _HOST in place of their names; without it, or with *, HTTP/_HOST in the realm that krb5.conf of this host says',
    pattern: '^(?:\\*|HTTP/[A-Za-z0-9._-]{1,255}@[A-Za-z0-9.-]{1,255})$',
    means: 'a principal with its realm, such as HTTP/_HOST@EXAMPLE.COM',
    default: '',
  },
  'gantry.hdfs.changes': {
    meaning:
      'How live migrations from the cluster learn of changes: by snapshots of the folder, where there may be any, or by comparing only',
    values: ['snapshots', 'comparing'],
    default: 'snapshots',
  },
  'gantry.hdfs.snapshot.period': {
    meaning: 'From one snapshot of a live migration to the next',
    unit: 'ms',
    min: 500,
    max: 3_600_000,
    default: 5_000,
  },
} as const satisfies Properties

/** Properties whose names have that of a nameservice in them, as regular expressions: where the name nodes of it are. */
export const hdfsPropertyFamilies = [
  'dfs\\.ha\\.namenodes\\.[A-Za-z0-9._-]{1,100}',
  'dfs\\.namenode\\.https?-address\\.[A-Za-z0-9._-]{1,200}',
]

/** Accepted, since people have them in their configuration; they change nothing here. */
export const hdfsIneffectiveProperties = [
  'dfs.nameservices',
  'dfs.internal.nameservices',
  'dfs.namenode.rpc-address',
  'dfs.client.use.datanode.hostname',
  'dfs.webhdfs.enabled',
  'fs.hdfs.impl',
  'fs.hdfs.impl.disable.cache',
  'hadoop.tmp.dir',
]
