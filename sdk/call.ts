import type { Msg } from '@nats-io/nats-core'
import type { Contract } from '../subjects/contract.ts'
import { type ErrorCode, GantryError } from '../subjects/errors.ts'
import { answerProblem } from '../subjects/extension-contract.ts'
import { respondError } from './ask.ts'

/** A request that is being answered, once: with `respond` or with `error`. */
export class Call<O = unknown> {
  /** Follows the request through all logs. */
  readonly requestId: string
  readonly #message: Msg
  readonly #contract: Contract
  readonly #end = new AbortController()
  readonly #answered = Promise.withResolvers<void>()
  #isAnswered = false

  constructor(message: Msg, contract: Contract, requestId: string) {
    this.#message = message
    this.#contract = contract
    this.requestId = requestId
  }

  /** Aborts when the call is answered, or its limit has passed. */
  get signal(): AbortSignal {
    return this.#end.signal
  }

  get isAnswered(): boolean {
    return this.#isAnswered
  }

  /** Resolves when there is an answer. */
  get answered(): Promise<void> {
    return this.#answered.promise
  }

  /** @throws GantryError INTERNAL, which the caller gets, when the output does not fit its schema; Error the second time */
  respond(output: O): void {
    const problem = answerProblem(this.#contract, output)
    if (problem !== undefined) {
      const error = new GantryError('INTERNAL', problem)
      this.fail(error)
      throw error
    }
    this.#once()
    this.#message.respond(JSON.stringify(output))
  }

  /** Answers with an error: NOT_FOUND or another code that the endpoint declares. @throws Error the second time */
  error(code: ErrorCode, message: string, details?: unknown): void {
    this.fail(new GantryError(code, message, { details }))
  }

  /** @throws Error when there is an answer already */
  fail(error: GantryError): void {
    this.#once()
    respondError(this.#message, error, this.requestId)
  }

  #once(): void {
    if (this.#isAnswered)
      throw new Error(`${this.#contract.subject}: call ${this.requestId} is answered already`)
    this.#isAnswered = true
    this.#end.abort()
    this.#answered.resolve()
  }
}
