import { describe, expect, test } from 'vitest'
import { query } from '../../../services/observability/query.ts'
import { MetricStore } from '../../../services/observability/store.ts'
import { reachMs, tiers } from '../../../services/observability/tiers.ts'
import { Measurement, metricLimits } from '../../../subjects/observability/metric-model.ts'
import { matches } from '../../../subjects/kit/validate.ts'

/** A full hour: steps begin where they are easy to read. */
const start = Date.UTC(2026, 0, 5, 12)
const secondMs = 1_000

const counter = (value: number, more: Partial<Measurement> = {}): Measurement => ({
  name: 'jobs.total',
  kind: 'counter',
  value,
  ...more,
})
const gauge = (value: number, more: Partial<Measurement> = {}): Measurement => ({
  name: 'depth',
  kind: 'gauge',
  value,
  ...more,
})
const distribution = (...values: number[]) => ({
  count: values.length,
  sum: values.reduce((sum, value) => sum + value, 0),
  min: Math.min(...values),
  max: Math.max(...values),
})
const histogram = (...values: number[]): Measurement => ({
  name: 'time',
  kind: 'histogram',
  distribution: distribution(...values),
})

/** A store with reports, each some seconds after the start. */
function filled(...reports: [seconds: number, source: string, ...measurements: Measurement[]][]) {
  const store = new MetricStore()
  for (const [seconds, source, ...measurements] of reports)
    store.add(source, measurements, start + seconds * secondMs)
  return store
}

function ask(
  store: MetricStore,
  input: Parameters<typeof query>[0],
  { seconds, finestSinceMs = 0 }: { seconds: number; finestSinceMs?: number },
) {
  return query(input, store.select(input), { nowMs: start + seconds * secondMs, finestSinceMs })
}
const values = (reply: ReturnType<typeof query>) =>
  reply.series.map(({ points }) => points.map((one) => one.value))

describe('a counter', () => {
  const store = filled([0, 'a', counter(10)], [10, 'a', counter(20)], [35, 'a', counter(5)])

  test('is a rate, a sum, or what it has come to', () => {
    const input = { name: 'jobs.total', since: '1m', step: '20s' }
    const rate = ask(store, input, { seconds: 60 })
    expect(rate).toMatchObject({ kind: 'counter', aggregate: 'rate', stepSeconds: 20 })
    expect(values(rate)).toEqual([[1.5, 0.25, 0]])
    expect(rate.series[0]!.points[0]!.time).toBe(new Date(start).toISOString())
    expect(rate.series[0]!.value).toBeCloseTo(35 / 60)
    expect(values(ask(store, { ...input, aggregate: 'sum' }, { seconds: 60 }))).toEqual([[30, 5, 0]])
    expect(values(ask(store, { ...input, aggregate: 'last' }, { seconds: 60 }))).toEqual([[30, 35, 35]])
  })

  test('has not grown when nobody says so, and was not there before it was reported', () => {
    const reply = ask(
      store,
      { name: 'jobs.total', since: '5m', step: '1m', aggregate: 'sum' },
      { seconds: 180 },
    )
    expect(reply.series[0]!.points).toEqual(
      [35, 0, 0].map((value, minute) => ({ time: new Date(start + minute * 60_000).toISOString(), value })),
    )
  })

  test('has no average', () => {
    expect(() => ask(store, { name: 'jobs.total', aggregate: 'avg' }, { seconds: 60 })).toThrow(
      /aggregate must be one of rate, sum, last for jobs.total, which is a counter/,
    )
  })
})

test('a gauge is its last value, or what it was between', () => {
  const store = filled([0, 'a', gauge(4)], [11, 'a', gauge(10)], [15, 'a', gauge(1)], [30, 'a', gauge(-2)])
  const of = (aggregate: 'last' | 'avg' | 'min' | 'max') =>
    values(ask(store, { name: 'depth', since: '40s', step: '20s', aggregate }, { seconds: 40 }))
  expect(of('last')).toEqual([[1, -2]])
  expect(of('avg')).toEqual([[5, -2]])
  expect(of('min')).toEqual([[1, -2]])
  expect(of('max')).toEqual([[10, -2]])
})

