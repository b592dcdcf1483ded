import type { MsgHdrs } from '@nats-io/transport-node'
import { errorHeaderBytes, errorHeaders } from '../../client/errors.ts'
import type { GantryError } from '../../subjects/kit/errors.ts'
import { shortened } from '../../subjects/kit/shortened.ts'

/** A message that had to be cut, because with it the reply would not have fitted. */
const maxCutLength = 10_000

/** The reply that carries an error (NATS ADR-32); it always fits into a message of `maxBytes`. */
export function errorReply(
  error: GantryError,
  requestId: string,
  maxBytes: number,
): { body: string; headers: MsgHdrs } {
  const whole = error.toText(requestId)
  const { code } = error
  const message = shortened(error.message, maxCutLength)
  return {
    body: fits(whole, maxBytes - errorHeaderBytes) ? whole : JSON.stringify({ code, message, requestId }),
    headers: errorHeaders(error),
  }
}

/** Whether a text has at most so many bytes of UTF-8; counts only where its length leaves a doubt. */
export const fits = (text: string, maxBytes: number): boolean =>
  text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes
