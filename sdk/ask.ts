import {
  headers,
  type Msg,
  type MsgHdrs,
  type NatsConnection,
  NoRespondersError,
  PermissionViolationError,
  RequestError,
  TimeoutError,
} from '@nats-io/nats-core'
import { type Contract, defaultDeadlineMs, type Input, type Output } from '../subjects/kit/contract.ts'
import { errorOf, GantryError } from '../subjects/kit/errors.ts'
import { messageHeaders } from '../subjects/kit/names.ts'

/** The platform itself gives up first, so that its own answer arrives. */
const graceMs = 500

/** How long an answer is waited for when nothing is said. */
export const defaultRequestMs = 5_000

/** Asks the platform. @throws GantryError */
export const ask = <C extends Contract>(
  connection: NatsConnection,
  contract: C,
  input: Input<C>,
): Promise<Output<C>> =>
  askSubject(
    connection,
    contract.subject,
    input,
    (contract.deadlineMs ?? defaultDeadlineMs) + graceMs,
  ) as Promise<Output<C>>

/** Asks anybody who answers as Gantry does. @throws GantryError */
export async function askSubject(
  connection: NatsConnection,
  subject: string,
  input: unknown,
  timeout: number,
  head?: MsgHdrs,
): Promise<unknown> {
  let reply: Msg
  try {
    reply = await connection.request(subject, JSON.stringify(input), {
      timeout,
      ...(head === undefined ? {} : { headers: head }),
    })
  } catch (error) {
    throw brokerError(error, subject)
  }
  if (!reply.headers?.has(messageHeaders.errorCode)) return reply.json()
  throw errorOf(bodyOf(reply), reply.headers.get(messageHeaders.error))
}

function bodyOf(message: Msg): unknown {
  try {
    return message.json()
  } catch {
    return undefined
  }
}

/** What the broker says in place of an answer. */
function brokerError(error: unknown, subject: string): GantryError {
  const cause = error instanceof RequestError ? error.cause : error
  if (cause instanceof PermissionViolationError) return deniedBy(cause)
  if (cause instanceof NoRespondersError || (error instanceof RequestError && error.isNoResponders()))
    return new GantryError('UNAVAILABLE', `nobody answers ${subject}`)
  if (cause instanceof TimeoutError || error instanceof TimeoutError)
    return new GantryError('TIMEOUT', `${subject} did not answer in time`)
  return new GantryError('UNAVAILABLE', 'the broker cannot be reached', { cause: error })
}

/** The refusal of the broker, with the rule that would allow it. */
export const deniedBy = ({ operation, subject }: PermissionViolationError): GantryError<'DENIED'> =>
  new GantryError(
    'DENIED',
    operation === 'publish'
      ? `this key may not publish to ${subject}: it needs a rule for it in pub.allow`
      : `this key may not subscribe to ${subject}: it needs a rule for it in sub.allow`,
  )

/** The headers of an answer that is an error, as the platform's has them. */
export function errorHeaders(error: GantryError): MsgHdrs {
  const head = headers()
  head.set(messageHeaders.error, error.message.replaceAll(/[\r\n]+/g, ' ').slice(0, maxHeaderLength))
  head.set(messageHeaders.errorCode, String(error.status))
  return head
}

/** The header is for a first look; the whole message is in the body. */
const maxHeaderLength = 1_000
/** What these headers take of a message at most: names, a status, and a text whose characters may be four bytes. */
export const errorHeaderBytes = 4 * maxHeaderLength + 200
