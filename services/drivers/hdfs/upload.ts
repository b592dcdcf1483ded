import {
  type Continuation,
  type LeftUpload,
  type NewFile,
  type PartBody,
  storeError,
  type StorePath,
  type Upload,
} from '../contract/driver.ts'
import { takerInto } from '../http/transport.ts'
import { joinPath, parentOf } from '../paths/path-text.ts'
import {
  isLeftBehind,
  partName,
  partPlace,
  type PlacedPart,
  readUpload as readToken,
  requireContiguous,
  uploadFolder,
  type UploadState,
  uploadToken,
  wholeParts,
} from '../uploads/part-folders.ts'
import { allLiveThreads, isTemporaryName, temporaryName, temporaryPrefix } from '../paths/temporary-names.ts'
import type { What } from './client.ts'
import type { Cluster } from './cluster.ts'
import { failed } from './errors.ts'
import type { FileStatus } from './status.ts'

/*
 * An upload is a folder beside the file that it is of, with a file for each part that is written and verified: they are joined
 * by the cluster, without a byte that is copied, and take the name of the file. Beside it, so that what HDFS gives to all
 * that is in a folder (encryption, erasure coding, storage policy, default ACL) is that of the file.
 */

/** Whoever is not its owner has no business in it. */
const folderMode = 0o700

/** Parts under construction are in the folder of an upload, which is removed with all that is in it: nobody looks for theirs. */
const partTag = 'part'

/** A part that is written and verified. */
interface Part extends PlacedPart {
  readonly path: StorePath
}

/** Where it is, and the size of its blocks, where that is not the one for all. */
interface HdfsUpload extends UploadState {
  readonly blockBytes?: number
}

const tokenOf = ({ blockBytes, ...state }: HdfsUpload): string =>
  blockBytes === undefined ? uploadToken(state) : `${blockBytes}:${uploadToken(state)}`

/** Throws a StoreError for a token that no driver of this kind made. */
export function readUpload({ token }: Pick<Upload, 'token'>): HdfsUpload {
  const [, blockBytes, rest = token] = /^(\d{6,12}):(.*)$/s.exec(token) ?? []
  const state = readToken({ token: rest }, 'HDFS')
  return blockBytes === undefined ? state : { ...state, blockBytes: Number(blockBytes) }
}

export async function beginUpload(
  cluster: Cluster,
  path: StorePath,
  file: NewFile,
  {
    partBytes,
    blockBytes,
    continuation,
    discard,
    contested,
  }: {
    readonly partBytes: number
    /** Undefined for the one for all. */
    readonly blockBytes: number | undefined
    readonly continuation: Continuation | undefined
    /** Removes what nobody goes on with. */
    readonly discard: (folder: StorePath, error: unknown) => Promise<void>
    /** Told of a folder that may be made once more. */
    readonly contested: (folder: StorePath) => void
  },
  what: What,
): Promise<Upload> {
  const parent = parentOf(path)
  const [there, above] = await Promise.all([cluster.status(path, what), cluster.status(parent, what)])
  if (there?.type === 'DIRECTORY') throw failed('unsupported', what(), 'a folder stands there')
  if (above?.type !== 'DIRECTORY') throw failed('gone', what(), 'the folder that it is to be in is not there')
  const folder = joinPath(parent, uploadFolder(path, file, partBytes, continuation))
  try {
    if (await cluster.makeFolder(folder, folderMode, what)) contested(folder)
  } catch (error) {
    // Whoever goes on with an upload finds its folder by its name.
    if (continuation === undefined) await discard(folder, error)
    throw error
  }
  const { sizeBytes } = file
  const upload = {
    token: tokenOf({ path, folder, ...(blockBytes !== undefined && { blockBytes }) }),
    sizeBytes,
  }
  if (continuation === undefined) return upload
  return { ...upload, written: (await writtenParts(cluster, upload, partBytes, what)) ?? [] }
}

/** Writes a part under a name of its own, and gives it that of the part when it is verified. */
export async function writePart(
  cluster: Cluster,
  upload: Upload,
  { index, offset }: Pick<Part, 'index' | 'offset'>,
  content: Buffer | PartBody,
  blockBytes: number,
  what: What,
): Promise<void> {
  const { folder } = readUpload(upload)
  const temporary = joinPath(folder, temporaryName(partTag))
  const made = await cluster.create(temporary, content, { blockBytes }, what)
  await cluster.place(temporary, joinPath(folder, Buffer.from(partName(index, offset))), made, what)
}

