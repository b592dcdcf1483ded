import type { Output } from '../../../subjects/kit/contract.ts'
import type { migrations } from '../../../subjects/migrations/migrations.ts'
import { maxDeletionSamples } from '../../../subjects/migrations/model/target-match.ts'
import { noteFailures, type FailureLedger } from '../failures/failures.ts'
import type { Failure } from '../../engine/run/counts.ts'
import type { Mover, MoveSpec } from '../../engine/mover.ts'
import { newRemovalBudget, RemovalBudgetView } from '../../engine/run/removal-budget.ts'
import { undeletedPaths } from '../../engine/walk/match.ts'
import { pathFromText } from '../../drivers/paths/path-text.ts'
import { relativePath } from '../../engine/items/paths.ts'
import { encodeFolder } from '../../engine/walk/walk-folder.ts'
import { type MigrationRecord, workIdOf } from '../lifecycle/record.ts'
import { walkAll } from '../../engine/walk/walk-all.ts'
import { deletionsIn, needsApproval, percentIn } from './guard.ts'
import { planAll, Planned, type Planning } from './plan-walk.ts'

export type Deletions = NonNullable<Output<(typeof migrations)['get']>['deletions']>

export interface MatchDependencies {
  readonly mover: Planning & Pick<Mover, 'match'>
  readonly failures: FailureLedger
  readonly spillFolder: string
}

/**
 * Deletes what is only at the target, once it is counted and not more than may go without approval; what is there only since
 * it was counted waits to be counted itself. Resolves to what was deleted, or to what is held; to undefined when nobody wants it.
 * To be called when everything is copied. Rejects with the signal's reason.
 * @param begin notes what is going to be deleted: whoever goes on after a kill goes through all folders again, as the times
 *   of those in which something was deleted are set last
 */
export async function matchTarget(
  dependencies: MatchDependencies,
  record: MigrationRecord,
  spec: MoveSpec,
  signal: AbortSignal,
  begin: (deletions: Deletions) => Promise<void>,
): Promise<Deletions | undefined> {
  const paths = matchedPaths(record)
  if (paths.length === 0) return undefined
  const { mover, spillFolder } = dependencies
  const begun = begunIn(record)
  const done = { files: 0, folders: 0, bytes: 0 }
  let first: Omit<Deletions, 'isHeld'> | undefined
  for (;;) {
    const planned = new Planned()
    await planAll(mover, spec, { by: { as: 'match' }, paths, planned, spillFolder, signal })
    const { counts } = planned
    const count = deletionsIn(counts)
    const deletions = {
      files: counts.filesToDelete,
      folders: counts.foldersToDelete,
      bytes: counts.bytesToDelete,
      percent: percentIn(counts),
      entriesAtTarget: counts.entriesAtTarget,
      time: new Date().toISOString(),
    }
    // What was approved of is gone after the first time.
    const isApproved = first === undefined && count <= (record.approvedDeletions ?? 0)
    if (!isApproved && needsApproval(record, counts)) {
      const samples = planned.samples.filter(({ action }) => action === 'DELETE').map(({ path }) => path)
      return { ...deletions, samples: samples.slice(0, maxDeletionSamples), isHeld: true }
    }
    const isFirst = first === undefined
    first ??= deletions
    if (isFirst) {
      done.files = doneBefore(begun?.files, deletions.files)
      done.folders = doneBefore(begun?.folders, deletions.folders)
      done.bytes = doneBefore(begun?.bytes, deletions.bytes)
      if (count > 0 && begun === undefined) await begin({ ...deletions, isHeld: false })
    }
    // A process that died may have left times of folders to be set.
    const isNothing = count === 0 && (begun === undefined || !isFirst)
    if (isNothing || (await deleteUpTo(count, paths))) return { ...first, ...done, isHeld: false }
  }

  /** Whether that was all that is only at the target. */
  async function deleteUpTo(count: number, below: readonly Buffer[]): Promise<boolean> {
    const budget = newRemovalBudget()
    new RemovalBudgetView(budget).allow(count)
    let held = 0
    await walkAll({
      start: below.map((path) => encodeFolder({ path, side: 'unknown' })),
      atOnce: mover.walksAtOnce,
      spillFolder,
      step: (folders, take, stop) => mover.match(spec, { ...matchOf(record), budget }, folders, take, stop),
      take: async ({ counts: more, lines }) => {
        done.files += more['filesDeleted'] ?? 0
        done.folders += more['foldersDeleted'] ?? 0
        done.bytes += more['bytesDeleted'] ?? 0
        held += more['deletionsHeld'] ?? 0
        await note(dependencies.failures, record, lines[undeletedPaths] ?? '', signal)
      },
      signal,
    })
    return held === 0
  }
}

/** The deletions of this scan with which a process began that died. */
const begunIn = ({ deletions, scheduled, created }: MigrationRecord): Deletions | undefined =>
  deletions?.isHeld === false && deletions.time >= (scheduled ?? created) ? deletions : undefined

const doneBefore = (planned = 0, left: number): number => Math.max(0, planned - left)

/** All of the migration, or the folders that were scanned again for it; relative to the migration's path. */
function matchedPaths({ path, targetMatch, pendingRegions }: MigrationRecord): Buffer[] {
  if (targetMatch !== undefined) return [Buffer.alloc(0)]
  const root = pathFromText(path)
  return pendingRegions
    .filter((region) => region.targetMatch === true)
    .map((region) => relativePath(root, pathFromText(region.path)))
}

/** Each scan has a folder of its own in the trash, so that nothing in it is in the way of what comes later. */
export const trashOf = ({ migrationId, generation, scheduled, created }: MigrationRecord): string =>
  `${encodeURIComponent(migrationId)}.${generation}.${Date.parse(scheduled ?? created)}`

const matchOf = (record: MigrationRecord) =>
  record.targetMatch?.trash === true ? { trash: trashOf(record) } : {}

async function note(
  failures: FailureLedger,
  record: MigrationRecord,
  lines: string,
  signal: AbortSignal,
): Promise<void> {
  const undeleted = lines
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Failure)
  if (undeleted.length === 0) return
  const item = `match.${record.scheduled ?? record.created}`
  await noteFailures(failures, workIdOf(record), { item, failures: undeleted }, signal)
}
