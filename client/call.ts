import type { Msg, MsgHdrs, NatsConnection } from '@nats-io/nats-core'
import {
  type Addressed,
  type Contract,
  defaultDeadlineMs,
  type Input,
  type Output,
} from '../subjects/kit/contract.ts'
import { errorOf, GantryError } from '../subjects/kit/errors.ts'
import { messageHeaders } from '../subjects/kit/names.ts'
import { brokerError, type Refused } from './errors.ts'

/** The caller waits a little longer than the service, so that the service's own TIMEOUT arrives. */
const graceMs = 500

/** Deadline of a contract's callers, in milliseconds. */
export const deadlineOf = (contract: Addressed): number => contract.deadlineMs ?? defaultDeadlineMs

/** How long an answer is waited for where neither the caller nor a contract says it. */
const defaultRequestMs = 5_000

export interface RequestOptions {
  readonly timeoutMs?: number | undefined
  readonly headers?: MsgHdrs | undefined
  /** What is asked for; for the text of a refusal. */
  readonly refused?: Refused | undefined
}

/** Sends a request; resolves to the reply as it came, which may carry an error. @throws GantryError of the broker */
export async function request(
  connection: NatsConnection,
  subject: string,
  body: string | Uint8Array,
  { timeoutMs = defaultRequestMs, headers, refused }: RequestOptions = {},
): Promise<Msg> {
  try {
    return await connection.request(subject, body, {
      timeout: timeoutMs,
      ...(headers === undefined ? {} : { headers }),
    })
  } catch (error) {
    throw brokerError(error, subject, refused)
  }
}

/** Whether a reply carries an error (NATS ADR-32). */
export const isError = (reply: Msg): boolean => reply.headers?.has(messageHeaders.errorCode) ?? false

/** The error that a reply carries. */
export const replyError = (reply: Msg): GantryError =>
  errorOf(read(reply).answer, reply.headers?.get(messageHeaders.error) ?? '')

const decoder = new TextDecoder('utf-8', { fatal: true })

/** What a reply says, or why nobody can tell. */
export function read(reply: Msg): { readonly answer?: unknown; readonly problem?: string } {
  try {
    return { answer: JSON.parse(decoder.decode(reply.data)) }
  } catch {
    return { problem: 'the answer is not UTF-8 JSON' }
  }
}

/** What a caller is told of an answer that is none. @param who was to answer */
export const failureWith = (who: string, problem: string): GantryError =>
  new GantryError('INTERNAL', `${who} has failed: ${problem}`)

/** What a reply answers. @param who was to answer @throws GantryError that the reply carries; INTERNAL when it cannot be read */
export function answerOf(reply: Msg, who: string): unknown {
  if (isError(reply)) throw replyError(reply)
  const { answer, problem } = read(reply)
  if (problem !== undefined) throw failureWith(who, problem)
  return answer
}

/**
 * Calls a capability over any connection that may publish on its subject.
 * @throws GantryError: the contract's own codes, and DENIED, UNAVAILABLE, TIMEOUT, UNAUTHENTICATED from the broker;
 * INTERNAL when the answer cannot be read.
 */
export async function call<C extends Contract>(
  connection: NatsConnection,
  contract: C,
  input: Input<C>,
  { timeoutMs = callTimeoutMs(contract), ...options }: RequestOptions = {},
): Promise<Output<C>> {
  const { subject, resource } = contract
  const reply = await request(connection, subject, JSON.stringify(input), {
    ...options,
    timeoutMs,
    refused: contract,
  })
  // The service says that it answers by its contract.
  return answerOf(reply, resource) as Output<C>
}

/** How long a caller waits for the answer of a contract, in milliseconds. */
export const callTimeoutMs = (contract: Addressed): number => deadlineOf(contract) + graceMs
