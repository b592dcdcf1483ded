import {
  AuthorizationError,
  ClosedConnectionError,
  ConnectionError,
  DrainingConnectionError,
  headers,
  type MsgHdrs,
  NoRespondersError,
  PermissionViolationError,
  RequestError,
  TimeoutError,
  UserAuthenticationExpiredError,
} from '@nats-io/nats-core'
import { GantryError } from '../subjects/kit/errors.ts'
import { messageHeaders } from '../subjects/kit/names.ts'

/** What a caller hears of a token that was refused, whatever the reason. */
export const invalidToken = (cause?: unknown): GantryError =>
  new GantryError('UNAUTHENTICATED', 'the token is not valid here', { cause })

/**
 * What a failure of the broker means to the caller.
 * @param isLasting whether a token that was replaced may not call what was called
 */
export function brokerError(error: unknown, subject: string, isLasting = false): GantryError {
  if (error instanceof GantryError) return error
  const cause = error instanceof RequestError ? error.cause : error
  if (
    error instanceof NoRespondersError ||
    cause instanceof NoRespondersError ||
    (error instanceof RequestError && error.isNoResponders())
  ) {
    return new GantryError(
      'UNAVAILABLE',
      `nothing answers on ${subject}: check the spelling of the subject, and that its service is running`,
    )
  }
  if (cause instanceof PermissionViolationError) return deniedBy(cause, isLasting)
  if (error instanceof TimeoutError || cause instanceof TimeoutError) {
    return new GantryError('TIMEOUT', `${subject} did not answer in time`, { cause: error })
  }
  if (cause instanceof AuthorizationError || cause instanceof UserAuthenticationExpiredError) {
    return invalidToken(cause)
  }
  if (
    cause instanceof ClosedConnectionError ||
    cause instanceof DrainingConnectionError ||
    cause instanceof ConnectionError ||
    isOfSocket(cause)
  ) {
    return new GantryError('UNAVAILABLE', 'the broker cannot be reached', { cause })
  }
  // The client gives up what is under way when it loses its connection, and says no more than that, once or twice.
  if (error instanceof RequestError && (cause === undefined || cause instanceof RequestError)) {
    return new GantryError('UNAVAILABLE', 'the connection to the broker was lost before the reply arrived', {
      cause: error,
    })
  }
  return new GantryError('INTERNAL', 'the call failed', { cause: error })
}

/** The refusal of the broker, with the rule that would allow it. */
export function deniedBy(cause: PermissionViolationError, isLasting = false): GantryError<'DENIED'> {
  const { operation, subject } = cause
  const text =
    operation === 'publish'
      ? `this key may not publish to ${subject}: it needs a rule for it in pub.allow`
      : `this key may not subscribe to ${subject}: it needs a rule for it in sub.allow`
  const hint = isLasting && operation === 'publish' ? hintForReplaced : ''
  return new GantryError('DENIED', `${text}${hint}`, { cause })
}

/** The broker says no more than what it refused; the key itself may have the rule. */
const hintForReplaced = '; nor may a token that was replaced when its key was rotated: use the new one'

/** What the system says of a socket (`ECONNRESET`), which the client passes on as it is when it is connecting. */
const isOfSocket = (error: unknown): boolean => error instanceof Error && 'syscall' in error

/** The header is for a first look, by hand; the whole message is in the body. */
const maxHeaderLength = 1_000

/** What these headers take of a message at most: names, a status, and a text whose characters may be four bytes. */
export const errorHeaderBytes = 4 * maxHeaderLength + 200

/** The headers of an answer that is an error (NATS ADR-32). */
export function errorHeaders(error: GantryError): MsgHdrs {
  const head = headers()
  // A header cannot carry a line break.
  head.set(messageHeaders.error, error.message.replaceAll(/[\r\n]+/g, ' ').slice(0, maxHeaderLength))
  head.set(messageHeaders.errorCode, String(error.status))
  return head
}
