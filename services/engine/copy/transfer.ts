import type { DirectCopy, Entry, FolderCopy, StorePath } from '../../drivers/contract/driver.ts'
import { nameOf, parentOf } from '../../drivers/paths/path-text.ts'
import { sizeOfArrived } from '../tree/arrived.ts'
import { ChangedNames } from '../items/changed-folders.ts'
import { concurrently } from '../../../broker/common/concurrently.ts'
import { copyFile, copyOther } from './copy.ts'
import { type Counts, countCopied, countFound, countVanished, type ItemResult } from '../run/counts.ts'
import { makeFolders, makeRealFolders } from '../tree/folders.ts'
import { targetPath } from '../run/mappings.ts'
import { countLosses, countNames } from '../run/metadata.ts'
import { largeFileBytes, type FileGroup, type Transfer } from '../items/items.ts'
import { copyInTurn } from './large.ts'
import { isUnchanged, isWatched, isYoung } from '../tree/live.ts'
import { changedBy, isDenied, matchAfterKill, matchFolder } from '../tree/match-folder.ts'
import { Outcome } from '../run/outcome.ts'
import { storeError } from '../../drivers/contract/store-error.ts'
import { overtaken } from '../tree/overtaken.ts'
import { joinPath, textFromPath } from '../items/paths.ts'
import { isOutage, isWorthRetry } from '../run/retry.ts'
import { readsFirst, sizeOfSkipped } from '../tree/same-content.ts'
import {
  concurrencyOf,
  directCopy,
  policyOf,
  requireStore,
  storeCopy,
  storePath,
  sweep,
  type Run,
} from '../run/run.ts'
import { entriesOf, entriesOfGroup, groupOf, type TransferEntry } from './transfer-entries.ts'

/**
 * Copies the files of an item. Failures of single files are part of the result; what throws is the job's own: it was
 * stopped, and what it has copied by then is copied again.
 * @param isInline nobody else copies these files at the same time: it is a part of the comparison that found them
 */
export async function transfer(run: Run, item: Transfer, isInline = false): Promise<ItemResult> {
  const progress = new Progress(run, item, isInline)
  const direct = directCopy(run)
  if (direct !== undefined) {
    for (const group of item.groups) {
      if (await prepare(run, group, progress)) await copyGroupDirectly(run, direct, group, progress)
    }
  } else {
    for (const group of item.groups) await prepare(run, group, progress)
    announce(run, item)
    await concurrently(entriesOf(item), concurrencyOf(run), (entry) =>
      copyThroughDrivers(run, entry, progress),
    )
  }
  if (run.spec.live !== undefined && !isInline)
    for (const { folder } of item.groups) await progress.match(folder)
  return progress.result()
}

/** What the service copies by itself is not read. */
function announce(run: Run, { groups }: Transfer): void {
  if (storeCopy(run) !== undefined) return
  for (const { folder, files } of groups) run.source.announce?.(storePath(run, folder), files)
}

/** Sees to the target's folder before a repeated try. False when that failed, and with it the whole group. */
async function prepare(run: Run, group: FileGroup, progress: Progress): Promise<boolean> {
  const folder = storePath(run, group.folder)
  try {
    await sweep(run, folder)
    await matchAfterKill(run, folder)
    if (progress.attempt > 1) await makeAgain(run, group.folder, progress)
    return true
  } catch (error) {
    run.stop.check()
    for (const entry of entriesOfGroup(group)) progress.failed(entry, error)
    return false
  }
}

/** Makes folders that were there at the first try; the source may have lost them since. */
async function makeAgain(run: Run, folder: StorePath, progress: Progress): Promise<void> {
  if (run.spec.live === undefined) return makeFolders(run, storePath(run, folder))
  const made = await makeRealFolders(run, folder, new Set())
  if (made === undefined) return
  for (const path of changedBy(folder, made)) await progress.match(path)
  if (isWatched(run) && (await run.source.stat(storePath(run, made), run.stop.signal))?.type !== 'folder')
    progress.again(parentOf(made), nameOf(made), true)
}

