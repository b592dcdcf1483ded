import { type Static, Type } from 'typebox'
import { Collection } from '../../../../broker/state/collection.ts'
import type { NatsConnection } from '../../../../broker/rpc/connection.ts'
import { Count, list, strict } from '../../../../subjects/kit/schemas.ts'
import { type Counts, noCounts } from '../../../engine/run/counts.ts'

/**
 * How far apart samples are kept, by age: each minute of the last hour, each hour of the last two days, each day of the
 * last two months. Some 170 samples of some 150 bytes are written again with every new one.
 */
const grains = [
  { untilMs: 3_600_000, apartMs: 60_000 },
  { untilMs: 48 * 3_600_000, apartMs: 3_600_000 },
  { untilMs: 60 * 86_400_000, apartMs: 86_400_000 },
] as const
/** What the grains come to, with room for the borders between them. */
const maxSamples = 200

const Sample = strict({
  timeMs: Count('Milliseconds since 1970'),
  /** Only those that are not 0. */
  counts: Type.Record(Type.String({ maxLength: 40 }), Count('Count')),
})
type Sample = Static<typeof Sample>

/** The samples of one migration, the newest first. */
const MigrationHistory = strict({
  internalId: Type.String({ maxLength: 36 }),
  samples: list(Sample, maxSamples),
})

/** What migrations had done at moments of the past: totals, each since the migration began. */
export class History {
  readonly #histories: Collection<typeof MigrationHistory>

  private constructor(histories: Collection<typeof MigrationHistory>) {
    this.#histories = histories
  }

  static async open(connection: NatsConnection): Promise<History> {
    return new History(
      await Collection.open(connection, {
        bucket: 'migration-history',
        schema: MigrationHistory,
        version: 1,
      }),
    )
  }

  /** Takes a sample, unless nothing has changed since the last one. */
  async sample(internalId: string, counts: Counts, nowMs: number): Promise<void> {
    const some = Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0))
    await this.#histories.upsert(internalId, (current) => ({
      internalId,
      samples: thinned([{ timeMs: nowMs, counts: some }, ...(current?.samples ?? [])], nowMs),
    }))
  }

  /** The newest first. */
  async of(internalId: string): Promise<{ timeMs: number; counts: Counts }[]> {
    const { samples = [] } = (await this.#histories.get(internalId)) ?? {}
    return samples.map(({ timeMs, counts }) => ({ timeMs, counts: { ...noCounts(), ...counts } }))
  }

  /** Forgets a migration. */
  forget(internalId: string): Promise<void> {
    return this.#histories.erase(internalId)
  }

  /** Forgets migrations that are gone. */
  async keepOnly(internalIds: ReadonlySet<string>): Promise<void> {
    for (const { internalId } of await this.#histories.all()) {
      if (!internalIds.has(internalId)) await this.forget(internalId)
    }
  }
}

/** Of samples that are nearer to each other than they need be, the newest stays. @param samples the newest first */
export function thinned<S extends Pick<Sample, 'timeMs'>>(samples: readonly S[], nowMs: number): S[] {
  const kept: S[] = []
  let last: number | undefined
  for (const sample of samples) {
    const grain = grains.find(({ untilMs }) => nowMs - sample.timeMs <= untilMs)
    if (grain === undefined) break
    const slot = Math.floor(sample.timeMs / grain.apartMs) * grain.apartMs
    if (last !== undefined && slot >= last) continue
    last = slot
    kept.push(sample)
  }
  return kept.slice(0, maxSamples)
}
