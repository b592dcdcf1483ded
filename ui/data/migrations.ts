import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useCallback } from 'react'
import type { Input, Payload } from '../../subjects/kit/contract.ts'
import { idOfToken } from '../../subjects/kit/names.ts'
import { maxPageLength } from '../../subjects/kit/schemas.ts'
import { migrationEvents } from '../../subjects/migrations/events.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import type { Migration } from '../../subjects/migrations/model/model.ts'
import { keyOf, keyOfAll, useAll } from './calls.ts'
import { factsOf, useAskingAgain, useGathered } from './events.ts'
import { useSession } from './session-context.ts'

type Progress = Payload<typeof migrationEvents.progressed>

const { resource } = migrations.list
const progressedSubject = migrationEvents.progressed.subject.replace('{id}', '*')
const listKey = keyOfAll(migrations.list)
const byName = (one: Migration, other: Migration) => (one.migrationId < other.migrationId ? -1 : 1)

/** The list as it is known; undefined where it is asked for again, or to be: what is put into it would pass for the answer. */
function currentList(queries: QueryClient): readonly Migration[] | undefined {
  const state = queries.getQueryState<readonly Migration[]>(listKey)
  return state?.isInvalidated === true || state?.fetchStatus === 'fetching' ? undefined : state?.data
}

/** A list in which some have changed: those that are not found are gone. */
function withChanged(
  known: readonly Migration[],
  changed: ReadonlySet<string>,
  found: ReadonlyMap<string, Migration>,
): readonly Migration[] {
  const added = new Map(found)
  const kept = known.flatMap((one) => {
    if (!changed.has(one.migrationId)) return [one]
    added.delete(one.migrationId)
    return found.get(one.migrationId) ?? []
  })
  return added.size === 0 ? kept : [...kept, ...added.values()].toSorted(byName)
}

/** A migration with the figures that an event has told. */
function withProgress(known: Migration, { state, conditions, progress }: Progress): Migration {
  const { migratedPercentage: _before, ...migration } = known
  const { scannerSummary, clientActivitySummary } = migration
  const { migratedPercentage } = progress
  return {
    ...migration,
    ...(migratedPercentage === undefined ? {} : { migratedPercentage }),
    state,
    conditions,
    failedPathCount: progress.failedPaths,
    // Part of what is copied, below.
    filesSkipped: 0,
    bytesInProgress: 0,
    scannerSummary: {
      ...scannerSummary,
      progressSummary: {
        ...scannerSummary.progressSummary,
        filesScanned: progress.filesScanned,
        bytesScanned: progress.totalScannedBytes,
      },
      contentSummary: {
        ...scannerSummary.contentSummary,
        byteCount: progress.totalMigratedBytes - progress.migratedBytesByChanges,
      },
    },
    clientActivitySummary: { ...clientActivitySummary, byteCount: progress.migratedBytesByChanges },
  }
}

/**
 * Keeps what is known of migrations as it is: figures come with the events themselves, and of a migration of which
 * something else is told, that one is asked for.
 * @returns whether the events may be heard
 */
export function useMigrationEvents(): boolean {
  const session = useSession()
  const queries = useQueryClient()
  const takeProgress = useCallback(
    async (messages: readonly { readonly body: unknown }[]) => {
      const latest = new Map(messages.map(({ body }) => [(body as Progress).id, body as Progress]))
      for (const [migrationId, progress] of latest)
        queries.setQueryData(keyOf(migrations.progress, { migrationId }), progress)
      const all = currentList(queries)
      if (all === undefined) return
      const known = new Set(all.map(({ migrationId }) => migrationId))
      if ([...latest.keys()].some((migrationId) => !known.has(migrationId)))
        return queries.invalidateQueries({ queryKey: listKey })
      queries.setQueryData<readonly Migration[]>(
        listKey,
        all.map((one) => {
          const progress = latest.get(one.migrationId)
          return progress === undefined ? one : withProgress(one, progress)
        }),
      )
    },
    [queries],
  )
  const takeFacts = useCallback(
    async (messages: readonly { readonly subject: string }[]) => {
      const changed = new Set(messages.map(({ subject }) => idOfToken(subject.split('.').at(-1)!)))
      if (currentList(queries) === undefined) {
        await queries.invalidateQueries({ queryKey: [resource] })
        return
      }
      const found = new Map<string, Migration>()
      try {
        const ids = [...changed]
        for (let at = 0; at < ids.length; at += maxPageLength) {
          const migrationIds = ids.slice(at, at + maxPageLength)
          for (const one of await session.call(migrations.list, { migrationIds }))
            found.set(one.migrationId, one)
        }
      } catch {
        // The pages say what is wrong when they ask themselves.
        return queries.invalidateQueries({ queryKey: [resource] })
      }
      queries.setQueryData<readonly Migration[]>(listKey, (known = []) => withChanged(known, changed, found))
      await queries.invalidateQueries({
        queryKey: [resource],
        predicate: ({ queryKey: [, verb, input] }) =>
          verb === migrations.get.verb
            ? changed.has((input as Input<typeof migrations.get>).migrationId)
            : verb !== migrations.list.verb,
      })
    },
    [queries, session],
  )
  const isHeard = useGathered(factsOf(resource), takeFacts)
  const isProgressHeard = useGathered(progressedSubject, takeProgress)
  useAskingAgain(resource, isHeard && isProgressHeard)
  return isHeard && isProgressHeard
}

/** Of a long list so many are shown while the rest is read: more than fit onto a screen. */
const shownFirst = 100

/** All migrations, by name. */
export function useMigrations() {
  const answer = useAll(migrations.list, ({ migrationId }) => migrationId, { first: shownFirst })
  return { ...answer, isPartial: answer.isFetching && answer.data?.length === shownFirst }
}
