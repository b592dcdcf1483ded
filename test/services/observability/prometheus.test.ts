import parse from 'parse-prometheus-text-format'
import { expect, test } from 'vitest'
import { prometheusText } from '../../../services/observability/prometheus.ts'
import { MetricStore } from '../../../services/observability/store.ts'
import { MetricRegistry } from '../../../subjects/observability/metric-registry.ts'

function textOf(source: string, registry: MetricRegistry): string {
  const store = new MetricStore()
  store.add(source, registry.drain(), Date.now())
  return prometheusText(store.select())
}

test('a parser of Prometheus reads what was measured', () => {
  const registry = new MetricRegistry()
  const labels = { city: 'C:\\Oslo "1"', plain: '' }
  registry.counter('jobs.done.total', { help: 'Jobs, by\\city', labels }).add(3)
  registry.counter('jobs.done.total', { labels: { city: 'Rome' } }).add(0.5)
  registry.gauge('depth').set(-1e-7)
  const histogram = registry.histogram('time', { help: 's' })
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
    { name: 'my_weather_time', type: 'HISTOGRAM', metrics: [{ count: '4', sum: '99999.6001' }] },
  ])
  const [{ buckets = {} } = {}] = families[2]!.metrics
  expect(buckets).toMatchObject({ '0.0001': '1', '0.2': '1', '0.5': '3', '10000': '3', '+Inf': '4' })
  expect(Object.keys(buckets)).toHaveLength(26)
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
  registry.counter('time.count').add(7)
  const text = textOf('x', registry)
  expect(text.match(/^x_time_count.*$/gm)).toEqual(['x_time_count 1'])
})
