import type { FastifyInstance } from 'fastify'
import type { Counter, MetricRegistry } from '../subjects/metric-registry.ts'
import type { HttpServerName } from '../subjects/names.ts'

/** Counts what a server is asked and how it answers. */
export function measure(app: FastifyInstance, registry: MetricRegistry, server: HttpServerName): void {
  const labels = { server }
  const requests = registry.counter('http.requests.total', { help: 'Requests over HTTP', labels })
  const latency = registry.histogram('http.latency', {
    help: 'From a request’s arrival to the end of its answer, s',
    labels,
  })
  const responses = new Map<number, Counter>(
    [2, 3, 4, 5].map((hundreds) => [
      hundreds,
      registry.counter(`http.responses.${hundreds}xx`, {
        help: `Answers over HTTP with a status of ${hundreds}00 to ${hundreds}99`,
        labels,
      }),
    ]),
  )
  app.addHook('onResponse', (_, reply, done) => {
    requests.add()
    responses.get(Math.floor(reply.statusCode / 100))?.add()
    latency.observe(reply.elapsedTime / 1_000)
    done()
  })
}
