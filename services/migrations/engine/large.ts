import { closeSync, fstatSync } from 'node:fs'
import {
  StoreError,
  type FileAttributes,
  type SourceFile,
  type StorePath,
  type Upload,
} from '../../drivers/driver.ts'
import { localError } from '../../drivers/local-errors.ts'
import { changed, chunkBytes, copyRange, openForReading } from '../../drivers/local-file.ts'
import { LocalRoot, parentOf } from '../../drivers/local-root.ts'
import { versionOf } from '../../drivers/local-source-file.ts'
import { openUpload, uploadPaths } from '../../drivers/local-upload.ts'
import { checkAccepted, partBytesOf } from './copy.ts'
import { noCounts, type ItemResult } from './counts.ts'
import { makeFolders } from './folders.ts'
import type { Large } from './items.ts'
import { targetPath } from './mappings.ts'
import { joinPath } from './paths.ts'
import { Outcome, storeError, targetError } from './outcome.ts'
import { readsFirst, sizeOfSame } from './same-content.ts'
import { atTarget, policyOf, storePath, sweep, type Run } from './run.ts'

/** A large file that is being copied in parts; plain data, so that any thread can copy any part. */
export interface LargeCopy {
  /** In the source. */
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

/** Opening both files costs more than a smaller piece of them. */
const minPieceBytes = chunkBytes

/** What is left of the item when the target has the content already: nothing. Undefined when it is to be copied. */
export async function skipLarge(run: Run, item: Large): Promise<ItemResult | undefined> {
  if (!readsFirst(policyOf(run, item))) return undefined
  const sizeBytes = await sizeOfSame(run, storePath(run, item.path))
  if (sizeBytes === undefined) return undefined
  return { counts: { ...noCounts(), filesSkipped: 1, bytesSkipped: sizeBytes }, failures: [] }
}

/** Opens the file and begins the upload. Throws StoreErrors. */
export async function beginLarge(run: Run, item: Large): Promise<LargeCopy> {
  const path = storePath(run, item.path)
  const { source, target, spec } = run
  sweep(run, parentOf(path))
  if (item.attempt > 1) await makeFolders(run, parentOf(path))
  const file = await source.open(path)
  try {
    const { sizeBytes, version, attributes } = file
    checkAccepted(run, path, 'file', sizeBytes)
    const upload = await atTarget(target.beginUpload(targetPath(run, path), sizeBytes, spec.id))
    const partBytes = partBytesOf(run, sizeBytes)
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
    const roots = [new LocalRoot(sourceRoot), new LocalRoot(targetRoot)] as const
    // A limit may have been set since the size of the parts was.
    for (let done = 0; done < length;) {
      const piece = Math.min(length - done, Math.max(minPieceBytes, run.pace.sliceBytes(length)))
      await run.pace.pay(piece)
      copyPartLocally(run, copy, roots, offset + done, piece)
      done += piece
    }
    return
  }
  await run.pace.pay(length)
  await withVersion(run, copy, async (file) => {
    const bytes = await file.read(offset, length)
    await atTarget(run.target.writePart(copy.upload, index, offset, bytes))
  })
}

/** Checks that the source's file is still the same and lets the copy appear. Throws StoreErrors. */
export async function commitLarge(run: Run, copy: LargeCopy): Promise<ItemResult> {
  await withVersion(run, copy, (file) => file.verifyUnchanged())
  const partCount = Math.ceil(copy.sizeBytes / copy.partBytes)
  await atTarget(run.target.commitUpload(copy.upload, partCount, copy.attributes))
  return { counts: { ...noCounts(), filesMigrated: 1, bytesMigrated: copy.sizeBytes }, failures: [] }
}

/**
 * Copies a file in parts, one after the other: under a limit, by which it would go in one lump otherwise. Returns its size.
 * @param path relative to the migration's path
 */
export async function copyInTurn(run: Run, path: StorePath): Promise<number> {
  const copy = await beginLarge(run, { kind: 'large', attempt: 1, notBeforeMs: 0, path })
  try {
    const partCount = Math.ceil(copy.sizeBytes / copy.partBytes)
    for (let index = 0; index < partCount; index++) await copyPart(run, copy, index)
    await commitLarge(run, copy)
  } catch (error) {
    await run.target.abortUpload(copy.upload)
    throw error
  }
  return copy.sizeBytes
}

/** What a failure makes of the item: another try, a failure, or nothing when the file has gone. */
export function failedLarge(root: StorePath, item: Large, error: unknown): ItemResult {
  const outcome = new Outcome(item.attempt)
  if (storeError(error).failure !== 'gone') {
    return outcome.result(outcome.failed(joinPath(root, item.path), error) ? item : undefined)
  }
  outcome.counts.filesVanished++
  return outcome.result(undefined)
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
