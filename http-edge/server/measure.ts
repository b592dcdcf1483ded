import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Log } from '../../broker/common/log.ts'
import type { Counter, MetricRegistry } from '../../subjects/observability/metric-registry.ts'
import { latencyMetrics, responsesOf, statusDigits } from '../../subjects/observability/own-metrics.ts'
import type { HttpServerName } from '../../subjects/kit/names.ts'
import { pathOf } from './failures.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** When it arrived, of `performance.now()`. */
    beganMs: number
  }
}

/** Takes note of a request that is being answered. */
export type Measure = (request: FastifyRequest, reply: FastifyReply) => void

/**
 * Counts what a server is asked and how it answers, and ends the spans of requests: when the answer is ready to be sent. A
 * hook for when it was sent would cost each request some microseconds more.
 */
export function measurer({
  server,
  metrics: registry,
  log,
}: {
  server: HttpServerName
  metrics: MetricRegistry
  log: Log
}): Measure {
  const labels = { server }
  const requests = registry.counter('http.requests.total', { help: 'HTTP requests', labels })
  const latency = registry.histogram(latencyMetrics.http, {
    help: 'Time from the arrival of a request to the start of its response, in seconds',
    labels,
  })
  const responses = new Map<number, Counter>(
    statusDigits.map((digit) => [
      digit,
      registry.counter(responsesOf(digit), {
        help: 'HTTP responses by status class',
        labels,
      }),
    ]),
  )
  return (request, { statusCode }) => {
    const elapsedMs = performance.now() - request.beganMs
    requests.add()
    responses.get(Math.floor(statusCode / 100))?.add()
    latency.observe(elapsedMs / 1_000)
    request.span?.end(statusCode < 500 ? undefined : String(statusCode), {
      'http.response.status_code': statusCode,
    })
    if (log.level !== 'debug') return
    const { id: requestId, method } = request
    const details = { requestId, method, path: pathOf(request), status: statusCode }
    log.debug({ ...details, ms: Math.round(elapsedMs) }, 'Answered over HTTP.')
  }
}
