import { concurrently } from '../../../broker/common/concurrently.ts'
import type { Driver, Entry, StorePath } from '../../drivers/contract/driver.ts'
import { joinPath } from '../items/paths.ts'
import { targetPath } from '../run/mappings.ts'
import { atTarget, concurrencyOf, type Run } from '../run/run.ts'
import type { Both } from './content.ts'

type Sides = Pick<Both, 'source' | 'target'>

/** Whether the listings of both stores tell all that there is to compare. */
const listsAll = ({ source, target }: Run): boolean =>
  source.capabilities.listsAttributes && target.capabilities.listsAttributes

/** Whether what a listing says tells two entries apart already, or nothing could. */
const isDecided = ({ source, target }: Sides): boolean =>
  source.type !== target.type || source.sizeBytes !== target.sizeBytes

/** What has gone meanwhile stays as it was listed: whoever uses it finds out. */
const statedOf = async (
  driver: Driver,
  path: StorePath,
  listed: Entry,
  signal: AbortSignal,
): Promise<Entry> =>
  driver.capabilities.listsAttributes ? listed : ((await driver.stat(path, signal)) ?? listed)

/**
 * Two listed entries with the times, attributes and digests that a store tells only when it is asked by name; as they are
 * where both listings tell them, or type and size differ already. Throws StoreErrors.
 */
export async function stated(run: Run, { source, target, at, there }: Both): Promise<Sides> {
  if (listsAll(run) || isDecided({ source, target })) return { source, target }
  const [its, itsThere] = await Promise.all([
    statedOf(run.source, at, source, run.stop.signal),
    atTarget(statedOf(run.target, there, target, run.stop.signal)),
  ])
  return { source: its, target: itsThere }
}

/**
 * The same for what a folder of the source has at the target, by the listed entry of the source. Undefined where the listings
 * tell all.
 */
export async function statedPairs(
  run: Run,
  folder: StorePath,
  pairs: ReadonlyMap<Entry, Entry>,
): Promise<ReadonlyMap<Entry, Sides> | undefined> {
  if (listsAll(run)) return undefined
  const found = new Map<Entry, Sides>()
  await concurrently([...pairs], concurrencyOf(run), async ([source, target]) => {
    if (source.type !== 'file' || isDecided({ source, target })) return
    const at = joinPath(folder, source.name)
    found.set(source, await stated(run, { source, target, at, there: targetPath(run, at) }))
  })
  return found
}
