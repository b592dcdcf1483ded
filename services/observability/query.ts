import type { Input, Output } from '../../subjects/kit/contract.ts'
import { durationMs } from '../../subjects/kit/duration.ts'
import { notAccepted } from '../../subjects/kit/errors.ts'
import { type Aggregate, aggregatesOf, type MetricKind } from '../../subjects/observability/metric-model.ts'
import {
  defaultWindow,
  longestWindow,
  maxPoints,
  maxPointsOfSeries,
  type observability,
} from '../../subjects/observability/observability.ts'
import type { Series } from './series.ts'
import { addSlot, aggregateOf, emptySlot, type Slot } from './slots.ts'
import { reachMs, type Tier, tiers } from './tiers.ts'

type Query = (typeof observability)['query_scalar_metrics']
type Points = Output<Query>['series'][number]['points']

/** Steps of a window when none is asked for: a line of a terminal. */
const defaultSteps = 60

/** Which times are meant. */
interface Window {
  readonly tier: Tier
  readonly stepMs: number
  readonly fromMs: number
  readonly toMs: number
  readonly nowMs: number
}

export interface QueryContext {
  readonly nowMs: number
  /** From when on all resolutions are there: what is finest does not outlive the process. */
  readonly finestSinceMs: number
}

/**
 * Answers a query from the series that match it, of which there is at least one.
 * @throws GantryError NOT_ACCEPTED that names the field and what to do
 */
export function query(input: Input<Query>, series: readonly Series[], context: QueryContext): Output<Query> {
  const kind = kindOf(series, input.name)
  const { aggregate = aggregatesOf[kind][0]!, combine = false } = input
  if (!aggregatesOf[kind].includes(aggregate)) {
    const may = aggregatesOf[kind].join(', ')
    throw notAccepted('aggregate', `must be one of ${may} for ${input.name}, which is a ${kind}`)
  }
  const window = windowOf(input, context)
  const groups = combine ? [series] : series.map((one) => [one])
  const steps = (window.toMs - window.fromMs) / window.stepMs
  if (steps > maxPointsOfSeries || steps * groups.length > maxPoints) {
    const series = `${groups.length} series of ${Math.ceil(steps)} steps`
    throw notAccepted(
      'step',
      `is too short: ${series} are too many for one reply. Use a longer step, fewer series, or combine`,
    )
  }
  return {
    name: input.name,
    kind,
    aggregate,
    from: new Date(window.fromMs).toISOString(),
    to: new Date(window.toMs).toISOString(),
    stepSeconds: window.stepMs / 1_000,
    ...stepReason(input, window, context),
    series: groups.map((group) => {
      const value = overall(kind, aggregate, group, window)
      const { source, labels } = group[0]!.key
      return {
        source: combine ? commonSource(group) : source,
        labels: combine ? (input.labels ?? {}) : labels,
        ...(value === undefined ? {} : { value }),
        points: pointsOf(kind, aggregate, group, window),
      }
    }),
  }
}

function kindOf(series: readonly Series[], name: string): MetricKind {
  const kinds = new Map(series.map(({ key }) => [key.kind, key.source]))
  if (kinds.size === 1) return series[0]!.key.kind
  const each = [...kinds].map(([kind, source]) => `a ${kind} of ${source}`).join(', ')
  throw notAccepted('source', `is required: ${name} is ${each}`)
}

const commonSource = (group: readonly Series[]): string =>
  [...new Set(group.map(({ key }) => key.source))].join(',').slice(0, 63)

function windowOf({ since = defaultWindow, until, step }: Input<Query>, context: QueryContext): Window {
  const { nowMs, finestSinceMs } = context
  const sinceMs = durationMs(since)
  if (sinceMs === 0 || sinceMs > durationMs(longestWindow))
    throw notAccepted('since', `must be between 1s and ${longestWindow}`)
  const endMs = Math.min(nowMs, until === undefined ? nowMs : Date.parse(until))
  const wantedMs = step === undefined ? sinceMs / defaultSteps : durationMs(step)
  if (wantedMs === 0) throw notAccepted('step', 'must be at least 1s')
  const tier =
    tiers.find(
      (one) => endMs - sinceMs >= nowMs - reachMs(one) && (one.isStored || endMs - sinceMs >= finestSinceMs),
    ) ?? tiers[2]
  const slotMs = tier.seconds * 1_000
  const stepMs = Math.max(1, Math.ceil(wantedMs / slotMs)) * slotMs
  return {
    tier,
    stepMs,
    fromMs: Math.floor((endMs - sinceMs) / stepMs) * stepMs,
    // The step of now is not over, and what has come of it is told.
    toMs: Math.ceil(endMs / stepMs) * stepMs,
    nowMs,
  }
}

