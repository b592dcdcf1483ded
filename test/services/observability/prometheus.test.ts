import parse from 'parse-prometheus-text-format'
import { describe, expect, test } from 'vitest'
import { prometheusText } from '../../../services/observability/prometheus.ts'
import { MetricStore } from '../../../services/observability/store.ts'
import { MetricRegistry } from '../../../subjects/observability/metric-registry.ts'

const startMs = Date.now()

function textOf(source: string, registry: MetricRegistry, laterMs = 0): string {
  const store = new MetricStore()
  store.add(source, registry.drain(), startMs)
  return prometheusText(store.select(), startMs + laterMs)
}

test('a parser of Prometheus reads what was measured', () => {
  const registry = new MetricRegistry()
  const labels = { city: 'C:\\Oslo "1"', plain: '' }
  registry.counter('jobs.done.total', { help: 'Jobs, by\\city', labels }).add(3)
  registry.counter('jobs.done.total', { labels: { city: 'Rome' } }).add(0.5)
  registry.gauge('depth').set(-1e-7)
  const histogram = registry.histogram('weight', { help: 'Points' })
  for (const seconds of [0.0001, 0.3, 0.3, 99_999]) histogram.observe(seconds)
  const families = parse(textOf('my-weather', registry))
  expect(families).toMatchObject([
    { name: 'my_weather_depth', type: 'GAUGE', metrics: [{ value: '-1e-7' }] },
    {
      name: 'my_weather_jobs_done_total',
      type: 'COUNTER',
      help: 'Jobs, by\\city',
      metrics: [
        { value: '3', labels },
        { value: '0.5', labels: { city: 'Rome' } },
      ],
    },
    { name: 'my_weather_weight', type: 'HISTOGRAM', metrics: [{ count: '4', sum: '99999.6001' }] },
  ])
  const [{ buckets = {} } = {}] = families[2]!.metrics
  expect(buckets).toMatchObject({ '0.0001': '1', '0.1': '1', '0.5': '3', '10000': '3', '+Inf': '4' })
  expect(Object.keys(buckets)).toHaveLength(18)
})

test('of two metrics that would have one name there, the first is told', () => {
  const registry = new MetricRegistry()
  registry.gauge('a.b').set(1)
  registry.gauge('a_b').set(2)
  expect(parse(textOf('x', registry))).toMatchObject([{ name: 'x_a_b', metrics: [{ value: '1' }] }])
})

test('nothing is told under a name of a part of a histogram', () => {
  const registry = new MetricRegistry()
  registry.histogram('time').observe(1)
  registry.gauge('time.count.2').set(7)
  registry.gauge('time.sum').set(7)
  const text = textOf('x', registry)
  expect(text.match(/^x_time_(?:count|sum) .*$/gm)).toEqual(['x_time_sum 1', 'x_time_count 1'])
})

describe('names are those of Prometheus', () => {
  const namesOf = (source: string, registry: MetricRegistry) =>
    parse(textOf(source, registry)).map(({ name }) => name)

  test('counters, and they alone, end in _total; nothing looks like a part of a histogram', () => {
    const registry = new MetricRegistry()
    registry.counter('jobs').add()
    registry.counter('replies.total').add()
    registry.gauge('workers.total').set(1)
    registry.gauge('queues.count').set(1)
    expect(namesOf('x', registry)).toEqual(['x_jobs_total', 'x_queues', 'x_replies_total', 'x_workers'])
  })

  test('what is in our own names is a label, or a unit', () => {
    const registry = new MetricRegistry()
    registry.counter('http.responses.2xx', { labels: { server: 'platform' } }).add(3)
    registry.counter('http.responses.5xx', { labels: { server: 'platform' } }).add(1)
    registry.histogram('http.latency').observe(0.3)
    expect(parse(textOf('gantry', registry))).toMatchObject([
      { name: 'gantry_http_latency_seconds' },
      {
        name: 'gantry_http_responses_total',
        metrics: [
          { value: '3', labels: { server: 'platform', status: '2xx' } },
          { value: '1', labels: { server: 'platform', status: '5xx' } },
        ],
      },
    ])
    expect(namesOf('other', registry)).not.toContain('other_http_responses_total')
  })
})

test('a time has ten buckets, and each has all that is below it', () => {
  const registry = new MetricRegistry()
  for (const seconds of [0.0001, 0.002, 0.3, 99]) registry.histogram('job.seconds').observe(seconds)
  const [{ buckets } = {}] = parse(textOf('x', registry))[0]!.metrics
  expect(buckets).toEqual({
    '0.001': '1',
    '0.005': '2',
    '0.01': '2',
    '0.05': '2',
    '0.1': '2',
    '0.5': '3',
    '1': '3',
    '5': '3',
    '10': '3',
    '+Inf': '4',
  })
})

test('a gauge that nobody sets any more is gone after five minutes; a counter stays', () => {
  const registry = new MetricRegistry()
  registry.gauge('lag.seconds').set(700)
  registry.counter('jobs').add()
  const laterMs = 6 * 60_000
  expect(parse(textOf('x', registry, laterMs)).map(({ name }) => name)).toEqual(['x_jobs_total'])
})
