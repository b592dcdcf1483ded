import { emission } from '../../../broker/state/events.ts'
import type { Handlers, Input } from '../../../subjects/kit/contract.ts'
import { GantryError, notAccepted } from '../../../subjects/kit/errors.ts'
import { migrationEvents } from '../../../subjects/migrations/events.ts'
import type { migrations } from '../../../subjects/migrations/migrations.ts'
import type { Planned } from '../lifecycle/creations.ts'
import type { Figures } from '../reporting/figures.ts'
import type { MigrationDependencies } from './dependencies.ts'
import { engineMappings, targetsOf } from '../rules/mappings/frozen.ts'
import { areNested } from '../places/overlap.ts'
import { factOf, type MigrationRecord } from '../lifecycle/record.ts'
import type { MigrationKind } from '../lifecycle/states.ts'
import { command, entryFacts } from '../lifecycle/transition.ts'

type Settings = Pick<Input<(typeof migrations)['create']>, 'maxDeletions' | 'maxDeletionPercent' | 'trash'>

/**
 * How a migration deletes at its target, with what is asked changed: in `targetMatch` what is there only, in `removals` what
 * a live one removes as its source does. @throws GantryError NOT_ACCEPTED
 */
export function deletionsOf(
  { maxDeletions, maxDeletionPercent, trash }: Settings,
  { kind, targetMatch, removals }: Pick<MigrationRecord, 'kind' | 'targetMatch' | 'removals'>,
): Pick<MigrationRecord, 'targetMatch' | 'removals'> {
  if (targetMatch !== undefined) refuseLive(kind)
  const settings = {
    ...(maxDeletions === undefined ? {} : { maxDeletions }),
    ...(maxDeletionPercent === undefined ? {} : { maxDeletionPercent }),
    ...(trash === undefined ? {} : { trash }),
  }
  if (targetMatch !== undefined) return { targetMatch: { ...targetMatch, ...settings } }
  const [given] = Object.keys(settings)
  if (given === undefined) return {}
  if (kind !== 'live') throw notAccepted(given, 'is only for targetMatch=true or live migrations')
  return { removals: { ...removals, ...settings } }
}

/** @throws GantryError NOT_ACCEPTED when a target cannot keep what is deleted */
export async function requireTrash(
  { canRename }: Pick<MigrationDependencies, 'canRename'>,
  target: string,
  { trash = false }: Settings,
): Promise<void> {
  if (trash && !(await canRename(target)))
    throw notAccepted(
      'trash',
      `requires a target that can rename files, such as a local folder or HDFS; ${target} cannot`,
    )
}

type Matching = Pick<MigrationDependencies, 'records' | 'locate'>

/** Whether a migration removes what came to the target since it began, and its source has not. */
const removes = ({ kind, targetMatch }: Planned): boolean => kind === 'live' || targetMatch !== undefined

/**
 * What one migration brings is only at the target for another, which must not delete it.
 * @throws GantryError NOT_ACCEPTED when a live migration, or one with `targetMatch`, and another one write to the same place
 */
export async function requireOwnTarget(
  dependencies: Pick<MigrationDependencies, 'locate'>,
  all: readonly Planned[],
  asked: Planned,
): Promise<void> {
  const placesOf = async (migration: Planned) =>
    Promise.all(targetsOf(migration).map((path) => dependencies.locate(migration.target, path)))
  const others = all.filter(
    (other) =>
      other.migrationId !== asked.migrationId &&
      (removes(other) || removes(asked)) &&
      !isOfOneTree(asked, other),
  )
  if (others.length === 0) return
  const own = await placesOf(asked)
  for (const other of others) {
    const its = await placesOf(other)
    if (!own.some((one) => its.some((two) => areNested(one, two)))) continue
    const { migrationId } = other
    if (asked.targetMatch !== undefined)
      throw notAccepted(
        'targetMatch',
        `would delete the files that ${migrationId} copies to the same folder; choose another target folder, or delete ${migrationId} first`,
      )
    const why = removes(other)
      ? `must not overlap with that of ${migrationId}, which deletes files that its own source does not have`
      : `must not overlap with that of ${migrationId}: a live migration deletes files that its own source does not have`
    throw notAccepted(
      'target',
      `${why}; choose another target folder, use the source of ${migrationId}, or delete ${migrationId} first`,
    )
  }
}

/** @throws GantryError NOT_ACCEPTED when what is at the target only cannot be deleted once, for a scan */
export async function requireMatchable(dependencies: Matching, record: MigrationRecord): Promise<void> {
  refuseLive(record.kind)
  if (record.cleaned !== undefined)
    throw notAccepted(
      'targetMatch',
      'would delete the files that the migration has copied, because its source was cleaned up',
    )
  const all = await dependencies.records.all()
  await requireOwnTarget(dependencies, all, { ...record, targetMatch: record.targetMatch ?? {} })
}

function refuseLive(kind: MigrationKind): void {
  if (kind !== 'live') return
  throw notAccepted(
    'targetMatch',
    'cannot be combined with a live migration, which deletes only files that were removed at the source. To delete files that were at the target before, run a one-time migration with targetMatch and delete it before you create the live one',
  )
}

/** With one source and no mappings, what one brings the other has in its source too, unless that was cleaned up. */
const isOfOneTree = (one: Planned, other: Planned): boolean =>
  one.source === other.source &&
  [one, other].every(
    (migration) => engineMappings(migration) === undefined && migration.cleaned === undefined,
  )

/** The deletions that wait. @throws GantryError NOT_ALLOWED_IN_STATE when there are none */
function heldBy({
  migrationId,
  deletions,
}: Pick<MigrationRecord, 'migrationId' | 'deletions'>): NonNullable<MigrationRecord['deletions']> {
  if (deletions?.isHeld === true) return deletions
  throw new GantryError('NOT_ALLOWED_IN_STATE', `no deletions of ${migrationId} wait for approval`)
}

export function targetMatchHandlers(
  { records, look }: Pick<MigrationDependencies, 'records' | 'look'>,
  figures: Figures,
): Pick<Handlers<typeof migrations>, 'approve-deletions'> {
  return {
    'approve-deletions': async ({ migrationId }) => {
      // Before its state is looked at: that it cannot be resumed is not what is wrong then.
      heldBy(await figures.record(migrationId))
      await command(
        records,
        migrationId,
        'resume',
        ({ abortReason: _reason, ...current }) => {
          const deletions = heldBy(current)
          const approvedDeletions = deletions.files + deletions.folders
          return { ...current, approvedDeletions, scheduled: new Date().toISOString() }
        },
        (changed, previous) => [
          emission(migrationEvents.updated, migrationId, factOf(changed)),
          ...entryFacts(changed, previous),
        ],
      )
      await look()
      return figures.view(migrationId)
    },
  }
}