/** Nobody is to take the values for others than those that were asked for. */
function stepReason(
  { step }: Input<Query>,
  { tier, stepMs, fromMs }: Window,
  { nowMs, finestSinceMs }: QueryContext,
): { stepReason?: string } {
  if (step === undefined || stepMs <= durationMs(step)) return {}
  const isLost = tier !== tiers[0] && fromMs >= nowMs - reachMs(tiers[0]) - stepMs && fromMs < finestSinceMs
  const since = isLost ? ', because the platform was started during this time' : ''
  return { stepReason: `this window has one value every ${tier.seconds} s${since}` }
}

/** What a counter had counted at the end of a window. */
function totalAt(series: Series, { tier, toMs, nowMs }: Window): number {
  let total = series.total
  for (const { slot } of series.slots(tier, toMs, nowMs + 1)) total -= slot.sum
  return total
}

/** The slots of each step of one series, by the beginning of the step. */
function stepsOf(series: Series, { tier, stepMs, fromMs, toMs }: Window): Map<number, Slot> {
  const steps = new Map<number, Slot>()
  for (const { startMs, slot } of series.slots(tier, fromMs, toMs)) {
    const step = Math.floor(startMs / stepMs) * stepMs
    const known = steps.get(step)
    if (known === undefined) steps.set(step, slot)
    else addSlot(known, slot)
  }
  return steps
}

function pointsOf(kind: MetricKind, aggregate: Aggregate, group: readonly Series[], window: Window): Points {
  const { fromMs, toMs, stepMs, nowMs, tier } = window
  const all = group.map((series) => stepsOf(series, window))
  const firstMs = Math.min(...group.map((series) => series.firstMs))
  const totals = group.map((series) => totalAt(series, window))
  const points: Points = []
  // Backwards: what a counter had counted by a time follows from what it has counted now.
  for (let step = toMs - stepMs; step >= fromMs; step -= stepMs) {
    const slots = all.map((steps) => steps.get(step))
    const seconds = Math.max(tier.seconds, Math.min(stepMs, nowMs - step) / 1_000)
    const value = valueAt({ kind, aggregate, slots, seconds, totals, wasThere: step + stepMs > firstMs })
    for (const [index, slot] of slots.entries()) totals[index]! -= slot?.sum ?? 0
    if (value !== undefined) points.push({ time: new Date(step).toISOString(), value })
  }
  return points.toReversed()
}

interface Moment {
  readonly kind: MetricKind
  readonly aggregate: Aggregate
  /** Of each series. */
  readonly slots: readonly (Slot | undefined)[]
  readonly seconds: number
  /** Of each series: what a counter had counted in the end. */
  readonly totals: readonly number[]
  /** Whether there was any of the series by then: a counter that is not heard of has not grown. */
  readonly wasThere: boolean
}

function valueAt({ kind, aggregate, slots, seconds, totals, wasThere }: Moment): number | undefined {
  const there = slots.filter((slot) => slot !== undefined)
  if (kind === 'counter' && aggregate === 'last')
    return wasThere ? totals.reduce((sum, total) => sum + total, 0) : undefined
  if (there.length === 0)
    return wasThere && kind !== 'gauge' && (aggregate === 'rate' || aggregate === 'sum') ? 0 : undefined
  // Of gauges what they are together: the sum of all readings over time says nothing.
  if (kind === 'gauge' && aggregate === 'sum') return there.reduce((sum, { last }) => sum + last, 0)
  if (aggregate === 'last') return there.at(-1)!.last
  const merged = emptySlot()
  for (const slot of there) addSlot(merged, slot)
  return aggregateOf(kind, aggregate, merged, seconds)
}

/** The aggregate of the whole window, as if it were one step. */
function overall(
  kind: MetricKind,
  aggregate: Aggregate,
  group: readonly Series[],
  window: Window,
): number | undefined {
  const { tier, fromMs, toMs, nowMs } = window
  const slots = group.map((series) => {
    let merged: Slot | undefined
    for (const { slot } of series.slots(tier, fromMs, toMs)) {
      if (merged === undefined) merged = slot
      else addSlot(merged, slot)
    }
    return merged
  })
  const seconds = Math.max(tier.seconds, (Math.min(toMs, nowMs) - fromMs) / 1_000)
  const totals = group.map((series) => totalAt(series, window))
  return valueAt({ kind, aggregate, slots, seconds, totals, wasThere: true })
}
