import type { Entry, StorePath } from '../../drivers/driver.ts'
import type { Counts } from './counts.ts'
import { linksOf } from './metadata.ts'
import { storeError } from './outcome.ts'
import { joinPath } from './paths.ts'
import type { Run } from './run.ts'

/**
 * The entries of a folder as the migration's choice for symbolic links makes them: as they are, without links, or each link
 * as the file or folder that it leads to.
 * @param folder in the stores
 * @param refused is told why a link is not followed
 * @throws StoreErrors that are worth another try
 */
export async function withLinks(
  run: Run,
  folder: StorePath,
  entries: readonly Entry[],
  counts: Counts,
  refused: (name: Buffer, error: unknown) => void,
): Promise<readonly Entry[]> {
  const policy = linksOf(run.spec)
  if (policy === 'keep' || !entries.some(({ type }) => type === 'symlink')) return entries
  const resolved: Entry[] = []
  for (const entry of entries) {
    if (entry.type !== 'symlink') {
      resolved.push(entry)
    } else if (policy === 'skip' || run.source.followLink === undefined) {
      counts.linksScanned++
      counts.linksSkipped++
    } else {
      try {
        resolved.push(await run.source.followLink(joinPath(folder, entry.name)))
      } catch (error) {
        const known = storeError(error)
        if (known.retryable) throw known
        counts.linksScanned++
        if (known.failure === 'gone') counts.filesVanished++
        else refused(entry.name, known)
      }
    }
  }
  return resolved
}
