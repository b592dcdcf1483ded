import type { Losses, StorePath } from '../../drivers/driver.ts'
import { parentOf } from '../../drivers/local-root.ts'
import { isMapped, targetPath } from './mappings.ts'
import { carried, readOptions } from './metadata.ts'
import { atTarget, type Run } from './run.ts'

/**
 * Makes a folder of the source at the target, with the permission bits of the source where both stores have them; where its time does not
 * move any more, with all of its attributes.
 */
export async function makeFolder(run: Run, path: StorePath, mode: number | undefined): Promise<Losses> {
  const { source, target, spec } = run
  const attributes = target.features.folderTimesMove
    ? undefined
    : await source.attributesOf(path, readOptions(spec))
  const kept = carried(spec, { modifiedMs: 0, ...(mode !== undefined && { mode }), ...attributes })
  const { mode: itsMode, ...others } = kept
  const keepsMode = itsMode !== undefined && target.features.modes
  return atTarget(
    target.makeFolder(targetPath(run, path), { ...others, ...(keepsMode && { mode: itsMode }) }),
  )
}

/**
 * Makes a folder and its parents at the target where they are missing, as they are at the source. A symbolic link in their
 * place is left: the owner put it there, and what it leads to is checked when something is written.
 * @param path in the source
 */
export async function makeFolders(run: Run, path: StorePath): Promise<void> {
  const there = targetPath(run, path)
  if (there.length === 0 || (await isThere(run, there))) return
  await makeParents(run, path)
  const original = await run.source.stat(path)
  await makeFolder(run, path, original?.mode)
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
  const found = await atTarget(run.target.stat(there))
  return found?.type === 'folder' || found?.type === 'symlink'
}
