import { LRUCache } from 'lru-cache'
import { call } from '../../broker/rpc/client.ts'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import type { Caller, Handlers } from '../../subjects/kit/contract.ts'
import { maxPartLength, type Part } from '../../subjects/kit/download.ts'
import { GantryError } from '../../subjects/kit/errors.ts'
import { extensionsInternal } from '../../subjects/extensions/extensions.ts'
import { keysInternal } from '../../subjects/access/keys.ts'
import { product } from '../../subjects/kit/names.ts'
import type { observability, observabilityInternal } from '../../subjects/observability/observability.ts'
import { coveringRule } from '../../subjects/kit/patterns.ts'
import type { Keeper } from './keeper.ts'
import { prometheusText, prometheusType } from './prometheus.ts'
import { query, type QueryContext } from './query.ts'
import type { Series } from './series.ts'
import type { MetricStore } from './store.ts'

export interface ObservabilityDependencies {
  readonly connection: NatsConnection
  readonly store: MetricStore
  readonly keeper: Pick<Keeper, 'forgetSource'>
  /** Resolves when what is stored is there. */
  readonly loaded: Promise<Pick<QueryContext, 'finestSinceMs'>>
  /** Takes what the platform itself has measured so far. */
  readonly collect: () => Promise<void>
}

/** Texts longer than a part, by who asks for them: its parts must be of one text. */
const maxTexts = 20

/** Metrics: reported, shown, asked for. */
export function observabilityHandlers({
  connection,
  store,
  loaded,
  collect,
}: ObservabilityDependencies): Handlers<typeof observability> {
  /** Those that somebody may subscribe to. */
  const seenBy = async (caller: Caller, series: readonly Series[]): Promise<readonly Series[]> => {
    if (caller.kind === 'platform') return series
    const { capabilities } = await call(connection, keysInternal.permissions, { id: caller.keyId })
    const subjects = new Set(series.map(({ subject }) => subject))
    const seen = new Set(
      [...subjects].filter((subject) => coveringRule(capabilities.sub.allow, subject) !== undefined),
    )
    return series.filter(({ subject }) => seen.has(subject))
  }
  const texts = new LRUCache<string, string>({ max: maxTexts })
  return {
    report: async ({ prefix, measurements }, { caller }) => {
      if (caller.kind === 'platform')
        throw new GantryError('DENIED', 'the platform itself is not an extension')
      await call(connection, extensionsInternal.own, { key: caller.keyId, prefix })
      await loaded
      store.add(prefix, measurements, Date.now())
      return {}
    },
    list: async ({ source }, { caller }) => {
      await collect()
      const seen = await seenBy(caller, store.select(source === undefined ? {} : { source }))
      return [...Map.groupBy(seen, ({ subject }) => subject)].map(([subject, all]) => {
        const { key, help } = all[0]!
        const lastMs = Math.max(...all.map((series) => series.lastMs))
        return {
          name: key.name,
          source: key.source,
          kind: key.kind,
          series: all.length,
          updated: new Date(lastMs).toISOString(),
          ...(help === undefined ? {} : { help }),
          subject,
        }
      })
    },
    query_scalar_metrics: async (input, call) => {
      await collect()
      const seen = await seenBy(call.caller, store.select(input))
      if (seen.length === 0) {
        const there = `there is no such series of ${input.name}`
        throw call.fail('NOT_FOUND', `${there}: see "${product} observability list"`)
      }
      return query(input, seen, { ...(await loaded), nowMs: Date.now() })
    },
    prometheus: async ({ from = 0 }, { caller }) => {
      const who = caller.kind === 'key' ? caller.keyId : ''
      if (from === 0) {
        await collect()
        texts.set(who, prometheusText(await seenBy(caller, store.select()), Date.now()))
      }
      return partOf(texts.get(who) ?? '', from)
    },
  }
}

function partOf(text: string, from: number): Part {
  const next = from + maxPartLength
  return {
    name: 'metrics.txt',
    type: prometheusType,
    content: text.slice(from, next),
    ...(next < text.length ? { next } : {}),
  }
}

/** What services ask. */
export const observabilityInternalHandlers = ({
  keeper,
  loaded,
}: Pick<ObservabilityDependencies, 'keeper' | 'loaded'>): Handlers<typeof observabilityInternal> => ({
  forget: async ({ source }) => {
    await loaded
    await keeper.forgetSource(source)
    return {}
  },
})
