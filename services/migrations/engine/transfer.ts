import type { StorePath } from '../../drivers/driver.ts'
import { LocalRoot } from '../../drivers/local-root.ts'
import { concurrently } from './concurrently.ts'
import { copyFile, copyOther } from './copy.ts'
import { LocalCopy } from './copy-local.ts'
import type { Counts, ItemResult } from './counts.ts'
import { makeFolders } from './folders.ts'
import type { FileGroup, Transfer } from './items.ts'
import { Outcome, storeError } from './outcome.ts'
import { joinPath } from './paths.ts'
import { isOutage, isWorthRetry } from './retry.ts'
import { readsFirst, sizeOfSame } from './same-content.ts'
import { concurrencyOf, policyOf, storePath, sweep, type Run } from './run.ts'

/**
 * Copies the files of an item. Failures of single files are part of the result; what throws is the job's own: it was
 * stopped, and what it has copied by then is copied again.
 */
export async function transfer(run: Run, item: Transfer): Promise<ItemResult> {
  const progress = new Progress(run, item)
  const sourceRoot = run.source.features.localRoot
  const targetRoot = run.target.features.localRoot
  if (sourceRoot !== undefined && targetRoot !== undefined) {
    const roots = [new LocalRoot(sourceRoot), new LocalRoot(targetRoot)] as const
    for (const group of item.groups) {
      if (await prepare(run, group, progress)) await copyGroupLocally(run, roots, group, progress)
    }
  } else {
    for (const group of item.groups) await prepare(run, group, progress)
    await concurrently(entriesOf(item), concurrencyOf(run), (entry) =>
      copyThroughDrivers(run, entry, progress),
    )
  }
  return progress.result()
}

/** One name of a group. */
interface TransferEntry {
  readonly group: FileGroup
  readonly name: Buffer
  readonly isFile: boolean
}

function* entriesOfGroup(group: FileGroup): Generator<TransferEntry> {
  for (const name of group.files) yield { group, name, isFile: true }
  for (const name of group.others) yield { group, name, isFile: false }
}

function* entriesOf(item: Transfer): Generator<TransferEntry> {
  for (const group of item.groups) yield* entriesOfGroup(group)
}

/** Sees to the target's folder before a repeated try. False when that failed, and with it the whole group. */
async function prepare(run: Run, group: FileGroup, progress: Progress): Promise<boolean> {
  const folder = storePath(run, group.folder)
  try {
    sweep(run, folder)
    if (progress.attempt > 1) await makeFolders(run, folder)
    return true
  } catch (error) {
    for (const entry of entriesOfGroup(group)) progress.failed(entry, error)
    return false
  }
}

async function copyGroupLocally(
  run: Run,
  roots: readonly [LocalRoot, LocalRoot],
  group: FileGroup,
  progress: Progress,
): Promise<void> {
  let copy: LocalCopy
  try {
    copy = new LocalCopy(run, roots, storePath(run, group.folder), progress.counts)
  } catch (error) {
    for (const entry of entriesOfGroup(group)) progress.failed(entry, error)
    return
  }
  for (const entry of entriesOfGroup(group)) {
    run.stop.check()
    if (progress.isOver(entry)) continue
    try {
      if (progress.readsFirst && (await isSkipped(run, entry, progress))) continue
      progress.copied(entry.isFile ? copy.file(entry.name) : copy.other(entry.name))
    } catch (error) {
      progress.failed(entry, error)
    }
  }
}

async function copyThroughDrivers(run: Run, entry: TransferEntry, progress: Progress): Promise<void> {
  run.stop.check()
  if (progress.isOver(entry)) return
  const path = progress.pathOf(entry)
  try {
    if (progress.readsFirst && (await isSkipped(run, entry, progress))) return
    const copy = entry.isFile ? copyFile : copyOther
    progress.copied(await copy(run, path, progress.counts))
  } catch (error) {
    progress.failed(entry, error)
  }
}

/** Whether the target has the content of a file already, so that it is not copied. */
async function isSkipped(run: Run, entry: TransferEntry, progress: Progress): Promise<boolean> {
  const sizeBytes = await sizeOfSame(run, progress.pathOf(entry))
  if (sizeBytes !== undefined) progress.skipped(sizeBytes)
  return sizeBytes !== undefined
}

/** What happened to the names of an item so far. */
class Progress {
  readonly attempt: number
  /** Whether the content of a file that is at the target is looked at before it is copied. */
  readonly readsFirst: boolean
  readonly #run: Run
  readonly #item: Transfer
  readonly #outcome: Outcome
  readonly #again = new Map<FileGroup, { files: Buffer[]; others: Buffer[] }>()
  /** Names whose failure is known, so that they are not tried. */
  readonly #failed = new WeakSet<Buffer>()
  /** A store failed as a whole: what is left would only wait for the same answer. */
  #outage: unknown

  constructor(run: Run, item: Transfer) {
    this.#run = run
    this.#item = item
    this.attempt = item.attempt
    this.readsFirst = readsFirst(policyOf(run, item))
    this.#outcome = new Outcome(item.attempt)
  }

  /** What the whole item came to so far. */
  get counts(): Counts {
    return this.#outcome.counts
  }

  pathOf({ group, name }: TransferEntry): StorePath {
    return joinPath(storePath(this.#run, group.folder), name)
  }

  /** @param sizeBytes a file's size; undefined for a link */
  copied(sizeBytes: number | undefined): void {
    const { counts } = this.#outcome
    if (sizeBytes === undefined) counts.linksMigrated++
    else {
      counts.filesMigrated++
      counts.bytesMigrated += sizeBytes
    }
  }

  skipped(sizeBytes: number): void {
    const { counts } = this.#outcome
    counts.filesSkipped++
    counts.bytesSkipped += sizeBytes
  }

  failed(entry: TransferEntry, error: unknown): void {
    // A job that is stopped reports nothing: its item comes back as a whole.
    this.#run.stop.check()
    const known = storeError(error)
    this.#failed.add(entry.name)
    if (known.failure === 'gone') {
      this.#outcome.counts.filesVanished++
      return
    }
    if (isOutage(known) && isWorthRetry(known, this.attempt)) this.#outage = known
    if (!this.#outcome.failed(this.pathOf(entry), known)) return
    const again = this.#again.get(entry.group) ?? { files: [], others: [] }
    this.#again.set(entry.group, again)
    again[entry.isFile ? 'files' : 'others'].push(entry.name)
  }

  /** Whether nothing is to be done for a name any more; after an outage it is put off without a try. */
  isOver(entry: TransferEntry): boolean {
    if (this.#failed.has(entry.name)) return true
    if (this.#outage === undefined) return false
    this.failed(entry, this.#outage)
    return true
  }

  result(): ItemResult {
    const groups = [...this.#again].map(([{ folder }, names]) => ({ folder, ...names }))
    return this.#outcome.result(groups.length === 0 ? undefined : { ...this.#item, groups })
  }
}
