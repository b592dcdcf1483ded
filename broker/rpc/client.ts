import { headers, type Msg, type MsgHdrs, type NatsConnection } from '@nats-io/transport-node'
import { answerOf, callTimeoutMs, request } from '../../client/call.ts'
import type { Addressed, Contract, Input, Output } from '../../subjects/kit/contract.ts'
import {
  type TraceContext,
  traceparentHeader,
  traceparentOf,
  tracestateHeader,
} from '../../subjects/kit/trace-context.ts'
import { clientAddressHeader, requestIdHeader } from '../messages/headers.ts'
import { currentRequest } from '../messages/request-context.ts'
import { isTooLarge, tooLarge } from '../messages/request.ts'

export { isError, replyError } from '../../client/call.ts'
export { brokerError, invalidToken } from '../../client/errors.ts'
export { isFact } from '../../client/facts.ts'

export interface CallOptions {
  /** Default: that of the request which is worked on. */
  readonly requestId?: string
  /** Default: the same. */
  readonly trace?: TraceContext
  readonly timeoutMs?: number
  /** Of the client for whom the edge asks, with its mark. */
  readonly markedAddress?: string
}

/** As `call` of `client/`, as part of the request that is worked on. @throws GantryError as that one, and TOO_LARGE */
export async function call<C extends Contract>(
  connection: NatsConnection,
  contract: C,
  input: Input<C>,
  options: CallOptions = {},
): Promise<Output<C>> {
  // The service says that it answers by its contract.
  return (await ask(connection, contract, input, options)) as Output<C>
}

/** The same for those who have of the contract no more than where it is answered. */
export async function ask(
  connection: NatsConnection,
  contract: Addressed,
  input: unknown,
  options: CallOptions = {},
): Promise<unknown> {
  const reply = await send(connection, contract, JSON.stringify(input), options)
  return answerOf(reply, contract.resource)
}

/** The same call with the body as text and the reply as it came: for the edge, which only passes both on. */
export function send(
  connection: NatsConnection,
  contract: Addressed,
  body: string,
  { timeoutMs = callTimeoutMs(contract), ...options }: CallOptions = {},
): Promise<Msg> {
  if (isTooLarge(body)) return Promise.reject(tooLarge())
  // Faster than the client, which would make bytes of a text with a TextEncoder.
  return request(connection, contract.subject, Buffer.from(body), {
    timeoutMs,
    headers: headersOf(options),
    refused: contract,
  })
}

function headersOf({
  requestId: givenId,
  trace: givenTrace,
  markedAddress,
}: CallOptions): MsgHdrs | undefined {
  // Who gives an id speaks for somebody outside.
  const current = givenId === undefined ? currentRequest() : undefined
  const requestId = givenId ?? current?.requestId
  const trace = givenTrace ?? current?.trace
  if (requestId === undefined) return undefined
  const head = headers()
  head.set(requestIdHeader, requestId)
  if (trace !== undefined) {
    head.set(traceparentHeader, traceparentOf(trace))
    if (trace.state !== undefined) head.set(tracestateHeader, trace.state)
  }
  if (markedAddress !== undefined) head.set(clientAddressHeader, markedAddress)
  return head
}
