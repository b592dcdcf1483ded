import { type Msg, nuid } from '@nats-io/transport-node'
import { GantryError } from '../subjects/errors.ts'
import { isRequestId, requestIdHeader } from './headers.ts'

/** The largest input, on every way in: a key with 400 rules is 100 kB; files never come this way. */
export const maxRequestBytes = 2 ** 20

/** The input; an empty body is an empty input, so that a call without fields works by hand. */
export function bodyOf(message: Msg): unknown {
  if (message.data.length === 0) return {}
  if (message.data.length > maxRequestBytes)
    throw new GantryError('TOO_LARGE', `the request is larger than ${maxRequestBytes} bytes`)
  try {
    return message.json()
  } catch {
    throw new GantryError('INVALID_INPUT', 'input: the body is not valid JSON')
  }
}

/** The id that the caller gave the request, if it is fit to be logged; else a new one. */
export function requestIdOf(message: Msg): string {
  try {
    const given = message.headers?.get(requestIdHeader)
    return given !== undefined && isRequestId(given) ? given : nuid.next()
  } catch {
    // The lines of a client that writes them by hand need not be headers.
    return nuid.next()
  }
}
