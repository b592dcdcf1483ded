import type { Place } from '../../services/drivers/contract/driver.ts'
import { LocalDriver } from '../../services/drivers/local/local.ts'

/** A folder of this host as the source of a migration of all that is in it. */
export const sourceAt = (fsRoot: string): Place =>
  new LocalDriver({ fsRoot }).places.asSource({
    root: Buffer.alloc(0),
    isWhole: false,
    leavesOut: undefined,
  })
