import { StoreError, type Entry } from '../../../drivers/driver.ts'
import { nameOf } from '../../../drivers/local-root.ts'
import { isTemporaryName } from '../../../drivers/local-temporary.ts'
import { lookBeside } from '../beside.ts'
import { targetError } from '../outcome.ts'
import { atTarget, storePath, type Run } from '../run.ts'
import type { WalkFolder } from './walk-folder.ts'

/** What stands under one name at both sides, or at one of them. */
export interface Pair {
  readonly name: Buffer
  readonly source: Entry | undefined
  readonly target: Entry | undefined
}

/**
 * The entries of a folder, source and target side by side, in batches; files under construction are left out. Throws
 * StoreErrors, `gone` also when the folder is no longer where it was.
 */
export async function* pairsOf(run: Run, folder: WalkFolder): AsyncGenerator<Pair[]> {
  const path = storePath(run, folder.path)
  const { signal } = run.stop
  if (folder.side === 'target') {
    for await (const batch of entriesOfTarget(run, path)) yield onlyTarget(batch)
    return
  }
  const beside = folder.side === 'both' ? await lookBeside(run, path) : undefined
  if (folder.side === 'both' && beside === undefined)
    throw new StoreError('gone', 'target: the folder is no longer there')
  for await (const batch of run.source.list(path, signal)) {
    const there = await beside?.find(batch)
    yield batch.map((entry) => ({ name: entry.name, source: entry, target: there?.get(entry) }))
  }
  if (beside === undefined) return
  for await (const batch of beside.rest()) yield onlyTarget(batch)
}

async function* entriesOfTarget(run: Run, path: Buffer): AsyncGenerator<Entry[]> {
  try {
    yield* run.target.list(path, run.stop.signal)
  } catch (error) {
    if (error instanceof StoreError && error.failure === 'gone') throw error
    throw targetError(error)
  }
}

const onlyTarget = (batch: readonly Entry[]): Pair[] =>
  batch
    .filter(({ name }) => !isTemporaryName(name))
    .map((entry) => ({ name: entry.name, source: undefined, target: entry }))

/** What stands at a path itself. Throws StoreErrors. */
export async function pairAt(run: Run, folder: WalkFolder): Promise<Pair> {
  const path = storePath(run, folder.path)
  const [source, target] = await Promise.all([run.source.stat(path), atTarget(run.target.stat(path))])
  return { name: nameOf(path), source, target }
}
