import { availableParallelism } from 'node:os'
import type { Log } from '../../../broker/common/log.ts'
import type { NatsConnection } from '../../../broker/rpc/connection.ts'
import type { Collection } from '../../../broker/state/collection.ts'
import type { RecordJournals } from '../../../broker/state/books/record-journal.ts'
import { every, type Task } from '../../../broker/tasks/tasks.ts'
import type { Movers } from '../../../subjects/migrations/agents.ts'
import type { FilesystemSpec } from '../../../subjects/filesystems/kinds.ts'
import type { StoreBounds } from '../../drivers/contract/bounds.ts'
import { pathFromText } from '../../drivers/paths/path-text.ts'
import { Mover, type MoveSpec } from '../../engine/mover.ts'
import { packRules } from '../../engine/run/rules.ts'
import { part } from '../../kit/part.ts'
import type { Assignments } from '../assignments/assignments.ts'
import type { Limits } from '../../bandwidth/limits.ts'
import type { FailureLedger } from '../failures/failures.ts'
import { type MigrationRecord, workIdOf } from '../lifecycle/record.ts'
import { changesOf as openChanges } from '../live/changes-of.ts'
import { KnownFailures } from '../live/known-failures.ts'
import { StoredPositions } from '../live/feed-positions.ts'
import { ReportedFeed } from '../live/reported-feed.ts'
import { ClockSteps } from '../live/clock-steps.ts'
import type { CountListener } from '../progress/checkpoint-writer.ts'
import type { InFlightProgress } from '../progress/in-flight-progress.ts'
import type { WorkStores } from '../progress/work.ts'
import { RemovalGuards } from '../removals/removal-guards.ts'
import type { RuleBook } from '../rules/book.ts'
import { engineMappings } from '../rules/mappings/frozen.ts'
import { feedReader, isReaderOf } from './feed-reader.ts'
import { Runner } from './runner.ts'

interface EngineNeeds {
  readonly bounds: StoreBounds
  readonly kinds: readonly string[]
  readonly log: Log
}

/** The threads that all work on files is done in. */
export const engine = part({
  name: 'engine',
  start: ({ bounds, kinds, log }: EngineNeeds) => {
    const threads = availableParallelism()
    const mover = new Mover({ threads, bounds, kinds, log })
    return { gives: { threads, mover }, halt: () => mover.close() }
  },
})

interface GuardNeeds {
  readonly records: Collection<typeof MigrationRecord>
  readonly mover: Mover
  readonly reportsFolder: string
  readonly log: Log
}

/** What live migrations may remove. */
export const removalGuards = part({
  name: 'removal guards',
  tasks: ['removals.guards'],
  start: ({ records, mover, reportsFolder: spillFolder, log }: GuardNeeds) => {
    const guards = new RemovalGuards({ records, mover, spillFolder, log })
    return { gives: { guards }, run: () => guards.start(), halt: () => guards.stop() }
  },
})

interface ResolveNeeds {
  readonly specOf: (fileSystemId: string) => Promise<FilesystemSpec>
  readonly rules: RuleBook
  readonly guards: RemovalGuards
  readonly limits: Limits
}

/** When a migration was started first: what it finds at the target of before is not its own. */
const startOf = ({ started, created }: Pick<MigrationRecord, 'started' | 'created'>): number =>
  Date.parse(started ?? created)

/** Sizes and times say nothing of content that a loss of power may have taken; `Overwrite` writes it again anyway. */
const policyOf = ({ policy, inDoubt = false }: MigrationRecord): MigrationRecord['policy'] =>
  inDoubt && policy !== 'Overwrite' ? 'SkipIfDigestMatch' : policy

