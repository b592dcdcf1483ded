import {
  changed,
  type DirectCopy,
  type Losses,
  type ReadOptions,
  type SourceFile,
  storeError,
  type StorePath,
} from '../../drivers/contract/driver.ts'
import { cleaningUp } from '../../drivers/http/job-signal.ts'
import { nameOf, parentOf } from '../../drivers/paths/path-text.ts'
import { ChangedNames } from '../items/changed-folders.ts'
import { checkAccepted, writePart } from './copy.ts'
import {
  add,
  countCopied,
  type Counts,
  countVanished,
  noCounts,
  type ItemResult,
  subtract,
} from '../run/counts.ts'
import { makeFolders } from '../tree/folders.ts'
import type { Large } from '../items/items.ts'
import { bytesOf, type LargeCopy, type PartsOf, partsLeft, writtenBytes } from './large-copy.ts'
import { isWatched, isYoung } from '../tree/live.ts'
import { targetPath } from '../run/mappings.ts'
import { isDenied, matchAfterKill, matchFolder } from '../tree/match-folder.ts'
import { carried, countLosses, countNames, readOptions } from '../run/metadata.ts'
import { unlessOvertaken } from '../tree/overtaken.ts'
import { joinPath, relativePath } from '../items/paths.ts'
import { Outcome } from '../run/outcome.ts'
import { isWorthRetry } from '../run/retry.ts'
import { readsFirst, sizeOfSkipped } from '../tree/same-content.ts'
import { isWorthSharing } from './spread.ts'
import {
  atTarget,
  directCopy,
  ofCopy,
  policyOf,
  requireStore,
  storeCopy,
  storePath,
  sweep,
  type MoveSpec,
  type Run,
} from '../run/run.ts'

/** Less than what is read and written at once anyway would only be more steps. */
const minPieceBytes = 256 * 1024

/** What is left of the item when the target has the content already: nothing. Undefined when it is to be copied. */
export async function skipLarge(run: Run, item: Large): Promise<ItemResult | undefined> {
  if (!readsFirst(policyOf(run, item))) return undefined
  const counts = noCounts()
  const sizeBytes = await sizeOfSkipped(run, storePath(run, item.path), counts)
  if (sizeBytes === undefined) return undefined
  return { counts: { ...counts, filesSkipped: 1, bytesSkipped: sizeBytes }, failures: [] }
}

/**
 * What is left of the item when the service of both stores has copied the file with one call: nothing. Undefined when it is
 * to be copied in parts. Throws StoreErrors.
 */
export async function copyLargeWhole(run: Run, item: Large): Promise<ItemResult | undefined> {
  const copier = storeCopy(run)
  if (copier === undefined) return undefined
  const path = storePath(run, item.path)
  const mostBytes = run.pace.pieceBytes(copier.maxFileBytes)
  return unlessOvertaken(run, path, () =>
    withPrepared(run, item, path, async (file) => {
      const { sizeBytes, nameCount } = file
      if (sizeBytes > mostBytes) return undefined
      await run.pace.pay(sizeBytes)
      const attributes = carried(run.spec, file.attributes)
      const losses = await ofCopy(copier.file(file, targetPath(run, path), attributes))
      if (losses === undefined) return undefined
      run.meter.bytes(sizeBytes)
      return copied(run, { path, sizeBytes, attributes, nameCount }, losses)
    }),
  )
}

/**
 * Opens the file and begins the upload, or goes on with one of the same version that a killed process began. Throws
 * StoreErrors.
 */
export function beginLarge(run: Run, item: Large, options: BeginOptions = {}): Promise<LargeCopy> {
  const path = storePath(run, item.path)
  return unlessOvertaken(run, path, () => begin(run, item, { path, ...options }))
}

interface BeginOptions {
  /** Whether other processes are to write parts of it too, if it is worth it; default: no. */
  readonly mayShare?: boolean
  /** Whether its parts are taken over from threads of this process too, which have left them; default: no. */
  readonly takesOver?: boolean
}

