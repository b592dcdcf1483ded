import type { Deferral } from '../../../subjects/migrations/model/condition-terms.ts'
import { fileSizeClasses, fileSizeClassNames } from '../../../subjects/migrations/model/terms.ts'
import type { FailureClass } from '../../drivers/contract/driver.ts'
import type { Moved } from './meter.ts'

/**
 * What a piece of work found and did. What was scanned is, when all is done, what was migrated, skipped, vanished or
 * failed; retries do not count again what was scanned.
 */
const countNames = [
  'filesScanned',
  'bytesScanned',
  'foldersScanned',
  'linksScanned',
  /** Sockets, pipes, devices: they become failures. */
  'othersScanned',
  'filesMigrated',
  'bytesMigrated',
  'foldersMigrated',
  'linksMigrated',
  /** At the target already, by the migration's policy; links too. */
  'filesSkipped',
  'bytesSkipped',
  /** Symbolic links left out, by the migration's choice. */
  'linksSkipped',
  /** At the target in parts of files that several workers copy. */
  'bytesShared',
  /** Of these, those of files that are over: they are among `bytesMigrated` now, or given up. */
  'bytesSharedOver',
  /** Of `bytesMigrated`: parts of large files that a killed process had written; they were not read again. */
  'bytesResumed',
  /** Arrived without something that belongs to it; see `NotKept` of the interface. */
  'timesNotKept',
  'modesNotKept',
  'ownersNotKept',
  'attributesNotKept',
  /** Links that the target cannot hold: they are failures as well. */
  'linksNotKept',
  'hardLinksSplit',
  /** Left out by the migration's rules: they are not among those scanned. Of a folder's content nothing is known. */
  'filesExcluded',
  'bytesExcluded',
  'foldersExcluded',
  /**
   * Deleted at the source between listing and copy: nothing is missing at the target, so these are no failures. In a live
   * migration also what was written to while it was copied: that is found, and counted, once more.
   */
  'filesVanished',
  /** Found, and not to come: all of those files, and what others had less when they were copied. */
  'bytesVanished',
  'foldersVanished',
  /** Taken away at the target, because they are gone at the source. */
  'filesRemoved',
  'foldersRemoved',
  /** Of what was migrated: what a change at the source brought, and not the scan. */
  'filesChanged',
  'bytesChanged',
  'foldersChanged',
  /** Given up; each is in a list of failures. */
  'failures',
  /** Of these, files and links that are among those scanned. */
  'filesFailed',
  'bytesFailed',
  /** Given up once and taken up again: of the failures, and of the folders that were scanned, those count no more. */
  'filesRetried',
  'bytesRetried',
  'foldersRetried',
  /** Put off for another try, a path as often as that happened; nobody has given it up. */
  'pathsRequeued',
  /** A change of a live migration told of something that a rule leaves out. */
  'eventsExcluded',
  /** The files among those migrated, by their size. */
  ...fileSizeClassNames,
] as const

export type Counts = Record<(typeof countNames)[number], number>

export const noCounts = (): Counts =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- these are all the names that the type has
  Object.fromEntries(countNames.map((name) => [name, 0])) as Counts

/** Counts a file that has arrived. */
export function countCopied(counts: Counts, sizeBytes: number): void {
  counts.filesMigrated++
  counts.bytesMigrated += sizeBytes
  counts[fileSizeClassNames.find((name) => sizeBytes <= fileSizeClasses[name]) ?? 'filesLarger']++
}

/**
 * Keeps the bytes that were found equal to those that came of them: a file may have another size than when it was listed.
 * @param foundBytes undefined where nobody knows
 */
export function countFound(counts: Counts, foundBytes: number | undefined, sizeBytes: number): void {
  if (foundBytes === undefined) return
  if (sizeBytes > foundBytes) counts.bytesScanned += sizeBytes - foundBytes
  else counts.bytesVanished += foundBytes - sizeBytes
}

