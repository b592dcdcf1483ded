import type { ActionPolicy } from '../../../subjects/migrations/model/terms.ts'
import type { Entry, StorePath } from '../../drivers/contract/driver.ts'
import { contentDiffersBy } from '../compare/entries.ts'
import { stated } from '../compare/stated.ts'
import { targetPath } from '../run/mappings.ts'
import { mayReplace } from '../tree/in-the-way.ts'
import { hasSameLink, isOwn, isSkipped, type missingAt, missingFound } from '../tree/live.ts'
import {
  type Left,
  mayRemoveAll,
  mayRemoveOwn,
  type MayRemove,
  type Removed,
  removeTree,
} from '../tree/remove-tree.ts'
import { grainMsOf, storePath, type Run } from '../run/run.ts'
import { type PlanBy, ToldNames } from './plan-by.ts'
import { isTrash } from '../tree/trash.ts'

/** Who is told what a comparison would remove, and what it looks at below a path. */
export interface Witness {
  readonly goes: (entry: Entry, at: Removed) => void
  readonly looked: () => void
}

/** What the target's entry of a file or link lacks; see `missingAt`. */
export interface Missing {
  readonly lacks: ReturnType<typeof missingAt>
  /** What makes a copy needless where nothing but attributes is lacking, for a person. */
  readonly same?: string | undefined
}

/** What is the same of a file that a policy skips, for a person. */
export const sameBy: Readonly<Record<ActionPolicy, string | undefined>> = {
  Overwrite: undefined,
  SkipIfSizeMatch: 'same size',
  SkipIfSizeAndTimeMatch: 'same size and time',
  SkipIfDigestMatch: 'same content',
}

/** The same of a file that a comparison finds to be what it copied. */
const sameOf = (run: Run, source: Entry, target: Entry): string | undefined =>
  contentDiffersBy(source, target, grainMsOf(run)) === 'untimed'
    ? sameBy.SkipIfSizeMatch
    : sameBy.SkipIfSizeAndTimeMatch

export const linkMissing = (isSame: boolean): Missing =>
  isSame ? { lacks: 'nothing', same: 'same link' } : { lacks: 'copy' }

/** Says what a comparison of a live migration would do, by the functions that do it. */
export class Comparing {
  readonly #run: Run
  readonly #packed: SharedArrayBuffer | undefined
  #told: ToldNames | undefined
  #isSourceEmpty: Promise<boolean> | undefined

  constructor(run: Run, { told }: PlanBy) {
    this.#run = run
    this.#packed = told
  }

  /** @param path relative to the migration's path */
  async missing(path: StorePath, its: Entry, itsThere: Entry): Promise<Missing> {
    const run = this.#run
    if (its.type !== itsThere.type || its.type === 'other') return { lacks: 'copy' }
    const at = storePath(run, path)
    if (its.type === 'symlink') return linkMissing(await hasSameLink(run, at, false))
    const both = { source: its, target: itsThere, at, there: targetPath(run, at) }
    const { source, target } = await stated(run, both)
    const same = isSkipped(run, source, target) ? sameBy[run.spec.policy] : sameOf(run, source, target)
    return { lacks: missingFound(run, source, target), same }
  }

  /** Which entries go of what is only at the target at a path; undefined where nothing does as long as the source is empty. */
  async mayGo(path: StorePath, target: Entry): Promise<MayRemove | undefined> {
    const run = this.#run
    this.#told ??= ToldNames.unpack(this.#packed)
    const told = this.#told.of(path)
    const goesAnyway = told === 'tree' || target.type !== 'folder' || isOwn(run, target)
    if (told !== undefined && goesAnyway) return mayRemoveAll(run)
    this.#isSourceEmpty ??= isEmpty(run)
    return (await this.#isSourceEmpty) ? undefined : mayRemoveOwn(run)
  }

  /** What would be left of an entry of the target. Throws StoreErrors. */
  async left(may: MayRemove, at: Removed, entry: Entry, { goes, looked }: Witness): Promise<Left> {
    return removeTree(
      this.#run,
      {
        side: 'target',
        mayRemove: (its, one) => {
          if (its !== at) looked()
          return isTrash(its.path) ? false : may(its, one)
        },
        removed: () => undefined,
        held: goes,
        trial: {},
      },
      at,
      entry,
    )
  }

  /** What would be left of what stands where something of another type belongs; see `left`. */
  async leftInTheWay(at: Removed, entry: Entry, witness: Witness): Promise<Left> {
    return this.left(mayReplace(this.#run), at, entry, witness)
  }
}

async function isEmpty({ source, spec, stop }: Run): Promise<boolean> {
  for await (const _ of source.list(spec.root, stop.signal, { limit: 1 })) return false
  return true
}
