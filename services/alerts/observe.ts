import { responsesOf } from '../../subjects/observability/own-metrics.ts'
import { call } from '../../broker/rpc/client.ts'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import { storageUse } from '../../broker/state/storage.ts'
import type { AlertKindName } from '../../subjects/observability/alert-model.ts'
import { isGantryError } from '../../subjects/kit/errors.ts'
import { extensionsInternal } from '../../subjects/extensions/extensions.ts'
import { keysInternal } from '../../subjects/access/keys.ts'
import { platformSource } from '../../subjects/observability/metric-model.ts'
import type { Migration } from '../../subjects/migrations/model/model.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { type Unresolved, verificationsInternal } from '../../subjects/migrations/internal.ts'
import { type MetadataMigration, metadataMigrations } from '../../subjects/metadata/migrations.ts'
import { observability } from '../../subjects/observability/observability.ts'
import { allPages } from '../../subjects/kit/pages.ts'
import { maxTextLength } from '../../subjects/kit/schemas.ts'
import { shortened } from '../../subjects/kit/shortened.ts'
import { differing } from './differing.ts'
import { dayMs, expiring } from './expiring.ts'
import { failed } from './failed.ts'
import type { Observation } from './judge.ts'
import { lagging } from './lagging.ts'
import { metadataFailure, metadataLagging } from './metadata.ts'
import type { StoredRule } from './record.ts'

/** Fewer answers than these make no rate: one that failed of three is no fault of the platform. */
const minRequests = 20

/** Looks at what rules of a kind are about. What a migration is asked for is asked once in a look. */
type Observe = (rule: StoredRule, look: Look) => Promise<Observation[]>

/** One look of all rules at what they have in common. */
export class Look {
  readonly connection: NatsConnection
  #migrations: Promise<Migration[]> | undefined
  #metadataMigrations: Promise<MetadataMigration[]> | undefined
  #unresolved: Promise<Unresolved[]> | undefined
  #storage: ReturnType<typeof storageUse> | undefined

  constructor(connection: NatsConnection) {
    this.connection = connection
  }

  migrations(): Promise<Migration[]> {
    return (this.#migrations ??= allPages((after) =>
      call(this.connection, migrations.list, { ...(after && { after: after.migrationId }) }),
    ))
  }

  metadataMigrations(): Promise<MetadataMigration[]> {
    return (this.#metadataMigrations ??= allPages((after) =>
      call(this.connection, metadataMigrations.list, { ...(after && { after: after.migrationName }) }),
    ))
  }

  /** Verifications as people see them have paths, of which a page may have more than a message holds. */
  unresolved(): Promise<Unresolved[]> {
    return (this.#unresolved ??= call(this.connection, verificationsInternal.unresolved, {}))
  }

  storage(): ReturnType<typeof storageUse> {
    return (this.#storage ??= storageUse(this.connection))
  }
}

async function sumOf(connection: NatsConnection, name: string, windowSeconds: number): Promise<number> {
  const since = `${windowSeconds}s`
  const asked = { name, source: platformSource, since, aggregate: 'sum', combine: true } as const
  try {
    return (await call(connection, observability.query_scalar_metrics, asked)).series[0]?.value ?? 0
  } catch (error) {
    // Nothing was counted so far.
    if (isGantryError(error, 'NOT_FOUND')) return 0
    throw error
  }
}

const shareOf = (used: number, limit: number): number => (limit > 0 ? (100 * used) / limit : 0)
const rounded = (value: number): number => Math.round(value * 100) / 100

const storageAlert = (object: string, share: number, threshold: number): Observation[] =>
  share < threshold
    ? []
    : [{ object, value: rounded(share), summary: `${rounded(share)} % of ${object} is in use` }]

/** By kind; thresholds are those of the built-in rules, where a rule has none. */
const observers: Readonly<Record<AlertKindName, Observe>> = {
  'extension-lost': async (_, { connection }) =>
    (await call(connection, extensionsInternal.lost, {})).map(({ prefix, since }) => ({
      object: prefix,
      summary: `the extension ${prefix} was lost at ${since}`,
    })),
  'error-rate': async ({ threshold = 0, windowSeconds = 0 }, { connection }) => {
    const all = await sumOf(connection, 'http.requests.total', windowSeconds)
    if (all < minRequests) return []
    const failed = await sumOf(connection, responsesOf(5), windowSeconds)
    const value = rounded(shareOf(failed, all))
    if (value <= threshold) return []
    const summary = `${value} % of ${all} responses in ${windowSeconds} s had status 500 or above`
    return [{ object: 'http', value, summary }]
  },
  'storage-file': async ({ threshold = 0 }, look) => {
    const { fileBytes, maxFileBytes } = await look.storage()
    return storageAlert('max_file', shareOf(fileBytes, maxFileBytes), threshold)
  },
  'storage-memory': async ({ threshold = 0 }, look) => {
    const { memBytes, maxMemBytes } = await look.storage()
    return storageAlert('max_mem', shareOf(memBytes, maxMemBytes), threshold)
  },
  'key-expiring': async ({ threshold = 0 }, { connection }) => {
    const nowMs = Date.now()
    const by = new Date(nowMs + threshold * dayMs).toISOString()
    const keys = await call(connection, keysInternal.expiring, { by })
    return keys.flatMap((key) => expiring(key, threshold, nowMs))
  },
  'migration-failed': async (_, look) => (await look.migrations()).flatMap((migration) => failed(migration)),
  'migration-lagging': async ({ threshold = 0 }, look) =>
    (await look.migrations()).flatMap((migration) => lagging(migration, threshold)),
  'migration-differences': async (_, look) => differing(await look.unresolved(), await look.migrations()),
  'metadata-migration-failed': async (_, look) =>
    (await look.metadataMigrations()).flatMap((migration) => metadataFailure(migration)),
  'metadata-migration-lagging': async ({ threshold = 0 }, look) =>
    (await look.metadataMigrations()).flatMap((migration) => metadataLagging(migration, threshold)),
}

/** What a rule fires for at the moment. @throws when that cannot be learned */
export async function observe(rule: StoredRule, look: Look): Promise<Observation[]> {
  const seen = await observers[rule.kind](rule, look)
  return seen
    .filter(({ object }) => rule.object === undefined || rule.object === object)
    .map((one) => ({ ...one, summary: shortened(one.summary, maxTextLength) }))
}