/** The parts of an upload in their order; undefined when it is gone. */
async function partsOf(cluster: Cluster, { folder }: UploadState, what: What): Promise<Part[] | undefined> {
  const parts: Part[] = []
  for (let after = ''; ;) {
    const page = await cluster.page(folder, after, what)
    if (page === undefined) return undefined
    for (const { name, sizeBytes } of page.statuses) {
      const place = partPlace(name)
      if (place !== undefined) parts.push({ ...place, path: joinPath(folder, Buffer.from(name)), sizeBytes })
    }
    const last = page.statuses.at(-1)
    if (!page.hasMore || last === undefined) return parts.toSorted((a, b) => a.offset - b.offset)
    after = last.name
  }
}

export async function writtenParts(
  cluster: Cluster,
  upload: Upload,
  partBytes: number,
  what: What,
): Promise<readonly number[] | undefined> {
  const parts = await partsOf(cluster, readUpload(upload), what)
  if (parts === undefined) return undefined
  const { sizeBytes } = upload
  // Parts are joined to the first only when all are written.
  if (parts[0]?.offset === 0 && parts[0].sizeBytes > partBytes)
    return Array.from({ length: Math.ceil(sizeBytes / partBytes) }, (_, index) => index)
  return wholeParts(parts, sizeBytes, partBytes)
}

/**
 * Joins the parts to the first of them, or goes on with that. Undefined when the upload is gone; throws `corrupt` when a part
 * is missing, or all have not the size of the file.
 * @param blockBytes of the file, where the parts have to be copied
 * @returns the path of the whole
 */
export async function joinParts(
  cluster: Cluster,
  upload: Upload,
  blockBytes: number,
  what: What,
): Promise<StorePath | undefined> {
  const state = readUpload(upload)
  const { sizeBytes } = upload
  const whole = joinPath(state.folder, Buffer.from('whole'))
  for (;;) {
    const parts = await partsOf(cluster, state, what)
    if (parts === undefined) return undefined
    if (sizeBytes === 0 && parts.length === 0) {
      await cluster.create(whole, Buffer.alloc(0), { blockBytes }, what)
      return whole
    }
    requireContiguous(parts, sizeBytes, what, failed)
    const [first, ...others] = parts
    if (first === undefined || others.length === 0) return first?.path
    const paths = others.map(({ path }) => path)
    const error = await cluster.join(first.path, paths, what).then(() => undefined, storeError)
    if (error === undefined) continue
    const isRefused = error.failure === 'io' || error.failure === 'unsupported'
    if (!isRefused) throw error
    await copyParts(cluster, whole, parts, { sizeBytes, blockBytes }, what)
    return whole
  }
}

/** Where HDFS joins nothing, as in what is encrypted or erasure-coded: all goes through this host once more. */
async function copyParts(
  cluster: Cluster,
  whole: StorePath,
  parts: readonly Part[],
  { sizeBytes, blockBytes }: { readonly sizeBytes: number; readonly blockBytes: number },
  what: What,
): Promise<void> {
  const body: PartBody = {
    sizeBytes,
    read: async (offset, length) => {
      const bytes = Buffer.allocUnsafe(length)
      const end = offset + length
      for (const part of parts) {
        const [from, to] = [Math.max(offset, part.offset), Math.min(end, part.offset + part.sizeBytes)]
        if (from >= to) continue
        const into = bytes.subarray(from - offset, to - offset)
        const got = await cluster.read(part.path, from - part.offset, takerInto(into), what)
        if (got !== into.length) throw failed('corrupt', what(), `a part has ${got} of ${into.length} bytes`)
      }
      return bytes
    },
  }
  await cluster.create(whole, body, { blockBytes }, what)
}

/** Entries of a folder that are under construction, all of them. */
async function* underConstruction(
  cluster: Cluster,
  folder: StorePath,
  what: What,
): AsyncGenerator<FileStatus> {
  // Names come in the order of their bytes, so all of them stand together.
  for (let after = temporaryPrefix; ;) {
    const page = await cluster.page(folder, after, what)
    for (const status of page?.statuses ?? []) {
      if (!status.name.startsWith(temporaryPrefix)) return
      yield status
    }
    const last = page?.statuses.at(-1)
    if (page?.hasMore !== true || last === undefined) return
    after = last.name
  }
}

/** See `Leftovers`. */
export async function sweep(
  cluster: Cluster,
  folder: StorePath,
  { tag, liveThreads }: { readonly tag: string; readonly liveThreads: readonly number[] },
  isOver: (upload: LeftUpload) => boolean,
  what: What,
): Promise<void> {
  const live = allLiveThreads(liveThreads)
  for await (const status of underConstruction(cluster, folder, what)) {
    const name = Buffer.from(status.name)
    if (!isTemporaryName(name, tag)) continue
    const isLeft = isLeftBehind(name, live, isOver, () => Date.now() - status.modifiedMs)
    if (isLeft) await cluster.delete(joinPath(folder, name), true, what)
  }
}
