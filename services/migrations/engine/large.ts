import { closeSync, fstatSync } from 'node:fs'
import {
  StoreError,
  type FileAttributes,
  type SourceFile,
  type StorePath,
  type Upload,
} from '../../drivers/driver.ts'
import { localError } from '../../drivers/local-errors.ts'
import { changed, copyRange, openForReading } from '../../drivers/local-file.ts'
import { LocalRoot, nameOf, parentOf } from '../../drivers/local-root.ts'
import { versionOf } from '../../drivers/local-source-file.ts'
import { openUpload, uploadPaths } from '../../drivers/local-upload.ts'
import { ChangedNames } from './changed-folders.ts'
import { checkAccepted } from './copy.ts'
import { noCounts, type ItemResult } from './counts.ts'
import { makeFolders } from './folders.ts'
import type { Large } from './items.ts'
import { isWatched, isYoung } from './live.ts'
import { unlessOvertaken } from './overtaken.ts'
import { joinPath } from './paths.ts'
import { Outcome, storeError, targetError } from './outcome.ts'
import { atTarget, storePath, sweep, type MoveSpec, type Run } from './run.ts'

/** A large file that is being copied in parts; plain data, so that any thread can copy any part. */
export interface LargeCopy {
  /** In the stores. */
  readonly path: Uint8Array
  readonly upload: Upload
  readonly sizeBytes: number
  readonly partBytes: number
  /** Version of the source's file that all parts must be of. */
  readonly version: string
  readonly attributes: FileAttributes
  /** Whether the parts are copied synchronously, one at a time in a thread. */
  readonly isLocal: boolean
}

/** Opens the file and begins the upload. Throws StoreErrors. */
export function beginLarge(run: Run, item: Large): Promise<LargeCopy> {
  const path = storePath(run, item.path)
  return unlessOvertaken(run, path, () => begin(run, item, path))
}

async function begin(run: Run, item: Large, path: StorePath): Promise<LargeCopy> {
  const { source, target, spec } = run
  sweep(run, parentOf(path))
  if (item.attempt > 1) await makeFolders(run, parentOf(path))
  const file = await source.open(path)
  try {
    const { sizeBytes, version, attributes } = file
    // A part that is read now could be followed by a write that leaves no trace.
    if (isWatched(run) && isYoung(run, attributes, Date.now())) throw changed()
    checkAccepted(run, path, 'file', sizeBytes)
    const upload = await atTarget(target.beginUpload(path, sizeBytes, spec.id))
    const partBytes = target.features.partBytes(sizeBytes)
    const isLocal = source.features.localRoot !== undefined && target.features.localRoot !== undefined
    return { path, upload, sizeBytes, partBytes, version, attributes, isLocal }
  } finally {
    await file.close()
  }
}

/** Copies one part, verified. Throws StoreErrors, `changed` when the source's file is another version by now. */
export async function copyPart(run: Run, copy: LargeCopy, index: number): Promise<void> {
  const offset = index * copy.partBytes
  const length = Math.min(copy.partBytes, copy.sizeBytes - offset)
  const sourceRoot = run.source.features.localRoot
  const targetRoot = run.target.features.localRoot
  if (sourceRoot !== undefined && targetRoot !== undefined) {
    copyPartLocally(run, copy, [new LocalRoot(sourceRoot), new LocalRoot(targetRoot)], offset, length)
    return
  }
  await withVersion(run, copy, async (file) => {
    const bytes = await file.read(offset, length)
    await atTarget(run.target.writePart(copy.upload, index, offset, bytes))
  })
}

/** Checks that the source's file is still the same and lets the copy appear. Throws StoreErrors. */
export function commitLarge(run: Run, copy: LargeCopy): Promise<ItemResult> {
  return unlessOvertaken(run, Buffer.from(copy.path), () => commit(run, copy))
}

async function commit(run: Run, copy: LargeCopy): Promise<ItemResult> {
  await withVersion(run, copy, (file) => file.verifyUnchanged())
  const partCount = Math.ceil(copy.sizeBytes / copy.partBytes)
  await atTarget(run.target.commitUpload(copy.upload, partCount, copy.attributes))
  const counts = { ...noCounts(), filesMigrated: 1, bytesMigrated: copy.sizeBytes }
  return { counts, failures: [], again: await overtaken(run, copy) }
}

/** What is to be looked at again, because the source's file is another by now or gone. */
async function overtaken(run: Run, { path, sizeBytes, attributes }: LargeCopy): Promise<Uint8Array[]> {
  if (!isWatched(run)) return []
  const now = await run.source.stat(Buffer.from(path))
  const isSame =
    now?.type === 'file' && now.sizeBytes === sizeBytes && now.modifiedMs === attributes.modifiedMs
  return isSame ? [] : againOf(withoutRoot(run.spec.root, Buffer.from(path)))
}

const againOf = (path: StorePath): Uint8Array[] => {
  const names = new ChangedNames()
  names.add(parentOf(path), nameOf(path), true)
  return names.items()
}

const withoutRoot = (root: StorePath, path: StorePath): StorePath =>
  root.length === 0 ? path : path.subarray(root.length + 1)

/** What a failure makes of the item: another try, a failure, or nothing when the file has gone. */
export function failedLarge(spec: MoveSpec, item: Large, error: unknown): ItemResult {
  const outcome = new Outcome(item.attempt)
  const { failure } = storeError(error)
  const isTold = failure === 'changed' && spec.live !== undefined
  if (failure !== 'gone' && !isTold) {
    const path = joinPath(Buffer.from(spec.root), item.path)
    return outcome.result(outcome.failed(path, error) ? item : undefined)
  }
  outcome.counts.filesVanished++
  return { ...outcome.result(undefined), again: isTold ? againOf(item.path) : [] }
}

async function withVersion(
  run: Run,
  copy: LargeCopy,
  work: (file: SourceFile) => Promise<void>,
): Promise<void> {
  const file = await run.source.open(Buffer.from(copy.path))
  try {
    if (file.version !== copy.version) throw changed()
    await work(file)
  } finally {
    await file.close()
  }
}

function copyPartLocally(
  run: Run,
  copy: LargeCopy,
  [sourceRoot, targetRoot]: readonly [LocalRoot, LocalRoot],
  offset: number,
  length: number,
): void {
  const path = Buffer.from(copy.path)
  const from = inSource(() => {
    sourceRoot.confine(parentOf(path))
    return openForReading(sourceRoot.absolute(path))
  })
  try {
    inSource(() => checkVersion(from, copy))
    const to = openUpload(uploadPaths(targetRoot, copy.upload).temporary)
    try {
      copyRange(from, to, offset, length, () => run.stop.check())
    } finally {
      closeSync(to)
    }
    inSource(() => checkVersion(from, copy))
  } catch (error) {
    throw error instanceof StoreError ? error : targetError(localError(error))
  } finally {
    closeSync(from)
  }
}

function inSource<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw localError(error, 'source')
  }
}

function checkVersion(fd: number, { version }: LargeCopy): void {
  if (versionOf(fstatSync(fd, { bigint: true })) !== version) throw changed()
}
