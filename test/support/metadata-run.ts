import { Owners } from '../../broker/rpc/owners.ts'
import { Collection } from '../../broker/state/collection.ts'
import { migrationHandlers } from '../../services/metadata/api/migration-handlers.ts'
import type { CatalogChange } from '../../services/metadata/catalogs/contract/catalog.ts'
import type { Ends } from '../../services/metadata/migrations/ends.ts'
import {
  MetadataMigrationRecord,
  ObjectRecord,
  ProgressRecord,
  RuleRecord,
} from '../../services/metadata/migrations/record.ts'
import type { Outcome } from '../../services/metadata/migrations/reconcile/objects.ts'
import type {
  MetadataWork,
  TableWork,
  WorkKind,
} from '../../services/metadata/migrations/reconcile/questions.ts'
import { Run, type RunDependencies } from '../../services/metadata/migrations/run.ts'
import { startTestBroker } from './broker.ts'
import { testLog } from './platform.ts'
import { metadataMigration } from './metadata-migrations.ts'

type Answers = {
  [K in WorkKind]: (
    asked: MetadataWork[K]['asked'],
  ) => MetadataWork[K]['answer'] | Promise<MetadataWork[K]['answer']>
}

export interface Script {
  /** What becomes of each table that is to be brought, one after the other; the first is all that is there at first. */
  readonly brought?: readonly Outcome[]
  readonly dropped?: readonly Outcome[]
  /** What the source tells after that, at each question. */
  readonly told?: readonly (readonly CatalogChange[])[]
}

/**
 * A live migration with a broker of its own, whose threads answer what the test says.
 * @param lateMs after so long what nothing was heard of is looked at once more
 */
export async function startRun(
  { brought = [], dropped = [], told = [], lateMs }: Script & { readonly lateMs?: number },
  others: Partial<Answers> = {},
) {
  const broker = await startTestBroker()
  const connection = await broker.connect('PLATFORM')
  const records = await Collection.open(connection, {
    bucket: 'run-migrations',
    schema: MetadataMigrationRecord,
    version: 1,
  })
  const objects = await Collection.open(connection, {
    bucket: 'run-objects',
    schema: ObjectRecord,
    version: 1,
    groupOf: ({ migration }) => migration,
  })
  const rules = await Collection.open(connection, { bucket: 'run-rules', schema: RuleRecord, version: 1 })
  const progress = await Collection.open(connection, {
    bucket: 'run-progress',
    schema: ProgressRecord,
    version: 1,
  })
  await rules.create('all', { ruleName: 'all', databasePattern: '*', tablePattern: '*' })
  const { migrationName, internalId, source, target, ruleNames, created } = metadataMigration()
  const record: MetadataMigrationRecord = {
    migrationName,
    internalId,
    source,
    target,
    ruleNames,
    created,
    once: false,
    onConflict: 'report',
    maxDrops: 100,
    maxDropPercent: 100,
    state: 'RUNNING',
    compared: new Date().toISOString(),
    wanted: 1,
    done: 0,
    inHand: [],
  }
  await records.create(migrationName, record)
  const [toBring, toDrop, toTell] = [[...brought], [...dropped], [...told]]
  const asked: TableWork[] = []
  const askedToDrop: string[] = []
  let position = 1
  const answers: Answers = {
    position: () => ({ position: '1' }),
    databases: () => ({ databases: ['a'] }),
    tables: () => ({ tables: [{ name: brought[0]?.name ?? 't', type: 'EXTERNAL_TABLE' }] }),
    'bring-database': () => ({
      outcomes: [
        { kind: 'database', database: 'a', result: 'same', settled: { wanted: 'database', is: 'database' } },
      ],
    }),
    'bring-functions': () => ({ outcomes: [] }),
    writes: () => ({ decided: undefined }),
    'bring-tables': ({ tables }) => {
      asked.push(...tables)
      return { outcomes: tables.map(() => toBring.shift()!), left: [] }
    },
    'drop-left': () => ({}),
    drop: ({ objects: its }) => {
      askedToDrop.push(...its.map(({ id }) => id.name ?? ''))
      const isDropped = toDrop.length === 0
      return { outcomes: isDropped ? its.map(({ id }) => ({ ...id, result: 'dropped' })) : [toDrop.shift()!] }
    },
    changes: () => ({
      isGap: false,
      changes: toTell.shift() ?? [],
      position: String(++position),
      behind: 0,
    }),
    ...others,
  }
  const dependencies: RunDependencies = {
    records,
    rules,
    objects,
    progress,
    ends: {
      sidesOf: () => Promise.resolve({ onConflict: 'report' }),
      gatesOf: () => Promise.resolve([]),
    } as unknown as Ends,
    work: async (kind, _sides, question) => answers[kind](question),
    log: testLog,
    ...(lateMs !== undefined && { lateMs }),
  }
  const run = new Run(dependencies, record)
  const ended = run.work()
  const end = () => {
    run.end()
    return ended
  }
  return {
    /** Each table that was to be brought. */
    asked,
    /** Names of what was to be dropped. */
    askedToDrop,
    /** Whether the source has told all that it is to tell. */
    isTold: () => toTell.length === 0,
    objects: () => objects.listGroup(internalId),
    inHand: async () => (await records.get(migrationName))?.inHand,
    progress: () => progress.get(internalId),
    /** What the migration is about from its next round on. */
    setRule: (rule: RuleRecord) => rules.put(rule.ruleName, rule),
    /** What people ask of it; the work ends when it is to. */
    handlers: migrationHandlers({
      ...dependencies,
      ended: end,
      catalogs: records as never,
      owners: new Owners(connection),
    }),
    migrationName,
    [Symbol.asyncDispose]: async () => {
      await end()
      await broker[Symbol.asyncDispose]()
    },
  }
}
