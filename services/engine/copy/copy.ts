import {
  type FileAttributes,
  type Losses,
  type PartBody,
  type SourceFile,
  StoreError,
  type StorePath,
  type TakeBytes,
  unsupported,
  type Upload,
} from '../../drivers/contract/driver.ts'
import type { Counts } from '../run/counts.ts'
import { largeFileBytes } from '../items/items.ts'
import { targetPath } from '../run/mappings.ts'
import { carried, countLosses, countNames } from '../run/metadata.ts'
import { targetError } from '../../drivers/contract/store-error.ts'
import { atTarget, ofCopy, readOptionsOf, type Run, storeCopy } from '../run/run.ts'

/**
 * Copies a file through the drivers and returns its size. Throws StoreErrors; those of the target say so.
 * @param path in the source
 * @param counts what is not kept is added to them
 */
export async function copyFile(run: Run, path: StorePath, counts: Counts): Promise<number> {
  const copier = storeCopy(run)
  const file = await run.source.open(path, { ...readOptionsOf(run), contentLater: copier !== undefined })
  try {
    const attributes = carried(run.spec, file.attributes)
    checkAccepted(run, path, 'file', file.sizeBytes)
    if (goesWhole(run, file.sizeBytes)) {
      // `read` promises bytes of the version that was opened; to ask again would be one more request for every file.
      await run.pace.pay(file.sizeBytes)
      const there = targetPath(run, path)
      const losses =
        (copier && (await ofCopy(copier.file(file, there, attributes)))) ??
        (await atTarget(run.target.put(there, await file.read(0, file.sizeBytes), attributes, run.spec.id)))
      countLosses(counts, losses)
      run.meter.bytes(file.sizeBytes)
    } else {
      countLosses(counts, await copyInParts(run, path, file, attributes))
    }
    countNames(counts, file.nameCount)
    return file.sizeBytes
  } finally {
    await file.close()
  }
}

/** Whether a file goes with one `put`; not one that has become large since it was listed. */
const goesWhole = ({ target, pace }: Run, sizeBytes: number): boolean =>
  sizeBytes <= Math.min(target.capabilities.maxPutBytes, pace.pieceBytes(largeFileBytes))

/** Size of the parts of a file: under a limit no more than moves in a second, as far as the store allows so many parts. */
export const partBytesOf = ({ target, pace }: Run, sizeBytes: number): number =>
  target.capabilities.parts.sizeFor(sizeBytes, pace.pieceBytes(Number.POSITIVE_INFINITY))

/** A part of a file that is copied. */
export interface FilePart {
  readonly upload: Upload
  readonly index: number
  readonly offset: number
  readonly length: number
  /** Whether other processes write parts of the same file: all of a part is known to be right before any of it is written. */
  readonly isShared: boolean
}

/** Writes a part of an open file to the target, a piece of it at a time. Throws StoreErrors; those of the target say so. */
export async function writePart(
  { target, stop }: Run,
  file: SourceFile,
  { upload, index, offset, length, isShared }: FilePart,
): Promise<void> {
  // What the source throws comes through the target's driver, and what the target throws through the source's.
  let unread: { readonly error: unknown } | undefined
  let unwritten: { readonly error: unknown } | undefined
  const reading = async <T>(read: () => Promise<T>): Promise<T> => {
    try {
      stop.check()
      return await read()
    } catch (error) {
      if (unwritten === undefined) unread = { error }
      throw error
    }
  }
  const writing =
    (take: TakeBytes): TakeBytes =>
    (bytes, at) => {
      stop.check()
      try {
        take(bytes, at)
      } catch (error) {
        unwritten = { error }
        throw error
      }
    }
  const body: PartBody = {
    sizeBytes: length,
    read: (from, count) => reading(() => file.read(offset + from, count)),
    ...(file.pour !== undefined &&
      !isShared && { pour: (take) => reading(async () => file.pour?.(offset, length, writing(take))) }),
  }
  try {
    await target.writePart(upload, index, offset, body)
  } catch (error) {
    throw unread === undefined ? targetError(error) : unread.error
  }
}

async function copyInParts(
  run: Run,
  path: StorePath,
  file: SourceFile,
  attributes: FileAttributes,
): Promise<Losses> {
  const { target, stop, spec, pace } = run
  const { sizeBytes } = file
  const partBytes = partBytesOf(run, sizeBytes)
  const upload = await atTarget(
    target.beginUpload(targetPath(run, path), { sizeBytes, tag: spec.id, attributes }),
  )
  const meter = run.meter.ofFile()
  try {
    let count = 0
    for (let offset = 0; offset < sizeBytes; offset += partBytes) {
      stop.check()
      const length = Math.min(partBytes, sizeBytes - offset)
      await pace.pay(length)
      await writePart(run, file, { upload, index: count, offset, length, isShared: false })
      meter.bytes(length)
      count++
    }
    return await atTarget(target.commitUpload(upload, count, attributes))
  } catch (error) {
    meter.undo()
    await run.abandon(upload)
    throw error
  }
}

/**
 * Copies what need not be opened, most often: an empty file, which a look at it tells all about, and a link. Returns a file's size,
 * undefined for a link. Throws StoreErrors.
 * @param counts what is not kept is added to them
 */
export async function copyOther(run: Run, path: StorePath, counts: Counts): Promise<number | undefined> {
  const { source, target, spec } = run
  const found = await source.stat(path, run.stop.signal)
  if (found === undefined) throw new StoreError('gone', 'it is no longer there', { side: 'source' })
  const { follow, extended, signal } = readOptionsOf(run)
  if (found.type === 'symlink' && follow) return copyFile(run, path, counts)
  if (found.type === 'file') {
    if (found.sizeBytes > 0 || source.capabilities.showsUnfinished === true)
      return copyFile(run, path, counts)
    checkAccepted(run, path, 'file', 0)
    await run.pace.pay(0)
    const attributes = extended ? await source.attributesOf(path, { extended, signal }) : found
    countLosses(
      counts,
      await atTarget(
        target.put(targetPath(run, path), Buffer.alloc(0), carried(spec, attributes ?? found), spec.id),
      ),
    )
    return 0
  }
  if (found.type !== 'symlink' || source.readLink === undefined) throw unsupported()
  if (!target.capabilities.symlinks || target.makeLink === undefined) {
    counts.linksNotKept++
    throw new StoreError('unsupported', 'it cannot hold symbolic links', { side: 'target' })
  }
  checkAccepted(run, path, 'symlink', 0)
  await run.pace.pay(0)
  const link = await source.readLink(path)
  countLosses(counts, await atTarget(target.makeLink(targetPath(run, path), link, carried(spec, found))))
  return undefined
}

/** Throws when the target cannot hold such an entry by its own rules: `name`, or `too-large` when only its size is wrong. */
export function checkAccepted(
  run: Run,
  path: StorePath,
  type: 'file' | 'folder' | 'symlink',
  sizeBytes: number,
): void {
  const there = targetPath(run, path)
  const reason = run.target.refuses(there, { type, sizeBytes })
  if (reason === undefined) return
  const isSizeAlone = sizeBytes > 0 && run.target.refuses(there, { type, sizeBytes: 0 }) === undefined
  throw targetError(new StoreError(isSizeAlone ? 'too-large' : 'name', reason))
}
