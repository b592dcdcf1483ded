import type { Aggregate, Measurement, MetricKind } from '../../subjects/observability/metric-model.ts'

/** All that is kept of the values of a moment. Of a counter only `sum` is used. */
export interface Slot {
  count: number
  sum: number
  min: number
  max: number
  last: number
}

/** Numbers of a slot in a block: a counter needs one. */
export const widthOf = (kind: MetricKind): number => (kind === 'counter' ? 1 : 5)

export const emptySlot = (): Slot => ({ count: 0, sum: 0, min: Infinity, max: -Infinity, last: 0 })

export function slotOf({ value = 0, distribution }: Measurement): Slot {
  if (distribution === undefined) return { count: 1, sum: value, min: value, max: value, last: value }
  const { count, sum, min, max } = distribution
  return { count, sum, min, max, last: max }
}

/** Adds what came later. */
export function addSlot(slot: Slot, later: Slot): void {
  slot.count += later.count
  slot.sum += later.sum
  slot.min = Math.min(slot.min, later.min)
  slot.max = Math.max(slot.max, later.max)
  slot.last = later.last
}

/** The slot at an offset of a block; undefined when there is none. */
export function readSlot(block: Float64Array, offset: number, kind: MetricKind): Slot | undefined {
  const at = offset * widthOf(kind)
  const first = block[at]!
  if (Number.isNaN(first)) return undefined
  if (kind === 'counter') return { count: 1, sum: first, min: first, max: first, last: first }
  return { count: first, sum: block[at + 1]!, min: block[at + 2]!, max: block[at + 3]!, last: block[at + 4]! }
}

export function writeSlot(block: Float64Array, offset: number, kind: MetricKind, slot: Slot): void {
  const { count, sum, min, max, last } = slot
  block.set(kind === 'counter' ? [sum] : [count, sum, min, max, last], offset * widthOf(kind))
}

/** What an aggregate says of a time; undefined when there is nothing to say. @param seconds that it lasted */
export function aggregateOf(
  kind: MetricKind,
  aggregate: Exclude<Aggregate, 'last'>,
  { count, sum, min, max }: Slot,
  seconds: number,
): number | undefined {
  if (aggregate === 'rate') return (kind === 'counter' ? sum : count) / seconds
  if (aggregate === 'sum') return sum
  if (count === 0) return undefined
  if (aggregate === 'avg') return sum / count
  return aggregate === 'min' ? min : max
}
