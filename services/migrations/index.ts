import { availableParallelism } from 'node:os'
import { call } from '../../broker/rpc/client.ts'
import { Collection } from '../../broker/state/collection.ts'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import type { Emission, Events } from '../../broker/state/events.ts'
import type { Log } from '../../broker/common/log.ts'
import { Owners } from '../../broker/rpc/owners.ts'
import type { RecordJournals } from '../../broker/state/books/record-journal.ts'
import type { RecordLosses } from '../../broker/state/books/record-losses.ts'
import type { Sealer } from '../../broker/identity/seal.ts'
import { every } from '../../broker/tasks/tasks.ts'
import { lossKinds } from '../../subjects/platform/loss-kinds.ts'
import type { MetricRegistry } from '../../subjects/observability/metric-registry.ts'
import { eventSubject } from '../../subjects/kit/names.ts'
import { settings, settingsEvents } from '../../subjects/access/settings.ts'
import { filesystemsInternal } from '../../subjects/filesystems/internal.ts'
import { filesystems } from '../../subjects/filesystems/filesystems.ts'
import type { StoreBounds } from '../drivers/contract/bounds.ts'
import type { Entry, StorePath } from '../drivers/contract/driver.ts'
import { pathFromText } from '../drivers/paths/path-text.ts'
import { openSecrets } from '../drivers/contract/secrets.ts'
import { stoppedInDoubt } from './lifecycle/abort.ts'
import { startAgents } from './agents/start.ts'
import { startBandwidth } from './bandwidth/start.ts'
import { changesOf as openChanges } from './live/changes-of.ts'
import { ClockSteps } from './live/watch/clock-steps.ts'
import { KnownFailures } from './live/known-failures.ts'
import { startCleanups } from './jobs/cleanups/start.ts'
import { Conditions } from './progress/conditions.ts'
import { type Counts, Mover } from '../engine/mover.ts'
import { packRules } from '../engine/run/rules.ts'
import { FailureEvents } from './reporting/failure-events.ts'
import { openFailures } from './failures/failures.ts'
import { Figures } from './reporting/figures.ts'
import { InFlightProgress } from './progress/in-flight-progress.ts'
import { RemovalGuards } from './removals/removal-guards.ts'
import { migrationHandlers, migrationInternalHandlers } from './api/handlers.ts'
import { KnownRecords } from './lifecycle/known-records.ts'
import { Plans } from './jobs/plans/plans.ts'
import { ProgressEvents } from './reporting/progress-events.ts'
import { Progress } from './progress/progress.ts'
import { MigrationRecord, recordUpcasters, recordVersion, workIdOf } from './lifecycle/record.ts'
import { diagnosticsHandlers } from './reporting/stats/diagnostics.ts'
import { MigrationMetrics } from './reporting/stats/metrics.ts'
import { statsHandlers } from './reporting/stats/handlers.ts'
import { StatsKeeper } from './reporting/stats/keeper.ts'
import { removeLeftovers } from './work/leftovers.ts'
import { localFolder, refusalAt, storeName } from './places/local-folder.ts'
import { engineMappings } from './rules/mappings/frozen.ts'
import { mappingHandlers } from './rules/mappings/handlers.ts'
import { openMappings } from './rules/mappings/record.ts'
import { RuleBook } from './rules/book.ts'
import { exclusionHandlers, inclusionHandlers } from './rules/handlers.ts'
import { sourceIdentityNow } from './work/roots.ts'
import { Runner } from './work/runner.ts'
import { Scheduler } from './lifecycle/scheduler.ts'
import { startVerifications } from './jobs/verifications/start.ts'
import { workHealth } from './work/work-health.ts'

export interface MigrationsOptions {
  readonly journals: RecordJournals
  readonly connection: NatsConnection
  readonly sealer: Sealer
  /** Where filesystems may be. */
  readonly bounds: StoreBounds
  readonly events: Events
  readonly maxFileBytes: number
  /** Folder for reports; made when there are any. */
  readonly reportsFolder: string
  /** The same for cleanups. */
  readonly cleanupsFolder: string
  readonly metrics: MetricRegistry
  readonly log: Log
}

const settingsChanged = eventSubject(settingsEvents.changed.resource, settingsEvents.changed.event, '*')

