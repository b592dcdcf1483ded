import { rateText } from '../../subjects/kit/binary-size.ts'
import { type bandwidth, bandwidthUnits, unlimited } from '../../subjects/migrations/bandwidth.ts'
import type { Handlers, Input } from '../../subjects/kit/contract.ts'
import { notAccepted } from '../../subjects/kit/errors.ts'
import { idOf, noPolicy, type Place, type Policies, publicPolicy, type StoredPolicy } from './policies.ts'
import { isTimeZone } from './timetable.ts'

export interface BandwidthDependencies {
  readonly policies: Policies
  /** @throws GantryError NOT_FOUND */
  readonly requireMigration: (migrationId: string) => Promise<void>
  /** @throws GantryError NOT_FOUND */
  readonly requireTarget: (fileSystemId: string) => Promise<void>
  /** @throws GantryError NOT_FOUND */
  readonly requireAgent: (name: string) => Promise<void>
}

type Asked = Input<(typeof bandwidth)['set']>

export function bandwidthHandlers(dependencies: BandwidthDependencies): Handlers<typeof bandwidth> {
  const { policies } = dependencies
  return {
    list: async () => {
      const known = await policies.list()
      // The global one comes first, and is always there.
      const others = known.filter(({ scope }) => scope !== 'global')
      const global = known.find(({ scope }) => scope === 'global') ?? noPolicy({ scope: 'global' })
      return [global, ...others].map(publicPolicy)
    },
    get: async (place) => {
      requirePlace(place)
      return publicPolicy((await policies.get(idOf(place))) ?? noPolicy(place))
    },
    set: async (asked, call) => {
      requirePlace(asked)
      const { scope, name = '' } = asked
      const changes = changesOf(asked)
      if (scope === 'migration') await dependencies.requireMigration(name)
      if (scope === 'target') await dependencies.requireTarget(name)
      if (scope === 'agent') await dependencies.requireAgent(name)
      const policy = await policies.upsert(idOf(asked), (current = noPolicy(asked)) => {
        const { limitBytesPerSecond: bytes, limitRequestsPerSecond: requests, schedule } = current
        call.replaces({ limit: bytes === unlimited ? bytes : rateText(bytes), requests, schedule })
        return withoutEmptySchedule({ ...current, ...changes })
      })
      return publicPolicy(policy)
    },
    delete: async (place) => {
      requirePlace(place)
      if ((await policies.get(idOf(place))) !== undefined) await policies.delete(idOf(place))
      return publicPolicy(noPolicy(place))
    },
  }
}

function requirePlace({ scope, name }: Place): void {
  if (scope === 'global' && name !== undefined)
    throw notAccepted('name', 'must be left out: there is one global limit')
  if (scope !== 'global' && name === undefined)
    throw notAccepted('name', `is required: which ${scope} is meant`)
}

/** @throws GantryError NOT_ACCEPTED */
function changesOf({ limit, unit, requests, schedule }: Asked): Partial<StoredPolicy> {
  if (schedule !== undefined && !isTimeZone(schedule.timeZone))
    throw notAccepted('schedule.timeZone', 'must be the name of a time zone, such as Europe/Berlin or UTC')
  return {
    ...(limit === undefined ? {} : { limitBytesPerSecond: bytesOf(limit, unit) }),
    ...(requests === undefined ? {} : { limitRequestsPerSecond: requests }),
    ...(schedule === undefined ? {} : { schedule }),
  }
}

/** An empty list of windows is how a schedule is taken away. */
function withoutEmptySchedule({ schedule, ...policy }: StoredPolicy): StoredPolicy {
  return schedule === undefined || schedule.windows.length === 0 ? policy : { ...policy, schedule }
}

function bytesOf(limit: number, unit: string | undefined): number {
  if (limit === unlimited) return unlimited
  // Nobody wants five bytes a second: a number alone is an oversight.
  if (unit === undefined)
    throw notAccepted(
      'unit',
      'is required: a limit is a number of units a second, such as limit 10, unit MiB',
    )
  const bytes = limit * bandwidthUnits[unit]!
  if (Number.isSafeInteger(bytes)) return bytes
  throw notAccepted('limit', 'must be less than 8 PiB a second; -1 stands for no limit')
}
