import type { StoreError, StorePath } from '../../drivers/contract/driver.ts'
import type { Counts } from '../run/counts.ts'
import { giveAttributes } from './match-folder.ts'
import type { Run } from '../run/run.ts'
import { sizeOfSame } from './same-content.ts'

/**
 * Size of a file of a live migration that the target lets nobody write and has all the same, with the attributes that it
 * is given: looking at it once more, to be sure, must not make a failure of what has arrived. Undefined for any other.
 * @param error why it could not be copied
 * @param counts what is not kept is added to them
 */
export async function sizeOfArrived(
  run: Run,
  path: StorePath,
  error: StoreError,
  counts: Counts,
): Promise<number | undefined> {
  if (run.spec.live === undefined || !error.isTargets || error.failure !== 'permission') return undefined
  try {
    const sizeBytes = await sizeOfSame(run, path)
    if (sizeBytes !== undefined) await giveAttributes(run, path, counts)
    return sizeBytes
  } catch {
    // What it failed for first is what there is to tell.
    run.stop.check()
    return undefined
  }
}
