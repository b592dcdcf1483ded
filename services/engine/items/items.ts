import type { ChangeScope } from '../../drivers/feeds/dirty-folders.ts'
import { GantryError } from '../../../subjects/kit/errors.ts'
import type { ActionPolicy } from '../../../subjects/migrations/model/terms.ts'
import type { StorePath } from '../../drivers/contract/driver.ts'
import { parentOf } from '../../drivers/paths/path-text.ts'
import { jsonFromBytes } from './paths.ts'

/** Sibling or cousin folders in one region item: a tree of many small folders must not cost a message a folder. */
export const maxRegionFolders = 64
/** Names in one transfer item; with half as many, messages take a tenth of the processor from the files. */
export const maxTransferNames = 512
/** Content of one transfer item: what a thread moves in some 10 ms. */
export const maxTransferBytes = 8 * 1024 * 1024

/** How much is in one item at most. */
export interface ItemBounds {
  /** Folders in a region item. */
  readonly folders: number
  /** Names in a transfer item. */
  readonly names: number
  /** Content of a transfer item. */
  readonly bytes: number
}

/** From a folder of the host to another. */
export const localBounds: ItemBounds = {
  folders: maxRegionFolders,
  names: maxTransferNames,
  bytes: maxTransferBytes,
}
/**
 * Over a network, where a file takes milliseconds and a message does not count: the first and the last items of a migration
 * are to be worked on by all who can, and not by one for seconds.
 */
export const networkBounds: ItemBounds = { folders: 8, names: 64, bytes: 2 * 1024 * 1024 }
/** A file above this size is an item by itself, moved in parts by all threads. */
export const largeFileBytes = 16 * 1024 * 1024
/** Parts of a large file in one item: of 256 items, what a file of the largest file systems has. */
export const maxPartsInItem = 1_048_576
/** Names and paths of an item before encoding. JSON makes six bytes of one at worst, and a message holds 1 MiB. */
export const maxItemTextBytes = 128 * 1024

interface Head {
  /** 1 for the first try. */
  readonly attempt: number
  /** Milliseconds since 1970 before which the item is not to be worked on; 0 for at once. */
  readonly notBeforeMs: number
  /** Threads that ended while they worked on it: from the first on it gets a thread to itself. Default: none. */
  readonly threadEnds?: number
  /** For what the item has and all in it; default: the migration's. */
  readonly policy?: ActionPolicy
}

/** Folders of one parent; `modes` beside `names`, where the source has them. */
export interface FolderGroup {
  readonly parent: StorePath
  readonly names: readonly Buffer[]
  readonly modes?: readonly number[]
}

/** Files of one folder, and what in it need not be opened: links, empty files, and special files. */
export interface FileGroup {
  readonly folder: StorePath
  readonly files: readonly Buffer[]
  readonly others: readonly Buffer[]
  /** Sizes as they were found, of the files and then of the others: for figures only. Not there where nobody knows. */
  readonly sizes?: readonly number[]
}

/** Where the listing of a folder goes on that is too long for one item. */
export interface Rest {
  /** See `Page`. */
  readonly cursor: string
  /** Whether the folder is at the target already: not one that is only on the way to what is included. */
  readonly isMade: boolean
}

/** Folders to list. All paths in items are relative to the migration's path. */
export interface Region extends Head {
  readonly kind: 'region'
  /** A folder that no listing led to, its parents to be made first: the migration's own (empty), or one to be scanned again. */
  readonly start?: StorePath
  /** A listing of `start` goes on here: what came before is in other items. */
  readonly rest?: Rest
  readonly groups: readonly FolderGroup[]
  /** What is below them is listed with them, as far as `Descent` goes. */
  readonly isDeep?: boolean
}

/** Files to copy. */
export interface Transfer extends Head {
  readonly kind: 'transfer'
  readonly groups: readonly FileGroup[]
}

