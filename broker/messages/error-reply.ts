import { headers, type MsgHdrs } from '@nats-io/transport-node'
import type { GantryError } from '../../subjects/kit/errors.ts'
import { shortened } from '../../subjects/kit/shortened.ts'
import { headerText, serviceErrorCodeHeader, serviceErrorHeader } from './headers.ts'

/** The header is for a first look, by hand; the whole message is in the body. */
const maxHeaderLength = 1_000
/** A message that had to be cut, because with it the reply would not have fitted. */
const maxCutLength = 10_000

/** The reply that carries an error (NATS ADR-32); it always fits into a message of `maxBytes`. */
export function errorReply(
  error: GantryError,
  requestId: string,
  maxBytes: number,
): { body: string; headers: MsgHdrs } {
  const head = headers()
  head.set(serviceErrorHeader, headerText(error.message).slice(0, maxHeaderLength))
  head.set(serviceErrorCodeHeader, String(error.status))
  const whole = error.toText(requestId)
  const { code } = error
  const message = shortened(error.message, maxCutLength)
  return {
    body: fits(whole, maxBytes - 4 * maxHeaderLength) ? whole : JSON.stringify({ code, message, requestId }),
    headers: head,
  }
}

/** Whether a text has at most so many bytes of UTF-8; counts only where its length leaves a doubt. */
export const fits = (text: string, maxBytes: number): boolean =>
  text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes
