import type { FastifyInstance } from 'fastify'
import type { Log } from '../broker/log.ts'
import type { Counter, MetricRegistry } from '../subjects/metric-registry.ts'
import type { HttpServerName } from '../subjects/names.ts'
import { pathOf } from './failures.ts'

/** Counts what a server is asked and how it answers, and ends the spans of requests. */
export function measure(
  app: FastifyInstance,
  { server, metrics: registry, log }: { server: HttpServerName; metrics: MetricRegistry; log: Log },
): void {
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
  app.addHook('onResponse', (request, reply, done) => {
    const { statusCode, elapsedTime } = reply
    requests.add()
    responses.get(Math.floor(statusCode / 100))?.add()
    latency.observe(elapsedTime / 1_000)
    request.span?.end(statusCode < 500 ? undefined : String(statusCode), {
      'http.response.status_code': statusCode,
    })
    if (log.level === 'debug') {
      const { id: requestId, method } = request
      const path = pathOf(request)
      log.debug(
        { requestId, method, path, status: statusCode, ms: Math.round(elapsedTime) },
        'Answered over HTTP.',
      )
    }
    done()
  })
}
