import type { Collection } from '../../broker/collection.ts'
import { type Emission, emission } from '../../broker/events.ts'
import type { Handlers } from '../../subjects/contract.ts'
import { GantryError } from '../../subjects/errors.ts'
import { migrationEvents } from '../../subjects/migration-events.ts'
import type { migrationsInternal } from '../../subjects/migrations-internal.ts'
import { type ActionPolicy, actionPolicies } from '../../subjects/migration-model.ts'
import type { migrations } from '../../subjects/migrations.ts'
import { maxPageLength } from '../../subjects/schemas.ts'
import { pathFromText, textFromPath } from '../drivers/path-text.ts'
import type { FailureLedger } from './failures.ts'
import { onlySource, type PlaceDependencies, requireApart, requirePlaces, requireUnique } from './places.ts'
import type { Progress } from './progress.ts'
import { factOf, type MigrationRecord } from './record.ts'
import type { RollingStats } from './rolling-stats.ts'
import { requireNext, type Trigger } from './states.ts'
import { countsOf, progressOf, publicMigration } from './view.ts'

export interface MigrationDependencies extends PlaceDependencies {
  readonly records: Collection<typeof MigrationRecord>
  readonly progress: Progress
  readonly failures: FailureLedger
  readonly stats: RollingStats
  readonly removeQueue: (internalId: string) => Promise<void>
  readonly forgetLimit: (migrationId: string) => Promise<void>
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
      await failures.count(record.internalId),
    )
  }
  /**
   * A record with its figures. Those are asked for first: they are forgotten when the migration is completed, and then
   * its record has them.
   */
  const findWithCounts = async (migrationId: string) => {
    const running = await progress.totals()
    const record = await find(migrationId)
    return { record, counts: countsOf(record, running), failed: await failures.count(record.internalId) }
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
      failed: failed.get(record.internalId) ?? 0,
    }))
  }
  /** Changes the state as the command says, and tells of it. */
  const command = async (
    migrationId: string,
    trigger: Trigger,
    change: (record: MigrationRecord) => MigrationRecord,
    event?: 'started',
  ) => {
    await find(migrationId)
    const record = await records.update(
      migrationId,
      (current) => {
        const to = requireNext(migrationId, current, trigger)
        return to === 'gone' ? undefined : { ...change(current), state: to }
      },
      (changed) =>
        event === undefined ? [] : [emission(migrationEvents[event], migrationId, factOf(changed))],
    )
    return view(record)
  }
  const begin = (migrationId: string, trigger: 'start' | 'resume') =>
    command(
      migrationId,
      trigger,
      (stopped) => {
        const { abortReason: _reason, ...record } = stopped
        return { ...record, started: record.started ?? new Date().toISOString() }
      },
      'started',
    )

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
        policy: policyOf(input.actionPolicy),
        state: autoStart ? 'RUNNING' : 'NONSCHEDULED',
        resumable: true,
        seeded: false,
        created: now,
        ...(autoStart ? { started: now } : {}),
      }
      const events = autoStart
        ? [migrationEvents.created, migrationEvents.started]
        : [migrationEvents.created]
      await records.create(
        migrationId,
        record,
        events.map((event) => emission(event, migrationId, factOf(record))),
      )
      return view(record)
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
    stop: ({ migrationId, resumable = true }) =>
      command(migrationId, 'stop', (record) => ({
        ...record,
        resumable,
        abortReason: 'MANUALLY_ABORTED_BY_USER',
      })),
    delete: async ({ migrationId }) => {
      const record = await records.delete(migrationId, (current) => {
        requireNext(migrationId, current, 'delete')
      })
      // What is not cleared here, because the process dies, is cleared at the next start.
      const { internalId } = record
      await dependencies.removeQueue(internalId)
      await progress.forget((migration) => migration === internalId)
      await failures.remove(internalId)
      await dependencies.forgetLimit(migrationId)
      await dependencies.publish(emission(migrationEvents.deleted, migrationId, factOf(record)))
      return {}
    },
    failures: async ({ migrationId, since, after, limit = defaultFailures }) => {
      const { internalId } = await find(migrationId)
      const sinceMs = since === undefined ? 0 : Date.parse(since)
      if (Number.isNaN(sinceMs)) {
        const problem = 'must be a moment such as 2026-01-31T12:00:00Z'
        throw new GantryError('INVALID_INPUT', `input: since ${problem}`, {
          details: [{ field: 'since', problem }],
        })
      }
      const page = await failures.page(internalId, { limit, ...(after === undefined ? {} : { after }) })
      return {
        migrationId,
        internalId,
        failedPathCount: await failures.count(internalId),
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
        running: inStates('RUNNING', 'STOPPING'),
        stopped: inStates('STOPPED'),
        completed: inStates('COMPLETED'),
        // Migrations that follow changes; one-time ones never do.
        live: inStates(),
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

/** A policy by its own name or by that of the existing product. */
const policyOf = (name: string | undefined): ActionPolicy => {
  const known = Object.entries(actionPolicies).find(([short, long]) => name === short || name === long)
  return (known?.[0] ?? 'Overwrite') as ActionPolicy
}
