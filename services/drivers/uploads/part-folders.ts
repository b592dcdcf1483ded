import { hash } from 'node:crypto'
import {
  type Continuation,
  type LeftUpload,
  type NewFile,
  StoreError,
  type StorePath,
  type Upload,
} from '../contract/driver.ts'
import type { Failures } from '../http/failures.ts'
import {
  abandonedAfterMs,
  constructionOf,
  hasDeadWriter,
  sharedName,
  temporaryName,
} from '../paths/temporary-names.ts'

/*
 * Uploads to stores where parts are files of their own, in a folder beside the file that they are of, until they are joined.
 */

export interface UploadState {
  readonly path: StorePath
  readonly folder: StorePath
}

export const uploadToken = ({ path, folder }: UploadState): string =>
  `${path.toString('base64url')}.${folder.toString('base64url')}`

/** Throws a StoreError for a token that no driver of this kind made. */
export function readUpload({ token }: Pick<Upload, 'token'>, service: string): UploadState {
  const [, path, folder] = /^([\w-]+)\.([\w-]+)$/.exec(token) ?? []
  if (path === undefined || folder === undefined)
    throw new StoreError('io', `${token.slice(0, 100)} is not the token of an upload to ${service}`)
  return { path: Buffer.from(path, 'base64url'), folder: Buffer.from(folder, 'base64url') }
}

/** A part that is written, and where it belongs. */
export interface PlacedPart {
  readonly index: number
  readonly offset: number
  readonly sizeBytes: number
}

/** The name of a part says where it belongs: whoever joins them need not know how large each was to be. */
export const partName = (index: number, offset: number): string =>
  `part-${String(index).padStart(6, '0')}-${offset}`

/** Where the part of this name belongs; undefined for any other name. */
export function partPlace(name: string): Pick<PlacedPart, 'index' | 'offset'> | undefined {
  const [, index, offset] = /^part-(\d{6,9})-(\d{1,16})$/.exec(name) ?? []
  return offset === undefined ? undefined : { index: Number(index), offset: Number(offset) }
}

/** Indices of the parts that have the size for their place. */
export const wholeParts = (
  parts: readonly PlacedPart[],
  sizeBytes: number,
  partBytes: number,
): readonly number[] =>
  parts
    .filter(
      ({ index, offset, sizeBytes: bytes }) =>
        offset === index * partBytes && bytes === Math.min(partBytes, sizeBytes - offset),
    )
    .map(({ index }) => index)

/** What a name says of the file that is under construction. */
const digestOf = (of: Buffer | string): string => hash('sha256', of).slice(0, 16)

/**
 * Name of the folder of an upload: whoever begins the same of the same version has the same one, on any host, so that what a
 * killed process left is gone on with.
 */
export function uploadFolder(
  path: StorePath,
  { sizeBytes, tag }: NewFile,
  partBytes: number,
  continuation?: Continuation,
): Buffer {
  if (continuation === undefined) return temporaryName(tag)
  const { version, shared } = continuation
  const file = digestOf(path)
  const its = digestOf([sizeBytes, partBytes, version].join('\n'))
  const construction = { file, version: its, generation: shared?.generation ?? 0 }
  return sharedName(tag, construction, hash('sha256', `${file}${its}`).slice(0, 12))
}

/** Throws `corrupt` where the parts are not all of the file. */
export function requireContiguous(
  parts: readonly PlacedPart[],
  sizeBytes: number,
  what: () => string,
  failed: Failures['failed'],
): void {
  let end = 0
  for (const { offset, sizeBytes: bytes } of parts) {
    if (offset !== end) break
    end += bytes
  }
  if (end !== sizeBytes)
    throw failed('corrupt', what(), `there are ${end} of ${sizeBytes} bytes in parts; begin the upload again`)
}

/**
 * Whether nobody goes on with the upload whose folder has this name.
 * @param live threads of this host that live, see `allLiveThreads`
 * @param ageMs since something was written to it last; asked for only where nothing else tells
 */
export function isLeftBehind(
  name: Buffer,
  live: Parameters<typeof hasDeadWriter>[1],
  isOver: (upload: LeftUpload) => boolean,
  ageMs: () => number,
): boolean {
  const construction = constructionOf(name)
  if (construction === undefined) return hasDeadWriter(name, live) ?? ageMs() > abandonedAfterMs
  const { generation = 0, file } = construction
  const isOf = (path: StorePath) => file === digestOf(path)
  if (generation > 0) return isOver({ generation, isOf })
  // Nothing tells whether the single process that writes it lives: it may be on another host.
  return isOver({ isOf }) && ageMs() > abandonedAfterMs
}
