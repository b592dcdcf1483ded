import type { Msg, NatsConnection } from '@nats-io/nats-core'
import type { Static, TSchema } from 'typebox'
import type { Contract } from '../subjects/kit/contract.ts'
import { commonCodes, type ErrorCode, GantryError, isGantryError } from '../subjects/kit/errors.ts'
import { checkInput } from '../subjects/extensions/contract.ts'
import { defaultLimitMs, type Endpoint } from '../subjects/extensions/model.ts'
import { messageHeaders } from '../subjects/kit/names.ts'
import { unguessable } from '../subjects/kit/unguessable.ts'
import { Call } from './call.ts'

/** An endpoint as its author writes it; the schemas may be TypeBox's, or any JSON Schema. */
export interface EndpointContract<I extends TSchema = TSchema, O extends TSchema = TSchema> extends Omit<
  Endpoint,
  'input' | 'output'
> {
  readonly input?: I
  readonly output?: O
}

export type Handler<I extends TSchema, O extends TSchema> = (
  input: Static<I>,
  call: Call<Static<O>>,
) => void | Promise<void>

/** What an author hears of that no caller is told in full. */
export type OnError = (error: unknown, where: string) => void

/**
 * Answers a request with a handler, whatever the handler does: its input is checked, and when it throws, or has not
 * answered at its limit, the caller is told. Resolves when there is an answer.
 */
export async function answer(
  connection: NatsConnection,
  message: Msg,
  contract: Contract,
  handler: Handler<TSchema, TSchema>,
  onError: OnError,
): Promise<void> {
  const requestId = message.headers?.get(messageHeaders.requestId) || unguessable()
  const call = new Call(connection, message, contract, requestId)
  const limitMs = contract.deadlineMs ?? defaultLimitMs
  const timer = setTimeout(() => {
    if (call.isAnswered) return
    const text = `no_answer: ${contract.subject} did not answer within ${limitMs} ms`
    call.fail(new GantryError('TIMEOUT', text, { details: { reason: 'no_answer' } }))
    onError(
      new Error(`the handler has called neither respond() nor error() within ${limitMs} ms`),
      contract.subject,
    )
  }, limitMs)
  try {
    await handler(checkInput(contract, inputOf(message)), call)
    // It may answer later, from a callback.
    await call.answered
  } catch (error) {
    if (!call.isAnswered) call.fail(knownError(contract, error))
    if (!isOfCaller(error)) onError(error, contract.subject)
  } finally {
    clearTimeout(timer)
  }
}

function inputOf(message: Msg): unknown {
  if (message.data.length === 0) return {}
  try {
    return message.json()
  } catch {
    throw new GantryError('INVALID_INPUT', 'input: the body is not valid JSON')
  }
}

const isOfCaller = (error: unknown): boolean => isGantryError(error) && error.code !== 'INTERNAL'

/** A handler may throw an error that it could have answered with; what else goes wrong is nobody's business outside. */
function knownError({ errors }: Contract, error: unknown): GantryError {
  const may: readonly ErrorCode[] = [...commonCodes, ...errors]
  return isGantryError(error) && may.includes(error.code)
    ? error
    : new GantryError('INTERNAL', 'the extension failed')
}
