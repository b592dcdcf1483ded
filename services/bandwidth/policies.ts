import { type Static, Type } from 'typebox'
import { Collection } from '../../broker/state/collection.ts'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import type { RecordJournals } from '../../broker/state/books/record-journal.ts'
import {
  bandwidth,
  type BandwidthPolicy,
  type BandwidthScope,
  unlimited,
} from '../../subjects/migrations/bandwidth.ts'
import type { Rates } from '../engine/run/bucket.ts'
import { windowAt } from './timetable.ts'

const { scope, name, schedule, limitBytesPerSecond, limitRequestsPerSecond } = bandwidth.get.output.properties

/** A limit as it is stored. */
export const StoredPolicy = Type.Object(
  { scope, name, limitBytesPerSecond, limitRequestsPerSecond, schedule },
  { additionalProperties: false },
)
export type StoredPolicy = Static<typeof StoredPolicy>

export type Policies = Collection<typeof StoredPolicy>

export const openPolicies = (connection: NatsConnection, journals?: RecordJournals): Promise<Policies> =>
  Collection.open(connection, { bucket: 'bandwidth', schema: StoredPolicy, version: 1, journals })

/** What a limit is about. */
export interface Place {
  readonly scope: BandwidthScope
  readonly name?: string | undefined
}

/** Id of a limit; no name has a slash. */
export const idOf = ({ scope, name }: Place): string => (name === undefined ? scope : `${scope}/${name}`)

/** What holds where nothing was said. */
export const noPolicy = ({ scope, name }: Place): StoredPolicy => ({
  scope,
  ...(name === undefined ? {} : { name }),
  limitBytesPerSecond: unlimited,
  limitRequestsPerSecond: unlimited,
})

const descriptions: Record<BandwidthScope, (name: string) => string> = {
  global: () => 'All migrations (global)',
  migration: (name) => `The migration ${name}`,
  target: (name) => `All migrations to ${name}`,
  agent: (name) => `The transfer agent ${name}`,
}

/** What a second allows at a moment. */
function limitsAt(policy: StoredPolicy, at: Date): BandwidthPolicy['now'] {
  const window = policy.schedule === undefined ? undefined : windowAt(policy.schedule, at)
  return {
    limitBytesPerSecond: window?.limitBytesPerSecond ?? policy.limitBytesPerSecond,
    limitRequestsPerSecond: window?.limitRequestsPerSecond ?? policy.limitRequestsPerSecond,
  }
}

/** The same as the engine keeps it. */
export function ratesAt(policy: StoredPolicy, at: Date): Rates {
  const limits = limitsAt(policy, at)
  const rate = (limit: number) => (limit === unlimited ? undefined : limit)
  return {
    bytesPerSecond: rate(limits.limitBytesPerSecond),
    requestsPerSecond: rate(limits.limitRequestsPerSecond),
  }
}

/** A limit as callers see it. */
export const publicPolicy = (policy: StoredPolicy): BandwidthPolicy => ({
  // What the existing product calls the limit of all that it moves.
  id: policy.scope === 'global' ? 'application' : idOf(policy),
  description: descriptions[policy.scope](policy.name ?? ''),
  ...policy,
  now: limitsAt(policy, new Date()),
})
