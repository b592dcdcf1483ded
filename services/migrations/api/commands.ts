import { emission } from '../../../broker/state/events.ts'
import type { Handlers, Output } from '../../../subjects/kit/contract.ts'
import { GantryError, isGantryError, notAccepted } from '../../../subjects/kit/errors.ts'
import { migrationEvents } from '../../../subjects/migrations/events.ts'
import type { migrations } from '../../../subjects/migrations/migrations.ts'
import { maxPageLength } from '../../../subjects/kit/schemas.ts'
import { pathFromText, textFromPath } from '../../drivers/paths/path-text.ts'
import { concurrently } from '../../../broker/common/concurrently.ts'
import { isWithin } from '../../engine/items/paths.ts'
import type { Figures } from '../reporting/figures.ts'
import type { MigrationDependencies } from './dependencies.ts'
import { targetsOf } from '../rules/mappings/frozen.ts'
import { mappingsOfNew } from '../rules/mappings/handlers.ts'
import { requireApart } from '../places/overlap.ts'
import { requireMatchable, requireOwnTarget, requireTrash } from './target-match.ts'
import { restarted, factOf, type MigrationRecord, workIdOf } from '../lifecycle/record.ts'
import { unused } from '../../scheduling/recurrence.ts'
import { maxRegionsOf, withAcceptedSource, withMaxRegions, withRegionIn } from '../execution/regions.ts'
import { sourceInWords } from '../lifecycle/source-identity.ts'
import { requireNext } from '../lifecycle/states.ts'
import { command, entryFacts } from '../lifecycle/transition.ts'
import { changed } from './update.ts'
import { assetsOf, forgetWork } from '../progress/work.ts'

type Verb =
  | 'start'
  | 'resume'
  | 'accept-source'
  | 'stop'
  | 'stop-all'
  | 'reset'
  | 'update'
  | 'limit-pending-regions'
  | 'delete'
  | 'delete-all'
  | 'delete-with-assets'
  | 'add-pending-region'

type Outcome = Output<(typeof migrations)['stop-all']>[number]

/** Enough to keep the broker busy with the records of many. */
const commandsAtOnce = 16

/** What people do with migrations that there are. */
export function commandHandlers(
  dependencies: MigrationDependencies,
  figures: Figures,
): Pick<Handlers<typeof migrations>, Verb> {
  const { records, look } = dependencies
  /** The migration once everybody whose turn it is has had it. */
  const afterTurns = async (migrationId: string) => {
    await look()
    return figures.view(migrationId)
  }
  const begin = async (migrationId: string, trigger: 'start' | 'resume') => {
    await figures.record(migrationId)
    await command(
      records,
      migrationId,
      trigger,
      // The folder of the target is taken as it is then; that of the source somebody has to accept.
      ({ abortReason: _reason, abortCause: _cause, targetIdentity: _target, ...record }) => ({
        ...record,
        scheduled: new Date().toISOString(),
      }),
    )
    return afterTurns(migrationId)
  }
  const stop = (migrationId: string, resumable: boolean) =>
    command(records, migrationId, 'stop', (record) => ({
      ...record,
      // Remaining work that is to be discarded is not kept because somebody else stops it, too.
      resumable: resumable && (record.state !== 'STOPPING' || record.resumable),
      abortReason: 'MANUALLY_ABORTED_BY_USER',
    }))
  /** What is not cleared here, because the process dies, is cleared at the next start. */
  const remove = async (migrationId: string) => {
    const before = await figures.record(migrationId)
    requireNext(migrationId, before, 'delete')
    await dependencies.removeLeftovers(before)
    const record = await records.delete(
      migrationId,
      (current) => void requireNext(migrationId, current, 'delete'),
      (last) => [emission(migrationEvents.deleted, migrationId, factOf(last))],
    )
    await forgetWork(dependencies, workIdOf(record))
    await dependencies.forgetHistory(record.internalId)
    await dependencies.forgetLimit(migrationId)
    const others = await records.all()
    await dependencies.rules.deleteWith(migrationId, (effect, id) =>
      others.some((other) => other[`${effect}s`]?.includes(id)),
    )
    return record
  }
  /** Does the same with all; one that is in no state for it, or gone, holds up no other. */
  const withAll = async (act: (migrationId: string) => Promise<MigrationRecord>) => {
    const all = await records.list({ limit: maxPageLength })
    const outcomes: Outcome[] = []
    await concurrently(all, commandsAtOnce, async ({ migrationId, state }) => {
      try {
        outcomes.push({ migrationId, done: true, state: (await act(migrationId)).state })
      } catch (error) {
        if (!isRefusal(error)) throw error
        outcomes.push({ migrationId, done: false, state, reason: error.message })
      }
    })
    return outcomes
  }

  return {
    start: ({ migrationId }) => begin(migrationId, 'start'),
    resume: ({ migrationId }) => begin(migrationId, 'resume'),
    'accept-source': async ({ migrationId }) => {
      const before = await figures.record(migrationId)
      const { is: now, isOther } = await dependencies.sourceNow(before)
      // Without work on it, nobody has noticed yet that the source was replaced.
      if (!isOther) requireChanged(before)
      await records.update(
        migrationId,
        (current) => {
          if (!isOther) requireChanged(current)
          const { sourceChanged: _accepted, sourceIdentity: _was, storeIdentity: _store, ...record } = current
          return { ...withAcceptedSource(record, new Date()), ...now }
        },
        (changed) => [emission(migrationEvents.updated, migrationId, factOf(changed))],
      )
      const accepted = { was: sourceInWords(before), is: sourceInWords(now) }
      return { ...(await figures.view(migrationId)), accepted }
    },
    stop: async ({ migrationId, resumable = true }) => {
      await figures.record(migrationId)
      await stop(migrationId, resumable)
      return figures.view(migrationId)
    },
    'stop-all': ({ resumable = true }) => withAll((migrationId) => stop(migrationId, resumable)),
    reset: async ({ migrationId, actionPolicy, acceptTarget = false, reloadMappings = false }) => {
      const before = await figures.record(migrationId)
      const pathMappings = reloadMappings ? await reloaded(dependencies, before) : before.pathMappings
      const scheduled = new Date().toISOString()
      await command(
        records,
        migrationId,
        'reset',
        (current) => ({
          ...resetOf(
            acceptTarget ? withoutTarget(current) : current,
            actionPolicy ?? current.policy,
            scheduled,
          ),
          ...(pathMappings === undefined ? {} : { pathMappings }),
        }),
        (changed, previous) => [
          emission(migrationEvents.reset, migrationId, { ...factOf(changed), previous }),
          ...entryFacts(changed, previous),
        ],
      )
      // Whoever works on it at the moment forgets it once more when that has ended.
      await forgetWork(dependencies, workIdOf(before))
      return afterTurns(migrationId)
    },
    update: async ({ migrationId, ...changes }) => {
      const { target } = await figures.record(migrationId)
      await requireTrash(dependencies, target, changes)
      await records.update(
        migrationId,
        (current) => changed(current, changes, Date.now()),
        (record) => [emission(migrationEvents.updated, migrationId, factOf(record))],
      )
      return afterTurns(migrationId)
    },
    'limit-pending-regions': async ({ migrationId, maxPendingRegions }, call) => {
      await figures.record(migrationId)
      await records.update(
        migrationId,
        (current) => {
          call.replaces({ maxPendingRegions: maxRegionsOf(current) })
          return withMaxRegions(current, maxPendingRegions)
        },
        (record) => [emission(migrationEvents.updated, migrationId, factOf(record))],
      )
      return figures.view(migrationId)
    },
    delete: async ({ migrationId }) => {
      await remove(migrationId)
      return {}
    },
    'delete-all': () => withAll(remove),
    'delete-with-assets': async ({ migrationId }) => {
      const record = await figures.record(migrationId)
      requireNext(migrationId, record, 'delete')
      const assets = await assetsOf(dependencies, workIdOf(record))
      // First: whoever is killed halfway can be asked for the same once more.
      const [verifications, cleanups] = await Promise.all([
        dependencies.forgetVerifications(record.internalId),
        dependencies.forgetCleanups(record.internalId),
      ])
      await remove(migrationId)
      return { ...assets, verifications, cleanups }
    },
    'add-pending-region': async ({ migrationId, path: given, actionPolicy, targetMatch = false }) => {
      const record = await figures.record(migrationId)
      const { path: root, source, ...situation } = record
      const path = textFromPath(pathFromText(given))
      if (!isWithin(pathFromText(root), pathFromText(path))) {
        throw notAccepted('path', `must be ${root} or a folder in it`)
      }
      requireNext(migrationId, situation, 'rescan')
      await dependencies.requireFolder(source, path)
      if (targetMatch) await requireMatchable(dependencies, record)
      const now = new Date()
      const region = {
        path,
        ...(actionPolicy === undefined ? {} : { policy: actionPolicy }),
        ...(targetMatch ? { targetMatch } : {}),
      }
      await command(
        records,
        migrationId,
        'rescan',
        ({ completed: _before, ...current }) => withRegionIn(current, region, now),
        (changed, previous) => [
          emission(migrationEvents['region-added'], migrationId, factOf(changed)),
          ...entryFacts(changed, previous),
        ],
      )
      return afterTurns(migrationId)
    },
  }
}

/** The path mappings as they are now. @throws what the creation of the migration would throw for them */
async function reloaded(dependencies: MigrationDependencies, record: MigrationRecord) {
  const { records, mappings } = dependencies
  const [known, others] = await Promise.all([mappings.all(), records.all()])
  const pathMappings = mappingsOfNew(known, others, record)
  await requireApart(dependencies, { ...record, targets: targetsOf({ ...record, pathMappings }) })
  await requireOwnTarget(dependencies, others, { ...record, pathMappings })
  return pathMappings
}

const withoutTarget = ({ targetIdentity: _target, ...record }: MigrationRecord): MigrationRecord => record

/** The record as it was before it was started first, to be begun again at once if it had been. */
function resetOf(
  current: MigrationRecord,
  policy: MigrationRecord['policy'],
  scheduled: string,
): MigrationRecord {
  const {
    abortReason: _reason,
    abortCause: _cause,
    started: _started,
    recurrence,
    ...record
  } = restarted(current)
  return {
    ...record,
    policy,
    resumable: true,
    ...(current.state === 'NONSCHEDULED' ? {} : { scheduled }),
    ...(recurrence === undefined ? {} : { recurrence: unused(recurrence) }),
  }
}

/** @throws GantryError NOT_ALLOWED_IN_STATE when nobody has to accept a source */
function requireChanged({ migrationId, sourceChanged }: MigrationRecord): void {
  if (sourceChanged !== undefined) return
  throw new GantryError(
    'NOT_ALLOWED_IN_STATE',
    `migration ${migrationId} has no changed source to accept: a source can be accepted only while the migration has the condition SOURCE_CHANGED ("gantry migrations get ${migrationId}")`,
  )
}

const isRefusal = (error: unknown): error is GantryError =>
  isGantryError(error, 'NOT_ALLOWED_IN_STATE') || isGantryError(error, 'NOT_FOUND')
