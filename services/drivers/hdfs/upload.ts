import { hash } from 'node:crypto'
import {
  type Continuation,
  type LeftUpload,
  type NewFile,
  type PartBody,
  StoreError,
  storeError,
  type StorePath,
  type Upload,
} from '../contract/driver.ts'
import { joinPath, parentOf } from '../paths/path-text.ts'
import {
  abandonedAfterMs,
  allLiveThreads,
  constructionOf,
  hasDeadWriter,
  isTemporaryName,
  sharedWriter,
  temporaryName,
  temporaryPrefix,
} from '../paths/temporary-names.ts'
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

interface UploadState {
  readonly path: StorePath
  readonly folder: StorePath
  readonly partBytes: number
}

const tokenOf = ({ path, folder, partBytes }: UploadState): string =>
  [path.toString('base64url'), folder.toString('base64url'), partBytes].join('.')

/** Throws a StoreError for a token that no driver of this kind made. */
export function readUpload({ token }: Pick<Upload, 'token'>): UploadState {
  const [, path = '', folder = '', bytes] = /^([\w-]+)\.([\w-]+)\.(\d{1,15})$/.exec(token) ?? []
  if (bytes === undefined)
    throw new StoreError('io', `${token.slice(0, 100)} is not the token of an upload to HDFS`)
  return {
    path: Buffer.from(path, 'base64url'),
    folder: Buffer.from(folder, 'base64url'),
    partBytes: Number(bytes),
  }
}

const partName = (index: number): string => `part-${String(index).padStart(6, '0')}`
const partPath = ({ folder }: UploadState, index: number): StorePath =>
  joinPath(folder, Buffer.from(partName(index)))

/** What a name says of the file that is under construction. */
const digestOf = (of: Buffer | string): string => hash('sha256', of).slice(0, 16)

/**
 * Name of the folder of an upload: whoever begins the same of the same version has the same one, on any host, so that what a
 * killed process left is gone on with.
 */
function folderName(
  path: StorePath,
  { sizeBytes, tag }: NewFile,
  partBytes: number,
  continuation?: Continuation,
): Buffer {
  if (continuation === undefined) return temporaryName(tag)
  const { version, shared } = continuation
  const file = digestOf(path)
  const its = digestOf([sizeBytes, partBytes, version].join('\n'))
  const writer = [
    sharedWriter.host,
    (shared?.generation ?? 0).toString(36),
    hash('sha256', `${file}${its}`).slice(0, 12),
    sharedWriter.thread,
  ].join('.')
  const [prefix, tagIn] = temporaryName(tag).toString('latin1').split('~')
  return Buffer.from(`${prefix}~${tagIn}~${writer}~0.${file}.${its}`, 'latin1')
}

export async function beginUpload(
  cluster: Cluster,
  path: StorePath,
  file: NewFile,
  {
    partBytes,
    continuation,
  }: { readonly partBytes: number; readonly continuation: Continuation | undefined },
  what: What,
): Promise<Upload> {
  const parent = parentOf(path)
  const [there, above] = await Promise.all([cluster.status(path, what), cluster.status(parent, what)])
  if (there?.type === 'DIRECTORY') throw failed('unsupported', what(), 'a folder stands there')
  if (above?.type !== 'DIRECTORY') throw failed('gone', what(), 'the folder that it is to be in is not there')
  const folder = joinPath(parent, folderName(path, file, partBytes, continuation))
  await cluster.makeFolder(folder, folderMode, what)
  const { sizeBytes } = file
  const upload = { token: tokenOf({ path, folder, partBytes }), sizeBytes }
  if (continuation === undefined) return upload
  return { ...upload, written: (await writtenParts(cluster, upload, what)) ?? [] }
}

/** Writes a part under a name of its own, and gives it that of the part when it is verified. */
export async function writePart(
  cluster: Cluster,
  upload: Upload,
  index: number,
  content: Buffer | PartBody,
  options: { readonly blockBytes: number; readonly tag: string },
  what: What,
): Promise<void> {
  const state = readUpload(upload)
  const temporary = joinPath(state.folder, temporaryName(options.tag))
  await cluster.create(temporary, content, options, what)
  await cluster.replace(temporary, partPath(state, index), what)
}

const partBytesOf = (index: number, sizeBytes: number, partBytes: number): number =>
  Math.max(0, Math.min(partBytes, sizeBytes - index * partBytes))

