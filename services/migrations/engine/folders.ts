import type { Losses, StorePath } from '../../drivers/driver.ts'
import { parentOf } from '../../drivers/local-root.ts'
import { carried, readOptions } from './metadata.ts'
import { atTarget, type Run } from './run.ts'

/**
 * Makes a folder at the target, with the permission bits of the source where both stores have them; where its time does not
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
  return atTarget(target.makeFolder(path, { ...others, ...(keepsMode && { mode: itsMode }) }))
}

/**
 * Makes a folder and its parents at the target where they are missing, as they are at the source. A symbolic link in their
 * place is left: the owner put it there, and what it leads to is checked when something is written.
 */
export async function makeFolders(run: Run, path: StorePath): Promise<void> {
  if (path.length === 0) return
  const found = await atTarget(run.target.stat(path))
  if (found?.type === 'folder' || found?.type === 'symlink') return
  await makeFolders(run, parentOf(path))
  const original = await run.source.stat(path)
  await makeFolder(run, path, original?.mode)
}
