import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ActionPolicy } from '../../../subjects/migrations/model/terms.ts'
import {
  readableDigest,
  StoreError,
  type Entry,
  type SourceFile,
  type StorePath,
} from '../../drivers/contract/driver.ts'
import { isKnown } from '../compare/entries.ts'
import { targetPath } from '../run/mappings.ts'
import { atTarget, type Run } from '../run/run.ts'

/** Read from each side at once, where no limit is lower: as much as a store gives with one request at little cost. */
const chunkBytes = 4 * 1024 * 1024

/** Whether the content of both sides is looked at before a file is copied. */
export const readsFirst = (policy: ActionPolicy): boolean => policy === 'SkipIfDigestMatch'

/**
 * Size of a file whose content the target has already; undefined when it is to be copied. Where the target keeps a digest
 * of its own (Content-MD5) only the source is read, else both are, and compared byte by byte; each byte that is read is paid
 * for. Throws StoreErrors of the
 * source; a target that cannot be read says so when it is written to.
 */
export async function sizeOfSame(run: Run, path: StorePath): Promise<number | undefined> {
  const there = await atTarget(run.target.stat(targetPath(run, path)))
  if (there?.type !== 'file') return undefined
  const found = await run.source.stat(path)
  if (found === undefined || isKnown('SkipIfDigestMatch', found, there) !== 'unread') return undefined
  const file = await run.source.open(path)
  try {
    if (file.sizeBytes !== there.sizeBytes || !(await isSame(run, path, file, there))) return undefined
    await file.verifyUnchanged()
    return file.sizeBytes
  } finally {
    await file.close()
  }
}

async function isSame(run: Run, path: StorePath, file: SourceFile, { digests }: Entry): Promise<boolean> {
  const known = readableDigest(digests)
  if (known !== undefined) {
    const digest = createHash(known.kind)
    await eachChunk(run, file.sizeBytes, async (offset, length) => {
      await run.pace.pay(length)
      digest.update(await file.read(offset, length))
      return true
    })
    return digest.digest('base64') === known.value
  }
  let other: SourceFile
  try {
    other = await run.target.open(targetPath(run, path))
  } catch (error) {
    if (error instanceof StoreError) return false
    throw error
  }
  try {
    return await eachChunk(run, file.sizeBytes, async (offset, length) => {
      await run.pace.pay(length)
      await run.pace.pay(length)
      // A buffer is valid until the next read of the same file.
      const [ours, theirs] = await Promise.all([file.read(offset, length), readOther(other, offset, length)])
      return theirs !== undefined && ours.equals(theirs)
    })
  } finally {
    await other.close()
  }
}

async function readOther(other: SourceFile, offset: number, length: number): Promise<Buffer | undefined> {
  try {
    return await other.read(offset, length)
  } catch (error) {
    if (error instanceof StoreError) return undefined
    throw error
  }
}

/** Whether every chunk of a file is as it should be; ends with the first that is not. */
async function eachChunk(
  { stop, pace }: Run,
  sizeBytes: number,
  isRight: (offset: number, length: number) => Promise<boolean>,
): Promise<boolean> {
  for (let offset = 0; offset < sizeBytes;) {
    stop.check()
    const length = Math.min(pace.pieceBytes(chunkBytes), sizeBytes - offset)
    if (!(await isRight(offset, length))) return false
    offset += length
    // Local reads are synchronous: the thread's other job should have its turn.
    await nextTurn()
  }
  return true
}
