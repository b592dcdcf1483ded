import type { Entry } from '../../drivers/contract/driver.ts'
import { nameOf, parentOf } from '../../drivers/paths/path-text.ts'
import { isTemporaryName } from '../../drivers/paths/temporary-names.ts'
import { mayRemoveAll, type Removable, type Removed } from '../tree/remove-tree.ts'
import type { Verdict } from '../run/rules.ts'
import type { Run } from '../run/run.ts'

/** What may be deleted by paths: no file under construction, and nothing that comes from elsewhere in the source. */
export const mayDelete = (run: Run, at: Removed): Removable =>
  !isTemporaryName(nameOf(at.path)) && mayRemoveAll(run)(at)

/** What the rules say of an entry of the target that the source has not, as for its removal. */
export function verdictThere({ rules }: Run, { origin }: Removed, entry: Entry): Verdict {
  return rules?.inFolder(parentOf(origin)).verdict({ ...entry, name: nameOf(origin) }) ?? 'taken'
}
