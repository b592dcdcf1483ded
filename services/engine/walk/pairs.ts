import { StoreError, type Entry, type Page, type StorePath } from '../../drivers/contract/driver.ts'
import { nameOf, parentOf } from '../../drivers/paths/path-text.ts'
import { isTemporaryName } from '../../drivers/paths/temporary-names.ts'
import { lookBeside } from '../tree/beside.ts'
import { broughtFrom, goneMapped } from '../tree/brought.ts'
import { concurrently } from '../../../broker/common/concurrently.ts'
import { isMapped, takenAt, targetPath } from '../run/mappings.ts'
import { storeError, targetError } from '../../drivers/contract/store-error.ts'
import { isName, joinPath, relativePath } from '../items/paths.ts'
import { type Judgement, judgeFolder } from '../tree/judge.ts'
import { verdictThere } from '../tree/remove-tree.ts'
import { withLinks } from '../tree/links.ts'
import { noCounts } from '../run/counts.ts'
import type { Verdict } from '../run/rules.ts'
import { atTarget, concurrencyOf, storePath, type Run } from '../run/run.ts'
import type { WalkFolder } from './walk-folder.ts'

/** What stands under one name at both sides, or at one of them. */
export interface Pair {
  readonly name: Buffer
  /** Relative to the migration's path, where that is not its name in the folder. */
  readonly path?: StorePath
  readonly source: Entry | undefined
  readonly target: Entry | undefined
  /** Path at the target. */
  readonly there: StorePath
  /** What the rules of the migration say of it. */
  readonly verdict: Verdict
  /** Why it cannot be at the target, by its name or the path mappings. */
  readonly error?: StoreError
}

/**
 * The entries of a folder, source and target side by side, in batches; files under construction are left out, and what
 * comes to the target from elsewhere in the source. Throws StoreErrors, `gone` also when the folder is no longer where it
 * was.
 */
export async function* pairsOf(run: Run, folder: WalkFolder): AsyncGenerator<Pair[]> {
  const path = storePath(run, folder.path)
  const there = folder.there ?? targetPath(run, path)
  const { judge } = judgeFolder(run, path)
  const pairOf = (source: Entry, target: Entry | undefined): Pair => {
    const judgement = judge(source)
    return {
      name: source.name,
      source,
      target,
      there: targetPath(run, joinPath(path, source.name)),
      verdict: verdictOf(judgement),
      ...(typeof judgement === 'object' && 'error' in judgement ? { error: judgement.error } : {}),
    }
  }
  const onlyTarget = (batch: readonly Entry[]): Pair[] =>
    batch
      .filter(({ name }) => !isTemporaryName(name))
      .map((entry) => ({
        name: entry.name,
        source: undefined,
        target: entry,
        there: joinPath(there, entry.name),
        verdict: verdictOf(judge(entry)),
      }))
  if (folder.side === 'target') {
    for await (const { entries } of listTarget(run, there))
      yield onlyTarget(
        entries.filter(({ name }) => takenAt(run, joinPath(there, name), joinPath(path, name)) === undefined),
      )
    return
  }
  using beside = folder.side === 'both' ? await lookBeside(run, path) : undefined
  if (folder.side === 'both' && beside === undefined)
    throw new StoreError('gone', 'the folder is no longer there', { side: 'target' })
  for await (const { entries: batch } of run.source.list(path, run.stop.signal)) {
    // Asked for links too that are left out: what stands under their names is not only at the target.
    const found = (await beside?.find(batch)) ?? new Map<Entry, Entry>()
    const elsewhere = await findElsewhere(run, path, batch)
    const pairs = batch.map((entry) =>
      pairOf(entry, elsewhere.has(entry) ? elsewhere.get(entry) : found.get(entry)),
    )
    yield await withLinksOf(run, path, pairs, pairOf)
  }
  yield await broughtFromGone(run, path)
  if (beside === undefined) return
  for await (const batch of beside.rest()) yield onlyTarget(batch)
}

