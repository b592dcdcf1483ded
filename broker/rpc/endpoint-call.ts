import type { Msg, NatsConnection } from '@nats-io/transport-node'
import type { Contract } from '../../subjects/kit/contract.ts'
import { commonCodes, type ErrorCode, GantryError } from '../../subjects/kit/errors.ts'
import { answerProblem, checkInput } from '../../subjects/extensions/contract.ts'
import { failureWith, isError, read, replyError } from '../../client/call.ts'
import { send } from './client.ts'

/** What came of a call of an extension's endpoint: an answer by its contract, or the error that the caller is told. */
export interface Outcome {
  readonly answer?: unknown
  readonly error?: GantryError
  /** What its author should know, where the error is a fault of the extension. */
  readonly fault?: string
}

/** Judges a reply: an extension may be written without anything that looks at what it answers. */
export function outcomeOf(contract: Contract, reply: Msg): Outcome {
  if (isError(reply)) {
    const error = errorFor(contract, replyError(reply))
    return error.code === 'INTERNAL' || error.code === 'TIMEOUT' ? { error, fault: error.message } : { error }
  }
  const { answer, problem } = read(reply)
  const fault = problem ?? answerProblem(contract, answer)
  return fault === undefined ? { answer } : { error: failureWith(contract.resource, fault), fault }
}

/**
 * Calls an endpoint on the caller's own connection; both input and answer are held against its schemas.
 * @throws GantryError of the extension, with a request id; without one when the input is refused, or by the broker
 */
export async function callEndpoint(
  connection: NatsConnection,
  contract: Contract,
  input: unknown,
): Promise<unknown> {
  const body = JSON.stringify(checkInput(contract, input))
  const requestId = crypto.randomUUID()
  const { answer, error } = outcomeOf(contract, await send(connection, contract, body, { requestId }))
  if (error === undefined) return answer
  error.requestId = requestId
  throw error
}

/** What the caller is told of an error: one that the endpoint declares, or that may happen to any; else INTERNAL. */
function errorFor({ resource, errors }: Contract, { code, message, details }: GantryError): GantryError {
  const may: readonly ErrorCode[] = [...commonCodes, ...errors]
  // Whether the caller's token is right, no extension knows.
  if (code !== 'UNAUTHENTICATED' && may.includes(code)) return new GantryError(code, message, { details })
  return new GantryError('INTERNAL', `${resource} failed with ${code}: ${message}`)
}
