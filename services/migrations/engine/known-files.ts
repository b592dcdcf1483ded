import type { Entry, StorePath } from '../../drivers/driver.ts'
import { concurrently } from './concurrently.ts'
import { storeError } from './outcome.ts'
import { joinPath } from './paths.ts'
import { atTarget, concurrencyOf, type Run } from './run.ts'

/** Names of one folder that are held in memory, some 100 bytes each; in a larger folder each file is asked for by itself. */
const maxKnownFiles = 200_000

/** Those of a batch of the source that are at the target with the same size. */
export type FindKnown = (batch: readonly Entry[]) => Promise<ReadonlySet<Entry>>

/**
 * Lists a folder of the target before it is written to; undefined when there is no such folder. Throws StoreErrors of the
 * target.
 * @param maxInMemory so many names at most are kept
 */
export async function knownFiles(
  run: Run,
  folder: StorePath,
  maxInMemory = maxKnownFiles,
): Promise<FindKnown | undefined> {
  const sizes = new Map<string, number>()
  try {
    for await (const batch of run.target.list(folder, run.stop.signal)) {
      run.stop.check()
      for (const { name, type, sizeBytes } of batch) {
        if (type === 'file') sizes.set(keyOf(name), sizeBytes)
      }
      if (sizes.size > maxInMemory) return (entries) => askForEach(run, folder, entries)
    }
  } catch (error) {
    const known = storeError(error)
    if (known.failure === 'gone') return undefined
    throw known
  }
  return async (entries) => new Set(entries.filter((entry) => isSame(entry, sizes.get(keyOf(entry.name)))))
}

/** One character a byte: two names have the same key only if they are the same bytes. */
const keyOf = (name: Buffer) => name.toString('latin1')

const isSame = (entry: Entry, sizeBytes: number | undefined) =>
  entry.type === 'file' && entry.sizeBytes === sizeBytes

async function askForEach(run: Run, folder: StorePath, entries: readonly Entry[]): Promise<Set<Entry>> {
  const known = new Set<Entry>()
  await concurrently(entries, concurrencyOf(run), async (entry) => {
    const found = await atTarget(run.target.stat(joinPath(folder, entry.name)))
    if (found?.type === 'file' && isSame(entry, found.sizeBytes)) known.add(entry)
  })
  return known
}
