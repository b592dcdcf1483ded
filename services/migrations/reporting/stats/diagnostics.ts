import { availableParallelism, loadavg } from 'node:os'
import type { NatsConnection } from '../../../../broker/rpc/connection.ts'
import { QueueReader } from '../../../../broker/queue/reader.ts'
import type { Handlers, Output } from '../../../../subjects/kit/contract.ts'
import type { diagnostics } from '../../../../subjects/migrations/diagnostics.ts'
import { add, noCounts } from '../../../engine/run/counts.ts'
import type { Figures } from '../figures.ts'
import { workIdOf } from '../../lifecycle/record.ts'
import { isWorkedOn } from '../../lifecycle/states.ts'
import type { WithFigures } from '../../progress/with-figures.ts'
import type { RollingStats } from './rolling-stats.ts'
import { throughputIn } from './throughput.ts'
import { wireStats } from '../../progress/wire.ts'

type Summary = Output<(typeof diagnostics)['summary']>

export interface DiagnosticsDependencies {
  readonly connection: NatsConnection
  readonly figures: Pick<Figures, 'all'>
  readonly rolling: Pick<RollingStats, 'lastSeconds'>
  readonly threads: number
}

export function diagnosticsHandlers(dependencies: DiagnosticsDependencies): Handlers<typeof diagnostics> {
  const load = new ProcessLoad()
  const summary = () => summaryOf(dependencies, load)
  return {
    summary,
    text: async () => ({
      name: 'diagnostics.txt',
      type: 'text/plain',
      content: Object.entries(await summary())
        .map(([name, value]) => `${name}: ${value}\n`)
        .join(''),
    }),
  }
}

async function summaryOf(
  { connection, figures, rolling, threads }: DiagnosticsDependencies,
  load: ProcessLoad,
): Promise<Summary> {
  const all = await figures.all()
  const inState = (...states: string[]) => all.filter(({ record }) => states.includes(record.state)).length
  const worked = all.filter(({ record }) => isWorkedOn(record.state))
  const items = await Promise.all(
    worked.map(async ({ record }) => ({
      migrationId: record.migrationId,
      count: (await (await QueueReader.open(connection, workIdOf(record))).size()).items,
    })),
  )
  const actions = totalAndMost(items)
  const regions = totalAndMost(counted(all, ({ record }) => record.pendingRegions.length))
  const failed = totalAndMost(counted(all, (one) => one.failed))
  const retries = totalAndMost(counted(all, (one) => one.counts.pathsRequeued))
  const live = all.flatMap(({ record: { migrationId }, changes }) =>
    changes === undefined ? [] : [{ migrationId, count: changes.unscheduled + changes.scheduled }],
  )
  const behind = totalAndMost(live)
  const mostRegions = all.find(({ record }) => record.migrationId === regions.migrationId)
  const counts = all.reduce((sum, one) => add(sum, one.counts), noCounts())
  const done = wireStats(counts)
  const rate = (seconds: number) => {
    const { totalBytes, totalFiles } = throughputIn(rolling, seconds)
    return { bytes: Math.round(totalBytes / seconds), files: Math.round(totalFiles / seconds) }
  }
  const [last10, last60, last300] = [rate(10), rate(60), rate(300)]
  return {
    uptime: Math.floor(process.uptime()),
    processCpuLoad: load.since(),
    systemCpuLoad: (loadavg()[0] ?? 0) / availableParallelism(),
    pullThreads: threads,
    transferRateBytes10: last10.bytes,
    transferRateBytes60: last60.bytes,
    transferRateBytes300: last300.bytes,
    transferRateFiles10: last10.files,
    transferRateFiles60: last60.files,
    transferRateFiles300: last300.files,
    activeMigrationCount: worked.length,
    migrationsRunning: inState('RUNNING'),
    migrationsLive: inState('LIVE'),
    migrationsStopped: inState('STOPPED'),
    actionStoreCurrent: actions.total,
    actionStoreLargestMigration: actions.most,
    ...(actions.migrationId === undefined ? {} : { actionStoreLargestMigrationId: actions.migrationId }),
    pendingRegionCurrent: regions.total,
    pendingRegionAverage: Math.round(regions.mean),
    pendingRegionMaxMigration: regions.most,
    ...(mostRegions === undefined ? {} : { pendingRegionMaxMigrationPath: mostRegions.record.path }),
    ...(regions.migrationId === undefined ? {} : { pendingRegionMaxMigrationId: regions.migrationId }),
    totalEventQueued: behind.total,
    eventsBehindMax: behind.most,
    eventsBehindAverage: Math.round(behind.mean),
    retryCount: retries.total,
    retryAverage: Math.round(retries.mean),
    avgRetries: retries.mean,
    totalMigrationPathsRequeued: retries.total,
    migrationCountMostRetries: retries.most,
    ...(retries.migrationId === undefined ? {} : { migrationIdMostRetries: retries.migrationId }),
    failedPathsCount: failed.total,
    failedPathsAverage: Math.round(failed.mean),
    avgFailedPaths: failed.mean,
    migrationCountMostFailedPaths: failed.most,
    ...(failed.migrationId === undefined ? {} : { migrationIdMostFailedPaths: failed.migrationId }),
    totalFilesIterated: done.filesScanned,
    totalDirsIterated: done.dirsScanned,
    totalBytesIterated: counts.bytesScanned,
    totalFilesExcluded: done.filesExcluded,
    totalDirsExcluded: done.dirsExcluded,
    totalBytesExcluded: done.bytesExcluded,
  }
}

const counted = (all: readonly WithFigures[], count: (one: WithFigures) => number) =>
  all.map((one) => ({ migrationId: one.record.migrationId, count: count(one) }))

/** The sum over all migrations, the mean of one, and the one with the most, if it has any. */
function totalAndMost(counts: readonly { readonly migrationId: string; readonly count: number }[]) {
  const total = counts.reduce((sum, { count }) => sum + count, 0)
  const [first] = counts.toSorted((one, other) => other.count - one.count)
  return {
    total,
    mean: counts.length === 0 ? 0 : total / counts.length,
    most: first?.count ?? 0,
    migrationId: total === 0 ? undefined : first?.migrationId,
  }
}

/** Share of the processors that this process uses, between two questions. */
class ProcessLoad {
  #cpu = process.cpuUsage()
  #atMs = performance.now()

  since(): number {
    const { user, system } = process.cpuUsage(this.#cpu)
    const ms = Math.max(1, performance.now() - this.#atMs)
    this.#cpu = process.cpuUsage()
    this.#atMs = performance.now()
    return (user + system) / 1_000 / ms / availableParallelism()
  }
}
