import type { DirtyFolder } from '../../drivers/feeds/dirty-folders.ts'
import { decodeItem } from '../../engine/items/item-decode.ts'
import type { ChangedFolder } from '../../engine/items/items.ts'
import { stillToWaitMs } from '../../engine/run/retry.ts'

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1')

/** A dirty folder as items have it. */
export const changedFolder = ({ folder, names, trees, scope }: DirtyFolder): ChangedFolder => ({
  folder: bytes(folder),
  names: names.map(bytes),
  trees: trees.map(bytes),
  scope,
})

/** A folder of an item as it is collected. */
export const dirtyFolder = (
  { folder, names, trees, scope }: ChangedFolder,
  sinceMs: number,
): DirtyFolder => ({
  folder: folder.toString('latin1'),
  names: names.map((name) => name.toString('latin1')),
  trees: trees.map((name) => name.toString('latin1')),
  scope,
  sinceMs,
})

/** The folders of an item that a thread gave back, and how long each is not to be looked at yet. */
export function foldersOf(bytes: Uint8Array, sinceMs: number): { folder: DirtyFolder; waitMs: number }[] {
  const item = decodeItem(bytes)
  if (item.kind !== 'reconcile') return []
  const waitMs = stillToWaitMs(item.notBeforeMs, Date.now())
  return item.groups.map((group) => ({ folder: dirtyFolder(group, sinceMs), waitMs }))
}

/** Changes that they stand for: names, and folders as a whole. */
export const changesIn = (groups: readonly ChangedFolder[]): number =>
  groups.reduce(
    (sum, { names, trees, scope }) => sum + names.length + trees.length + (scope === 'names' ? 0 : 1),
    0,
  )
