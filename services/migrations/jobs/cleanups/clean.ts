import { GantryError } from '../../../../subjects/kit/errors.ts'
import { plural } from '../../../../subjects/kit/plural.ts'
import type { StoreBounds } from '../../../drivers/contract/bounds.ts'
import type { Mover, MoveSpec } from '../../../engine/mover.ts'
import type { CleaningStep } from '../../../engine/walk/clean.ts'
import { encodeFolder } from '../../../engine/walk/walk-folder.ts'
import type { MigrationRecord } from '../../lifecycle/record.ts'
import { Roots } from '../../execution/roots.ts'
import { walkAll } from '../../../engine/walk/walk-all.ts'
import type { JobOutcome, Work } from '../../../jobs/walk-jobs.ts'
import { type CleanablesDependencies, requireCleanable } from './allowed.ts'
import type { CleanupRecord } from './record.ts'

export interface CleaningOptions {
  readonly cleanables: CleanablesDependencies
  readonly bounds: StoreBounds | undefined
  readonly mover: Pick<Mover, 'clean' | 'walksAtOnce'>
  readonly resolve: (record: MigrationRecord) => Promise<MoveSpec>
  /** See `walkAll`. */
  readonly folder: string
}

/** What a cleanup must not be in the way of may come while it is at work: it is looked for again after so long. */
const lookAgainMs = 1_000

/** All of a cleanup. Throws GantryErrors when it must not begin, or not go on. */
export async function clean(
  { cleanables, mover, bounds, resolve, folder }: CleaningOptions,
  { migrationId, internalId, dryRun, onlyIfAll }: CleanupRecord,
  { take, counts, signal }: Work,
): Promise<JobOutcome> {
  const { records } = cleanables
  let looked: { atMs: number; migration: Promise<MigrationRecord> } | undefined
  const look = async () => {
    const migration = await records.get(migrationId)
    if (migration?.internalId !== internalId) throw new GantryError('NOT_FOUND', 'the migration was deleted')
    await requireCleanable(cleanables, migration)
    return migration
  }
  const lookAgain = () => {
    if (looked === undefined || looked.atMs < performance.now() - lookAgainMs)
      looked = { atMs: performance.now(), migration: look() }
    return looked.migration
  }
  const migration = await lookAgain()
  const resolved = await resolve(migration)
  // Nothing goes from a folder that took the place of the source, or because of one that took that of the target.
  const ended = new AbortController()
  using roots = await Roots.watch(
    resolved,
    migration,
    { isRootReplaced: false },
    (reason) => ended.abort(reason),
    bounds,
  )
  const spec = { ...resolved, ...roots.spec }
  const walk = (step: CleaningStep) =>
    walkAll({
      start: [encodeFolder({ path: Buffer.alloc(0), side: 'unknown' })],
      atOnce: mover.walksAtOnce,
      spillFolder: folder,
      step: async (folders, tell, stop) => {
        await lookAgain()
        await mover.clean(spec, step, folders, tell, stop)
      },
      take,
      signal: AbortSignal.any([signal, ended.signal]),
    })
  if (dryRun || onlyIfAll) await walk('look')
  if (dryRun) return { status: 'COMPLETE' }
  const kept = keptIn(counts)
  if (onlyIfAll && kept > 0)
    return {
      status: 'CANCELLED',
      message: `nothing was removed, because ${plural(kept, 'path')} would have been kept`,
    }
  // Before anything is gone: a match of the target afterwards would take it from there too.
  await records.update(migrationId, (current) =>
    current.internalId === internalId
      ? { ...current, cleaned: current.cleaned ?? new Date().toISOString() }
      : undefined,
  )
  await walk('files')
  await walk('folders')
  return { status: 'COMPLETE' }
}

/** What stays though nobody left it out. */
const keptIn = ({
  filesKept = 0,
  filesExcluded = 0,
  foldersNotAtTarget = 0,
  unreadablePaths = 0,
}: Readonly<Record<string, number>>): number =>
  filesKept - filesExcluded + foldersNotAtTarget + unreadablePaths
