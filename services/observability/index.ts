import type { NatsConnection } from '../../broker/rpc/connection.ts'
import type { Log } from '../../broker/common/log.ts'
import type { OtlpConfig } from '../../config/otlp.ts'
import { storageUse } from '../../broker/state/storage.ts'
import { every } from '../../broker/tasks/tasks.ts'
import { platformSource } from '../../subjects/observability/metric-model.ts'
import { logging } from '../../subjects/observability/logging.ts'
import { observability, observabilityInternal } from '../../subjects/observability/observability.ts'
import type { MetricRegistry } from '../../subjects/observability/metric-registry.ts'
import type { BeginSpan } from '../../broker/messages/tracing.ts'
import { service } from '../kit/part.ts'
import { observabilityHandlers, observabilityInternalHandlers } from './handlers.ts'
import { Keeper } from './keeper.ts'
import { loggingHandlers } from './logging.ts'
import { OtlpExporter } from './otlp/exporter.ts'
import { OwnMetrics } from './own-metrics.ts'
import { MetricStore } from './store.ts'
import { tiers } from './tiers.ts'

export interface ObservabilityNeeds {
  readonly connection: NatsConnection
  /** What the platform itself measures. */
  readonly metrics: MetricRegistry
  /** How many extensions are there. */
  readonly extensionCount: () => number
  /** Where all of it is sent to; undefined: nowhere. */
  readonly otlp: OtlpConfig | undefined
  readonly version: string
  readonly identity: { readonly instance: string }
  readonly log: Log
}

/** Metrics, traces and the level of the log. */
export const observabilityService = service({
  name: 'observability',
  contracts: { observability, observabilityInternal, logging },
  tasks: ['observability.collect', 'observability.keep', 'otlp.metrics', 'otlp.spans'],
  start: async ({
    connection,
    metrics: registry,
    extensionCount: extensions,
    otlp,
    version,
    identity: { instance },
    log,
  }: ObservabilityNeeds) => {
    const store = new MetricStore()
    const keeper = await Keeper.open(connection, store, log)
    // Nobody waits for it but those who report and ask.
    const loaded = keeper.load().then(
      // Without anything from before, nothing is missing at any resolution.
      () => ({ finestSinceMs: store.select().length === 0 ? 0 : Date.now() }),
      (err: unknown) => {
        log.error({ err }, 'Stored metrics cannot be read; starting without them.')
        return { finestSinceMs: Date.now() }
      },
    )
    const own = new OwnMetrics(registry, { storage: () => storageUse(connection), extensions })
    let collecting: Promise<void> | undefined
    const lookAndTake = async () => {
      try {
        await own.look()
      } catch (error) {
        log.debug({ err: error }, 'The broker did not report its storage use; retrying.')
      }
      await loaded
      try {
        store.add(platformSource, registry.drain(), Date.now())
      } catch (error) {
        log.error({ err: error }, 'Metrics of the platform itself were lost.')
      }
    }
    const collect = () => (collecting ??= lookAndTake().finally(() => (collecting = undefined)))
    const task = every('observability.collect', collect, tiers[0].seconds * 1_000)
    const dependencies = { connection, store, keeper, loaded, collect }
    const series = async () => {
      await collect()
      return store.select()
    }
    const exporter = otlp && new OtlpExporter({ config: otlp, about: { version, instance }, series, log })
    /** Nobody is there who would record a span: then there is none. */
    const beginSpan: BeginSpan = exporter?.beginSpan ?? (() => undefined)
    return {
      gives: { beginSpan },
      handlers: {
        observability: observabilityHandlers(dependencies),
        observabilityInternal: observabilityInternalHandlers(dependencies),
        logging: loggingHandlers(log),
      },
      stop: async () => {
        task.stop()
        await collect()
        await exporter?.stop()
        own.stop()
        await keeper.stop()
      },
    }
  },
})
