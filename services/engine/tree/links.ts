import type { Entry, StoreError, StorePath } from '../../drivers/contract/driver.ts'
import type { Counts } from '../run/counts.ts'
import type { FoundFile } from '../run/outcome.ts'
import { linksOf } from '../run/metadata.ts'
import { storeError } from '../../drivers/contract/store-error.ts'
import { joinPath } from '../items/paths.ts'
import type { Run } from '../run/run.ts'

/** A name that is a failure; `found` of what is among the files that were found. */
export interface Refused {
  readonly name: Buffer
  readonly error: StoreError
  readonly found?: FoundFile
}

/** Where what becomes of links is told. */
interface LinksFound {
  readonly counts: Counts
  readonly refused: Refused[]
}

/**
 * The entries of a folder as the migration's choice for symbolic links makes them: as they are, without links, or each link
 * as the file or folder that it leads to.
 * @param folder in the source
 * @param found gets links that are left out or not followed
 * @param isExcluded whether a link is left out by a rule: it stays a link, whatever it leads to
 * @throws StoreErrors that are worth another try
 */
export async function withLinks(
  run: Run,
  folder: StorePath,
  entries: readonly Entry[],
  found: LinksFound,
  isExcluded: (link: Entry) => boolean,
): Promise<readonly Entry[]> {
  if (linksOf(run.spec) === 'keep' || !entries.some(({ type }) => type === 'symlink')) return entries
  const resolved: Entry[] = []
  for (const entry of entries) {
    const it =
      entry.type === 'symlink' && !isExcluded(entry) ? await linkAs(run, folder, entry, found) : entry
    if (it !== undefined) resolved.push(it)
  }
  return resolved
}

/** Undefined for a link that nothing is to be done for. */
async function linkAs(
  run: Run,
  folder: StorePath,
  { name }: Entry,
  { counts, refused }: LinksFound,
): Promise<Entry | undefined> {
  if (linksOf(run.spec) === 'skip' || run.source.followLink === undefined) {
    counts.linksScanned++
    counts.linksSkipped++
    return undefined
  }
  try {
    return await run.source.followLink(joinPath(folder, name))
  } catch (error) {
    const known = storeError(error)
    if (known.retryable) throw known
    counts.linksScanned++
    if (known.failure === 'gone') counts.filesVanished++
    else refused.push({ name, error: known, found: { sizeBytes: 0 } })
    return undefined
  }
}
