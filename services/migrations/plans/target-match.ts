import { emission } from '../../../broker/events.ts'
import type { Handlers, Input } from '../../../subjects/contract.ts'
import { GantryError } from '../../../subjects/errors.ts'
import { migrationEvents } from '../../../subjects/migration-events.ts'
import type { migrations } from '../../../subjects/migrations.ts'
import type { Figures } from '../figures.ts'
import type { MigrationDependencies } from '../index.ts'
import { invalidField } from '../invalid.ts'
import { factOf, type MigrationRecord } from '../record.ts'
import type { MigrationKind } from '../states.ts'
import { command, entryFacts } from '../transition.ts'

type Asked = Pick<
  Input<(typeof migrations)['create']>,
  'targetMatch' | 'maxDeletions' | 'maxDeletionPercent' | 'trash' | 'target'
>

/** What is asked of the target's match; undefined for none. @throws GantryError INVALID_INPUT */
export async function targetMatchOf(
  { localFolder }: Pick<MigrationDependencies, 'localFolder'>,
  asked: Asked,
  kind: MigrationKind,
): Promise<MigrationRecord['targetMatch']> {
  const { targetMatch = false, maxDeletions, maxDeletionPercent, trash } = asked
  if (!targetMatch) {
    const given = (['maxDeletions', 'maxDeletionPercent', 'trash'] as const).find(
      (field) => asked[field] !== undefined,
    )
    if (given !== undefined) throw invalidField(given, 'goes with targetMatch=true')
    return undefined
  }
  if (kind === 'live')
    throw invalidField(
      'targetMatch',
      'does not go with a live migration, which deletes what is deleted at the source',
    )
  if (trash === true && (await localFolder(asked.target, '/')) === undefined)
    throw invalidField(
      'trash',
      `needs a target that is a folder of a host; ${asked.target} would have to copy`,
    )
  return {
    ...(maxDeletions === undefined ? {} : { maxDeletions }),
    ...(maxDeletionPercent === undefined ? {} : { maxDeletionPercent }),
    ...(trash === undefined ? {} : { trash }),
  }
}

export function targetMatchHandlers(
  { records, look }: Pick<MigrationDependencies, 'records' | 'look'>,
  figures: Figures,
): Pick<Handlers<typeof migrations>, 'approve-deletions'> {
  return {
    'approve-deletions': async ({ migrationId }) => {
      await figures.record(migrationId)
      await command(
        records,
        migrationId,
        'resume',
        ({ abortReason: _reason, ...current }) => {
          const { deletions } = current
          if (deletions?.isHeld !== true)
            throw new GantryError('NOT_ALLOWED_IN_STATE', `${migrationId} holds no deletions`)
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
