import { closeSync, unlinkSync } from 'node:fs'
import { createFile, removeFile } from '../file.ts'
import { isErrno } from '../errors.ts'

/** A name is checked and given within milliseconds: a lock that is there for so long is a killed writer's. */
const abandonedAfterMs = 10_000
const waitMs = 2

const waiting = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))

/**
 * Does work that nobody else does at the same time, of this process or another: whoever makes the file at this path first.
 * Throws what the work throws, and system errors.
 */
export function whileLocked<T>(path: Buffer, work: () => T, brokenAfterMs = abandonedAfterMs): T {
  // By this host's clock alone: that of a share's server may be another.
  let since = performance.now()
  while (!isMade(path)) {
    Atomics.wait(waiting, 0, 0, waitMs)
    if (performance.now() - since < brokenAfterMs) continue
    breakLock(path)
    since = performance.now()
  }
  try {
    return work()
  } finally {
    removeFile(path)
  }
}

/** Throws where it cannot be removed: whoever waits for it would never end. */
function breakLock(path: Buffer): void {
  try {
    unlinkSync(path)
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error
  }
}

function isMade(path: Buffer): boolean {
  try {
    closeSync(createFile(path, 0o600))
    return true
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false
    throw error
  }
}