test('a histogram is an average, its ends, or how many there were', () => {
  const store = filled([0, 'a', histogram(1, 2, 6)], [10, 'a', histogram(3)])
  const of = (aggregate: 'avg' | 'min' | 'max' | 'rate' | 'sum') =>
    ask(store, { name: 'time', since: '20s', step: '20s', aggregate }, { seconds: 20 }).series[0]!.value
  expect([of('avg'), of('min'), of('max'), of('sum'), of('rate')]).toEqual([3, 1, 6, 12, 0.2])
})

test('series are chosen by source and labels, and may be put together', () => {
  const store = filled(
    [
      0,
      'a',
      counter(1, { labels: { kind: 'x', host: '1' } }),
      counter(2, { labels: { host: '2', kind: 'x' } }),
    ],
    [0, 'b', counter(4, { labels: { kind: 'y' } })],
    [10, 'a', counter(8, { labels: { host: '1', kind: 'x' } })],
  )
  const sums = (input: object) =>
    ask(store, { name: 'jobs.total', aggregate: 'sum', since: '1m', ...input }, { seconds: 60 }).series.map(
      ({ source, labels, value }) => [source, labels, value],
    )
  expect(sums({})).toEqual([
    ['a', { kind: 'x', host: '1' }, 9],
    ['a', { kind: 'x', host: '2' }, 2],
    ['b', { kind: 'y' }, 4],
  ])
  expect(sums({ source: 'b' })).toHaveLength(1)
  expect(sums({ labels: { host: '1' } })).toEqual([['a', { kind: 'x', host: '1' }, 9]])
  expect(sums({ combine: true, labels: { kind: 'x' } })).toEqual([['a', { kind: 'x' }, 11]])
  const gauges = filled([0, 'a', gauge(1)], [0, 'b', gauge(5)], [10, 'b', gauge(6)])
  const together = ask(
    gauges,
    { name: 'depth', combine: true, aggregate: 'sum', since: '1m' },
    { seconds: 60 },
  )
  expect(together.series).toMatchObject([{ source: 'a,b', value: 7 }])
})

test('one name of several kinds needs a source', () => {
  const store = filled([0, 'a', counter(1)], [0, 'b', gauge(1, { name: 'jobs.total' })])
  expect(() => ask(store, { name: 'jobs.total' }, { seconds: 60 })).toThrow(
    /source is required: jobs.total is a counter of a, a gauge of b/,
  )
})

describe('what is kept', () => {
  const hours = (count: number) => count * 3_600
  const store = new MetricStore()
  // A report a minute, for nine days.
  for (let minute = 0; minute < 9 * 24 * 60; minute++)
    store.add('a', [counter(60)], start + minute * 60 * secondMs)
  const now = { seconds: hours(9 * 24) }

  test.each([
    ['1h', '10s', 10, 361],
    ['1h', undefined, 60, 60],
    ['2h', '10s', 60, 120],
    ['24h', '1m', 60, 24 * 60],
    ['25h', '1m', 600, 25 * 6],
    ['7d', '10m', 600, 7 * 24 * 6],
    ['8d', '1h', 3_600, 8 * 24],
  ])('of %s every %s is there every %d s', (since, step, stepSeconds, points) => {
    const reply = ask(store, { name: 'jobs.total', since, ...(step && { step }) }, now)
    expect(reply.stepSeconds).toBe(stepSeconds)
    expect(Math.abs(reply.series[0]!.points.length - points)).toBeLessThanOrEqual(1)
    if (stepSeconds > 10) for (const { value } of reply.series[0]!.points) expect(value).toBeCloseTo(1, 5)
  })

  test('is bounded, whatever is reported', () => {
    store.prune(start + now.seconds * secondMs)
    const [series] = store.select()
    const count = tiers.map((tier) => [...series!.slots(tier, 0, Infinity)].length)
    expect(count.every((slots, index) => slots <= tiers[index]!.blocks * 60)).toBe(true)
    expect(tiers[2].blocks * tiers[2].seconds * 60).toBeGreaterThan(hours(7 * 24))
  })

  test('is forgotten when nobody has reported it for as long', () => {
    const old = filled([0, 'a', counter(1)])
    expect(old.prune(start + reachMs(tiers[2]))).toEqual([])
    expect(old.prune(start + reachMs(tiers[2]) + 700_000)).toHaveLength(1)
    expect(old.select()).toEqual([])
  })

  test('is coarser for times before the process', () => {
    const reply = ask(
      store,
      { name: 'jobs.total', since: '30m', step: '10s' },
      { ...now, finestSinceMs: start + (now.seconds - 60) * secondMs },
    )
    expect(reply).toMatchObject({
      stepSeconds: 60,
      stepReason: 'this window has one value every 60 s, because the platform was started during this time',
    })
    const input = { name: 'jobs.total', since: '6h', step: '30s' }
    expect(ask(store, input, now)).toMatchObject({
      stepSeconds: 60,
      stepReason: 'this window has one value every 60 s',
    })
    expect(ask(store, { ...input, step: '2m' }, now).stepReason).toBeUndefined()
  })
})

