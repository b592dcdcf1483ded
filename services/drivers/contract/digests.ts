/** Digests of whole contents that stores keep, the one that says most first. */
export const digestKinds = ['sha256', 'md5', 'crc64nvme', 'crc32c', 'hdfs-crc'] as const
export type DigestKind = (typeof digestKinds)[number]

/** Each as base64. */
export type Digests = { readonly [K in DigestKind]?: string }

/** Digests that a store has made of a file. */
export interface MadeDigests {
  readonly digests: Digests
  /** Of the file that they are of, as that of `SourceFile`. */
  readonly version: string
}

/**
 * Whether contents whose digests of this kind differ are sure to differ: the checksum of HDFS is one of the blocks, too, and two
 * files of one content may have others.
 */
export const tellsApart = (kind: DigestKind): boolean => kind !== 'hdfs-crc'

/** Those that whoever reads a content can make of it: the stronger ones first, and the faster one of the two CRCs. */
export const readableKinds = ['sha256', 'md5', 'crc32c', 'crc64nvme'] as const satisfies readonly DigestKind[]
export type ReadableKind = (typeof readableKinds)[number]

export const digestNames: Readonly<Record<DigestKind, string>> = {
  sha256: 'SHA-256',
  md5: 'MD5',
  crc64nvme: 'CRC-64/NVME',
  crc32c: 'CRC-32C',
  'hdfs-crc': 'HDFS checksum',
}

/** A digest that two contents have, as it is of each; undefined where they have none in common. */
export function commonDigest(
  one: Digests = {},
  other: Digests = {},
): { readonly kind: DigestKind; readonly values: readonly [string, string] } | undefined {
  for (const kind of digestKinds) {
    const [its, others] = [one[kind], other[kind]]
    if (its !== undefined && others !== undefined) return { kind, values: [its, others] }
  }
  return undefined
}

/** A digest of a content that can be made of another one by reading it; undefined where there is none. */
export function readableDigest(
  digests: Digests = {},
): { readonly kind: ReadableKind; readonly value: string } | undefined {
  for (const kind of readableKinds) {
    const value = digests[kind]
    if (value !== undefined) return { kind, value }
  }
  return undefined
}