/** Counts a file that was found and is not to come as it was: it is gone, or will be found again. */
export function countVanished(counts: Counts, foundBytes = 0): void {
  counts.filesVanished++
  counts.bytesVanished += foundBytes
}

/** Adds counts to others, in place. */
export function add(into: Counts, more: Readonly<Counts>): Counts {
  for (const name of countNames) into[name] += more[name]
  return into
}

/** Takes counts away from others that they are part of, in place. */
export function subtract(from: Counts, less: Readonly<Counts>): Counts {
  for (const name of countNames) from[name] -= less[name]
  return from
}

/** Bytes at the target of files that several workers still copy. */
export const bytesInParts = ({ bytesShared, bytesSharedOver }: Readonly<Counts>): number =>
  bytesShared - bytesSharedOver

/** What was moved, files that are under way in parts included. */
export const movedOf = (counts: Readonly<Counts>): Moved => ({
  bytes: counts.bytesMigrated + bytesInParts(counts),
  files: counts.filesMigrated + counts.linksMigrated,
})

/** Something that did not arrive and will not be tried again. */
export interface Failure {
  /** Absolute path in the store, as text (`textFromPath`). */
  path: string
  failure: FailureClass
  message: string
  attempts: number
  /** The listing of a folder failed. */
  isFolder?: true
  /** Of a live migration: all that is below it was to be compared too. */
  isTree?: true
  /** Not a copy failed: it is at the target, and should not be any more. */
  isRemoval?: true
  /** Of a file, its size as it was found. */
  foundBytes?: number
}

/** Something at the target that is not removed, as the migration's budget for removals is used up. */
export interface HeldRemoval {
  /** Where it would be in the source, as failures have paths. */
  readonly path: string
  /** What would go with it, itself included. */
  readonly files: number
  readonly folders: number
  /** Of the files. */
  readonly bytes: number
}

/** What came of a work item. */
export interface ItemResult {
  counts: Counts
  /** Final ones, for the ledger. At most as many as the item has names. */
  failures: Failure[]
  /**
   * Of a live migration: paths, as failures have them, that somebody was told of and where the source has no folder, so that
   * nothing is below them. One whose copy or removal at the target failed is among the failures too.
   */
  gone?: string[]
  /** Of a live migration: what waits for an approval. Names that were told are in an item that was made of them. */
  held?: HeldRemoval[]
  /** Of a live migration: paths, as failures have them, that went before they were copied: they have not arrived. */
  vanished?: string[]
  /** Something was written to a file with several names: the others are to be looked at too. */
  hasOtherNames?: boolean
  /** An item with only what is worth another try, not before its own time. */
  retry?: Uint8Array<ArrayBuffer>
  /** In its place: items of its parts, each to be tried by itself. */
  split?: Uint8Array<ArrayBuffer>[]
  /** The last of the reasons for it, with its path. */
  deferral?: Deferral
  /** Of a live migration: encoded `Reconcile` items of what is to be looked at again, not before its own time. */
  again?: Uint8Array[]
  /** Encoded `Reconcile` items of large files that are copied by items of their own: until those are done, not once more. */
  busy?: Uint8Array[]
  /** Of a deep comparison: encoded `Reconcile` items of what it compared below its own folders. */
  compared?: Uint8Array[]
}

/** Adds to the result of a comparison, in place, what came of a part of it. */
export function addResult(into: ItemResult, more: ItemResult): void {
  add(into.counts, more.counts)
  into.failures.push(...more.failures)
  if (more.hasOtherNames === true) into.hasOtherNames = true
  if (more.deferral !== undefined) into.deferral = more.deferral
  if (more.gone !== undefined) (into.gone ??= []).push(...more.gone)
  if (more.held !== undefined) (into.held ??= []).push(...more.held)
  if (more.vanished !== undefined) (into.vanished ??= []).push(...more.vanished)
  if (more.again !== undefined) (into.again ??= []).push(...more.again)
  if (more.busy !== undefined) (into.busy ??= []).push(...more.busy)
}