/** What the engine is told of a migration. */
export const resolving = part({
  name: 'work specifications',
  start: ({ specOf, rules, guards, limits }: ResolveNeeds) => {
    const resolve = async (record: MigrationRecord): Promise<MoveSpec> => {
      const { internalId, generation, cutShort = false, path, metadata, links } = record
      const [source, target] = await Promise.all([specOf(record.source), specOf(record.target)])
      const packed = packRules(await rules.of(record))
      const mapped = engineMappings(record)
      return {
        id: internalId,
        generation: cutShort ? generation : 1,
        root: pathFromText(path),
        source,
        target,
        policy: policyOf(record),
        ...(packed === undefined ? {} : { rules: packed }),
        ...(mapped === undefined ? {} : { mappings: mapped }),
        metadata,
        links,
        ...(record.kind === 'live' && { live: { startedMs: startOf(record), ...guards.specOf(record) } }),
        limits: limits.of(record.migrationId, record.target),
      }
    }
    return { gives: { resolve } }
  },
})

interface RunnerNeeds extends WorkStores {
  readonly journals: RecordJournals
  readonly connection: NatsConnection
  readonly records: Collection<typeof MigrationRecord>
  readonly failures: FailureLedger
  readonly rules: RuleBook
  readonly bounds: StoreBounds
  readonly mover: Mover
  readonly threads: number
  readonly reportsFolder: string
  readonly resolve: (record: MigrationRecord) => Promise<MoveSpec>
  readonly place: (
    fileSystemId: string,
  ) => Promise<{ readonly listenAndApplySourceChanges: boolean; readonly reportedChanges: boolean }>
  readonly assignments: Assignments
  readonly defaultMovers: () => Promise<Movers>
  readonly guards: RemovalGuards
  readonly onCount: CountListener
  readonly inFlight: InFlightProgress
  readonly log: Log
}

/** Works on the migrations that run. */
export const running = part({
  name: 'runner',
  tasks: [
    'migrations.change-feed',
    'migrations.comparisons',
    'migrations.feed-positions',
    'migrations.reported-changes',
    'migrations.rescans',
    'migrations.roots',
    'migrations.snapshots',
    'migrations.under-way',
  ],
  start: async (needs: RunnerNeeds) => {
    const {
      connection,
      journals,
      failures,
      bounds,
      place,
      assignments,
      defaultMovers,
      guards,
      inFlight,
      log,
    } = needs
    const positions = await StoredPositions.open(connection, journals)
    const runner = new Runner({
      ...needs,
      spillFolder: needs.reportsFolder,
      changes: async (record, spec, gapSinceMs) => {
        const { migrationId, source, target, comparisonSeconds } = record
        const [{ reportedChanges }, { listenAndApplySourceChanges }] = await Promise.all([
          place(source),
          place(target),
        ])
        const root = Buffer.from(spec.root).toString('latin1')
        return openChanges(spec, {
          bounds,
          ...(reportedChanges && {
            reported: new ReportedFeed({ connection, fileSystemId: source, root }),
          }),
          migration: migrationId,
          comparisonSeconds,
          gapSinceMs,
          // What a comparison found and nobody may remove yet, or the queue or the target lost, no news tells again.
          comparesFirst: [record.lost, record.inDoubt, record.deletions, record.approvedDeletions].some(
            (one) => one !== undefined,
          ),
          positions: positions.of(feedReader(record, spec)),
          failures: await KnownFailures.open(failures, workIdOf(record), pathFromText(record.path)),
          countedFirst: guards.countingFirst(record, spec),
          endsWithScan: !listenAndApplySourceChanges,
          log,
        })
      },
      movedBy: async ({ movedBy }) => movedBy ?? (await defaultMovers()),
      agents: assignments,
    })
    const clock = new ClockSteps(log)
    let telling: Task | undefined
    return {
      gives: {
        changesOf: (record: MigrationRecord) => runner.changesOf(record),
        /** How the work on each migration goes. */
        workStates: () => runner.states(),
      },
      run: async () => {
        await positions.sweep(isReaderOf(await needs.records.all()))
        await runner.start()
        telling = every('migrations.under-way', () => {
          inFlight.tell()
          clock.look()
        })
      },
      halt: async () => {
        telling?.stop()
        await runner.stop()
      },
    }
  },
})
