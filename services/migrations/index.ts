import type { Collection } from '../../broker/collection.ts'
import { type Emission, emission } from '../../broker/events.ts'
import type { Handlers } from '../../subjects/contract.ts'
import { GantryError } from '../../subjects/errors.ts'
import { migrationEvents } from '../../subjects/migration-events.ts'
import type { migrationsInternal } from '../../subjects/migrations-internal.ts'
import type { migrations } from '../../subjects/migrations.ts'
import { maxPageLength } from '../../subjects/schemas.ts'
import { pathFromText, textFromPath } from '../drivers/path-text.ts'
import { onlySource, type PlaceDependencies, requireApart, requirePlaces, requireUnique } from './places.ts'
import { policyOf } from './policies.ts'
import { factOf, type MigrationRecord, workIdOf } from './record.ts'
import type { RollingStats } from './rolling-stats.ts'
import { requireNext } from './states.ts'
import { command, entryFacts } from './transition.ts'
import { countsOf, progressOf, publicMigration } from './view.ts'
import { forgetWork, type WorkStores } from './work.ts'

export interface MigrationDependencies extends PlaceDependencies, WorkStores {
  readonly records: Collection<typeof MigrationRecord>
  readonly stats: RollingStats
  /** Gives migrations their turn; resolves when that is done. */
  readonly look: () => Promise<void>
  readonly publish: (emission: Emission) => Promise<void>
}

/** Longest page of failures unless the caller asks for more. */
const defaultFailures = 1_000

