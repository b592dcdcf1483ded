import { availableParallelism } from 'node:os'
import { call } from '../../broker/client.ts'
import { Collection } from '../../broker/collection.ts'
import type { NatsConnection } from '../../broker/connection.ts'
import type { Emission, Events } from '../../broker/events.ts'
import type { Log } from '../../broker/log.ts'
import { Queue } from '../../broker/queue.ts'
import type { Sealer } from '../../broker/seal.ts'
import { GantryError } from '../../subjects/errors.ts'
import { filesystems, filesystemsInternal } from '../../subjects/filesystems.ts'
import type { ActionPolicy } from '../../subjects/migration-model.ts'
import { pathFromText } from '../drivers/path-text.ts'
import { openSecrets } from '../drivers/secrets.ts'
import { bandwidthHandlers } from './bandwidth/handlers.ts'
import { Limits } from './bandwidth/limits.ts'
import { idOf, openPolicies } from './bandwidth/policies.ts'
import { Mover, type MoveSpec } from './engine/mover.ts'
import { openFailures } from './failures.ts'
import { localFolder } from './local-folder.ts'
import { migrationHandlers, migrationInternalHandlers } from './index.ts'
import { Progress } from './progress.ts'
import { MigrationRecord } from './record.ts'
import { RollingStats } from './rolling-stats.ts'
import { Runner } from './runner.ts'

export interface MigrationsOptions {
  readonly connection: NatsConnection
  readonly sealer: Sealer
  readonly events: Events
  readonly maxFileBytes: number
  readonly log: Log
}

const enginePolicies = {
  Overwrite: 'overwrite',
  SkipIfSizeMatch: 'skip-if-size-matches',
} as const satisfies Record<ActionPolicy, MoveSpec['policy']>

/** Opens the state of migrations and makes their handlers; `run` begins to work on those that are running. */
export async function startMigrations({ connection, sealer, events, maxFileBytes, log }: MigrationsOptions) {
  const options = { bucket: 'migrations', schema: MigrationRecord, version: 1, events }
  const [records, progress, failures, policies] = await Promise.all([
    Collection.open(connection, options),
    Progress.open(connection),
    openFailures(connection, maxFileBytes),
    openPolicies(connection),
  ])
  const limits = new Limits()
  const stats = new RollingStats()
  const threads = availableParallelism()
  const mover = new Mover({ threads, log })
  const place = (fileSystemId: string) => call(connection, filesystemsInternal.resolve, { fileSystemId })
  const spec = async (fileSystemId: string) => {
    const { kind, options: sealed } = await place(fileSystemId)
    return openSecrets(kind, sealed, sealer)
  }
  const runner = new Runner({
    connection,
    records,
    progress,
    failures,
    mover,
    threads,
    resolve: async ({ internalId, path, policy, ...record }) => {
      const [source, target] = await Promise.all([spec(record.source), spec(record.target)])
      const root = pathFromText(path)
      return {
        id: internalId,
        generation: 1,
        root,
        source,
        target,
        policy: enginePolicies[policy],
        limits: limits.of(record.migrationId, record.target),
      }
    },
    onCount: (counts) => stats.add(counts),
    log,
  })
  const dependencies = {
    records,
    progress,
    failures,
    stats,
    place,
    sources: async () => {
      const known = await call(connection, filesystems.list, { role: 'source' })
      return known.map(({ fileSystemId }) => fileSystemId)
    },
    localFolder: async (fileSystemId: string, path: string) => localFolder(await spec(fileSystemId), path),
    removeQueue: (internalId: string) => Queue.deleteByName(connection, internalId),
    publish: (emission: Emission) => events.publish(emission),
    forgetLimit: async (migrationId: string) => {
      const id = idOf({ scope: 'migration', name: migrationId })
      if ((await policies.get(id)) !== undefined) await policies.delete(id)
    },
    requireFolder: async (fileSystemId: string, path: string) => {
      await call(connection, filesystems['list-paths'], { fileSystemId, path, limit: 1 })
    },
  }
  return {
    handlers: migrationHandlers(dependencies),
    internalHandlers: migrationInternalHandlers(dependencies),
    bandwidthHandlers: bandwidthHandlers({
      policies,
      requireMigration: async (migrationId) => {
        if ((await records.get(migrationId)) === undefined)
          throw new GantryError('NOT_FOUND', `there is no migration ${migrationId}`)
      },
      requireTarget: async (fileSystemId) => {
        if ((await place(fileSystemId)).isSource)
          throw new GantryError('NOT_FOUND', `${fileSystemId} is a source; there is no target of that name`)
      },
    }),
    run: async () => {
      await limits.start(policies)
      await runner.start()
    },
    stop: async () => {
      await runner.stop()
      await limits.stop()
      await mover.close()
    },
  }
}
