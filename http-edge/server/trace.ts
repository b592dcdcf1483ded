import type { FastifyRequest } from 'fastify'
import type { BeginSpan, Span } from '../../broker/messages/tracing.ts'
import {
  parseTraceparent,
  type TraceContext,
  traceparentHeader,
  tracestateHeader,
} from '../../subjects/kit/trace-context.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Of a request that belongs to a trace which is recorded; ends with its answer. */
    span: Span | null
  }
}

/** What a call that is made for a request says of its trace; undefined for one that belongs to none. */
export function tracedBy(
  request: FastifyRequest,
  beginSpan: BeginSpan,
): { readonly trace: TraceContext } | undefined {
  const { headers } = request
  const parent = headers[traceparentHeader]
  if (typeof parent !== 'string') return undefined
  const state = headers[tracestateHeader]
  const context = parseTraceparent(parent, Array.isArray(state) ? state.join(',') : state)
  if (context === undefined) return undefined
  const { method, routeOptions, id } = request
  const route = routeOptions.url ?? ''
  request.span ??=
    beginSpan(context, `${method} ${route}`, {
      'http.request.method': method,
      'http.route': route,
      'gantry.request.id': id,
    }) ?? null
  return { trace: request.span?.context ?? context }
}
