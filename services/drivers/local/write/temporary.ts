import { lstatSync, unlinkSync } from 'node:fs'
import { threadId } from 'node:worker_threads'
import { isErrno } from '../errors.ts'
import { openFolder, rawName } from '../list.ts'
import { permitted } from '../rights.ts'
import { FolderPaths } from '../root.ts'
import {
  type Construction,
  constructionOf,
  incarnation,
  isTemporaryName,
  sharedWriter,
  temporaryPattern,
  temporaryPrefix,
  writingHost,
} from '../../paths/temporary-names.ts'

/**
 * A file of a writer that cannot be asked whether it lives (another host) is abandoned when nobody wrote to it for this
 * long: a part of an upload takes seconds, on a very slow store a minute. A file that is taken too early costs a retry.
 */
const abandonedAfterMs = 10 * 60_000

/**
 * Removes from a folder what dead writers left behind of this tag, but for that with which others may go on. A writer is
 * dead when its process is, or when it was a thread of this process that is not among `liveThreads`; for other hosts the
 * file's age decides. Does nothing when there is no such folder. Returns the number of files removed.
 * @param isOver whether nobody will go on with a construction; default: somebody may
 */
export function sweepTemporaryFiles(
  absoluteFolder: Buffer,
  tag: string,
  liveThreads: readonly number[],
  isOver: (construction: Construction) => boolean = () => false,
): number {
  const paths = new FolderPaths(absoluteFolder)
  const live = [mainThread, threadId, ...liveThreads]
  let removed = 0
  for (const name of abandonedNames(absoluteFolder, tag, live)) {
    const construction = constructionOf(name)
    if (construction !== undefined && !isOver(construction)) continue
    try {
      permitted(() => unlinkSync(paths.of(name)))
      removed++
    } catch (error) {
      if (!isErrno(error, 'ENOENT')) throw error
    }
  }
  return removed
}

/**
 * Names of what dead writers left behind of this tag, and of what has no writer of its own; none when there is no such
 * folder.
 */
export function abandonedNames(
  absoluteFolder: Buffer,
  tag: string,
  liveThreads: readonly number[],
): Buffer[] {
  const paths = new FolderPaths(absoluteFolder)
  return temporaryNames(absoluteFolder, tag).filter((name) => isAbandoned(name, paths.of(name), liveThreads))
}

/** Names of all that is under construction of this tag; none when there is no such folder. */
export function temporaryNames(absoluteFolder: Buffer, tag: string): Buffer[] {
  const names: Buffer[] = []
  try {
    using folder = openFolder(absoluteFolder)
    for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) {
      const name = rawName(entry)
      if (
        name.toString('latin1', 0, temporaryPrefix.length) === temporaryPrefix &&
        isTemporaryName(name, tag)
      )
        names.push(name)
    }
  } catch (error) {
    if (!isErrno(error, 'ENOENT') && !isErrno(error, 'ENOTDIR')) throw error
  }
  return names
}

/** Number of the thread that lives as long as its process. */
const mainThread = 0

function isAbandoned(name: Buffer, path: Buffer, liveThreads: readonly number[]): boolean {
  const [, , itsHost, itsProcess, itsIncarnation, itsThread] =
    temporaryPattern.exec(name.toString('latin1')) ?? []
  if (itsThread === sharedWriter.thread) return true
  if (itsHost === writingHost) {
    const pid = Number.parseInt(itsProcess ?? '', 36)
    const thread = Number.parseInt(itsThread ?? '', 36)
    if (itsIncarnation === incarnation) return !liveThreads.includes(thread)
    if (pid === process.pid || !isRunning(pid)) return true
  }
  const stat = permitted(() => lstatSync(path, { throwIfNoEntry: false }))
  return stat !== undefined && Date.now() - stat.mtimeMs > abandonedAfterMs
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return !isErrno(error, 'ESRCH')
  }
}
