import type { Digests } from '../contract/driver.ts'
import { checksumKinds, digestsIn, elementOf } from './digests.ts'
import type { KeyEncoding } from './providers.ts'
import { walkXml } from '../../../broker/common/xml.ts'

/** One object of a listing. */
export interface ListedObject {
  readonly key: string
  readonly sizeBytes: number
  /** ISO 8601 in UTC; empty when the service did not tell. */
  readonly lastModified: string
}

/** One page of a listing with delimiter. */
export interface ListPage {
  readonly objects: readonly ListedObject[]
  /** Keys with the delimiter at their end. */
  readonly prefixes: readonly string[]
  /** Whether there is another page. */
  readonly goesOn: boolean
  /** With it the next page begins; empty on the last one. */
  readonly nextToken: string
  /** False where the service did not encode the keys: what XML cannot carry it has put U+FFFD for. */
  readonly isEncoded: boolean
}

/** A part of an upload as the service has it. */
export interface ListedPart {
  readonly number: number
  readonly sizeBytes: number
  readonly etag: string
  /** ISO 8601 in UTC. */
  readonly lastModified: string
  /** Of its content, as far as the service keeps them. */
  readonly digests: Digests
}

export interface PartsPage {
  readonly parts: readonly ListedPart[]
  /** Whether the digest of the object will be that of its content, and not one of those of its parts. */
  readonly isOfWhole: boolean
  /** Number of the part after which the next page begins; undefined on the last one. */
  readonly nextMarker: string | undefined
}

/** An upload that is neither complete nor aborted. */
export interface ListedUpload {
  readonly key: string
  readonly id: string
  /** ISO 8601 in UTC. */
  readonly initiated: string
}

export interface UploadsPage {
  readonly uploads: readonly ListedUpload[]
  /** Where the next page begins; undefined on the last one. */
  readonly next: { readonly key: string; readonly id: string } | undefined
}

/** Fields of the elements at a path, by their names, and those at the root. */
function read(xml: Buffer, ...paths: readonly string[]) {
  const root: Record<string, string> = {}
  const found = new Map<string, Record<string, string>[]>(paths.map((path) => [path, []]))
  let current: Record<string, string> = {}
  walkXml(xml, {
    open: (path) => {
      if (found.has(path)) current = {}
    },
    close: (path, text) => {
      found.get(path)?.push(current)
      const slash = path.lastIndexOf('/')
      const name = path.slice(slash + 1)
      if (slash === 0) root[name] = text
      else if (found.has(path.slice(0, slash))) current[name] = text
    },
  })
  return { root, of: (path: string) => found.get(path) ?? [] }
}

/** Keys are asked for percent-encoded, since XML cannot carry all of them. */
const decoders: Readonly<Record<KeyEncoding, (text: string) => string>> = {
  form: (text) => decodeURIComponent(text.replaceAll('+', '%20')),
  path: decodeURIComponent,
  none: (text) => text,
}

/** @param root of the answer, which says whether keys are encoded at all */
const decoderOf = (root: Readonly<Record<string, string>>, encoding: KeyEncoding) =>
  decoders[root['EncodingType'] === 'url' ? encoding : 'none']

/** Answer of ListObjectsV2. Throws an Error when it is not well-formed. */
export function readListPage(xml: Buffer, encoding: KeyEncoding): ListPage {
  const { root, of } = read(xml, '/Contents', '/CommonPrefixes')
  const goesOn = root['IsTruncated'] === 'true'
  const key = decoderOf(root, encoding)
  return {
    isEncoded: root['EncodingType'] === 'url',
    objects: of('/Contents').map(({ Key = '', Size = '0', LastModified = '' }) => ({
      key: key(Key),
      sizeBytes: Number(Size),
      lastModified: LastModified,
    })),
    prefixes: of('/CommonPrefixes').map(({ Prefix = '' }) => key(Prefix)),
    goesOn,
    nextToken: goesOn ? (root['NextContinuationToken'] ?? '') : '',
  }
}

/** The kind of a digest that is of all of the content. */
export const fullObject = 'FULL_OBJECT'

/** Answer of ListParts. Throws an Error when it is not well-formed. */
export function readParts(xml: Buffer): PartsPage {
  const { root, of } = read(xml, '/Part')
  return {
    parts: of('/Part').map(({ PartNumber = '0', Size = '0', ETag = '', LastModified = '', ...others }) => ({
      number: Number(PartNumber),
      sizeBytes: Number(Size),
      etag: ETag,
      lastModified: LastModified,
      digests: digestsIn(others),
    })),
    isOfWhole: root['ChecksumType'] === fullObject,
    nextMarker: root['IsTruncated'] === 'true' ? root['NextPartNumberMarker'] : undefined,
  }
}

/** Answer of ListMultipartUploads. Throws an Error when it is not well-formed. */
export function readUploads(xml: Buffer, encoding: KeyEncoding): UploadsPage {
  const { root, of } = read(xml, '/Upload')
  const key = decoderOf(root, encoding)
  return {
    uploads: of('/Upload').map(({ Key = '', UploadId = '', Initiated = '' }) => ({
      key: key(Key),
      id: UploadId,
      initiated: Initiated,
    })),
    next:
      root['IsTruncated'] === 'true'
        ? { key: key(root['NextKeyMarker'] ?? ''), id: root['NextUploadIdMarker'] ?? '' }
        : undefined,
  }
}

/** Fields of an answer that has no lists, such as an error. Throws an Error when it is not well-formed. */
export const readFields = (xml: Buffer): Readonly<Record<string, string>> => read(xml).root

/** Body of CompleteMultipartUpload. */
export const writeParts = (parts: readonly ListedPart[]): Buffer =>
  Buffer.from(
    `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${parts
      .map(
        ({ number, etag, digests }) =>
          `<Part><PartNumber>${number}</PartNumber><ETag>${escaped(etag)}</ETag>${writeDigests(digests)}</Part>`,
      )
      .join('')}</CompleteMultipartUpload>`,
  )

const writeDigests = (digests: Digests): string =>
  checksumKinds
    .map((kind) => ({ name: elementOf(kind), value: digests[kind] }))
    .map(({ name, value }) => (value === undefined ? '' : `<${name}>${value}</${name}>`))
    .join('')

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
