import type { Entry, StorePath } from '../../../drivers/driver.ts'
import { nameOf, parentOf } from '../../../drivers/local-root.ts'
import { isTemporaryName } from '../../../drivers/local-temporary.ts'
import { isTaken } from '../mappings.ts'
import type { Verdict } from '../rules.ts'
import { storePath, type Run } from '../run.ts'

/**
 * What becomes of an entry of the target that the source has not: what the rules say, or `others` for a file under
 * construction and for what comes from elsewhere in the source.
 * @param path where it would come from, relative to the migration's path
 */
export function verdictThere(run: Run, there: StorePath, path: StorePath, entry: Entry): Verdict | 'others' {
  const name = nameOf(there)
  if (isTemporaryName(name) || isTaken(run, there)) return 'others'
  return run.rules?.inFolder(parentOf(storePath(run, path))).verdict({ ...entry, name }) ?? 'taken'
}