export function migrationHandlers(dependencies: MigrationDependencies): Handlers<typeof migrations> {
  const { records, progress, failures, stats } = dependencies

  const find = async (migrationId: string): Promise<MigrationRecord> => {
    const record = await records.get(migrationId)
    if (record === undefined) throw new GantryError('NOT_FOUND', `there is no migration ${migrationId}`)
    return record
  }
  const view = async (record: MigrationRecord) => {
    return publicMigration(
      record,
      countsOf(record, await progress.totals()),
      await failures.count(workIdOf(record)),
    )
  }
  /**
   * A record with its figures. Those are asked for first: they are forgotten when the migration is completed, and then
   * its record has them.
   */
  const findWithCounts = async (migrationId: string) => {
    const running = await progress.totals()
    const record = await find(migrationId)
    return { record, counts: countsOf(record, running), failed: await failures.count(workIdOf(record)) }
  }
  const allWithCounts = async (after?: string) => {
    const [running, failed] = await Promise.all([progress.totals(), failures.counts()])
    const all = await records.list({
      limit: Number.POSITIVE_INFINITY,
      ...(after === undefined ? {} : { after }),
    })
    return all.map((record) => ({
      record,
      counts: countsOf(record, running),
      failed: failed.get(workIdOf(record)) ?? 0,
    }))
  }
  /** The record once everybody whose turn it is has had it. */
  const afterTurns = async (migrationId: string) => {
    await dependencies.look()
    return view(await find(migrationId))
  }
  const begin = async (migrationId: string, trigger: 'start' | 'resume') => {
    await find(migrationId)
    await command(records, migrationId, trigger, ({ abortReason: _reason, ...record }) => ({
      ...record,
      scheduled: new Date().toISOString(),
    }))
    return afterTurns(migrationId)
  }

  return {
    create: async (input, call) => {
      const source = input.source ?? (await onlySource(dependencies))
      const {
        migrationId = `migration-${crypto.randomUUID().slice(0, 8)}`,
        target,
        autoStart = false,
      } = input
      const path = textFromPath(pathFromText(input.path))
      const place = await requirePlaces(dependencies, source, target)
      if (!(input.scanOnlyMigration ?? place.isScanOnly)) {
        throw call.fail(
          'UNSUPPORTED',
          'this release copies once: say scanOnlyMigration=true; live migrations come with a later one',
        )
      }
      await requireUnique(records, { migrationId, path, source, target })
      await dependencies.requireFolder(source, path)
      await requireApart(dependencies, { path, source, target })
      const now = new Date().toISOString()
      const record: MigrationRecord = {
        migrationId,
        internalId: crypto.randomUUID(),
        path,
        source,
        target,
        policy: policyOf(input.actionPolicy) ?? 'Overwrite',
        kind: 'once',
        priority: 'NORMAL',
        state: autoStart ? 'SCHEDULED' : 'NONSCHEDULED',
        resumable: true,
        generation: 1,
        seeded: false,
        created: now,
        ...(autoStart ? { scheduled: now } : {}),
        pendingRegions: [],
      }
      await records.create(migrationId, record, [
        emission(migrationEvents.created, migrationId, factOf(record)),
        ...entryFacts(record, 'NONSCHEDULED'),
      ])
      return afterTurns(migrationId)
    },
    list: async ({ limit = maxPageLength, after, fileSystemId }) =>
      (await allWithCounts(after))
        .filter(
          ({ record: { source, target } }) =>
            fileSystemId === undefined || source === fileSystemId || target === fileSystemId,
        )
        .slice(0, limit)
        .map(({ record, counts, failed }) => publicMigration(record, counts, failed)),
    get: async ({ migrationId }) => {
      const { record, counts, failed } = await findWithCounts(migrationId)
      return publicMigration(record, counts, failed)
    },
    start: ({ migrationId }) => begin(migrationId, 'start'),
    resume: ({ migrationId }) => begin(migrationId, 'resume'),
    stop: async ({ migrationId, resumable = true }) => {
      await find(migrationId)
      const stopped = await command(records, migrationId, 'stop', (record) => ({
        ...record,
        resumable,
        abortReason: 'MANUALLY_ABORTED_BY_USER',
      }))
      return view(stopped)
    },
    delete: async ({ migrationId }) => {
      const record = await records.delete(migrationId, (current) => {
        requireNext(migrationId, current, 'delete')
      })
      // What is not cleared here, because the process dies, is cleared at the next start.
      await forgetWork(dependencies, workIdOf(record))
      await dependencies.publish(emission(migrationEvents.deleted, migrationId, factOf(record)))
      return {}
    },
    failures: async ({ migrationId, since, after, limit = defaultFailures }) => {
      const record = await find(migrationId)
      const { internalId } = record
      const workId = workIdOf(record)
      const sinceMs = since === undefined ? 0 : Date.parse(since)
      if (Number.isNaN(sinceMs)) {
        const problem = 'must be a moment such as 2026-01-31T12:00:00Z'
        throw new GantryError('INVALID_INPUT', `input: since ${problem}`, {
          details: [{ field: 'since', problem }],
        })
      }
      const page = await failures.page(workId, { limit, ...(after === undefined ? {} : { after }) })
      return {
        migrationId,
        internalId,
        failedPathCount: await failures.count(workId),
        failedPaths: page
          .filter(({ entry }) => entry.timeMs > sinceMs)
          .map(({ sequence, entry }) => ({
            id: sequence,
            path: entry.path,
            failureMessage: entry.message,
            failureClass: entry.failure,
            attempts: entry.attempts,
            action: 'MIGRATION' as const,
            dateFailed: new Date(entry.timeMs).toISOString(),
            timeStamp: entry.timeMs,
          })),
      }
    },
    progress: async ({ migrationId }) => {
      const { record, counts, failed } = await findWithCounts(migrationId)
      return progressOf(record, counts, failed)
    },
    stats: () => stats.read(),
    summary: async () => {
      const all = await allWithCounts()
      const inStates = (...states: MigrationRecord['state'][]) => {
        const chosen = all.filter(({ record }) => states.includes(record.state))
        const infos = chosen
          .slice(0, maxPageLength)
          .map(({ record, counts, failed }) => progressOf(record, counts, failed))
        return { migrations: infos, count: chosen.length }
      }
      return {
        overallCount: all.length,
        ready: inStates('NONSCHEDULED'),
        running: inStates('SCHEDULED', 'RUNNING', 'STOPPING'),
        stopped: inStates('STOPPED'),
        completed: inStates('COMPLETED'),
        live: inStates('LIVE'),
      }
    },
  }
}

/** For other services of the platform alone. */
export function migrationInternalHandlers({
  records,
}: MigrationDependencies): Handlers<typeof migrationsInternal> {
  return {
    uses: async ({ fileSystemId }) => {
      const all = await records.list({ limit: Number.POSITIVE_INFINITY })
      return all
        .filter(({ source, target }) => source === fileSystemId || target === fileSystemId)
        .slice(0, maxPageLength)
        .map(({ migrationId }) => migrationId)
    },
  }
}
