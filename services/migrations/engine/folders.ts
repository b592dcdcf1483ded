import { StoreError, type StorePath } from '../../drivers/driver.ts'
import { parentOf } from '../../drivers/local-root.ts'
import { isOwn } from './live.ts'
import { targetError } from './outcome.ts'
import { atTarget, storePath, type Run } from './run.ts'

/** Makes a folder at the target, with the permission bits of the source where both stores have them. */
export function makeFolder(run: Run, path: StorePath, mode: number | undefined): Promise<void> {
  const keepsMode = mode !== undefined && run.target.features.modes
  return atTarget(run.target.makeFolder(path, keepsMode ? { mode } : {}))
}

/**
 * Makes a folder and its parents at the target where they are missing, as they are at the source. A symbolic link in their
 * place is left: the owner put it there, and what it leads to is checked when something is written. Throws `gone` when
 * one of them is no longer at the source: the target must not get back what was deleted meanwhile.
 */
export async function makeFolders(run: Run, path: StorePath): Promise<void> {
  if (path.length === 0) return
  const found = await atTarget(run.target.stat(path))
  if (found?.type === 'folder' || found?.type === 'symlink') return
  await makeFolders(run, parentOf(path))
  const original = await run.source.stat(path)
  if (original === undefined) throw new StoreError('gone', 'source: its folder is no longer there')
  await makeFolder(run, path, original.mode)
}

/**
 * Makes a folder below the migration's path and those above it, as `makeFolders`, for a live migration: a symbolic link
 * of its own where the source has a folder by now is replaced, so that nothing is written or removed through it, and so is a
 * file of its own.
 * @param path relative to the migration's path
 * @param known folders that need not be looked at again; those that are found are added
 * @returns the uppermost folder that was made, or undefined
 */
export async function makeRealFolders(
  run: Run,
  path: StorePath,
  known: Set<string>,
): Promise<StorePath | undefined> {
  const key = path.toString('latin1')
  if (known.has(key)) return undefined
  const whole = storePath(run, path)
  if (path.length === 0) {
    await makeFolders(run, whole)
    known.add(key)
    return undefined
  }
  const { features } = run.target
  const found = await atTarget(run.target.stat(whole))
  // Without links there is nothing to be found above a folder that is there.
  if (found?.type === 'folder' && !features.symlinks) {
    known.add(key)
    return undefined
  }
  const above = await makeRealFolders(run, parentOf(path), known)
  const original = await run.source.stat(whole)
  if (original?.type !== 'folder') throw new StoreError('gone', 'source: its folder is no longer there')
  known.add(key)
  if (found?.type === 'folder') return above
  if (found !== undefined && isOwn(run, found)) await atTarget(run.target.remove(whole))
  else if (found?.type === 'symlink') return above
  // What somebody was told of replaces it; this comes again after that.
  else if (found !== undefined)
    throw targetError(new StoreError('io', 'something else is where its folder should be'))
  await makeFolder(run, whole, original.mode)
  return above ?? path
}
