import { fstatSync, writeSync } from 'node:fs'
import { constants } from 'node:os'
import { localError } from '../errors.ts'
import { copyRange, readFully } from '../file.ts'
import { changed } from '../../contract/store-error.ts'
import { systemCalls, type SystemCalls } from '../system-calls.ts'

/** Holes of smaller files are not worth the questions: file systems keep a block or two anyway. */
const minSparseBytes = 1024 * 1024

/** Without a way to ask for holes, runs of so many zeros are taken for one: some blocks of every file system. */
const blockBytes = 64 * 1024
const block = Buffer.allocUnsafeSlow(blockBytes)
const zeros = Buffer.alloc(blockBytes)
const oneZero = Buffer.alloc(1)

/** What `blocks` of a file counts, whatever the file system's own blocks are. */
const statBlockBytes = 512

/** From `lseek`'s manual. */
const seekData = 3
const seekHole = 4

/** Whether a file has fewer blocks than its content would fill. */
export const isSparse = (size: number, blocks: number): boolean =>
  size >= minSparseBytes && blocks * statBlockBytes < size

/**
 * Copies a range of a sparse file, as `copyRange` does, but writes nothing where the source has a hole. The target is a new
 * file, or one in which nothing else was written there.
 * @param sizeBytes of the whole file: the target becomes as long as it when the range ends there
 * @param calls to ask for holes; without them, runs of zeros are taken for some
 */
export function copySparseRange(
  from: number,
  to: number,
  [position, length]: readonly [number, number],
  sizeBytes: number,
  beforeChunk: () => void = () => undefined,
  calls: SystemCalls | null = systemCalls() ?? null,
): void {
  const end = position + length
  for (const [start, stop] of dataIn(from, [position, end], calls)) {
    beforeChunk()
    copyRange(from, to, start, stop - start, beforeChunk)
  }
  // A last byte, not a length: other parts may be written at the same time, and setting one could cut them off.
  if (end === sizeBytes && length > 0 && fstatSync(to).size < sizeBytes) writeSync(to, oneZero, 0, 1, end - 1)
}

/** The parts of a range that are no holes, each as start and end. */
function* dataIn(
  fd: number,
  [position, end]: readonly [number, number],
  calls: SystemCalls | null,
): Generator<readonly [number, number]> {
  for (let at = position; at < end;) {
    const start = calls?.lseek(fd, at, seekData) ?? -1
    if (start < 0) {
      // No more data up to the end of the file; any other error says that the file system does not know.
      if (calls?.errno() !== constants.errno.ENXIO) yield* filledIn(fd, at, end)
      return
    }
    if (start >= end) return
    const hole = calls?.lseek(fd, start, seekHole) ?? -1
    if (hole <= start) return yield* filledIn(fd, start, end)
    yield [start, Math.min(hole, end)]
    at = hole
  }
}

/** The blocks of a range that are not all zeros. */
function* filledIn(fd: number, position: number, end: number): Generator<readonly [number, number]> {
  for (let at = position; at < end; at += blockBytes) {
    const length = Math.min(blockBytes, end - at)
    readBlock(fd, length, at)
    if (!block.equals(zeros)) yield [at, at + length]
  }
}

/** Throws `changed` when the file has become shorter, StoreErrors of the source. */
function readBlock(fd: number, length: number, position: number): void {
  try {
    if (readFully(fd, block, length, position) !== length) throw changed()
  } catch (error) {
    throw localError(error, 'source')
  }
  block.fill(0, length)
}
