import { headers, type Msg, type NatsConnection } from '@nats-io/nats-core'
import type { Contract } from '../subjects/contract.ts'
import { type ErrorCode, GantryError } from '../subjects/errors.ts'
import { answerProblem } from '../subjects/extension-contract.ts'
import { messageHeaders } from '../subjects/names.ts'
import { traceparentHeader, tracestateHeader } from '../subjects/trace-context.ts'
import { askSubject, defaultRequestMs, respondError } from './ask.ts'

/** A request that is being answered, once: with `respond` or with `error`. */
export class Call<O = unknown> {
  /** Follows the request through all logs. */
  readonly requestId: string
  /** The trace that the request belongs to, as the W3C writes it, for OpenTelemetry and others. */
  readonly traceparent: string | undefined
  readonly #connection: NatsConnection
  readonly #message: Msg
  readonly #contract: Contract
  readonly #end = new AbortController()
  readonly #answered = Promise.withResolvers<void>()
  #isAnswered = false

  constructor(connection: NatsConnection, message: Msg, contract: Contract, requestId: string) {
    this.#connection = connection
    this.#message = message
    this.traceparent = message.headers?.get(traceparentHeader) || undefined
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

  /**
   * Asks the platform or another extension as part of this call: with its request id, in its trace.
   * @param traceparent of a span of the extension's own @throws GantryError
   */
  request(
    subject: string,
    input: unknown,
    {
      timeoutMs = defaultRequestMs,
      traceparent = this.traceparent,
    }: { timeoutMs?: number; traceparent?: string | undefined } = {},
  ): Promise<unknown> {
    const head = headers()
    head.set(messageHeaders.requestId, this.requestId)
    const state = this.#message.headers?.get(tracestateHeader)
    if (traceparent !== undefined) head.set(traceparentHeader, traceparent)
    if (traceparent !== undefined && state) head.set(tracestateHeader, state)
    return askSubject(this.#connection, subject, input, timeoutMs, head)
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
