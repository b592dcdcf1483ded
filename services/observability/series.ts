import { createHash } from 'node:crypto'
import {
  type Distribution,
  histogramBounds,
  type Labels,
  type Measurement,
  type MetricKind,
  metricSubject,
} from '../../subjects/observability/metric-model.ts'
import { labelsKey } from '../../subjects/observability/metric-registry.ts'
import { addSlot, emptySlot, readSlot, type Slot, slotOf, widthOf, writeSlot } from './slots.ts'
import { blockMs, slotsPerBlock, type Tier, tiers } from './tiers.ts'

/** What tells a series from all others. */
export interface SeriesKey {
  readonly source: string
  readonly name: string
  readonly kind: MetricKind
  readonly labels: Labels
}

/** Enough of a hash that a thousand series never share one. */
const hashLength = 12

/** A short text for each series, under which it is stored. */
export const seriesId = ({ source, name, labels }: Omit<SeriesKey, 'kind'>): string =>
  `${source}/${name}/${createHash('sha256').update(labelsKey(labels)).digest('base64url').slice(0, hashLength)}`

/** One block of a series, by its number since 1970. */
export interface BlockPlace {
  readonly tier: Tier
  readonly index: number
}

/** The values of one series, at all resolutions; a block is made when there is something to be put into it. */
export class Series {
  readonly id: string
  readonly key: SeriesKey
  readonly subject: string
  help: string | undefined
  /** Of a counter, since it began. */
  total = 0
  /** Of a gauge. */
  last = 0
  /** Of a histogram, since this process began. */
  readonly distribution = {
    count: 0,
    sum: 0,
    buckets: Array.from({ length: histogramBounds.length + 1 }, () => 0),
  }
  firstMs = Infinity
  /** When this process was told of it last; what is stored is older. */
  reportedMs = -Infinity
  lastMs = 0
  readonly #blocks = new Map<Tier, Map<number, Float64Array>>(tiers.map((tier) => [tier, new Map()]))
  readonly #changed = new Map<string, BlockPlace>()

  constructor(key: SeriesKey) {
    this.key = key
    this.id = seriesId(key)
    this.subject = metricSubject(key.source, key.name)
  }

  add(measurement: Measurement, nowMs: number): void {
    const { value = 0, distribution, help } = measurement
    if (help !== undefined) this.help = help
    this.total += this.key.kind === 'counter' ? value : 0
    this.last = value
    if (distribution !== undefined) this.#addUp(distribution)
    const added = slotOf(measurement)
    for (const tier of tiers) this.#addTo(tier, added, nowMs)
    this.reportedMs = nowMs
    this.#saw(nowMs, nowMs)
  }

  /** All slots of a time that have something. */
  *slots(tier: Tier, fromMs: number, toMs: number): Generator<{ startMs: number; slot: Slot }> {
    const slotMs = tier.seconds * 1_000
    const blocks = [...this.#blocks.get(tier)!].toSorted(([a], [b]) => a - b)
    for (const [index, block] of blocks) {
      if ((index + 1) * blockMs(tier) <= fromMs || index * blockMs(tier) >= toMs) continue
      for (let offset = 0; offset < slotsPerBlock; offset++) {
        const startMs = index * blockMs(tier) + offset * slotMs
        if (startMs < fromMs || startMs >= toMs) continue
        const slot = readSlot(block, offset, this.key.kind)
        if (slot !== undefined) yield { startMs, slot }
      }
    }
  }

  /** The blocks that have changed since this was asked last, of tiers that are stored. */
  takeChanged(): BlockPlace[] {
    const places = [...this.#changed.values()]
    this.#changed.clear()
    return places
  }

  /** Has a block stored again that could not be. */
  keepChanged(place: BlockPlace): void {
    this.#changed.set(`${place.tier.seconds}/${place.index}`, place)
  }

  /** The slots of a block as they are stored: each with its offset before it. */
  stored({ tier, index }: BlockPlace): number[][] {
    const block = this.#blocks.get(tier)!.get(index)
    if (block === undefined) return []
    const width = widthOf(this.key.kind)
    return Array.from({ length: slotsPerBlock }, (_, offset) => offset)
      .filter((offset) => !Number.isNaN(block[offset * width]!))
      .map((offset) => [offset, ...Array.from(block.subarray(offset * width, (offset + 1) * width), short)])
  }

  restore({ tier, index }: BlockPlace, slots: readonly (readonly number[])[]): void {
    const block = this.#block(tier, index)
    const width = widthOf(this.key.kind)
    for (const [offset = 0, ...numbers] of slots) {
      if (offset >= slotsPerBlock || numbers.length !== width) continue
      block.set(numbers, offset * width)
      const startMs = index * blockMs(tier) + offset * tier.seconds * 1_000
      this.#saw(startMs, startMs)
    }
  }

  /** Forgets blocks that are too old. */
  prune(nowMs: number): void {
    for (const tier of tiers) {
      const oldest = Math.floor(nowMs / blockMs(tier)) - tier.blocks
      const blocks = this.#blocks.get(tier)!
      for (const index of blocks.keys()) if (index <= oldest) blocks.delete(index)
    }
  }

  get isEmpty(): boolean {
    return [...this.#blocks.values()].every((blocks) => blocks.size === 0)
  }

  #addTo(tier: Tier, added: Slot, nowMs: number): void {
    const index = Math.floor(nowMs / blockMs(tier))
    const offset = Math.floor((nowMs % blockMs(tier)) / (tier.seconds * 1_000))
    const block = this.#block(tier, index)
    const slot = readSlot(block, offset, this.key.kind) ?? emptySlot()
    addSlot(slot, added)
    writeSlot(block, offset, this.key.kind, slot)
    if (tier.isStored) this.keepChanged({ tier, index })
  }

  #block(tier: Tier, index: number): Float64Array {
    const blocks = this.#blocks.get(tier)!
    let block = blocks.get(index)
    if (block === undefined) {
      block = new Float64Array(slotsPerBlock * widthOf(this.key.kind)).fill(Number.NaN)
      blocks.set(index, block)
    }
    return block
  }

  #addUp({ count, sum, buckets = [] }: Distribution): void {
    this.distribution.count += count
    this.distribution.sum += sum
    for (const [index, more] of buckets.entries()) this.distribution.buckets[index]! += more
  }

  #saw(firstMs: number, lastMs: number): void {
    this.firstMs = Math.min(this.firstMs, firstMs)
    this.lastMs = Math.max(this.lastMs, lastMs)
  }
}

/** Nine digits are as exact as any measurement, and half as long as what a sum of decimals may have. */
const short = (value: number): number => Number(value.toPrecision(9))
