import { closeSync, ftruncateSync, linkSync, openSync } from 'node:fs'
import { join } from 'node:path'

/** The most names that every file system here lets a file have. */
const maxNames = 30_000

/**
 * Fills a folder with files that nobody writes to: names of one file, which takes a third of the time.
 * @param nameOf by number, from 0
 */
export function fillWithNames(
  folder: string,
  count: number,
  nameOf: (index: number) => string = String,
  sizeBytes = 0,
): void {
  for (let first = 0; first < count; first += maxNames) {
    const path = join(folder, nameOf(first))
    const file = openSync(path, 'w')
    ftruncateSync(file, sizeBytes)
    closeSync(file)
    for (let index = first + 1; index < Math.min(count, first + maxNames); index++)
      linkSync(path, join(folder, nameOf(index)))
  }
}
