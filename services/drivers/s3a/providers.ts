import type { s3Types } from '../../../subjects/filesystems/kinds.ts'
import type { ContentDigests } from './digests.ts'

export type S3Type = (typeof s3Types)[number]

/**
 * How keys are written in a listing that says that they are percent-encoded: as in forms, where a blank may come as a plus, as
 * in paths, where a plus is one, or as they are, whatever it says.
 */
export type KeyEncoding = 'form' | 'path' | 'none'

/** What is special about a service that speaks S3's protocol. */
export interface Provider {
  /** Hosts of its own, where it has such. */
  readonly hosts?: RegExp
  /** The bucket goes into the host name, unless that cannot have it. */
  readonly isVirtualHost: boolean
  /** Digests that it checks, and keeps unless they are MD5. */
  readonly checksums: ContentDigests
  /** Whether a delete may depend on the version that is there; where it may not, only the look before it says so. */
  readonly deletesIfMatch: boolean
  /** Whether an object can be made where none is there, and only there. */
  readonly createsIfNoneMatch: boolean
  /** Default: all as in forms, which fits paths as well where a plus is encoded. */
  readonly keys?: { readonly objects: KeyEncoding; readonly uploads: KeyEncoding }
  /** Bytes that the name of a folder that has a marker may have, where that is less than a path may. */
  readonly folderNameBytes?: number
}

/**
 * What is signed has its SHA-256 anyway. Of a content in parts a service can make no SHA-256, but a CRC of those of its parts;
 * CRC-32C is the one that HDFS and Cloud Storage know too, and ten times as fast as CRC-64/NVME.
 */
const usual: ContentDigests = { whole: 'sha256', parts: 'crc32c' }
const md5: ContentDigests = { whole: 'md5', parts: 'md5' }

const compatible: Provider = {
  isVirtualHost: false,
  checksums: usual,
  deletesIfMatch: true,
  createsIfNoneMatch: true,
}

/** From the documentation of each service; those that can be had for tests were tried (docs/S3.md). */
export const providers: { readonly [T in S3Type]: Provider } = {
  AWS: { ...compatible, hosts: /(?:^|\.)amazonaws\.com(?:\.cn)?$/, isVirtualHost: true },
  // Its newest version alone makes digests of the whole of those of parts.
  CEPH: { ...compatible, checksums: { whole: 'sha256', parts: 'sha256' }, deletesIfMatch: false },
  GCS: {
    hosts: /^storage\.googleapis\.com$/,
    isVirtualHost: true,
    checksums: md5,
    deletesIfMatch: false,
    createsIfNoneMatch: false,
  },
  IBM_COS: {
    hosts: /\.cloud-object-storage\.appdomain\.cloud$/,
    isVirtualHost: true,
    checksums: md5,
    deletesIfMatch: false,
    createsIfNoneMatch: false,
  },
  // It keeps a marker as a file of the folder's name and nine bytes more.
  MINIO: { ...compatible, deletesIfMatch: false, folderNameBytes: 255 - 9 },
  ORACLE: {
    hosts: /\.oraclecloud\.com$/,
    isVirtualHost: false,
    checksums: md5,
    deletesIfMatch: false,
    createsIfNoneMatch: false,
  },
  OSS: {
    hosts: /\.aliyuncs\.com$/,
    isVirtualHost: true,
    checksums: md5,
    deletesIfMatch: false,
    createsIfNoneMatch: false,
  },
  R2: {
    ...compatible,
    hosts: /\.r2\.cloudflarestorage\.com$/,
    // The only one that it makes of the whole of those of parts.
    checksums: { whole: 'sha256', parts: 'crc64nvme' },
    deletesIfMatch: false,
  },
  // By its code: Go's PathEscape for objects, and nothing for uploads.
  SEAWEEDFS: {
    ...compatible,
    deletesIfMatch: false,
    createsIfNoneMatch: false,
    keys: { objects: 'path', uploads: 'none' },
  },
  WASABI: {
    ...compatible,
    hosts: /\.wasabisys\.com$/,
    isVirtualHost: true,
    checksums: md5,
    deletesIfMatch: false,
    createsIfNoneMatch: false,
  },
  S3_COMPATIBLE: compatible,
}

/** The provider that was named, else the one that a host is of. */
export function providerOf(type: S3Type | undefined, host: string): Provider {
  if (type !== undefined) return providers[type]
  return Object.values(providers).find(({ hosts }) => hosts?.test(host)) ?? compatible
}
