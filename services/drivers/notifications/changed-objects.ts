import { momentOf, monotonicMs } from '../../../broker/common/monotonic.ts'
import { type DirtyFolder, DirtyFolders } from '../feeds/dirty-folders.ts'
import { isName } from '../paths/path-text.ts'
import type { Notice } from './message-queue.ts'

/** An object that was written or removed, and when. */
export interface ChangedObject {
  /** As latin1, a character a byte. */
  readonly key: string
  /** See `Notice`. */
  readonly isTree?: boolean
  /** When that was (`monotonicMs`). */
  readonly sinceMs: number
}

/** Others no path can have: object stores allow them in keys. */
const isUsable = (segment: string): boolean => isName(Buffer.from(segment, 'latin1'))

/**
 * Where to look for what became of objects: under their names, and those of the folders that they are in, as those may have
 * come or gone with them.
 * @param root path of the folder whose changes count, as latin1; what is not below it is left out
 */
export function foldersOf(root: string, objects: Iterable<ChangedObject>): DirtyFolder[] {
  const dirty = new DirtyFolders(Number.POSITIVE_INFINITY)
  const above = root === '' ? '' : `${root}/`
  for (const { key, isTree = false, sinceMs } of objects) {
    // The folder itself, or one that it is in: another one may stand there.
    if (isTree && (key === '' || above.startsWith(`${key}/`))) dirty.addFolder('', 'content', sinceMs)
    if (!key.startsWith(above)) continue
    // A slash at the end marks a folder.
    const segments = key.slice(above.length).replace(/\/$/, '').split('/')
    const usable = segments.findIndex((segment) => !isUsable(segment))
    const names = usable === -1 ? segments : segments.slice(0, usable)
    for (const [index, name] of names.entries())
      dirty.addName(names.slice(0, index).join('/'), name, isTree && index === segments.length - 1, sinceMs)
  }
  return dirty.take()
}

/** Since when something is known that happened at a time of another clock (milliseconds since 1970): not from now on. */
export function seenAt(timeMs: number): number {
  const nowMs = monotonicMs()
  return Number.isNaN(timeMs) ? nowMs : Math.min(momentOf(timeMs), nowMs)
}

/** Where to look for what notices of a bucket tell, below a folder. */
export const changesIn = (
  notices: readonly Notice[],
  { bucket, root }: { readonly bucket: string; readonly root: string },
): DirtyFolder[] =>
  foldersOf(
    root,
    notices
      .filter((notice) => notice.bucket === bucket)
      .map(({ key, isTree, timeMs }) => ({
        key,
        sinceMs: seenAt(timeMs),
        ...(isTree !== undefined && { isTree }),
      })),
  )
