import { hash, randomBytes } from 'node:crypto'
import { failed } from './errors.ts'
import type { ListedBlock } from './xml.ts'
import { StoreError, type StorePath, type Upload } from '../contract/driver.ts'

/** "Scalability targets for Blob storage": blocks in a blob, and size of one (protocol 2019-12-12 and later). */
export const maxBlocks = 50_000
export const maxBlockBytes = 4_000 * 1024 * 1024
/** 209,715,200,000,000 bytes, the 190.7 TiB of the documentation. */
export const maxBlobBytes = maxBlocks * maxBlockBytes

const MiB = 1024 * 1024

/** Size of the parts of a file: as configured, or as large as needed to stay within the number of blocks. */
export function partBytes(sizeBytes: number, configuredBytes: number): number {
  const neededBytes = Math.ceil(sizeBytes / maxBlocks)
  return neededBytes <= configuredBytes ? configuredBytes : Math.ceil(neededBytes / MiB) * MiB
}

/** Before base64. All blocks of a blob must have ids of one length, those of earlier uploads that were left over too. */
const defaultIdBytes = 24
/** The service's limit. */
const maxIdBytes = 64
/** Three bytes hold the index of any block; the rest must tell uploads of the same file apart. */
const indexBytes = 3
const minIdBytes = indexBytes + 5

/** Of a token, so that no two are the same. */
const tokenBytes = 12

/** What a token stands for. */
export interface UploadState {
  readonly path: StorePath
  /** Base64 id of the part with this index, the same in every process. */
  readonly blockId: (index: number) => string
}

/** What an upload is of. */
export interface UploadPlan {
  readonly sizeBytes: number
  readonly partBytes: number
  /** Whose it is. */
  readonly tag: string
  /** Of the source's file, if the upload may go on with the blocks of an earlier one of the same. */
  readonly version: string | undefined
}

/**
 * Starts an upload. Its token is random, so that a later upload of the same file never takes over blocks of this one; or,
 * with a version, one that only the very same upload has, so that its blocks that are there already are its parts. Each of
 * them was checked by the service against its digest.
 * @param blocks those that the blob has: ours must have ids as long as theirs that are not committed
 */
export function newUpload(
  path: StorePath,
  { sizeBytes, partBytes, tag, version }: UploadPlan,
  blocks: readonly ListedBlock[],
  what: () => string,
): Upload {
  const leftover = blocks.find(({ committed }) => !committed)?.id
  const idBytes = leftover === undefined ? defaultIdBytes : Buffer.from(leftover, 'base64').length
  if (idBytes < minIdBytes || idBytes > maxIdBytes) {
    const said = `another program left uncommitted blocks there, whose ids of ${idBytes} bytes ours cannot match`
    throw failed(
      'io',
      what(),
      `${said}; write the file with that program, or wait a week until Azure drops them`,
    )
  }
  const secret =
    version === undefined
      ? randomBytes(tokenBytes)
      : hash('sha256', [tag, sizeBytes, partBytes, version].join('\n'), 'buffer').subarray(0, tokenBytes)
  const token = `${path.toString('base64url')}.${idBytes}.${secret.toString('base64url')}`
  const upload = { token, sizeBytes }
  if (version === undefined) return upload
  return { ...upload, written: writtenParts(upload, partBytes, blocks) }
}

/** Indices of the parts of an upload that are among the blocks of its blob. */
export function writtenParts(upload: Upload, partBytes: number, blocks: readonly ListedBlock[]): number[] {
  const { sizeBytes } = upload
  const { blockId } = readUpload(upload)
  const there = new Set(blocks.map(({ id, sizeBytes: bytes }) => `${id} ${bytes}`))
  const parts = Array.from({ length: Math.ceil(sizeBytes / partBytes) }, (_, index) => index)
  const bytesOf = (index: number) => Math.min(partBytes, sizeBytes - index * partBytes)
  return parts.filter((index) => there.has(`${blockId(index)} ${bytesOf(index)}`))
}

/** Throws a StoreError for a token that no driver of this kind made. */
export function readUpload({ token }: Upload): UploadState {
  const match = /^([\w-]+)\.(\d{1,2})\.[\w-]{16}$/.exec(token)
  if (match === null)
    throw new StoreError('io', `${token.slice(0, 100)} is not the token of an upload to Azure`)
  const [, path = '', idBytes] = match
  const prefix = hash('sha512', token, 'buffer').subarray(0, Number(idBytes) - indexBytes)
  return {
    path: Buffer.from(path, 'base64url'),
    blockId: (index) => {
      const id = Buffer.alloc(prefix.length + indexBytes)
      prefix.copy(id)
      id.writeUIntBE(index, prefix.length, indexBytes)
      return id.toString('base64')
    },
  }
}

/**
 * How the blocks of a blob compare with the parts of an upload: whether the blob is made of just these, the first part
 * that is missing, and the bytes that a commit would make visible.
 */
function committedAs(
  blocks: readonly ListedBlock[],
  ids: readonly string[],
): { readonly isCommitted: boolean; readonly missing: number | undefined; readonly sizeBytes: number } {
  const committed = blocks.filter((block) => block.committed)
  // An uncommitted block goes before a committed one of the same id, as in the commit itself.
  const newest = new Map(
    [...committed, ...blocks.filter((block) => !block.committed)].map((block) => [block.id, block]),
  )
  const parts = ids.map((id) => newest.get(id))
  const missing = parts.indexOf(undefined)
  return {
    isCommitted:
      ids.length > 0 && ids.length === committed.length && parts.every((part, i) => part === committed[i]),
    missing: missing < 0 ? undefined : missing,
    sizeBytes: parts.reduce((sum, part) => sum + (part?.sizeBytes ?? 0), 0),
  }
}

/**
 * Whether a blob is made of just the parts of an upload already. Throws `corrupt` when one is missing, or all have not the
 * size of the file.
 * @param ids of the parts
 * @param blocks those that the blob has
 */
export function checkParts(
  upload: Upload,
  ids: readonly string[],
  blocks: readonly ListedBlock[],
  what: () => string,
): boolean {
  const { isCommitted, missing, sizeBytes } = committedAs(blocks, ids)
  if (missing !== undefined)
    throw failed('corrupt', what(), `part ${missing} is not there; begin the upload again`)
  if (sizeBytes !== upload.sizeBytes)
    throw failed('corrupt', what(), `the parts have ${sizeBytes} bytes, not ${upload.sizeBytes}`)
  return isCommitted
}