/** Opens the state of migrations and makes their handlers; `run` begins to work on those that are running. */
export async function startMigrations(options: MigrationsOptions) {
  const { connection, journals, sealer, bounds, events, maxFileBytes, reportsFolder, cleanupsFolder, log } =
    options
  const metrics = new MigrationMetrics(options.metrics)
  const migrationRecords = {
    bucket: 'migrations',
    schema: MigrationRecord,
    version: recordVersion,
    upcasters: recordUpcasters,
    groupOf: ({ owner }: MigrationRecord) => owner,
    events,
    journals,
    inDoubt: stoppedInDoubt,
  }
  const owners = new Owners(connection)
  const readSettings = () => call(connection, settings.get, {})
  const [records, progress, failures, rules, mappings] = await Promise.all([
    Collection.open(connection, migrationRecords),
    Progress.open(connection),
    openFailures(connection, maxFileBytes),
    RuleBook.open(connection, async () => (await readSettings()).maxRules, journals),
    openMappings(connection, journals),
  ])
  const stats = await StatsKeeper.open(connection, log)
  const threads = availableParallelism()
  const mover = new Mover({ threads, bounds, log })
  const place = (fileSystemId: string) => call(connection, filesystemsInternal.resolve, { fileSystemId })
  const spec = async (fileSystemId: string) => {
    const { kind, options: sealed } = await place(fileSystemId)
    return openSecrets(kind, sealed, sealer)
  }
  const requireAgent = (name: string) => agents.require(name)
  const bandwidth = await startBandwidth({ connection, journals, records, place, requireAgent })
  const onCount = (counts: Readonly<Counts>) => {
    stats.add(counts)
    metrics.add(counts)
  }
  const inFlight = new InFlightProgress((moved) => stats.rolling.addMoved(moved))
  const agents = await startAgents({
    connection,
    journals,
    limits: bandwidth.limits,
    bounds,
    forgetLimit: (name) => bandwidth.forget({ scope: 'agent', name }),
    onCount,
    inFlight,
    log,
  })
  const guards = new RemovalGuards({ records, mover, spillFolder: reportsFolder, log })
  const resolve = async (record: MigrationRecord) => {
    const { internalId, generation, cutShort = false, path, policy, metadata, links } = record
    const [source, target] = await Promise.all([spec(record.source), spec(record.target)])
    const root = pathFromText(path)
    const packed = packRules(await rules.of(record))
    const mapped = engineMappings(record)
    return {
      id: internalId,
      generation: cutShort ? generation : 1,
      root,
      source,
      target,
      policy,
      ...(packed === undefined ? {} : { rules: packed }),
      ...(mapped === undefined ? {} : { mappings: mapped }),
      metadata,
      links,
      ...(record.kind === 'live' && { live: { startedMs: startOf(record), ...guards.specOf(record) } }),
      limits: bandwidth.limits.of(record.migrationId, record.target),
    }
  }
  const runner = new Runner({
    bounds,
    connection,
    records,
    progress,
    failures,
    mover,
    threads,
    spillFolder: reportsFolder,
    resolve,
    changes: async (record, spec, gapSinceMs) => {
      const { migrationId, target, comparisonSeconds } = record
      const { listenAndApplySourceChanges } = await place(target)
      return openChanges(spec, {
        bounds,
        migration: migrationId,
        comparisonSeconds,
        gapSinceMs,
        failures: await KnownFailures.open(failures, workIdOf(record), pathFromText(record.path)),
        countedFirst: guards.countingFirst(record, spec),
        endsWithScan: !listenAndApplySourceChanges,
        log,
      })
    },
    movedBy: async ({ movedBy }) => movedBy ?? (await agents.defaultMovers()),
    agents: agents.assignments,
    guards,
    onCount,
    inFlight,
    log,
  })
  const limit = async () => (await readSettings()).maxRunningMigrations
  const changesOf = (record: MigrationRecord) => runner.changesOf(record)
  const publish = (emission: Emission) => events.publish(emission)
  const conditions = new Conditions({
    states: () => runner.states(),
    waitsForAgent: (workId) => agents.assignments.waits(workId),
    limitsOf: (migrationId, target) => bandwidth.limits.inWords(migrationId, target),
    failedPaths: (record) => failureEvents.failedPaths(record),
    failingSince: (record) => failureEvents.failingSince(record),
    latest: (migrationId) => records.get(migrationId),
    damageOf: (migrationId) => damageOf(journals.losses, migrationRecords.bucket, migrationId),
    publish,
    log,
  })
  const knownRecords = new KnownRecords(records)
  const tellers = { records: knownRecords, events, log }
  const failureEvents = new FailureEvents({ ...tellers, failures })
  const conditionsOf = (record: MigrationRecord, failed: number) => conditions.of(record, failed)
  const allCleanups = () => cleanups.all()
  const known = { records, rules, progress, failures, inFlight, changesOf, conditionsOf, allCleanups }
  const figures = new Figures(known)
  const progressEvents = new ProgressEvents({ ...tellers, progress, inFlight, changesOf, figures })
  const localFolderOf = async (fileSystemId: string, path: string) =>
    localFolder(await spec(fileSystemId), path)
  const storeNameOf = async (fileSystemId: string) => storeName(await spec(fileSystemId))
  const findMigration = (migrationId: string) => figures.record(migrationId)
  const verifications = await startVerifications({
    connection,
    owners,
    journals,
    events,
    mover,
    folder: reportsFolder,
    findMigration,
    resolve: async (migrationId, internalId) => {
      const record = await records.get(migrationId)
      return record?.internalId === internalId ? resolve(record) : undefined
    },
    log,
  })
  const cleanups = await startCleanups({
    bounds,
    connection,
    owners,
    journals,
    events,
    mover,
    folder: cleanupsFolder,
    findMigration,
    resolve,
    cleanables: { records, localFolder: localFolderOf, storeName: storeNameOf },
    log,
  })
  const scheduler = new Scheduler({ records, limit, alsoDue: cleanups.due, log })
  const plans = new Plans({ connection, mover, figures, resolve, guards, spillFolder: reportsFolder, log })
  const dependencies = {
    ...known,
    plans,
    connection,
    stats: stats.rolling,
    mappings,
    owners,
    refusalAt: async (fileSystemId: string, path: StorePath, entry: Pick<Entry, 'type' | 'sizeBytes'>) =>
      refusalAt(await spec(fileSystemId), path, entry),
    lookAt: (fileSystemId: string, path: string) =>
      call(connection, filesystemsInternal.look, { fileSystemId, path }),
    place,
    sources: async () => {
      const known = await call(connection, filesystems.list, { role: 'source' })
      return known.map(({ fileSystemId }) => fileSystemId)
    },
    localFolder: localFolderOf,
    storeName: storeNameOf,
    sourceNow: async (record: MigrationRecord) => sourceIdentityNow(await resolve(record), record, bounds),
    look: () => scheduler.look(),
    forgetLimit: (name: string) => bandwidth.forget({ scope: 'migration', name }),
    forgetTargetLimit: (name: string) => bandwidth.forget({ scope: 'target', name }),
    forgetHistory: (internalId: string) => stats.forget(internalId),
    forgetVerifications: verifications.forgetOf,
    forgetCleanups: cleanups.forgetOf,
    removeLeftovers: (record: MigrationRecord) =>
      removeLeftovers({ connection, mover, resolve, log }, record),
    requireFolder: async (fileSystemId: string, path: string) => {
      await call(connection, filesystems['list-paths'], { fileSystemId, path, limit: 1 })
    },
  }
  const stops: (() => void)[] = []
  return {
    handlers: migrationHandlers(dependencies),
    internalHandlers: migrationInternalHandlers(dependencies),
    bandwidthHandlers: bandwidth.handlers,
    agentHandlers: agents.handlers,
    agentApiHandlers: agents.agentApiHandlers,
    statsHandlers: statsHandlers(figures, stats),
    diagnosticsHandlers: diagnosticsHandlers({ connection, figures, rolling: stats.rolling, threads }),
    verificationHandlers: verifications.handlers,
    cleanupHandlers: cleanups.handlers,
    exclusionHandlers: exclusionHandlers(dependencies),
    inclusionHandlers: inclusionHandlers(dependencies),
    mappingHandlers: mappingHandlers(dependencies),
    /** Whether all that is to be done is known. */
    health: () => workHealth(knownRecords.all().values()),
    run: async () => {
      await bandwidth.run()
      agents.run()
      guards.start()
      await runner.start()
      conditions.start()
      await knownRecords.start()
      failureEvents.start()
      progressEvents.start()
      const changes = connection.subscribe(settingsChanged, { callback: () => void scheduler.look() })
      const clock = new ClockSteps(log)
      const tell = () => {
        inFlight.tell()
        clock.look()
      }
      const telling = every('migrations.under-way', tell)
      stops.push(
        () => changes.unsubscribe(),
        () => telling.stop(),
      )
      await scheduler.start()
      await verifications.jobs.start()
      await cleanups.jobs.start()
      await stats.start(figures)
      await metrics.start(records, () => runner.states())
    },
    stop: async () => {
      for (const stop of stops) stop()
      conditions.stop()
      await scheduler.stop()
      agents.stop()
      await Promise.all([
        runner.stop(),
        knownRecords.stop(),
        failureEvents.stop(),
        progressEvents.stop(),
        verifications.jobs.stop(),
        cleanups.jobs.stop(),
        plans.stop(),
      ])
      guards.stop()
      await bandwidth.stop()
      metrics.stop()
      await stats.stop()
      await mover.close()
    },
  }
}

/** What was wrong with the stored record of a migration, or with all of them. */
function damageOf(losses: RecordLosses, bucket: string, migrationId: string) {
  const loss = losses.of(bucket, migrationId) ?? losses.of(bucket)
  return loss?.kind === 'JOURNAL_DAMAGED' || loss === undefined
    ? undefined
    : { message: lossKinds[loss.kind], since: loss.found }
}

/** When a migration was started first: what it finds at the target of before is not its own. */
const startOf = ({ started, created }: Pick<MigrationRecord, 'started' | 'created'>): number =>
  Date.parse(started ?? created)
