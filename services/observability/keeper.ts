import { type Static, Type } from 'typebox'
import { Collection } from '../../broker/state/collection.ts'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import type { Log } from '../../broker/common/log.ts'
import { every, type Task } from '../../broker/tasks/tasks.ts'
import { Kind, Labels, metricLimits, MetricName } from '../../subjects/observability/metric-model.ts'
import { Count, list, strict } from '../../subjects/kit/schemas.ts'
import { type BlockPlace, Series, seriesId } from './series.ts'
import type { MetricStore } from './store.ts'
import { slotsPerBlock, type Tier, tiers } from './tiers.ts'

/** One block of one series. */
const StoredBlock = strict({
  source: Type.String({ maxLength: 63 }),
  name: MetricName,
  kind: Kind,
  labels: Labels,
  help: Type.Optional(Type.String({ maxLength: metricLimits.helpLength })),
  total: Type.Optional(Type.Number({ description: 'Of a counter, when this was written' })),
  writtenMs: Count('Milliseconds since 1970'),
  tierSeconds: Count('Length of a slot'),
  index: Count('Number of the block since 1970'),
  /** Offset in the block, then its numbers. */
  slots: list(Type.Array(Type.Number(), { maxItems: 6 }), slotsPerBlock),
})
type StoredBlock = Static<typeof StoredBlock>

/** Writes under way at once: a series is a kB, and others use the connection too. */
const writesAtOnce = 64

/**
 * Stores what has changed once a minute, a record for each block of a series. The records of a tier are a ring, like its
 * blocks, so that the newest takes the place of the oldest and nothing has to be deleted.
 */
export class Keeper {
  readonly #store: MetricStore
  readonly #records: Collection<typeof StoredBlock>
  readonly #log: Log
  readonly #task: Task
  #keeping: Promise<void> = Promise.resolve()

  private constructor(store: MetricStore, records: Collection<typeof StoredBlock>, log: Log) {
    this.#store = store
    this.#records = records
    this.#log = log
    this.#task = every('observability.keep', () => this.keep())
  }

  static async open(connection: NatsConnection, store: MetricStore, log: Log): Promise<Keeper> {
    const records = await Collection.open(connection, {
      bucket: 'metrics',
      schema: StoredBlock,
      version: 1,
    })
    return new Keeper(store, records, log)
  }

  /** Fills the store with what is stored, before anything is added; after a week that is some thousand records. */
  async load(): Promise<void> {
    const written = await this.#records.all()
    for (const block of written.toSorted((a, b) => a.writtenMs - b.writtenMs)) restore(this.#store, block)
    await this.#forget(Date.now())
  }

  /** Writes what has changed. Never rejects: metrics are worth no failure. */
  keep(nowMs = Date.now()): Promise<void> {
    this.#keeping = this.#keeping.then(() => this.#keep(nowMs))
    return this.#keeping
  }

  async stop(): Promise<void> {
    this.#task.stop()
    await this.keep()
  }

  async #keep(nowMs: number): Promise<void> {
    const changed = this.#store
      .select()
      .flatMap((series) => series.takeChanged().map((place) => ({ series, place })))
    try {
      while (changed.length > 0) {
        const some = changed.slice(0, writesAtOnce)
        await Promise.all(some.map(({ series, place }) => this.#write(series, place, nowMs)))
        changed.splice(0, some.length)
      }
      await this.#forget(nowMs)
    } catch (error) {
      for (const { series, place } of changed) series.keepChanged(place)
      this.#log.debug({ err: error }, 'Metrics could not be stored; retrying.')
    }
  }

  async #write(series: Series, place: BlockPlace, nowMs: number): Promise<void> {
    const { key, help, total } = series
    await this.#records.put(recordId(series.id, place), {
      ...key,
      ...(help === undefined ? {} : { help }),
      ...(key.kind === 'counter' ? { total } : {}),
      writtenMs: nowMs,
      tierSeconds: place.tier.seconds,
      index: place.index,
      slots: series.stored(place),
    })
  }

  /** Forgets all of a source, here and where it is stored. */
  async forgetSource(source: string): Promise<void> {
    const gone = this.#store.select({ source })
    for (const { id } of gone) this.#store.remove(id)
    // What is being written of it is written before it is erased.
    await this.#keeping
    await this.#erase(gone)
  }

  async #forget(nowMs: number): Promise<void> {
    await this.#erase(this.#store.prune(nowMs))
  }

  async #erase(all: readonly Series[]): Promise<void> {
    const places = tiers.filter(({ isStored }) => isStored).flatMap(ringOf)
    for (const { id } of all) for (const place of places) await this.#records.erase(recordId(id, place))
  }
}

const ringOf = (tier: Tier): BlockPlace[] =>
  Array.from({ length: tier.blocks }, (_, index) => ({ tier, index }))

const recordId = (id: string, { tier, index }: BlockPlace): string =>
  `${id}/${tier.seconds}/${index % tier.blocks}`

/** @param block of a series, in the order in which they were written: the last one knows best */
function restore(store: MetricStore, block: StoredBlock): void {
  const { source, name, kind, labels, help, total, tierSeconds, index, slots } = block
  const tier = tiers.find(({ seconds }) => seconds === tierSeconds)
  if (tier === undefined) return
  const known = store.get(seriesId({ source, name, labels }))
  // It was something else before.
  const series = known?.key.kind === kind ? known : new Series({ source, name, kind, labels })
  store.put(series)
  series.help = help
  series.total = total ?? 0
  series.restore({ tier, index }, slots)
  series.last = lastOf(slots)
}

const lastOf = (slots: StoredBlock['slots']): number => slots.at(-1)?.at(-1) ?? 0