/** One large file to copy in parts. */
export interface Large extends Head {
  readonly kind: 'large'
  readonly path: StorePath
  /** Its size as it was found. */
  readonly foundBytes?: number
  /** Its parts are items of their own; what is left to do is to commit it when all are there. */
  readonly spread?: Spread
}

/** How far the parts of a large file were when they were looked at last. */
export interface Spread {
  /** Of the upload that they belong to. */
  readonly token: string
  /** Parts that were there. */
  readonly written: number
  /** Since when there are so many, in milliseconds since 1970. */
  readonly sinceMs: number
  /** Bytes of those that were there from the beginning. */
  readonly resumedBytes: number
  /** Of the file. */
  readonly sizeBytes: number
}

/** Some parts of a large file, in a row, for any worker. */
export interface Parts extends Head {
  readonly kind: 'parts'
  readonly path: StorePath
  /** The upload that they are written to. */
  readonly token: string
  readonly sizeBytes: number
  readonly partBytes: number
  /** Version of the source's file that all parts must be of. */
  readonly version: string
  readonly first: number
  readonly count: number
}

/**
 * Folders whose attributes are to be set, in any order: whatever is made in a folder moves its time, so that this is done
 * when no region and no transfer is left.
 */
export interface Folders extends Head {
  readonly kind: 'folders'
  readonly start?: StorePath
  readonly groups: readonly FolderGroup[]
  /** So are the folders below them. */
  readonly isDeep?: boolean
}

/** What of a folder is compared between source and target, so that the target becomes as the source is. */
export interface ChangedFolder {
  readonly folder: StorePath
  /**
   * Names in it that somebody was told of: what is gone at the source under one of them is removed at the target, whoever
   * made it there. All other entries of the target are removed only if they came there after the migration began.
   */
  readonly names: readonly Buffer[]
  /** Like `names`; what is a folder under one of them is compared with all that is below it. */
  readonly trees: readonly Buffer[]
  readonly scope: ChangeScope
}

/** Folders to compare. */
export interface Reconcile extends Head {
  readonly kind: 'reconcile'
  /** Compares what is below its folders too; see `Trees`. */
  readonly isDeep?: boolean
  readonly groups: readonly ChangedFolder[]
}

export type Item = Region | Transfer | Large | Parts | Folders | Reconcile

const encoder = new TextEncoder()

/** An item as bytes: JSON, kind and times first (`notBeforeOf` reads no further). */
export function encodeItem(item: Item): Uint8Array<ArrayBuffer> {
  const { kind, attempt, notBeforeMs, threadEnds, policy } = item
  const head = {
    ...{ kind, attempt, notBeforeMs },
    ...(threadEnds === undefined ? {} : { threadEnds }),
    ...(policy === undefined ? {} : { policy }),
  }
  return encoder.encode(JSON.stringify({ ...head, ...bodyOf(item) }))
}

function bodyOf(item: Item): object {
  switch (item.kind) {
    case 'region':
    case 'folders':
      return {
        ...(item.isDeep === true && { isDeep: true }),
        ...(item.start === undefined ? {} : { start: jsonFromBytes(item.start) }),
        ...(item.kind === 'region' && item.rest !== undefined && { rest: item.rest }),
        groups: item.groups.map(({ parent, names, modes }) => ({
          parent: jsonFromBytes(parent),
          names: names.map(jsonFromBytes),
          ...(modes === undefined ? {} : { modes }),
        })),
      }
    case 'transfer':
      return {
        groups: item.groups.map(({ folder, files, others }) => ({
          folder: jsonFromBytes(folder),
          files: files.map(jsonFromBytes),
          others: others.map(jsonFromBytes),
        })),
        ...foundIn(item.groups),
      }
    case 'reconcile':
      return {
        ...(item.isDeep === true && { isDeep: true }),
        groups: item.groups.map(({ folder, names, trees, scope }) => ({
          folder: jsonFromBytes(folder),
          names: names.map(jsonFromBytes),
          trees: trees.map(jsonFromBytes),
          scope,
        })),
      }
    case 'large':
      return {
        path: jsonFromBytes(item.path),
        ...(item.spread === undefined ? {} : { spread: item.spread }),
        ...(item.foundBytes === undefined ? {} : { found: [item.foundBytes] }),
      }
    case 'parts':
      break
  }
  const { path, token, sizeBytes, partBytes, version, first, count } = item
  return { path: jsonFromBytes(path), token, sizeBytes, partBytes, version, first, count }
}

