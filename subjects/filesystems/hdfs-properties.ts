import type { Properties } from './properties.ts'

const MiB = 1024 * 1024

/** The properties of clusters that are honoured, with the names that Hadoop gave them where it has one. */
export const hdfsProperties = {
  'dfs.http.policy': {
    meaning:
      'HTTPS_ONLY: use TLS. Default: depends on the scheme of defaultFS (swebhdfs with TLS, all others without)',
    values: ['', 'HTTP_ONLY', 'HTTPS_ONLY', 'HTTP_AND_HTTPS'],
    default: '',
  },
  'dfs.namenode.http-address': {
    meaning: 'HTTP host and port of the name node, if defaultFS contains its RPC port; default: port 9870',
    pattern: '^[A-Za-z0-9._-]+:\\d{1,5}$',
    means: 'a host and a port, such as namenode.example:9870',
    default: '',
  },
  'dfs.namenode.https-address': {
    meaning: 'HTTPS host and port of the name node, if defaultFS contains its RPC port; default: port 9871',
    pattern: '^[A-Za-z0-9._-]+:\\d{1,5}$',
    means: 'a host and a port, such as namenode.example:9871',
    default: '',
  },
  'dfs.blocksize': {
    meaning: 'Block size of written files, and minimum part size of large files',
    unit: 'bytes',
    default: 128 * MiB,
    min: MiB,
    max: 4_096 * MiB,
  },
  'dfs.replication': {
    meaning: 'Number of replicas of written files; 0: the default of the cluster',
    unit: 'replicas',
    default: 0,
    min: 0,
    max: 512,
  },
  'dfs.namenode.fs-limits.max-component-length': {
    meaning: 'Maximum length of a file name in the cluster, in bytes of UTF-8',
    unit: 'bytes',
    default: 255,
    min: 1,
    max: 8_000,
  },
  'dfs.namenode.fs-limits.max-blocks-per-file': {
    meaning: 'Maximum number of blocks per file in the cluster; files that exceed it get larger blocks',
    unit: 'blocks',
    default: 10_000,
    min: 1,
    max: 1_048_576,
  },
  'dfs.webhdfs.socket.connect-timeout': {
    meaning: 'Timeout for establishing a connection',
    unit: 'ms',
    default: 10_000,
    min: 100,
    max: 300_000,
  },
  'dfs.webhdfs.socket.read-timeout': {
    meaning: 'Timeout for a request without data sent or received',
    unit: 'ms',
    default: 60_000,
    min: 100,
    max: 600_000,
  },
  'dfs.http.client.retry.max.attempts': {
    meaning: 'Maximum number of retries after a server error or a network error, per name node',
    unit: 'retries',
    default: 5,
    min: 0,
    max: 30,
  },
  'dfs.http.client.failover.sleep.base.millis': {
    meaning:
      'Delay before the first retry; doubled for each further retry, and shortened randomly by up to half',
    unit: 'ms',
    default: 250,
    min: 1,
    max: 20_000,
  },
  'dfs.http.client.failover.sleep.max.millis': {
    meaning: 'Maximum delay between retries',
    unit: 'ms',
    default: 15_000,
    min: 1,
    max: 300_000,
  },
  'gantry.hdfs.connections': {
    meaning: 'Maximum number of concurrent requests per thread',
    unit: 'requests',
    default: 16,
    min: 1,
    max: 256,
  },
  'gantry.hdfs.verify': {
    meaning:
      'How written files are verified: by the checksum of the cluster, or by size only, which needs half the requests',
    values: ['checksum', 'size'],
    default: 'checksum',
  },
  'gantry.hdfs.doas': {
    meaning: 'User to impersonate; the cluster must allow `user` to act for others (proxy user)',
    pattern: '^[A-Za-z0-9._@/-]{1,256}$',
    means: 'the name of a user',
    default: '',
  },
  'dfs.web.authentication.kerberos.principal': {
    meaning:
      'Kerberos principal of the web servers of the name nodes, with _HOST for their names. Default, and with *: HTTP/_HOST in the realm that krb5.conf on this host names',
    pattern: '^(?:\\*|HTTP/[A-Za-z0-9._-]{1,255}@[A-Za-z0-9.-]{1,255})$',
    means: 'a principal with its realm, such as HTTP/_HOST@EXAMPLE.COM',
    default: '',
  },
  'gantry.hdfs.changes': {
    meaning:
      'How live migrations from the cluster detect changes: by snapshots of the folder, where snapshots are allowed, or by comparing only',
    values: ['snapshots', 'comparing'],
    default: 'snapshots',
  },
  'gantry.hdfs.snapshot.period': {
    meaning: 'Time between two snapshots of a live migration',
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