function begin(
  run: Run,
  item: Large,
  { path, mayShare = false, takesOver = false }: BeginOptions & { readonly path: StorePath },
): Promise<LargeCopy> {
  const { target, spec } = run
  return withPrepared(run, item, path, async (file) => {
    const { sizeBytes, version, nameCount } = file
    const partBytes = target.capabilities.parts.sizeFor(sizeBytes)
    const isShared = mayShare && isWorthSharing(run, path, { sizeBytes, partBytes })
    const attributes = carried(spec, file.attributes)
    const upload = await atTarget(
      target.beginUpload(
        targetPath(run, path),
        { sizeBytes, tag: spec.id, attributes },
        {
          version,
          liveThreads: takesOver ? [] : othersOf(run, item),
          ...(isShared ? { shared: { generation: spec.generation } } : {}),
        },
      ),
    )
    const isSequential = target.capabilities.parts.order === 'sequential'
    const kind = { isDirect: directCopy(run) !== undefined, isSequential, isShared }
    return { path, upload, sizeBytes, partBytes, version, attributes, nameCount, ...kind }
  })
}

/** Sees to the target's folder, and opens the file of the source, of which nothing is read yet. */
async function withPrepared<T>(
  run: Run,
  item: Large,
  path: StorePath,
  work: (file: SourceFile) => Promise<T>,
): Promise<T> {
  await sweep(run, parentOf(path))
  await matchAfterKill(run, parentOf(path))
  if (item.attempt > 1) await makeFolders(run, parentOf(path))
  const file = await openLarge(run, path)
  try {
    // A part that is read now could be followed by a write that leaves no trace.
    if (isWatched(run) && isYoung(run, file.attributes, Date.now())) throw changed()
    checkAccepted(run, path, 'file', file.sizeBytes)
    return await work(file)
  } finally {
    await file.close()
  }
}

/** What was begun of a file that is gone nobody goes on with. */
async function openLarge(run: Run, path: StorePath): Promise<SourceFile> {
  try {
    return await openSource(run, path, readOptions(run.spec))
  } catch (error) {
    if (storeError(error).failure === 'gone')
      await sweep(run, parentOf(path), (upload) => upload.isOf(targetPath(run, path)))
    throw error
  }
}

async function openSource(run: Run, path: StorePath, options: ReadOptions): Promise<SourceFile> {
  try {
    return await run.source.open(path, { ...options, contentLater: true, signal: run.stop.signal })
  } catch (error) {
    if (storeError(error).failure === 'gone') await requireStore(run)
    throw error
  }
}

/**
 * Threads that may work on the same file: all that live when the item was handed out a second time, none when it is tried
 * again, for the try before has ended; undefined when there was none before.
 */
function othersOf({ liveThreads }: Run, { attempt }: Large): readonly number[] | undefined {
  return liveThreads ?? (attempt > 1 ? [] : undefined)
}

/** Copies one part, verified. Throws StoreErrors, `changed` when the source's file is another version by now. */
export async function copyPart(run: Run, copy: PartsOf, index: number): Promise<void> {
  const offset = index * copy.partBytes
  const length = bytesOf(copy, index)
  // What is shared is known to be of the version before it is written: whoever was thought dead may write after the commit.
  const direct = copy.isShared ? undefined : directCopy(run)
  if (direct !== undefined) return copyPartDirectly(run, copy, direct, index)
  await run.pace.pay(length)
  const part = { upload: copy.upload, index, offset, length, isShared: copy.isShared }
  const copier = storeCopy(run)
  await withVersion(run, copy, async (file) => {
    if (copier === undefined || !(await ofCopy(copier.part(file, part)))) await writePart(run, file, part)
  })
  run.meter.bytes(length)
}

/** Checks that the source's file is still the same and lets the copy appear. Throws StoreErrors. */
export function commitLarge(run: Run, copy: LargeCopy): Promise<ItemResult> {
  return unlessOvertaken(run, Buffer.from(copy.path), () => commit(run, copy))
}

async function commit(run: Run, copy: LargeCopy): Promise<ItemResult> {
  await withVersion(run, copy, (file) => file.verifyUnchanged())
  const partCount = Math.ceil(copy.sizeBytes / copy.partBytes)
  const losses = await atTarget(run.target.commitUpload(copy.upload, partCount, copy.attributes))
  return copied(run, copy, losses, writtenBytes(copy))
}

/** What came of a file that stands at the target now. */
async function copied(
  run: Run,
  copy: Pick<LargeCopy, 'path' | 'sizeBytes' | 'attributes' | 'nameCount'>,
  losses: Losses,
  bytesResumed = 0,
): Promise<ItemResult> {
  const counts = noCounts()
  countCopied(counts, copy.sizeBytes)
  counts.bytesResumed = bytesResumed
  countLosses(counts, losses)
  countNames(counts, copy.nameCount)
  if (run.spec.live === undefined) return { counts, failures: [] }
  const folder = parentOf(Buffer.from(copy.path))
  const error = await matchFolder(run, folder, counts)
  const again = await changedSince(run, copy)
  if (error === undefined) return { counts, failures: [], again }
  const at = relativePath(run.spec.root, folder)
  if (at.length > 0 && (isDenied(run, error) || isWorthRetry(error, 1))) again.push(...againOf(at, false))
  else counts.timesNotKept++
  return { counts, failures: [], again }
}

