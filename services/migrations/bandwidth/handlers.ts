import {
  type bandwidth,
  bandwidthUnits,
  type BandwidthWindow,
  unlimited,
} from '../../../subjects/bandwidth.ts'
import type { Handlers, Input } from '../../../subjects/contract.ts'
import { GantryError } from '../../../subjects/errors.ts'
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
    set: async (asked) => {
      requirePlace(asked)
      const { scope, name = '' } = asked
      const changes = changesOf(asked)
      if (scope === 'migration') await dependencies.requireMigration(name)
      if (scope === 'target') await dependencies.requireTarget(name)
      if (scope === 'agent') await dependencies.requireAgent(name)
      const policy = await policies.upsert(idOf(asked), (current = noPolicy(asked)) =>
        withoutEmptySchedule({ ...current, ...changes }),
      )
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
    throw wrong('name', 'must be left out: there is one global limit')
  if (scope !== 'global' && name === undefined) throw wrong('name', `is required: which ${scope} is meant`)
}

/** @throws GantryError INVALID_INPUT */
function changesOf({ limit, unit = 'B', requests, schedule }: Asked): Partial<StoredPolicy> {
  for (const [index, window] of (schedule?.windows ?? []).entries()) requireWindow(window, index)
  if (schedule !== undefined && !isTimeZone(schedule.timeZone))
    throw wrong('schedule.timeZone', 'must be the name of a time zone, such as Europe/Berlin or UTC')
  return {
    ...(limit === undefined ? {} : { limitBytesPerSecond: bytesOf(limit, unit) }),
    ...(requests === undefined ? {} : { limitRequestsPerSecond: positive('requests', requests) }),
    ...(schedule === undefined ? {} : { schedule }),
  }
}

/** An empty list of windows is how a schedule is taken away. */
function withoutEmptySchedule({ schedule, ...policy }: StoredPolicy): StoredPolicy {
  return schedule === undefined || schedule.windows.length === 0 ? policy : { ...policy, schedule }
}

function bytesOf(limit: number, unit: string): number {
  if (positive('limit', limit) === unlimited) return unlimited
  const bytes = limit * bandwidthUnits[unit]!
  if (Number.isSafeInteger(bytes)) return bytes
  throw wrong('limit', 'must be less than 8 PiB a second; -1 stands for no limit')
}

function requireWindow(window: BandwidthWindow, index: number): void {
  const field = `schedule.windows[${index}]`
  positive(`${field}.limitBytesPerSecond`, window.limitBytesPerSecond ?? unlimited)
  positive(`${field}.limitRequestsPerSecond`, window.limitRequestsPerSecond ?? unlimited)
  if (window.from === '24:00') throw wrong(`${field}.from`, 'must be before 24:00; write 00:00')
}

/** Nothing at all would be a stop: that is a command of migrations. */
function positive(field: string, limit: number): number {
  if (limit === 0)
    throw wrong(field, 'must be at least 1, or -1 for no limit; to move nothing, stop the migration')
  return limit
}

const wrong = (field: string, problem: string) =>
  new GantryError('INVALID_INPUT', `input: ${field} ${problem}`, { details: [{ field, problem }] })
