import { availableParallelism } from 'node:os'
import { call } from '../../broker/client.ts'
import { Collection } from '../../broker/collection.ts'
import type { NatsConnection } from '../../broker/connection.ts'
import type { Emission, Events } from '../../broker/events.ts'
import type { Log } from '../../broker/log.ts'
import { Queue } from '../../broker/queue.ts'
import type { Sealer } from '../../broker/seal.ts'
import { filesystems, filesystemsInternal } from '../../subjects/filesystems.ts'
import type { ActionPolicy } from '../../subjects/migration-model.ts'
import { pathFromText } from '../drivers/path-text.ts'
import { openSecrets } from '../drivers/secrets.ts'
import { Mover, type MoveSpec } from './engine/mover.ts'
import { openFailures } from './failures.ts'
import { localFolder } from './local-folder.ts'
import { findMigration, migrationHandlers, migrationInternalHandlers } from './index.ts'
import { Progress } from './progress.ts'
import { MigrationRecord } from './record.ts'
import { RollingStats } from './rolling-stats.ts'
import { Runner } from './runner.ts'
import { verificationHandlers } from './verifications/index.ts'
import { VerificationRecord } from './verifications/record.ts'
import { ReportStore } from './verifications/reports.ts'
import { Verifier } from './verifications/verifier.ts'

export interface MigrationsOptions {
  readonly connection: NatsConnection
  readonly sealer: Sealer
  readonly events: Events
  readonly maxFileBytes: number
  /** Folder for reports; made when there are any. */
  readonly reportsFolder: string
  readonly log: Log
}

const enginePolicies = {
  Overwrite: 'overwrite',
  SkipIfSizeMatch: 'skip-if-size-matches',
} as const satisfies Record<ActionPolicy, MoveSpec['policy']>

/** Opens the state of migrations and makes their handlers; `run` begins to work on those that are running. */
export async function startMigrations(options: MigrationsOptions) {
  const { connection, sealer, events, maxFileBytes, reportsFolder, log } = options
  const [records, verificationRecords, progress, failures] = await Promise.all([
    Collection.open(connection, { bucket: 'migrations', schema: MigrationRecord, version: 1, events }),
    Collection.open(connection, { bucket: 'verifications', schema: VerificationRecord, version: 1, events }),
    Progress.open(connection),
    openFailures(connection, maxFileBytes),
  ])
  const stats = new RollingStats()
  const threads = availableParallelism()
  const mover = new Mover({ threads, log })
  const place = (fileSystemId: string) => call(connection, filesystemsInternal.resolve, { fileSystemId })
  const spec = async (fileSystemId: string) => {
    const { kind, options: sealed } = await place(fileSystemId)
    return openSecrets(kind, sealed, sealer)
  }
  const resolve = async ({ internalId, path, policy, ...record }: MigrationRecord): Promise<MoveSpec> => {
    const [source, target] = await Promise.all([spec(record.source), spec(record.target)])
    const root = pathFromText(path)
    return { id: internalId, generation: 1, root, source, target, policy: enginePolicies[policy] }
  }
  const runner = new Runner({
    connection,
    records,
    progress,
    failures,
    mover,
    threads,
    resolve,
    onCount: (counts) => stats.add(counts),
    log,
  })
  const reports = new ReportStore(reportsFolder)
  const verifier = new Verifier({
    records: verificationRecords,
    reports,
    mover,
    resolve: async (migrationId, internalId) => {
      const record = await records.get(migrationId)
      return record?.internalId === internalId ? resolve(record) : undefined
    },
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
    requireFolder: async (fileSystemId: string, path: string) => {
      await call(connection, filesystems['list-paths'], { fileSystemId, path, limit: 1 })
    },
  }
  return {
    handlers: migrationHandlers(dependencies),
    internalHandlers: migrationInternalHandlers(dependencies),
    verificationHandlers: verificationHandlers({
      records: verificationRecords,
      reports,
      verifier,
      findMigration: (migrationId) => findMigration(records, migrationId),
    }),
    run: async () => {
      await runner.start()
      await verifier.start()
    },
    stop: async () => {
      await Promise.all([runner.stop(), verifier.stop()])
      await mover.close()
    },
  }
}