/** What is in the folder of an upload by name; undefined when that is gone. */
async function partsOf(
  cluster: Cluster,
  { folder }: UploadState,
  what: What,
): Promise<Map<string, FileStatus> | undefined> {
  const parts = new Map<string, FileStatus>()
  for (let after = ''; ;) {
    const page = await cluster.page(folder, after, what)
    if (page === undefined) return undefined
    for (const status of page.statuses) parts.set(status.name, status)
    const last = page.statuses.at(-1)
    if (!page.hasMore || last === undefined) return parts
    after = last.name
  }
}

export async function writtenParts(
  cluster: Cluster,
  upload: Upload,
  what: What,
): Promise<readonly number[] | undefined> {
  const state = readUpload(upload)
  const parts = await partsOf(cluster, state, what)
  if (parts === undefined) return undefined
  const { partBytes } = state
  const { sizeBytes } = upload
  const count = Math.ceil(sizeBytes / partBytes)
  const indices = Array.from({ length: count }, (_, index) => index)
  // Parts are joined only when all are written.
  if ((parts.get(partName(0))?.sizeBytes ?? 0) > partBytes) return indices
  return indices.filter(
    (index) => parts.get(partName(index))?.sizeBytes === partBytesOf(index, sizeBytes, partBytes),
  )
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
  count: number,
  blockBytes: number,
  what: What,
): Promise<StorePath | undefined> {
  const state = readUpload(upload)
  const { folder, partBytes } = state
  const { sizeBytes } = upload
  const whole = joinPath(folder, Buffer.from('whole'))
  const first = partPath(state, 0)
  for (;;) {
    const parts = await partsOf(cluster, state, what)
    if (parts === undefined) return undefined
    if (count === 0) {
      await cluster.create(whole, Buffer.alloc(0), { blockBytes }, what)
      return whole
    }
    const has = (parts.get(partName(0)) ?? missing(0, what)).sizeBytes
    const joined = Array.from({ length: count }, (_, index) => index + 1).find(
      (index) => Math.min(index * partBytes, sizeBytes) === has,
    )
    if (joined === undefined) throw wrongSize(has, sizeBytes, what)
    const left = Array.from({ length: count - joined }, (_, index) => joined + index)
    for (const index of left) {
      const bytes = (parts.get(partName(index)) ?? missing(index, what)).sizeBytes
      if (bytes !== partBytesOf(index, sizeBytes, partBytes)) throw wrongSize(has + bytes, sizeBytes, what)
    }
    if (left.length === 0) {
      if (has !== sizeBytes) throw wrongSize(has, sizeBytes, what)
      return first
    }
    const error = await cluster
      .join(
        first,
        left.map((index) => partPath(state, index)),
        what,
      )
      .then(() => undefined, storeError)
    if (error === undefined) continue
    const isRefused = error.failure === 'io' || error.failure === 'unsupported'
    if (!isRefused || joined > 1) throw error
    await copyParts(cluster, whole, { state, sizeBytes, blockBytes }, what)
    return whole
  }
}

/** Where HDFS joins nothing, as in what is encrypted or erasure-coded: all goes through this host once more. */
async function copyParts(
  cluster: Cluster,
  whole: StorePath,
  {
    state,
    sizeBytes,
    blockBytes,
  }: { readonly state: UploadState; readonly sizeBytes: number; readonly blockBytes: number },
  what: What,
): Promise<void> {
  const { partBytes } = state
  const body: PartBody = {
    sizeBytes,
    read: async (offset, length) => {
      const bytes = Buffer.allocUnsafe(length)
      for (let at = 0; at < length;) {
        const inPart = (offset + at) % partBytes
        const into = bytes.subarray(at, Math.min(length, at + partBytes - inPart))
        const part = partPath(state, Math.floor((offset + at) / partBytes))
        const got = await cluster.read(part, inPart, into, what)
        if (got !== into.length) throw failed('corrupt', what(), `a part has ${got} of ${into.length} bytes`)
        at += into.length
      }
      return bytes
    },
  }
  await cluster.create(whole, body, { blockBytes }, what)
}

function missing(index: number, what: What): never {
  throw failed('corrupt', what(), `part ${index} is not there; begin the upload again`)
}

const wrongSize = (bytes: number, sizeBytes: number, what: What) =>
  failed('corrupt', what(), `the parts have ${bytes} bytes, not ${sizeBytes}`)

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
    const construction = constructionOf(name)
    const isLeft =
      construction === undefined
        ? (hasDeadWriter(name, live) ?? Date.now() - status.modifiedMs > abandonedAfterMs)
        : isOver({
            ...(construction.generation !== undefined && { generation: construction.generation }),
            isOf: (path) => construction.file === digestOf(path),
          })
    if (isLeft) await cluster.delete(joinPath(folder, name), true, what)
  }
}
