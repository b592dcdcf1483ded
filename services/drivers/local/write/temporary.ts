import { lstatSync, unlinkSync } from 'node:fs'
import { isErrno } from '../errors.ts'
import { openFolder, rawName } from '../list.ts'
import { permitted } from '../rights.ts'
import { FolderPaths } from '../root.ts'
import {
  abandonedAfterMs,
  allLiveThreads,
  type Construction,
  constructionOf,
  hasDeadWriter,
  isTemporaryName,
  temporaryPrefix,
} from '../../paths/temporary-names.ts'

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
  let removed = 0
  for (const name of abandonedNames(absoluteFolder, tag, allLiveThreads(liveThreads))) {
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

function isAbandoned(name: Buffer, path: Buffer, liveThreads: readonly number[]): boolean {
  const isDead = hasDeadWriter(name, liveThreads)
  if (isDead !== undefined) return isDead
  const stat = permitted(() => lstatSync(path, { throwIfNoEntry: false }))
  return stat !== undefined && Date.now() - stat.mtimeMs > abandonedAfterMs
}
