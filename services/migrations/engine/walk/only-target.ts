import type { Entry, StorePath } from '../../../drivers/driver.ts'
import { nameOf, parentOf } from '../../../drivers/local-root.ts'
import { isTemporaryName } from '../../../drivers/local-temporary.ts'
import { isTaken } from '../mappings.ts'
import type { Verdict } from '../rules.ts'
import { storePath, type Run } from '../run.ts'

/** Whether what the target has there is a file under construction, or comes from elsewhere in the source. */
export const isOthers = (run: Run, there: StorePath): boolean =>
  isTemporaryName(nameOf(there)) || isTaken(run, there)

/**
 * What becomes of an entry of the target that the source has not: what the rules say, as for its removal, or `others`.
 * @param path where it would come from, relative to the migration's path
 */
export function verdictThere(run: Run, there: StorePath, path: StorePath, entry: Entry): Verdict | 'others' {
  if (isOthers(run, there)) return 'others'
  return (
    run.rules?.inFolder(parentOf(storePath(run, path))).verdict({ ...entry, name: nameOf(there) }) ?? 'taken'
  )
}