/** What the target has for entries that a mapping of their own leads to another place. */
async function findElsewhere(
  run: Run,
  path: StorePath,
  batch: readonly Entry[],
): Promise<ReadonlyMap<Entry, Entry | undefined>> {
  const found = new Map<Entry, Entry | undefined>()
  if (run.spec.mappings === undefined) return found
  const mapped = batch.filter(({ name }) => isName(name) && isMapped(run, joinPath(path, name)))
  await concurrently(mapped, concurrencyOf(run), async (entry) => {
    found.set(
      entry,
      await atTarget(run.target.stat(targetPath(run, joinPath(path, entry.name)), run.stop.signal)),
    )
  })
  return found
}

/** What mappings have brought from folders that are gone: it is not beside the others, and no listing tells of it. */
async function broughtFromGone(run: Run, path: StorePath): Promise<Pair[]> {
  const pairs: Pair[] = []
  for (const { name } of await goneMapped(run, path)) {
    for (const { at, entry } of await broughtFrom(run, joinPath(path, name))) {
      pairs.push({
        name: nameOf(at.origin),
        path: relativePath(run.spec.root, at.origin),
        source: undefined,
        target: entry,
        there: at.path,
        verdict: verdictThere(run, at, entry),
      })
    }
  }
  return pairs
}

async function* listTarget(run: Run, there: StorePath): AsyncGenerator<Page> {
  try {
    yield* run.target.list(there, run.stop.signal)
  } catch (error) {
    const known = storeError(error)
    throw known.failure === 'gone' ? known : targetError(known)
  }
}

/** What cannot be at the target is for whoever plans to tell. */
const verdictOf = (judgement: Judgement): Verdict =>
  typeof judgement === 'object' && 'error' in judgement ? 'taken' : judgement

/** The pairs as the migration's choice for symbolic links makes them; a link that cannot be followed stays one. */
async function withLinksOf(
  run: Run,
  path: StorePath,
  pairs: readonly Pair[],
  pairOf: (entry: Entry, target: Entry | undefined) => Pair,
): Promise<Pair[]> {
  const bySource = new Map(
    pairs.flatMap((pair) => (pair.source === undefined ? [] : [[pair.source, pair] as const])),
  )
  const found = { counts: noCounts(), refused: [] as { name: Buffer; error: StoreError }[] }
  const isExcluded = (link: Entry) => typeof bySource.get(link)?.verdict === 'object'
  const entries = await withLinks(run, path, [...bySource.keys()], found, isExcluded)
  const targets = new Map(pairs.map(({ name, target }) => [name.toString('latin1'), target]))
  const unfollowed = new Set(found.refused.map(({ name }) => name.toString('latin1')))
  return [
    ...entries.map(
      (entry) => bySource.get(entry) ?? pairOf(entry, targets.get(entry.name.toString('latin1'))),
    ),
    ...pairs.filter(({ name }) => unfollowed.has(name.toString('latin1'))),
  ]
}

/** What stands at a path itself. Throws StoreErrors. */
export async function pairAt(run: Run, folder: WalkFolder): Promise<Pair> {
  const path = storePath(run, folder.path)
  const there = folder.there ?? targetPath(run, path)
  const [source, target] = await Promise.all([
    run.source.stat(path, run.stop.signal),
    atTarget(run.target.stat(there, run.stop.signal)),
  ])
  return { name: nameOf(path), source, target, there, verdict: verdictAt(run, folder, source ?? target) }
}

/** The root of the migration was asked for; of what is below it a folder above may be excluded. */
function verdictAt(run: Run, { path }: WalkFolder, entry: Entry | undefined): Verdict {
  if (run.rules === undefined || path.length === 0 || entry === undefined) return 'taken'
  const parent = parentOf(storePath(run, path))
  const excludedBy = run.rules.excluding(parent, run.spec.root)
  if (excludedBy !== undefined) return { excludedBy }
  return run.rules.inFolder(parent).verdict({ ...entry, name: nameOf(path) })
}