/** What is to be looked at again, because the source's file is another by now or gone. */
async function changedSince(
  run: Run,
  { path, sizeBytes, attributes }: Pick<LargeCopy, 'path' | 'sizeBytes' | 'attributes'>,
): Promise<Uint8Array[]> {
  if (!isWatched(run)) return []
  const now = await run.source.stat(Buffer.from(path), run.stop.signal)
  const isSame =
    now?.type === 'file' && now.sizeBytes === sizeBytes && now.modifiedMs === attributes.modifiedMs
  return isSame ? [] : againOf(relativePath(run.spec.root, Buffer.from(path)))
}

const againOf = (path: StorePath, isTree = true, notBeforeMs = 0): Uint8Array[] => {
  const names = new ChangedNames()
  names.add(parentOf(path), nameOf(path), isTree)
  return names.items(notBeforeMs)
}

/**
 * Copies a file in parts, one after the other: under a limit, by which it would go in one lump otherwise. Returns its size.
 * @param path relative to the migration's path
 * @param counts what is not kept is added to them
 */
export async function copyInTurn(run: Run, path: StorePath, counts: Counts): Promise<number> {
  const copy = await beginLarge(run, { kind: 'large', attempt: 1, notBeforeMs: 0, path })
  const meter = run.meter.ofFile()
  try {
    for (const index of partsLeft(copy)) await copyPart({ ...run, meter }, copy, index)
    const { counts: all } = await commitLarge(run, copy)
    // Who asked for it counts the file.
    const file = noCounts()
    countCopied(file, copy.sizeBytes)
    add(counts, subtract(all, file))
  } catch (error) {
    meter.undo()
    // Where that fails, the next try goes on with it.
    await cleaningUp(() => run.target.abortUpload(copy.upload)).catch(() => undefined)
    throw error
  }
  return copy.sizeBytes
}

/** What a failure makes of the item: another try, a failure, or nothing when the file has gone. */
export function failedLarge(spec: MoveSpec, item: Large, error: unknown): ItemResult {
  const outcome = new Outcome(item.attempt)
  const { failure, retryAfterMs } = storeError(error)
  const isVanished = failure === 'gone'
  const isTold = (isVanished || failure === 'changed') && spec.live !== undefined
  if (!isVanished && !isTold) {
    const path = joinPath(Buffer.from(spec.root), item.path)
    const isPutOff = outcome.failed(path, error, 'file', { sizeBytes: item.foundBytes })
    return outcome.result(isPutOff ? item : undefined)
  }
  countVanished(outcome.counts, item.foundBytes)
  // Who writes to it is not done.
  if (retryAfterMs !== undefined) {
    const again = againOf(item.path, true, Date.now() + retryAfterMs)
    return { ...outcome.result(undefined), again }
  }
  return { ...outcome.result(undefined), ...(isTold && { again: againOf(item.path) }) }
}

async function withVersion(
  run: Run,
  copy: PartsOf,
  work: (file: SourceFile) => Promise<void>,
): Promise<void> {
  const { follow } = readOptions(run.spec)
  const file = await openSource(run, Buffer.from(copy.path), { follow })
  try {
    if (file.version !== copy.version) throw changed()
    await work(file)
  } finally {
    await file.close()
  }
}

/** Copies one part with the calls of the driver. */
async function copyPartDirectly(run: Run, copy: PartsOf, direct: DirectCopy, index: number): Promise<void> {
  const [offset, length] = [index * copy.partBytes, bytesOf(copy, index)]
  using part = direct.part({ ...copy, path: Buffer.from(copy.path) })
  for (let done = 0; done < length;) {
    // All of it without a limit; one may be set, lifted or changed meanwhile.
    const piece = Math.min(length - done, Math.max(minPieceBytes, run.pace.sliceBytes(length)))
    await run.pace.pay(piece)
    part.copy(offset + done, piece)
    run.meter.bytes(piece)
    done += piece
  }
  part.finish(index)
}
