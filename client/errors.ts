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
import type { Contract } from '../subjects/kit/contract.ts'
import { GantryError } from '../subjects/kit/errors.ts'
import { messageHeaders } from '../subjects/kit/names.ts'

/** What a caller hears of a token that was refused, whatever the reason. */
export const invalidToken = (cause?: unknown): GantryError =>
  new GantryError('UNAUTHENTICATED', 'the token is not valid here', { cause })

/** What a caller asked for, as far as a refusal tells of it. */
export type Refused = Pick<Contract, 'summary' | 'lasting'>

/**
 * What a failure of the broker means to the caller.
 * @param refused what was called
 */
export function brokerError(error: unknown, subject: string, refused?: Refused): GantryError {
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
  if (cause instanceof PermissionViolationError) return deniedBy(cause, refused)
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

/** The refusal of the broker, in words where it is of a capability, with the rule that would allow it. */
export function deniedBy(cause: PermissionViolationError, refused?: Refused): GantryError<'DENIED'> {
  const { operation, subject } = cause
  const isCall = operation === 'publish' && refused !== undefined
  const does = isCall ? deedOf(refused) : `${operation} to ${subject}`
  const text = `this key may not ${does}: it needs a rule for ${isCall ? subject : 'it'} in ${operation === 'publish' ? 'pub' : 'sub'}.allow`
  const hint = isCall && refused.lasting ? hintForReplaced : ''
  return new GantryError('DENIED', `${text}${hint}`, { cause })
}

/** What a capability does, within a sentence: without the order of a list, and without what it says beside. */
function deedOf({ summary }: Refused): string {
  const deed = summary.replace(/, (?:newest|oldest) first$| \(.*\)$|[:;] .*$/, '')
  return deed.charAt(0).toLowerCase() + deed.slice(1)
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
