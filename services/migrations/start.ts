import { availableParallelism } from 'node:os'
import { call } from '../../broker/client.ts'
import { Collection } from '../../broker/collection.ts'
import type { NatsConnection } from '../../broker/connection.ts'
import type { Emission, Events } from '../../broker/events.ts'
import type { Log } from '../../broker/log.ts'
import type { Sealer } from '../../broker/seal.ts'
import { eventSubject } from '../../subjects/names.ts'
import { settings, settingsEvents } from '../../subjects/settings.ts'
import { PathMapping } from '../../subjects/path-mapping-model.ts'
import { filesystems, filesystemsInternal } from '../../subjects/filesystems.ts'
import type { Entry, StorePath } from '../drivers/driver.ts'
import { pathFromText } from '../drivers/path-text.ts'
import { openSecrets } from '../drivers/secrets.ts'
import { startAgents } from './agents/start.ts'
import { startBandwidth } from './bandwidth/start.ts'
import { type Counts, Mover } from './engine/mover.ts'
import { packRules } from './engine/rules.ts'
import { openFailures } from './failures.ts'
import { localFolder, refusalAt } from './local-folder.ts'
import { migrationHandlers, migrationInternalHandlers } from './index.ts'
import { engineMappings } from './mappings/frozen.ts'
import { mappingHandlers } from './mappings/handlers.ts'
import { Progress } from './progress.ts'
import { MigrationRecord, recordUpcasters, recordVersion } from './record.ts'
import { RollingStats } from './rolling-stats.ts'
import { RuleBook } from './rules/book.ts'
import { exclusionHandlers, inclusionHandlers } from './rules/handlers.ts'
import { Runner } from './runner.ts'
import { Scheduler } from './scheduler.ts'

export interface MigrationsOptions {
  readonly connection: NatsConnection
  readonly sealer: Sealer
  readonly events: Events
  readonly maxFileBytes: number
  readonly log: Log
}

const settingsChanged = eventSubject(settingsEvents.changed.resource, settingsEvents.changed.event, '*')

/** Opens the state of migrations and makes their handlers; `run` begins to work on those that are running. */
export async function startMigrations({ connection, sealer, events, maxFileBytes, log }: MigrationsOptions) {
  const options = {
    bucket: 'migrations',
    schema: MigrationRecord,
    version: recordVersion,
    upcasters: recordUpcasters,
    events,
  }
  const [records, progress, failures, rules, mappings] = await Promise.all([
    Collection.open(connection, options),
    Progress.open(connection),
    openFailures(connection, maxFileBytes),
    RuleBook.open(connection),
    Collection.open(connection, { bucket: 'path-mappings', schema: PathMapping, version: 1 }),
  ])
  const stats = new RollingStats()
  const threads = availableParallelism()
  const mover = new Mover({ threads, log })
  const place = (fileSystemId: string) => call(connection, filesystemsInternal.resolve, { fileSystemId })
  const spec = async (fileSystemId: string) => {
    const { kind, options: sealed } = await place(fileSystemId)
    return openSecrets(kind, sealed, sealer)
  }
  const bandwidth = await startBandwidth({ connection, records, place })
  const onCount = (counts: Readonly<Counts>) => stats.add(counts)
  const agents = await startAgents({ connection, limits: bandwidth.limits, onCount, log })
  const runner = new Runner({
    connection,
    records,
    progress,
    failures,
    mover,
    threads,
    resolve: async ({ internalId, generation, cutShort = false, path, policy, ...record }) => {
      const [source, target] = await Promise.all([spec(record.source), spec(record.target)])
      const root = pathFromText(path)
      const packed = packRules(await rules.of(record))
      const mapped = engineMappings({ path, ...record })
      return {
        id: internalId,
        generation: cutShort ? generation : 1,
        root,
        source,
        target,
        policy,
        ...(packed === undefined ? {} : { rules: packed }),
        ...(mapped === undefined ? {} : { mappings: mapped }),
        limits: bandwidth.limits.of(record.migrationId, record.target),
      }
    },
    changes: () => undefined,
    movedBy: async ({ movedBy }) => movedBy ?? (await agents.defaultMovers()),
    agents: agents.offers,
    onCount,
    log,
  })
  const limit = async () => (await call(connection, settings.get, {})).maxRunningMigrations
  const scheduler = new Scheduler({ records, limit, log })
  const dependencies = {
    connection,
    records,
    progress,
    failures,
    stats,
    rules,
    mappings,
    refusalAt: async (fileSystemId: string, path: StorePath, entry: Pick<Entry, 'type' | 'sizeBytes'>) =>
      refusalAt(await spec(fileSystemId), path, entry),
    place,
    sources: async () => {
      const known = await call(connection, filesystems.list, { role: 'source' })
      return known.map(({ fileSystemId }) => fileSystemId)
    },
    localFolder: async (fileSystemId: string, path: string) => localFolder(await spec(fileSystemId), path),
    look: () => scheduler.look(),
    forgetLimit: bandwidth.forget,
    publish: (emission: Emission) => events.publish(emission),
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
    deskHandlers: agents.deskHandlers,
    exclusionHandlers: exclusionHandlers(dependencies),
    inclusionHandlers: inclusionHandlers(dependencies),
    mappingHandlers: mappingHandlers(dependencies),
    run: async () => {
      await bandwidth.run()
      agents.run()
      await runner.start()
      const changes = connection.subscribe(settingsChanged, { callback: () => void scheduler.look() })
      stops.push(() => changes.unsubscribe())
      await scheduler.start()
    },
    stop: async () => {
      for (const stop of stops) stop()
      await scheduler.stop()
      agents.stop()
      await runner.stop()
      await bandwidth.stop()
      await mover.close()
    },
  }
}
