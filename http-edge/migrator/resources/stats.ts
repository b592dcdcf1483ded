import type { Output } from '../../../subjects/kit/contract.ts'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import { stats } from '../../../subjects/migrations/stats.ts'
import { operation } from '../operation.ts'
import { readable } from '../readable.ts'

const errors = { NOT_FOUND: { errorCode: 'MIGRATION_NOT_FOUND' } } as const

type Info = Output<(typeof migrations)['progress']>
type Summary = Output<(typeof migrations)['summary']>

/** With its sizes for people. */
const shown = (info: Info) => ({ ...info, progress: { ...info.progress, ...readable(info.progress) } })

const lists = [
  'ready',
  'running',
  'stopped',
  'completed',
  'live',
  'waitingForNextRecurrence',
  'recurrenceScheduled',
] as const

const summary = (all: Summary): object => ({
  ...all,
  ...Object.fromEntries(
    lists.map((name) => [name, { ...all[name], migrations: all[name].migrations.map(shown) }]),
  ),
})

export const statsOperations = [
  operation(migrations.stats, 'GET', '/stats'),
  operation(migrations.summary, 'GET', '/stats/migrationSummary', { response: summary }),
  operation(migrations.progress, 'GET', '/stats/migrationInfo/{migrationId}', { errors, response: shown }),
  operation(stats.cumulative, 'GET', '/stats/cumulative'),
  operation(stats.throughput, 'GET', '/stats/throughputSummary'),
  operation(stats['throughput-in'], 'GET', '/stats/throughputInLastSecs/{nSecs}'),
  operation(stats.current, 'GET', '/stats/current'),
  operation(stats['current-one'], 'GET', '/stats/current/{migrationId}', { errors }),
  operation(stats.history, 'GET', '/stats/{migrationId}', { errors }),
]
