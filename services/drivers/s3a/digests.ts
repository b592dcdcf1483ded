import type { StoreHeaders } from '../http/transport.ts'
import type { Digests, ReadableKind } from '../contract/driver.ts'

/** Digests that the protocol has a name for beside Content-MD5. */
const checksums = { sha256: 32, crc32c: 4, crc64nvme: 8 } as const satisfies Partial<
  Record<ReadableKind, number>
>
export type Checksum = keyof typeof checksums
export const checksumKinds = Object.keys(checksums) as Checksum[]

/** What goes with a content: a digest that the service checks and keeps, or Content-MD5, which it only checks. */
export type ContentDigest = Checksum | 'md5'

/** Digests that go with content. */
export interface ContentDigests {
  readonly whole: ContentDigest
  /** Of the parts of an upload. */
  readonly parts: ContentDigest
}

/** As values of headers and ends of names of XML have it. */
export const algorithmOf = (kind: Checksum): string => kind.toUpperCase()
export const headerOf = (kind: Checksum) => `x-amz-checksum-${kind}` as const
export const elementOf = (kind: Checksum): string => `Checksum${algorithmOf(kind)}`

/** Length of one in base64. */
export const textLength = (kind: Checksum): number => 4 * Math.ceil(checksums[kind] / 3)

/** Digests of a whole content by what tells each of them; of an object in parts it may be one of digests, with their number. */
function digestsBy(text: (kind: Checksum) => unknown): Digests {
  const found: { [K in Checksum]?: string } = {}
  for (const kind of checksumKinds) {
    const value = text(kind)
    if (typeof value === 'string' && /^[A-Za-z0-9+/]+=*$/.test(value) && value.length === textLength(kind))
      found[kind] = value
  }
  return found
}

/** Those of the fields of an answer in XML. */
export const digestsIn = (fields: Readonly<Record<string, string>>): Digests =>
  digestsBy((kind) => fields[elementOf(kind)])

/** The digests of the whole content that the headers of an object tell; undefined for none. */
export function digestsOf(headers: StoreHeaders): Digests | undefined {
  const isPlain =
    !(headers['x-amz-server-side-encryption'] ?? '').startsWith('aws:') &&
    headers['x-amz-server-side-encryption-customer-algorithm'] === undefined
  // Of what is encrypted by a key the entity tag is no digest of the content.
  const md5 = isPlain ? md5Of(headers.etag) : undefined
  const all = { ...digestsBy((kind) => headers[headerOf(kind)]), ...(md5 !== undefined && { md5 }) }
  return Object.keys(all).length === 0 ? undefined : all
}

/** Base64 of the MD5 that the entity tag of an object in one piece is. */
export function md5Of(etag: string | undefined): string | undefined {
  const [, hex] = /^"?([\da-f]{32})"?$/.exec(etag ?? '') ?? []
  return hex === undefined ? undefined : Buffer.from(hex, 'hex').toString('base64')
}