async function copyGroupDirectly(
  run: Run,
  direct: DirectCopy,
  group: FileGroup,
  progress: Progress,
): Promise<void> {
  const folder = storePath(run, group.folder)
  let copy: FolderCopy
  try {
    copy = direct.folder(folder, targetPath(run, folder), {
      losses: (losses) => countLosses(progress.counts, losses),
      names: (count) => countNames(progress.counts, count),
    })
  } catch (error) {
    const look = () => run.source.stat(folder, run.stop.signal)
    const known = isWatched(run) ? await overtaken(run, folder, error, look) : error
    for (const entry of entriesOfGroup(group)) progress.failed(entry, known)
    return
  }
  using _open = copy
  const looks = isWatched(run)
  for (const entry of entriesOfGroup(group)) {
    run.stop.check()
    if (progress.isOver(entry)) continue
    const startedMs = Date.now()
    const lookAt = looks ? () => copy.look(entry.name) : undefined
    try {
      const before = lookAt?.()
      if (progress.readsFirst && (await isSkipped(run, entry, progress))) continue
      // Without a limit nothing is waited for: a file would pay for a promise of its own.
      progress.copied(
        entry,
        run.pace.isLimited
          ? await copyPaced(run, copy, entry, progress.counts)
          : copyDirectly(run, copy, entry),
      )
      if (lookAt !== undefined) progress.compare(entry, startedMs, before, seen(lookAt))
    } catch (error) {
      await notCopied(run, entry, progress, { error, look: lookAt })
    }
  }
}

function seen(look: () => Entry | undefined): Entry | undefined | 'unseen' {
  try {
    return look()
  } catch {
    return 'unseen'
  }
}

function copyDirectly(run: Run, copy: FolderCopy, { isFile, name }: TransferEntry): number | undefined {
  const sizeBytes = isFile ? copy.file(name) : copy.other(name)
  run.meter.bytes(sizeBytes ?? 0)
  return sizeBytes
}

/** The same under a limit: what takes longer than a second goes in parts. */
async function copyPaced(
  run: Run,
  copy: FolderCopy,
  entry: TransferEntry,
  counts: Counts,
): Promise<number | undefined> {
  const path = joinPath(entry.group.folder, entry.name)
  const found = entry.isFile ? await run.source.stat(storePath(run, path), run.stop.signal) : undefined
  const sizeBytes = found?.type === 'file' ? found.sizeBytes : 0
  if (sizeBytes > run.pace.pieceBytes(largeFileBytes)) return copyInTurn(run, path, counts)
  await run.pace.pay(sizeBytes)
  const copied = copyDirectly(run, copy, entry)
  // A link that is followed leads to a file of any size.
  if (copied !== undefined && copied > sizeBytes) await run.pace.pay(copied - sizeBytes)
  return copied
}

async function copyThroughDrivers(run: Run, entry: TransferEntry, progress: Progress): Promise<void> {
  run.stop.check()
  if (progress.isOver(entry)) return
  const path = progress.pathOf(entry)
  const look = isWatched(run) ? () => run.source.stat(path, run.stop.signal) : undefined
  const startedMs = Date.now()
  try {
    const before = await look?.()
    if (progress.readsFirst && (await isSkipped(run, entry, progress))) return
    const copy = entry.isFile ? copyFile : copyOther
    progress.copied(entry, await copy(run, path, progress.counts))
    if (look !== undefined)
      progress.compare(entry, startedMs, before, await look().catch(() => 'unseen' as const))
  } catch (error) {
    await notCopied(run, entry, progress, { error, look })
  }
}

/** Finds out what it means that a name could not be copied. @param look at what the source has, if its changes are told */
async function notCopied(
  run: Run,
  entry: TransferEntry,
  progress: Progress,
  { error, look }: { readonly error: unknown; readonly look: Parameters<typeof overtaken>[3] | undefined },
): Promise<void> {
  run.stop.check()
  const path = progress.pathOf(entry)
  const known = look === undefined ? storeError(error) : await overtaken(run, path, error, look)
  if (known.failure === 'gone') await requireStore(run)
  const sizeBytes = await sizeOfArrived(run, path, known, progress.counts)
  if (sizeBytes === undefined) progress.failed(entry, known)
  else progress.skipped(entry, sizeBytes)
}

