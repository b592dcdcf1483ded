import { randomBytes } from 'node:crypto'
import type { Msg } from '@nats-io/transport-node'
import {
  isSampled,
  parseTraceparent,
  type TraceContext,
  traceparentHeader,
  tracestateHeader,
} from '../../subjects/kit/trace-context.ts'

/** A piece of work in a trace, when it is over. Times are milliseconds since 1970. */
export interface FinishedSpan {
  readonly context: TraceContext
  readonly parentSpanId: string
  readonly name: string
  readonly startMs: number
  readonly endMs: number
  readonly attributes: Readonly<Record<string, string | number>>
  /** Code of the error that it ended with. */
  readonly error: string | undefined
}

/** A piece of work that has begun. */
export interface Span {
  /** What whoever is asked in it is told. */
  readonly context: TraceContext
  end(error?: string, attributes?: FinishedSpan['attributes']): void
}

/** Begins a span below another one; undefined when nobody records that trace. */
export type BeginSpan = (
  parent: TraceContext,
  name: string,
  attributes: FinishedSpan['attributes'],
) => Span | undefined

/** @param take gets each span when it is over */
export const tracer =
  (take: (span: FinishedSpan) => void): BeginSpan =>
  (parent, name, attributes) => {
    if (!isSampled(parent)) return undefined
    const context = { ...parent, spanId: randomBytes(8).toString('hex') }
    const startMs = performance.timeOrigin + performance.now()
    return {
      context,
      end: (error, more = {}) =>
        take({
          context,
          parentSpanId: parent.spanId,
          name,
          startMs,
          endMs: performance.timeOrigin + performance.now(),
          attributes: { ...attributes, ...more },
          error,
        }),
    }
  }

/** The trace that a message belongs to. */
export function traceOf(message: Msg): TraceContext | undefined {
  try {
    const { headers } = message
    const parent = headers?.get(traceparentHeader)
    return parent ? parseTraceparent(parent, headers?.get(tracestateHeader) || undefined) : undefined
  } catch {
    // The lines of a client that writes them by hand need not be headers.
    return undefined
  }
}
