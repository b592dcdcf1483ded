import { StoreError, type StorePath } from '../drivers/contract/driver.ts'
import { entriesOf, groupOf } from './copy/transfer-entries.ts'
import { foldersOf, groupsOf } from './items/descent.ts'
import { decodeItem } from './items/item-decode.ts'
import { type ChangedFolder, encodeItem, headOf, type Item } from './items/items.ts'
import { joinPath, textFromPath } from './items/paths.ts'
import { noCounts, type ItemResult } from './run/counts.ts'
import { type FoundFile, Outcome } from './run/outcome.ts'
import { backoffMs } from './run/retry.ts'
import type { MoveSpec } from './run/run.ts'
import type { ItemJob } from './threads/jobs.ts'
import { ThreadEnded } from './threads/engine-thread.ts'

/**
 * Threads that may end while they work on an item before its paths are failures. From the second on it had the thread to
 * itself, so nothing else can be the reason; another chance more allows for memory that the host lacked for a moment.
 */
export const maxThreadEnds = 3

/** Whether an item is to have a thread to itself. */
export const hasEndedThreads = (item: Uint8Array): boolean => headOf(item).threadEnds > 0

/** What came of an item, the end of its thread included. */
export async function unlessThreadEnds(
  { spec, item }: Pick<ItemJob, 'spec' | 'item'>,
  work: () => Promise<ItemResult>,
): Promise<ItemResult> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ThreadEnded) return afterThreadEnd(spec, item, error)
    throw error
  }
}

/** What makes failures of the paths of an item that has ended too many threads; undefined while it is to be tried again. */
export function failureOf(item: Uint8Array, error: ThreadEnded): StoreError | undefined {
  const ends = headOf(item).threadEnds + 1
  if (ends < maxThreadEnds) return undefined
  return new StoreError('crashed', `${ends} worker threads ended while they worked on it: ${error.reason}`, {
    cause: error,
  })
}

/**
 * What comes of an item whose thread ended. The count of these ends is in the item that is to be tried again, so that it
 * outlives this process. At first the item comes again as it is, with a thread to itself; then, as it is proven to be the
 * reason, each of its paths as an item of its own, so that the others arrive; at last it is a failure.
 */
function afterThreadEnd(spec: MoveSpec, bytes: Uint8Array, error: ThreadEnded): ItemResult {
  const { attempt, threadEnds } = headOf(bytes)
  const item = decodeItem(bytes)
  const paths = pathsOf(item)
  const inStore = (path: StorePath) => joinPath(Buffer.from(spec.root), path)
  const failure = failureOf(bytes, error)
  if (failure !== undefined) {
    const outcome = new Outcome(threadEnds + 1)
    for (const { path, type, found } of paths) outcome.failedForGood(inStore(path), failure, type, found)
    return outcome.result(undefined)
  }
  const head = {
    // The try that is over has nothing under way any more, so the next may take over the parts of a large file.
    attempt: item.kind === 'large' ? attempt + 1 : attempt,
    threadEnds: threadEnds + 1,
    notBeforeMs: Date.now() + backoffMs(threadEnds + 1),
  }
  const first = textFromPath(inStore(paths[0]?.path ?? Buffer.alloc(0)))
  const others = paths.length > 1 ? ` and ${paths.length - 1} more` : ''
  const isProven = threadEnds > 0 && paths.length > 1
  return {
    counts: { ...noCounts(), pathsRequeued: paths.length },
    failures: [],
    ...(isProven
      ? { split: paths.map(({ alone }) => encodeItem({ ...alone, ...head })) }
      : { retry: encodeItem({ ...item, ...head }) }),
    deferral: {
      reason: 'TRYING_AGAIN',
      message: `${first}${others}: a worker thread ended while it worked on this: ${error.reason}`,
    },
  }
}

interface ItemPath {
  readonly path: StorePath
  readonly type: 'file' | 'folder' | 'tree'
  readonly found?: FoundFile
  /** The item of this path alone. */
  readonly alone: Item
}

/** What an item is about; relative to the migration's path. */
function pathsOf(item: Item): ItemPath[] {
  switch (item.kind) {
    case 'region':
    case 'folders':
      return Array.from(foldersOf(item), (folder) => {
        const { start: _start, isDeep: _isDeep, ...rest } = item
        return { path: folder.path, type: 'folder', alone: { ...rest, ...groupsOf(item, [folder]) } }
      })
    case 'transfer':
      return Array.from(entriesOf(item), (entry) => {
        const { group, name, foundBytes } = entry
        const alone = { ...item, groups: [groupOf(group, [entry])] }
        return { path: joinPath(group.folder, name), type: 'file', found: { sizeBytes: foundBytes }, alone }
      })
    case 'reconcile':
      return item.groups.flatMap(({ folder, names, trees, scope }) => {
        const alone = (group: Partial<ChangedFolder>): Item => ({
          ...item,
          groups: [{ folder, names: [], trees: [], scope: 'names', ...group }],
        })
        const at = (name: Buffer) => joinPath(folder, name)
        return [
          ...(scope === 'names' ? [] : [{ path: folder, type: 'folder', alone: alone({ scope }) } as const]),
          ...names.map(
            (name) => ({ path: at(name), type: 'file', alone: alone({ names: [name] }) }) as const,
          ),
          ...trees.map(
            (name) => ({ path: at(name), type: 'tree', alone: alone({ trees: [name] }) }) as const,
          ),
        ]
      })
    case 'large':
      return [{ path: item.path, type: 'file', found: { sizeBytes: item.foundBytes }, alone: item }]
    case 'parts':
      return [{ path: item.path, type: 'file', alone: item }]
  }
}
