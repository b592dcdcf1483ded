import type { Entry, StorePath } from '../../drivers/contract/driver.ts'
import { concurrently } from '../../../broker/common/concurrently.ts'
import { isFolder } from './folders.ts'
import { mappedIn } from '../run/mappings.ts'
import { joinPath, relativePath } from '../items/paths.ts'
import type { Removed } from './remove-tree.ts'
import { atTarget, concurrencyOf, type Run } from '../run/run.ts'
import type { FoundName } from '../run/second-look.ts'

/** What the target has where a path mapping leads. */
export interface Brought {
  readonly at: Removed
  readonly entry: Entry
}

/**
 * What the target has of a path that the source no longer has, where mappings of it and of folders below it lead; nothing
 * that a rule leaves out. Throws StoreErrors of the target.
 * @param path in the source
 */
export async function broughtFrom(run: Run, path: StorePath): Promise<Brought[]> {
  const brought: Brought[] = []
  await concurrently(mappedIn(run, path), concurrencyOf(run), async ({ from, to }) => {
    if (run.rules?.excluding(from, run.spec.root) !== undefined) return
    const entry = await atTarget(run.target.stat(to, run.stop.signal))
    if (entry !== undefined) brought.push({ at: { path: to, origin: from }, entry })
  })
  return brought
}

/**
 * Entries of a folder that mappings lead elsewhere, or something below them, and that are no folders of the source any more:
 * neither its listing nor that of the folder's counterpart tells of what they have brought. Throws StoreErrors.
 * @param folder in the source
 */
export async function goneMapped(run: Run, folder: StorePath): Promise<FoundName[]> {
  const names = new Map<string, Buffer>()
  for (const { from } of mappedIn(run, folder)) {
    if (from.equals(folder)) continue
    const path = relativePath(folder, from)
    const end = path.indexOf('/')
    const name = end === -1 ? path : path.subarray(0, end)
    names.set(name.toString('latin1'), name)
  }
  const gone: FoundName[] = []
  await concurrently(names.values(), concurrencyOf(run), async (name) => {
    const found = await run.source.stat(joinPath(folder, name), run.stop.signal)
    if (!isFolder(run, found)) gone.push({ name, type: found?.type })
  })
  return gone
}
