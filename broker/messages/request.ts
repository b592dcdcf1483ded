import type { Msg } from '@nats-io/transport-node'
import { GantryError } from '../../subjects/kit/errors.ts'
import { unguessable } from '../../subjects/kit/unguessable.ts'
import { maxRequestBytes } from '../common/message-limits.ts'
import { fits } from './error-reply.ts'
import { isRequestId, requestIdHeader } from './headers.ts'

/** The input; an empty body is an empty input, so that a call without fields works by hand. */
export function bodyOf(message: Msg): unknown {
  if (message.data.length === 0) return {}
  if (message.data.length > maxRequestBytes) throw tooLarge()
  let input: unknown
  try {
    input = message.json()
  } catch {
    throw new GantryError('INVALID_INPUT', 'input: the body is not valid JSON')
  }
  // UTF-8 has no other way to write half of a character; most bodies have no such escape, and are not written out again.
  const bytes = Buffer.from(message.data.buffer, message.data.byteOffset, message.data.byteLength)
  if (bytes.includes('\\u') && (bytes.includes('\\ud') || bytes.includes('\\uD'))) textOf(input)
  return input
}

/** After an even number of backslashes, which are a text of backslashes; pairs are written as the characters that they are. */
const loneSurrogate = /(?<!\\)(?:\\\\)*\\ud[89a-f][0-9a-f]{2}/

/**
 * An input as JSON.
 * @throws GantryError INVALID_INPUT for what no answer could hold: half of a character, and values in values without end,
 * which a text can hold and no stack can follow
 */
export function textOf(input: unknown): string {
  let text: string
  try {
    text = JSON.stringify(input)
  } catch (cause) {
    throw new GantryError('INVALID_INPUT', 'input: the body is nested too deeply', { cause })
  }
  if (text.includes('\\ud') && loneSurrogate.test(text))
    throw new GantryError(
      'INVALID_INPUT',
      'input: the body contains an unpaired surrogate: send both halves of the pair, or remove it',
    )
  return text
}

/** nats-server takes hardly more from a client. */
export const isTooLarge = (body: string): boolean => !fits(body, maxRequestBytes)

export const tooLarge = () =>
  new GantryError(
    'TOO_LARGE',
    `the request is larger than ${maxRequestBytes} bytes: split it into several requests`,
  )

/** The id that the caller gave the request, if it is fit to be logged; else a new one. */
export function requestIdOf(message: Msg): string {
  try {
    const given = message.headers?.get(requestIdHeader)
    return given !== undefined && isRequestId(given) ? given : unguessable()
  } catch {
    // The lines of a client that writes them by hand need not be headers.
    return unguessable()
  }
}