/** Whether the target has the content of a file already, so that it is not copied. */
async function isSkipped(run: Run, entry: TransferEntry, progress: Progress): Promise<boolean> {
  const sizeBytes = await sizeOfSkipped(run, progress.pathOf(entry), progress.counts)
  if (sizeBytes !== undefined) progress.skipped(entry, sizeBytes)
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
  readonly #again = new Map<FileGroup, TransferEntry[]>()
  /** Names whose failure is known, so that they are not tried. */
  readonly #failed = new WeakSet<Buffer>()
  readonly #changed = new ChangedNames()
  /** Names that are being written to, to be looked at again not before a moment. */
  readonly #written = new ChangedNames()
  #writtenForMs = 0
  readonly #vanished: string[] = []
  /** Folders that lack their time for now. */
  readonly #unfinished: FileGroup[] = []
  readonly #isInline: boolean
  /** A store failed as a whole: what is left would only wait for the same answer. */
  #outage: unknown

  constructor(run: Run, item: Transfer, isInline: boolean) {
    this.#run = run
    this.#isInline = isInline
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
  copied({ foundBytes }: TransferEntry, sizeBytes: number | undefined): void {
    const { counts } = this.#outcome
    this.#run.meter.file()
    countFound(counts, foundBytes, sizeBytes ?? 0)
    if (sizeBytes === undefined) counts.linksMigrated++
    else countCopied(counts, sizeBytes)
  }

  skipped({ foundBytes }: TransferEntry, sizeBytes: number): void {
    const { counts } = this.#outcome
    countFound(counts, foundBytes, sizeBytes)
    counts.filesSkipped++
    counts.bytesSkipped += sizeBytes
  }

  /** In a live migration that is told of all changes, something is to be looked at again. */
  again(folder: StorePath, name: Buffer, isTree = false): void {
    this.#changed.add(folder, name, isTree)
  }

  /** Gives a folder that was written into its time. */
  async match(folder: StorePath): Promise<void> {
    const path = storePath(this.#run, folder)
    const error = await matchFolder(this.#run, path, this.counts)
    if (error === undefined) return
    if (isDenied(this.#run, error) && folder.length > 0) this.again(parentOf(folder), nameOf(folder))
    else if (this.#outcome.unfinished(path, error)) this.#unfinished.push({ folder, files: [], others: [] })
  }

  /**
   * Looks at what the source had before a copy and has after it: a copy that was overtaken by a change, or by another copy,
   * must not be what stays. Why it cannot be looked at any more (`unseen`), whoever looks again finds out.
   */
  compare({ group, name }: TransferEntry, startedMs: number, before?: Entry, now?: Entry | 'unseen'): void {
    const mayBeOld = typeof now === 'object' && !this.#isInline && isYoung(this.#run, now, startedMs)
    if (now === 'unseen' || mayBeOld || !isUnchanged(before, now)) this.again(group.folder, name)
  }

  failed(entry: TransferEntry, error: unknown): void {
    // A job that is stopped reports nothing: its item comes back as a whole.
    this.#run.stop.check()
    const known = storeError(error)
    this.#failed.add(entry.name)
    const isGone = known.failure === 'gone'
    if (
      known.failure === 'changed' &&
      known.retryAfterMs !== undefined &&
      this.#run.spec.live !== undefined
    ) {
      this.#written.add(entry.group.folder, entry.name)
      this.#writtenForMs = Math.max(this.#writtenForMs, known.retryAfterMs)
      countVanished(this.counts, entry.foundBytes)
      return
    }
    const isOvertaken = isWatched(this.#run) && (isGone || known.failure === 'changed')
    // What the target has of what is gone goes now, and not only when that is told.
    if (isOvertaken) this.again(entry.group.folder, entry.name, true)
    if (isGone || isOvertaken) {
      countVanished(this.counts, entry.foundBytes)
      if (this.#run.spec.live !== undefined) this.#vanished.push(textFromPath(this.pathOf(entry)))
      return
    }
    if (isOutage(known) && isWorthRetry(known, this.attempt)) this.#outage = known
    if (!this.#outcome.failed(this.pathOf(entry), known, 'file', { sizeBytes: entry.foundBytes })) return
    this.#again.set(entry.group, [...(this.#again.get(entry.group) ?? []), entry])
  }

  /** Whether nothing is to be done for a name any more; after an outage it is put off without a try. */
  isOver(entry: TransferEntry): boolean {
    if (this.#failed.has(entry.name)) return true
    if (this.#outage === undefined) return false
    this.failed(entry, this.#outage)
    return true
  }

  result(): ItemResult {
    const named = [...this.#again].map(([group, entries]) => groupOf(group, entries))
    const groups = [...named, ...this.#unfinished]
    const result = this.#outcome.result(groups.length === 0 ? undefined : { ...this.#item, groups })
    if (this.#run.spec.live === undefined) return result
    const again = [...this.#changed.items(), ...this.#written.items(Date.now() + this.#writtenForMs)]
    const vanished = this.#vanished.length === 0 ? {} : { vanished: this.#vanished }
    return { ...result, again, ...vanished }
  }
}
