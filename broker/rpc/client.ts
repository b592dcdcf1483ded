import {
  AuthorizationError,
  ClosedConnectionError,
  ConnectionError,
  DrainingConnectionError,
  headers,
  type Msg,
  type NatsConnection,
  NoRespondersError,
  PermissionViolationError,
  RequestError,
  TimeoutError,
  UserAuthenticationExpiredError,
} from '@nats-io/transport-node'
import { isUtf8 } from 'node:buffer'
import { type Contract, defaultDeadlineMs, type Input, type Output } from '../../subjects/kit/contract.ts'
import { errorOf, GantryError } from '../../subjects/kit/errors.ts'
import {
  type TraceContext,
  traceparentHeader,
  traceparentOf,
  tracestateHeader,
} from '../../subjects/kit/trace-context.ts'
import {
  clientAddressHeader,
  requestIdHeader,
  serviceErrorCodeHeader,
  serviceErrorHeader,
} from '../messages/headers.ts'
import { currentRequest } from '../messages/request-context.ts'
import { requireFitting } from '../messages/request.ts'

/** The caller waits a little longer than the service, so that the service's own TIMEOUT arrives. */
const graceMs = 500

export interface CallOptions {
  /** Default: that of the request which is worked on. */
  readonly requestId?: string
  /** Default: the same. */
  readonly trace?: TraceContext
  readonly timeoutMs?: number
  /** Of the client for whom the edge asks, with its mark. */
  readonly markedAddress?: string
}

/** Deadline of a contract's callers, in milliseconds. */
export const deadlineOf = (contract: Contract): number => contract.deadlineMs ?? defaultDeadlineMs

/**
 * Calls a capability over any connection that may publish on its subject.
 * @throws GantryError: the contract's own codes, and DENIED, UNAVAILABLE, TIMEOUT, UNAUTHENTICATED from the broker;
 * INTERNAL when the answer cannot be read.
 */
export async function call<C extends Contract>(
  connection: NatsConnection,
  contract: C,
  input: Input<C>,
  options: CallOptions = {},
): Promise<Output<C>> {
  const reply = await send(connection, contract, JSON.stringify(input), options)
  if (isError(reply)) throw replyError(reply)
  const { answer, problem } = read(reply)
  if (problem !== undefined) throw failureWith(contract, problem)
  // The service says that it answers by its contract.
  return answer as Output<C>
}

/** The same call with the body as text and the reply as it came: for the edge, which only passes both on. */
export async function send(
  connection: NatsConnection,
  contract: Contract,
  body: string,
  {
    timeoutMs = deadlineOf(contract) + graceMs,
    markedAddress,
    requestId: givenId,
    trace: givenTrace,
  }: CallOptions = {},
): Promise<Msg> {
  requireFitting(body)
  try {
    // Who gives an id speaks for somebody outside.
    const current = givenId === undefined ? currentRequest() : undefined
    const requestId = givenId ?? current?.requestId
    const trace = givenTrace ?? current?.trace
    if (requestId === undefined)
      return await connection.request(contract.subject, body, { timeout: timeoutMs })
    const head = headers()
    head.set(requestIdHeader, requestId)
    if (trace !== undefined) {
      head.set(traceparentHeader, traceparentOf(trace))
      if (trace.state !== undefined) head.set(tracestateHeader, trace.state)
    }
    if (markedAddress !== undefined) head.set(clientAddressHeader, markedAddress)
    return await connection.request(contract.subject, body, { timeout: timeoutMs, headers: head })
  } catch (error) {
    throw brokerError(error, contract.subject, contract.lasting)
  }
}

/** Whether a reply carries an error (NATS ADR-32). */
export const isError = (reply: Msg): boolean => reply.headers?.has(serviceErrorCodeHeader) ?? false

/** The error that a reply carries. */
export const replyError = (reply: Msg): GantryError =>
  errorOf(bodyOf(reply), reply.headers?.get(serviceErrorHeader) ?? '')

const bodyOf = (reply: Msg): unknown => read(reply).answer

/** What a reply says, or why nobody can tell. */
export function read(reply: Msg): { readonly answer?: unknown; readonly problem?: string } {
  try {
    if (isUtf8(reply.data)) return { answer: reply.json() }
  } catch {
    // It is not JSON.
  }
  return { problem: 'the answer is not UTF-8 JSON' }
}

/** What a caller is told of an answer that is none. */
export const failureWith = ({ resource }: Contract, problem: string): GantryError =>
  new GantryError('INTERNAL', `${resource} has failed: ${problem}`)

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
      `nobody answers ${subject}; is its service running, and the name spelt right?`,
    )
  }
  if (cause instanceof PermissionViolationError) {
    return new GantryError(
      'DENIED',
      `this key may not ${cause.operation === 'publish' ? 'publish' : 'subscribe'} to ${cause.subject}${isLasting && cause.operation === 'publish' ? hintForReplaced : ''}`,
      { cause },
    )
  }
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
    return new GantryError('UNAVAILABLE', 'the broker was lost before the answer came', { cause: error })
  }
  return new GantryError('INTERNAL', 'the call failed', { cause: error })
}

/** The broker says no more than what it refused; the key itself may have the rule. */
const hintForReplaced = '; nor may a token that was replaced when its key was rotated: use the new one'

/** What the system says of a socket (`ECONNRESET`), which the client passes on as it is when it is connecting. */
const isOfSocket = (error: unknown): boolean => error instanceof Error && 'syscall' in error
