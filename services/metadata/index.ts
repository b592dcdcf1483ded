import { join } from 'node:path'
import type { Sealer } from '../../broker/identity/seal.ts'
import type { Log } from '../../broker/common/log.ts'
import { call } from '../../broker/rpc/client.ts'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import { Owners } from '../../broker/rpc/owners.ts'
import type { RecordJournals } from '../../broker/state/books/record-journal.ts'
import { Collection } from '../../broker/state/collection.ts'
import type { Events } from '../../broker/state/events.ts'
import { keysInternal } from '../../subjects/access/keys.ts'
import { catalogWork } from '../../subjects/metadata/catalog-work.ts'
import { metadataCatalogs } from '../../subjects/metadata/catalogs.ts'
import { metadataComparisons } from '../../subjects/metadata/comparisons.ts'
import { metadataMigrations } from '../../subjects/metadata/migrations.ts'
import { metadataRules } from '../../subjects/metadata/rules.ts'
import type { MetricRegistry } from '../../subjects/observability/metric-registry.ts'
import type { StoreBounds } from '../drivers/contract/bounds.ts'
import { StoreError } from '../drivers/contract/store-error.ts'
import { service } from '../kit/part.ts'
import { QuestionThreads } from '../questions/question-threads.ts'
import type { MetadataDependencies } from './api/dependencies.ts'
import { filesystemOf, withFilesystem } from './api/filesystem-of.ts'
import { catalogHandlers } from './api/handlers.ts'
import { migrationHandlers } from './api/migration-handlers.ts'
import { CatalogRecord } from './api/record.ts'
import { ruleHandlers } from './api/rule-handlers.ts'
import { CatalogAgents } from './agents/catalog-agents.ts'
import type { CatalogAnswer } from './catalogs/questions.ts'
import { openComparisons } from './comparisons/open.ts'
import { Ends } from './migrations/ends.ts'
import { MetadataMetrics } from './migrations/metrics.ts'
import { MetadataMigrationRecord, ObjectRecord, ProgressRecord, RuleRecord } from './migrations/record.ts'
import type { RunDependencies } from './migrations/run.ts'
import { Runner } from './migrations/runner.ts'
import type { MetadataAnswer } from './migrations/reconcile/questions.ts'

export interface MetadataNeeds {
  readonly connection: NatsConnection
  readonly journals: RecordJournals
  readonly sealer: Sealer
  readonly events: Events
  /** Where catalogs may be, as filesystems. */
  readonly bounds: StoreBounds
  /** Reports of comparisons. */
  readonly reportsFolder: string
  readonly metrics: MetricRegistry
  readonly log: Log
}

/** A piece of a migration goes on for some seconds, and then for one more batch of partitions, with calls of up to a minute. */
const workPatienceMs = 180_000

/** Each agent has one question open all the time, and some while it answers. */
const agentQuestions = 10_000

/** Metadata of data lakes: catalogs, what is in them, and migrations from one to another. */
export const metadataService = service({
  name: 'metadata',
  contracts: { metadataCatalogs, metadataRules, metadataMigrations, metadataComparisons, catalogWork },
  concurrency: { catalogWork: agentQuestions },
  tasks: ['metadata.agents', 'metadata.changes', 'metadata.metrics'],
  start: async ({
    connection,
    journals,
    events,
    sealer,
    bounds,
    reportsFolder,
    metrics: registry,
    log,
  }: MetadataNeeds) => {
    const agents = new CatalogAgents({
      nameOf: async (id) => (await call(connection, keysInternal.permissions, { id })).name,
      bounds,
      log,
    })
    const threads = new QuestionThreads<object, CatalogAnswer>({
      entry: new URL('./catalogs/catalog-thread.ts', import.meta.url),
      workerData: { bounds },
      what: 'the catalog',
      relay: agents.ask,
    })
    const workThreads = new QuestionThreads<object, MetadataAnswer>({
      entry: new URL('./migrations/reconcile/reconcile-thread.ts', import.meta.url),
      workerData: { bounds },
      what: 'a catalog of the migration',
      relay: agents.ask,
      patienceMs: workPatienceMs,
    })
    // The kind of a question decides what it asks for and what comes.
    const ask = (async (kind, spec, asked, asker) => {
      try {
        const its = await withFilesystem(spec, { connection, sealer })
        return await threads.ask({ kind, spec: its, ...asked }, asker)
      } catch (error) {
        // Callers are not told what is there.
        if (error instanceof StoreError && error.detail !== undefined)
          log.warn(
            { kind: spec.kind, reason: error.detail },
            'The endpoint of a catalog is not a catalog of its kind.',
          )
        throw error
      }
    }) as MetadataDependencies['ask']
    const work = ((kind, sides, asked, asker) =>
      workThreads.ask({ kind, sides, ...asked }, asker)) as RunDependencies['work']
    const groupOf = ({ owner }: { readonly owner?: string }) => owner
    const owners = new Owners(connection)
    const catalogs = await Collection.open(connection, {
      bucket: 'metadata-catalogs',
      schema: CatalogRecord,
      version: 1,
      groupOf,
      journals,
    })
    const rules = await Collection.open(connection, {
      bucket: 'metadata-rules',
      schema: RuleRecord,
      version: 1,
      groupOf,
      journals,
    })
    const records = await Collection.open(connection, {
      bucket: 'metadata-migrations',
      schema: MetadataMigrationRecord,
      version: 1,
      groupOf,
      events,
      journals,
    })
    const objects = await Collection.open(connection, {
      bucket: 'metadata-objects',
      schema: ObjectRecord,
      version: 1,
      groupOf: ({ migration }) => migration,
    })
    const progress = await Collection.open(connection, {
      bucket: 'metadata-progress',
      schema: ProgressRecord,
      version: 1,
    })
    const ends = new Ends(connection, catalogs, sealer)
    const comparisons = await openComparisons({
      connection,
      journals,
      events,
      owners,
      reportsFolder: join(reportsFolder, 'metadata'),
      records,
      rules,
      objects,
      ends,
      work,
      log,
    })
    const runner = new Runner({ records, rules, objects, progress, ends, work, log })
    const metrics = new MetadataMetrics(registry)
    const ruleChanged = async (ruleName: string): Promise<void> => {
      for (const { migrationName, ruleNames } of await records.all())
        if (ruleNames.includes(ruleName))
          await records.update(migrationName, (current) => ({ ...current, wanted: current.wanted + 1 }))
    }
    return {
      handlers: {
        metadataCatalogs: catalogHandlers({
          owners,
          catalogs,
          records,
          sealer,
          ask,
          requireFilesystem: async (fileSystemId) => {
            if (fileSystemId !== undefined) await filesystemOf(connection, fileSystemId)
          },
        }),
        metadataRules: ruleHandlers({ owners, rules, records, ruleChanged }),
        metadataMigrations: migrationHandlers({
          owners,
          catalogs,
          rules,
          records,
          objects,
          progress,
          ends,
          work,
          ended: (internalId) => runner.ended(internalId),
          log,
        }),
        metadataComparisons: comparisons.handlers,
        catalogWork: agents.handlers,
      },
      run: async () => {
        agents.start()
        await runner.start()
        await comparisons.start()
        await metrics.start(records, progress)
      },
      halt: async () => {
        metrics.stop()
        await runner.stop()
        await comparisons.stop()
        agents.stop()
        workThreads.close()
        threads.close()
      },
    }
  },
})
