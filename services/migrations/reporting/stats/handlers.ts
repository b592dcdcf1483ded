import type { Handlers } from '../../../../subjects/kit/contract.ts'
import type { stats } from '../../../../subjects/migrations/stats.ts'
import { add, noCounts } from '../../../engine/run/counts.ts'
import type { Figures } from '../figures.ts'
import type { StatsKeeper } from './keeper.ts'
import { throughputIn } from './throughput.ts'
import { statsNow } from './stats-now.ts'
import { wireStats } from '../../progress/wire.ts'

export function statsHandlers(
  figures: Figures,
  { rolling, history }: Pick<StatsKeeper, 'rolling' | 'history'>,
): Handlers<typeof stats> {
  return {
    history: async ({ migrationId }) => {
      const now = await figures.one(migrationId)
      const before = await history.of(now.record.internalId)
      return [
        statsNow(now),
        ...before.map(({ timeMs, counts }) => ({
          migrationId,
          timeStamp: timeMs,
          migrationStats: wireStats(counts),
        })),
      ]
    },
    current: async (page) => (await figures.page(page)).map(statsNow),
    'current-one': async ({ migrationId }) => statsNow(await figures.one(migrationId)),
    cumulative: async () => {
      const all = await figures.all()
      return wireStats(all.reduce((sum, { counts }) => add(sum, counts), noCounts()))
    },
    throughput: () => ({
      last10Secs: throughputIn(rolling, 10),
      last60Secs: throughputIn(rolling, 60),
      last300Secs: throughputIn(rolling, 300),
      last1800Secs: throughputIn(rolling, 1_800),
    }),
    'throughput-in': ({ nSecs }) => throughputIn(rolling, nSecs),
  }
}