test('a report of the largest values leaves all that is asked for finite', () => {
  const { value } = metricLimits
  const store = filled()
  for (let seconds = 0; seconds < 60; seconds++)
    store.add('a', [counter(value), histogram(value, value), gauge(-value)], start + seconds * secondMs)
  for (const [name, aggregate] of [
    ['jobs.total', 'sum'],
    ['jobs.total', 'last'],
    ['time', 'sum'],
    ['depth', 'avg'],
  ] as const) {
    const [series] = ask(store, { name, aggregate, since: '1m' }, { seconds: 60 }).series
    expect(Number.isFinite(series!.value)).toBe(true)
  }
  for (const wrong of [1e308, -1e308, 2 * value]) {
    expect(matches(Measurement, counter(wrong))).toBe(false)
    expect(matches(Measurement, histogram(wrong))).toBe(false)
  }
})

describe('a report is refused', () => {
  const contradicting = (more: object): Measurement => ({
    name: 'time',
    kind: 'histogram',
    distribution: { ...distribution(1, 2), ...more },
  })
  const store = filled([0, 'a', counter(1)])
  test.each<[string, Measurement, RegExp]>([
    [
      'a smallest above the largest',
      contradicting({ min: 9 }),
      /distribution\.min must not be greater than max/,
    ],
    ['a sum below all values', contradicting({ sum: -5 }), /distribution\.sum must be between 2 and 4/],
    ['a sum above all values', contradicting({ sum: 5 }), /distribution\.sum must be between 2 and 4/],
    [
      'other values in its buckets',
      contradicting({ buckets: Array.from({ length: 26 }, () => 5) }),
      /distribution\.buckets must add up to count, 2, not 130/,
    ],
    [
      'a label of the buckets',
      { ...histogram(1), labels: { le: '1' } },
      /labels\.le is reserved for the buckets/,
    ],
    ['a counter that shrinks', counter(-1), /measurements\[0\]\.value must not be negative/],
    ['no value', { name: 'x', kind: 'gauge' }, /measurements\[0\]\.value is required for a gauge/],
    [
      'no distribution',
      { name: 'x', kind: 'histogram', value: 1 },
      /measurements\[0\]\.distribution is required/,
    ],
    [
      'another kind with other labels',
      gauge(1, { name: 'jobs.total', labels: { id: '1' } }),
      /measurements\[0\]\.kind must be counter, the kind in earlier reports of jobs\.total/,
    ],
    [
      'another kind',
      gauge(1, { name: 'jobs.total' }),
      /measurements\[0\]\.kind must be counter, the kind in earlier reports of jobs\.total/,
    ],
  ])('%s', (_, measurement, problem) => {
    expect(() => store.add('a', [measurement], start)).toThrow(problem)
  })

  test('as a whole, when it has too many series', () => {
    const many = Array.from({ length: metricLimits.seriesOfSource }, (_, index) =>
      counter(1, { labels: { id: String(index) } }),
    )
    expect(() => store.add('a', many, start)).toThrow(/a would have 201 series, but the limit is 200/)
    expect(store.select()).toHaveLength(1)
    for (const source of ['b', 'c', 'd', 'e']) store.add(source, many, start)
    expect(() => store.add('f', many, start)).toThrow(
      /all sources together already have 801 series, and the limit is 1000/,
    )
  })
})

test('points of a reply are bounded', () => {
  const store = filled([0, 'a', counter(1)])
  expect(() => ask(store, { name: 'jobs.total', since: '8d', step: '1s' }, { seconds: 60 })).not.toThrow()
  expect(() => ask(store, { name: 'jobs.total', since: '9d' }, { seconds: 60 })).toThrow(
    /since must be between/,
  )
})
