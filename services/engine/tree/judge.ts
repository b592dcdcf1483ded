import { StoreError, type Entry, type StorePath } from '../../drivers/contract/driver.ts'
import { collisionsIn } from '../run/mappings.ts'
import { isName } from '../items/paths.ts'
import type { Verdict } from '../run/rules.ts'
import type { Run } from '../run/run.ts'

/** What becomes of an entry: what the rules say, or a failure, as it cannot be at the target. */
export type Judgement = Verdict | { readonly error: StoreError }

export const isExcluded = (judgement: Judgement): judgement is Extract<Judgement, { excludedBy: unknown }> =>
  typeof judgement === 'object' && 'excludedBy' in judgement

/** What the rules and path mappings of a migration say of a folder of the source. */
export interface FolderJudge {
  /** The exclusion that it falls under, or one above it: rules may be newer than what led to it. */
  readonly excludedBy: string | undefined
  /** False for one that is only on the way to what is included. */
  readonly isIncluded: boolean
  readonly judge: (entry: Entry) => Judgement
}

const unusableName =
  'its name is empty, . or .., or has a slash or NUL in it, which no name in a path can have'

/** @param folder in the source */
export function judgeFolder(run: Run, folder: StorePath): FolderJudge {
  const excludedBy = run.rules?.excluding(folder, run.spec.root)
  const rules = run.rules?.inFolder(folder)
  const collision = collisionsIn(run, folder)
  return {
    excludedBy,
    isIncluded: rules?.isIncluded ?? true,
    judge: (entry) => {
      // Object stores have such, and a server may say what it likes: no path is made of it.
      if (!isName(entry.name)) return { error: new StoreError('name', unusableName, { side: 'source' }) }
      const verdict = rules?.verdict(entry) ?? 'taken'
      const error = typeof verdict === 'string' ? collision?.(entry) : undefined
      return error === undefined ? verdict : { error }
    },
  }
}
