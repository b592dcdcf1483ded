/** Where in a trace somebody is, as the W3C writes it (Trace Context, level 1); the headers have these names everywhere. */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string
  /** 16 hexadecimal digits: the span that the next one is below. */
  readonly spanId: string
  /** Two hexadecimal digits; the last bit says whether the trace is recorded. */
  readonly flags: string
  /** What other systems have said, passed on as it came. */
  readonly state?: string
}

export const traceparentHeader = 'traceparent'
export const tracestateHeader = 'tracestate'

/** What the W3C has everybody pass on at least. */
const maxStateLength = 512

const form = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/

/** undefined for what is no trace context: it is then as if there were none. */
export function parseTraceparent(traceparent: string | undefined, state?: string): TraceContext | undefined {
  if (traceparent === undefined || traceparent === '') return undefined
  const [, traceId, spanId, flags] = form.exec(traceparent) ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  // Version 00 has no more parts than these.
  if (traceparent.startsWith('00') && traceparent.length !== 55) return undefined
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  const isPassedOn = state !== undefined && state.length <= maxStateLength && /^[\x20-\x7e]+$/.test(state)
  return { traceId, spanId, flags, ...(isPassedOn ? { state } : {}) }
}

export const traceparentOf = ({ traceId, spanId, flags }: TraceContext): string =>
  `00-${traceId}-${spanId}-${flags}`

export const isSampled = ({ flags }: TraceContext): boolean => (Number.parseInt(flags, 16) & 1) === 1
