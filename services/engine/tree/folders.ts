import { StoreError, type Entry, type Losses, type StorePath } from '../../drivers/contract/driver.ts'
import { parentOf } from '../../drivers/paths/path-text.ts'
import { inTheWay } from './in-the-way.ts'
import { isOwn } from './live.ts'
import { isMapped, targetPath } from '../run/mappings.ts'
import { carried, linksOf } from '../run/metadata.ts'
import { removalAt, removeTree } from './remove-tree.ts'
import { atTarget, readOptionsOf, requireSource, storePath, type Run } from '../run/run.ts'

/**
 * Makes a folder of the source at the target, with the permission bits of the source where both stores have them; where
 * its time does not move any more, with all of its attributes.
 */
export async function makeFolder(run: Run, path: StorePath, mode: number | undefined): Promise<Losses> {
  const { source, target, spec } = run
  const attributes = target.capabilities.folderTimesMove
    ? undefined
    : await source.attributesOf(path, readOptionsOf(run))
  const kept = carried(spec, { ...(mode !== undefined && { mode }), ...attributes })
  const { mode: itsMode, ...others } = kept
  const keepsMode = itsMode !== undefined && target.capabilities.modes
  return atTarget(
    target.makeFolder(targetPath(run, path), { ...others, ...(keepsMode && { mode: itsMode }) }),
  )
}

/**
 * Makes a folder and its parents at the target where they are missing, as they are at the source. A symbolic link in their
 * place is left: the owner put it there, and what it leads to is checked when something is written. Throws `gone` when
 * one of them is no longer at the source: the target must not get back what was deleted meanwhile.
 * @param path in the source
 */
export async function makeFolders(run: Run, path: StorePath): Promise<void> {
  const there = targetPath(run, path)
  if (there.length === 0 || (await isThere(run, there))) return
  await makeParents(run, path)
  const original = await run.source.stat(path, run.stop.signal)
  if (original === undefined)
    throw new StoreError('gone', 'its folder is no longer there', { side: 'source' })
  await makeFolder(run, path, original.mode)
}

/** The same for what a folder of the source goes into. */
export const makeParents = (run: Run, path: StorePath): Promise<void> =>
  isMapped(run, path) ? makeBare(run, parentOf(targetPath(run, path))) : makeFolders(run, parentOf(path))

/** Folders on the way to where a mapping leads have no counterpart at the source. */
async function makeBare(run: Run, there: StorePath): Promise<void> {
  if (there.length === 0 || (await isThere(run, there))) return
  await makeBare(run, parentOf(there))
  await atTarget(run.target.makeFolder(there, {}))
}

async function isThere(run: Run, there: StorePath): Promise<boolean> {
  const found = await atTarget(run.target.stat(there, run.stop.signal))
  return found?.type === 'folder' || found?.type === 'symlink'
}

/**
 * Makes a folder below the migration's path and those above it, as `makeFolders`, for a live migration: a symbolic link of
 * its own where the source has a folder by now is replaced, so that nothing is written or removed through it, and so is a
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
  const there = targetPath(run, whole)
  // Without links there is nothing to be found above a folder that is there.
  if (!run.target.capabilities.symlinks && (await isThere(run, there))) {
    known.add(key)
    return undefined
  }
  const above = isMapped(run, whole)
    ? await makeParents(run, whole).then(() => undefined)
    : await makeRealFolders(run, parentOf(path), known)
  const original = await run.source.stat(whole, run.stop.signal)
  if (!isFolder(run, original))
    throw new StoreError('gone', 'its folder is no longer there', { side: 'source' })
  const found = await atTarget(run.target.stat(there, run.stop.signal))
  known.add(key)
  if (found?.type === 'folder') return above
  if (found !== undefined && isOwn(run, found)) {
    await requireSource(run)
    const removal = { ...removalAt(run), mayRemove: () => true, removed: () => undefined }
    // Where that is held, the name of the folder is too, when it is compared.
    if ((await removeTree(run, removal, { path: there, origin: whole }, found)) !== 'nothing')
      throw inTheWay(found)
  } else if (found?.type === 'symlink') return above
  else if (found !== undefined) throw inTheWay(found)
  await makeFolder(run, whole, original?.mode)
  return above ?? path
}

/**
 * Whether the target has a folder, reached through no symbolic link of the migration's own: nothing is removed through such.
 * @param path relative to the migration's path
 */
export async function isRealThere(run: Run, path: StorePath): Promise<boolean> {
  const whole = storePath(run, path)
  const found = await atTarget(run.target.stat(targetPath(run, whole), run.stop.signal))
  const isReal = found?.type === 'folder' || (found?.type === 'symlink' && !isOwn(run, found))
  const isAtTop = path.length === 0 || isMapped(run, whole) || !run.target.capabilities.symlinks
  return isReal && (isAtTop || isRealThere(run, parentOf(path)))
}

/** Whether the source has a folder, or a link that is followed in its place. */
export const isFolder = ({ spec }: Run, entry: Entry | undefined): boolean =>
  entry?.type === 'folder' || (entry?.type === 'symlink' && linksOf(spec) === 'follow')
