import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createBounds } from '../../services/drivers/contract/bounds.ts'
import type { WatchError } from '../../services/drivers/feeds/feed.ts'
import { EventCount } from '../../services/drivers/local/watch/event-count.ts'
import { FolderWatch } from '../../services/drivers/local/watch/folder-watch.ts'
import { createFolder } from './migrations.ts'
import { until } from './until.ts'

/** A watched folder, and the paths that were told since the last look; a path with a slash at its end means all below it. */
export async function watchFolder(
  options: { maxWatches?: number; events?: EventCount; own?: string; before?: (source: string) => void } = {},
) {
  const { own, before, ...rest } = options
  const folder = createFolder('source', 'outside')
  mkdirSync(join(folder.source, 'there/below'), { recursive: true })
  const ends: WatchError[] = []
  const told = new Set<string>()
  const watch = new FolderWatch({
    root: Buffer.from(folder.source),
    maxWatches: 1_000,
    events: new EventCount(),
    ...(own !== undefined && {
      bounds: createBounds([
        { name: 'the configuration folder', path: join(folder.root, own), fix: 'move it' },
      ]),
    }),
    ...rest,
    onDirty: () => {
      for (const { folder, names, trees, scope } of watch.dirty.take()) {
        const at = (name: string) => (folder === '' ? name : `${folder}/${name}`)
        for (const name of names) told.add(at(name))
        for (const name of trees) told.add(`${at(name)}/`)
        if (scope !== 'names') told.add(`${folder}:${scope}`)
      }
    },
    onEnd: (error) => ends.push(error),
  })
  try {
    before?.(folder.source)
    await watch.open()
  } catch (error) {
    folder[Symbol.dispose]()
    throw error
  }
  return {
    watch,
    ends,
    told,
    at: (path: string) => join(folder.source, path),
    outside: (path: string) => join(folder.outside, path),
    /** Until all of these were told. */
    untilTold: (...paths: string[]) =>
      until(`${paths.slice(0, 5).join(', ')} of ${paths.length} are told`, () =>
        paths.every((path) => told.has(path)),
      ),
    [Symbol.dispose]: () => {
      watch.close()
      folder[Symbol.dispose]()
    },
  }
}
