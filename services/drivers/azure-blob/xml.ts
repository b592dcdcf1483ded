import { type Access, mayHaveDigest, noAccess } from './attributes.ts'
import { walkXml } from '../../../broker/common/xml.ts'

/** One blob of a listing. */
export interface ListedBlob {
  readonly name: string
  readonly sizeBytes: number
  /** HTTP dates; empty when the service did not tell. */
  readonly created: string
  readonly lastModified: string
  /** Of the content, base64; empty where the service keeps none, or that of another one. */
  readonly md5: string
  readonly access: Access
  /** Names in lower case: the service keeps the case that the writer used, and ignores it. */
  readonly metadata: Readonly<Record<string, string>>
}

/** One page of a listing with delimiter. */
export interface ListPage {
  readonly blobs: readonly ListedBlob[]
  /** Names with the delimiter at their end. */
  readonly prefixes: readonly string[]
  /** Where the next page starts; empty on the last one. */
  readonly nextMarker: string
}

/** A block as Get Block List tells it. */
export interface ListedBlock {
  readonly id: string
  readonly sizeBytes: number
  readonly committed: boolean
}

/** Answer of List Blobs. Throws an Error when it is not well-formed. */
export function readListPage(xml: Buffer): ListPage {
  const blobs: ListedBlob[] = []
  const prefixes: string[] = []
  let nextMarker = ''
  let blob = newBlob()
  walkXml(xml, {
    open: (path) => {
      if (path === '/Blobs/Blob') blob = newBlob()
    },
    close: (path, text, attributes) => {
      switch (path) {
        case '/NextMarker':
          nextMarker = text
          break
        case '/Blobs/BlobPrefix/Name':
          prefixes.push(decodeName(text, attributes))
          break
        case '/Blobs/Blob/Name':
          blob.name = decodeName(text, attributes)
          break
        case '/Blobs/Blob/Properties/Content-Length':
          blob.sizeBytes = Number(text)
          break
        case '/Blobs/Blob/Properties/Creation-Time':
          blob.created = text
          break
        case '/Blobs/Blob/Properties/Content-MD5':
          blob.md5 = text
          break
        case '/Blobs/Blob/Properties/BlobType':
          blob.type = text
          break
        case '/Blobs/Blob/Properties/Last-Modified':
          blob.lastModified = text
          break
        case '/Blobs/Blob/Properties/Permissions':
          blob.access = { ...blob.access, permissions: text }
          break
        case '/Blobs/Blob/Properties/Owner':
          blob.access = { ...blob.access, owner: text }
          break
        case '/Blobs/Blob/Properties/Group':
          blob.access = { ...blob.access, group: text }
          break
        case '/Blobs/Blob':
          blobs.push(mayHaveDigest(blob.type) ? blob : { ...blob, md5: '' })
          break
        default:
          if (path.startsWith(metadataPath))
            blob.metadata[path.slice(metadataPath.length).toLowerCase()] = text
      }
    },
  })
  return { blobs, prefixes, nextMarker }
}

const newBlob = () => ({
  name: '',
  sizeBytes: 0,
  created: '',
  lastModified: '',
  md5: '',
  type: '',
  access: noAccess,
  metadata: {} as Record<string, string>,
})

const metadataPath = '/Blobs/Blob/Metadata/'

/** Answer of Get Block List, the committed blocks in their order. Throws an Error when it is not well-formed. */
export function readBlockList(xml: Buffer): ListedBlock[] {
  const blocks: ListedBlock[] = []
  let id = ''
  walkXml(xml, {
    close: (path, text) => {
      if (path.endsWith('/Block/Name')) id = text
      else if (path.endsWith('/Block/Size')) {
        blocks.push({ id, sizeBytes: Number(text), committed: path.startsWith('/CommittedBlocks/') })
      }
    },
  })
  return blocks
}

/** Body of Put Block List: for each id the newest block of that name, whether it is committed already or not. */
export const writeBlockList = (ids: readonly string[]): Buffer =>
  Buffer.from(
    `<?xml version="1.0" encoding="utf-8"?><BlockList>${ids.map((id) => `<Latest>${id}</Latest>`).join('')}</BlockList>`,
  )

/** Since protocol 2021-02-12, names with characters that XML cannot carry come percent-encoded and marked. */
const decodeName = (text: string, attributes: Readonly<Record<string, string>>) =>
  attributes['Encoded'] === 'true' ? decodeURIComponent(text) : text