/** The sizes of all files of an item, if they are known: the last field of it, see `identityOf`. */
function foundIn(groups: readonly FileGroup[]): { found?: readonly number[] } {
  if (groups.every(({ sizes }) => sizes === undefined)) return {}
  const isKnown = groups.every(
    ({ files, others, sizes = [] }) => sizes.length === files.length + others.length,
  )
  return isKnown ? { found: groups.flatMap(({ sizes = [] }) => sizes) } : {}
}

/** Only a key is followed by a colon: in names, quotes are escaped. */
const foundKey = ',"found":['

/** What tells an item from others: not how large its files were, as some may have grown when they are listed again. */
export function identityOf(item: Uint8Array): Uint8Array {
  const end = Buffer.from(item.buffer, item.byteOffset, item.length).lastIndexOf(foundKey)
  return end < 0 ? item : item.subarray(0, end)
}

/** The region from which a migration starts (the root of it, without a path), or a folder that is to be scanned again. */
export const startRegion = (
  path: StorePath = Buffer.alloc(0),
  policy?: ActionPolicy,
): Uint8Array<ArrayBuffer> =>
  encodeItem({
    kind: 'region',
    attempt: 1,
    notBeforeMs: 0,
    start: path,
    ...(policy === undefined ? {} : { policy }),
    groups: [],
  })

/** All folders of a migration, to be finished. */
export const allFolders = (): Uint8Array<ArrayBuffer> =>
  encodeItem({
    kind: 'folders',
    attempt: 1,
    notBeforeMs: 0,
    isDeep: true,
    start: Buffer.alloc(0),
    groups: [],
  })

const kinds: readonly Item['kind'][] = ['region', 'transfer', 'large', 'parts', 'folders', 'reconcile']
const headPattern =
  /^\{"kind":"([a-z]{1,10})","attempt":(\d{1,6}),"notBeforeMs":(\d{1,15}),(?:"threadEnds":(\d{1,3}),)?/
/** The head of an item is shorter than this. */
const maxHeadLength = 100

/** What all items have, without decoding the rest. Throws INVALID_INPUT. */
export function headOf(
  item: Uint8Array,
): Pick<Item, 'kind' | 'attempt' | 'notBeforeMs'> & { readonly threadEnds: number } {
  const start = Buffer.from(item.buffer, item.byteOffset, Math.min(item.length, maxHeadLength)).toString(
    'latin1',
  )
  const [, kind, attempt, notBefore, threadEnds = 0] = headPattern.exec(start) ?? []
  if (kind === undefined || !isKind(kind)) throw malformed('no known kind')
  return { kind, attempt: Number(attempt), notBeforeMs: Number(notBefore), threadEnds: Number(threadEnds) }
}

const isKind = (text: string): text is Item['kind'] => kinds.some((kind) => kind === text)

/** When an item may be worked on, without decoding it. Throws INVALID_INPUT. */
export const notBeforeOf = (item: Uint8Array): number => headOf(item).notBeforeMs

/** Kind of an item, without decoding it. Throws INVALID_INPUT. */
export const kindOf = (item: Uint8Array): Item['kind'] => headOf(item).kind

/** The error for bytes that are no item. */
export const malformed = (problem: string, cause?: unknown) =>
  new GantryError('INVALID_INPUT', `work item: ${problem}`, { cause })

/** Folders in which files of an item are written. */
export function writtenFolders(item: Item): StorePath[] {
  if (item.kind === 'large' || item.kind === 'parts') return [parentOf(item.path)]
  if (item.kind === 'transfer' || item.kind === 'reconcile') return item.groups.map(({ folder }) => folder)
  return []
}
