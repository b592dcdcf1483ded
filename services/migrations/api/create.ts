import { notAccepted } from '../../../subjects/kit/errors.ts'
import { SharedReading } from '../../../broker/state/shared-reading.ts'
import { emission } from '../../../broker/state/events.ts'
import type { Owned } from '../../../broker/rpc/owners.ts'
import type { Call, Input } from '../../../subjects/kit/contract.ts'
import { defaultLinks, defaultMetadata } from '../../../subjects/migrations/model/terms.ts'
import { migrationEvents } from '../../../subjects/migrations/events.ts'
import type { Migration } from '../../../subjects/migrations/model/model.ts'
import type { migrations } from '../../../subjects/migrations/migrations.ts'
import { product } from '../../../subjects/kit/names.ts'
import { pathFromText, textFromPath } from '../../drivers/paths/path-text.ts'
import { asInOrder } from '../places/as-in-order.ts'
import { cleanupOf } from '../jobs/cleanups/setting.ts'
import { Creations, type Planned } from '../lifecycle/creations.ts'
import type { Figures } from '../reporting/figures.ts'
import type { MigrationDependencies } from './dependencies.ts'
import { targetsOf } from '../rules/mappings/frozen.ts'
import { mappingsOfNew } from '../rules/mappings/handlers.ts'
import { requireApart } from '../places/overlap.ts'
import { onlySource, requirePlaces, requireUnique } from '../places/places.ts'
import { deletionsOf, requireOwnTarget, requireTrash } from './target-match.ts'
import { factOf, type MigrationRecord } from '../lifecycle/record.ts'
import type { Recurrence } from '../../scheduling/recurrence.ts'
import { planOf } from './recurrence-input.ts'
import type { MigrationKind } from '../lifecycle/states.ts'
import { entryFacts } from '../lifecycle/transition.ts'
import { requireMovers } from './update.ts'

type Create = (typeof migrations)['create']

/** Defines a migration, once both stores were asked. */
export function creator(dependencies: MigrationDependencies, figures: Figures) {
  const creations = new Creations()
  const { owners, records, mappings } = dependencies
  // Each new one is held against all others: of hundreds that are made at once, each would read all.
  const reading = new SharedReading(() => Promise.all([records.all(), mappings.all()]))
  const owned: Owned = {
    limit: 'maxMigrations',
    what: 'migrations',
    fix: `delete some with "${product} migrations delete"`,
    count: (owner) => records.sizeOfGroup(owner),
  }
  return async (input: Input<Create>, { caller }: Pick<Call<Create>, 'caller'>): Promise<Migration> => {
    using creation = creations.begin()
    const { look, requireFolder, rules } = dependencies
    const source = input.source ?? (await onlySource(dependencies))
    const { migrationId = `migration-${crypto.randomUUID().slice(0, 8)}`, target, autoStart = false } = input
    const path = textFromPath(pathFromText(input.path))
    const asked = { migrationId, path, source, target }
    // Asked for at once, and told after what the input itself shows.
    const allowed = owners.allowanceOf(caller)
    allowed.catch(() => undefined)
    const known = reading.read()
    const asking = asInOrder([
      known.then(([others]) => requireUnique(others, asked)),
      requireFolder(source, path),
      known,
    ])
    asking.catch(() => undefined)
    const place = await requirePlaces(dependencies, source, target)
    const recurrence = recurrenceOf(input)
    const kind = kindOf(input.scanOnlyMigration ?? place.isScanOnly, recurrence)
    if (kind !== 'live' && input.comparisonPeriodSeconds !== undefined)
      throw notAccepted('comparisonPeriodSeconds', 'is only for live migrations: scanOnlyMigration=false')
    requireMovers(kind, input.movedBy)
    const matching = input.targetMatch === true && { targetMatch: {} }
    const deletions = deletionsOf(input, { kind, ...matching })
    const { targetMatch } = deletions
    await requireTrash(dependencies, target, input)
    const links = input.links ?? defaultLinks
    const cleanup = cleanupOf(input, { kind, links, ...(targetMatch && { targetMatch }) })
    const [, , [recorded, allMappings]] = await asking
    const pathMappings = mappingsOfNew(allMappings, recorded, asked)
    creation.planned({ ...asked, kind, pathMappings, targetMatch })
    const requireRoom = async (others: readonly Planned[]) => {
      requireUnique(others, asked)
      await asInOrder([
        requireApart(dependencies, { ...asked, targets: targetsOf({ ...asked, pathMappings }) }),
        requireOwnTarget(dependencies, others, { ...asked, kind, pathMappings, targetMatch }),
      ])
    }
    const earlier = await creation.earlier()
    try {
      await requireRoom([...recorded, ...earlier])
    } catch (error) {
      if (earlier.length === 0) throw error
      // Those that are refused themselves stand in nobody's way.
      await creation.earlierEnded()
      await requireRoom(await records.all())
    }
    const ruleIds = await rules.ofNew(input, { kind, source: place.kind })
    const now = new Date().toISOString()
    const record: MigrationRecord = {
      migrationId,
      internalId: crypto.randomUUID(),
      path,
      source,
      target,
      policy: input.actionPolicy ?? 'Overwrite',
      metadata: { ...defaultMetadata, ...input.metadata },
      links,
      kind,
      priority: input.migrationPriority ?? 'NORMAL',
      state: autoStart ? 'SCHEDULED' : 'NONSCHEDULED',
      states: [{ state: autoStart ? 'SCHEDULED' : 'NONSCHEDULED', since: now }],
      resumable: true,
      generation: 1,
      seeded: false,
      created: now,
      ...(autoStart ? { scheduled: now } : {}),
      ...(recurrence === undefined ? {} : { recurrence }),
      ...(input.comparisonPeriodSeconds === undefined
        ? {}
        : { comparisonSeconds: input.comparisonPeriodSeconds }),
      ...(input.movedBy === undefined ? {} : { movedBy: input.movedBy }),
      ...(input.additionalProperties === undefined
        ? {}
        : { additionalProperties: input.additionalProperties }),
      ...ruleIds,
      pathMappings,
      pendingRegions: [],
      ...deletions,
      ...(cleanup === undefined ? {} : { cleanup }),
    }
    await owners.make(await allowed, owned, (owner) =>
      records.create(migrationId, { ...record, ...(owner === undefined ? {} : { owner }) }, [
        emission(migrationEvents.created, migrationId, factOf(record)),
        ...entryFacts(record, 'NONSCHEDULED'),
      ]),
    )
    if (autoStart) await look()
    return figures.view(migrationId)
  }
}

const kindOf = (isScanOnly: boolean, recurrence: Recurrence | undefined): MigrationKind =>
  recurrence !== undefined ? 'recurring' : isScanOnly ? 'once' : 'live'

/** What is asked of the recurrence; undefined for none. @throws GantryError NOT_ACCEPTED */
function recurrenceOf(input: Input<Create>): Recurrence | undefined {
  const { recurringMigration = false, scanOnlyMigration, recurringPeriod, ...plan } = input
  if (!recurringMigration) {
    const fields = ['recurringPeriod', 'recurringSchedule', 'recurringTimeZone', 'recurringWindow'] as const
    const given = fields.find((field) => input[field] !== undefined)
    if (given !== undefined) throw notAccepted(given, 'is only for recurringMigration=true')
    return undefined
  }
  if (scanOnlyMigration === false) {
    throw notAccepted(
      'recurringMigration',
      'cannot be combined with scanOnlyMigration=false: a recurring migration repeats its scan',
    )
  }
  return planOf({ ...plan, ...(recurringPeriod === undefined ? {} : { period: recurringPeriod }) })
}
