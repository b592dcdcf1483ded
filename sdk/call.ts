import { headers, type Msg, type MsgHdrs, type NatsConnection } from '@nats-io/nats-core'
import type { Contract } from '../subjects/kit/contract.ts'
import { type ErrorCode, GantryError } from '../subjects/kit/errors.ts'
import { answerProblem } from '../subjects/extensions/contract.ts'
import { messageHeaders } from '../subjects/kit/names.ts'
import { traceparentHeader, tracestateHeader } from '../subjects/kit/trace-context.ts'
import { answerOf, request } from '../client/call.ts'
import { errorHeaderBytes, errorHeaders } from '../client/errors.ts'

const encoder = new TextEncoder()

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
  async request(
    subject: string,
    input: unknown,
    {
      timeoutMs,
      traceparent = this.traceparent,
    }: { timeoutMs?: number | undefined; traceparent?: string | undefined } = {},
  ): Promise<unknown> {
    const head = headers()
    head.set(messageHeaders.requestId, this.requestId)
    const state = this.#message.headers?.get(tracestateHeader)
    if (traceparent !== undefined) head.set(traceparentHeader, traceparent)
    if (traceparent !== undefined && state) head.set(tracestateHeader, state)
    const body = JSON.stringify(input)
    return answerOf(await request(this.#connection, subject, body, { timeoutMs, headers: head }), subject)
  }

  /**
   * @throws GantryError INTERNAL, which the caller gets, when the output does not fit its schema or cannot be sent; Error the
   * second time
   */
  respond(output: O): void {
    this.#requireOpen()
    const body = this.#encoded(this.#written(output), 'the answer')
    const problem = answerProblem(this.#contract, output)
    if (problem !== undefined) throw this.#failed(problem)
    this.#send(body)
  }

  /**
   * Answers with an error: NOT_FOUND or another code that the endpoint declares. Details that cannot be written as JSON are
   * left out. @throws GantryError INTERNAL, which the caller gets, when it is too large; Error the second time
   */
  error(code: ErrorCode, message: string, details?: unknown): void {
    this.fail(new GantryError(code, message, { details }))
  }

  /** @throws as `error` does */
  fail(error: GantryError): void {
    this.#requireOpen()
    this.#send(this.#encoded(error.toText(this.requestId), 'the error'), errorHeaders(error))
  }

  #written(output: O): string {
    let text: string | undefined
    let cause: unknown
    try {
      // Of undefined and of functions there is no JSON, whatever the types say.
      text = JSON.stringify(output) as string | undefined
    } catch (error) {
      cause = error
    }
    if (text !== undefined) return text
    throw this.#failed('the answer cannot be sent: it cannot be written as JSON', cause)
  }

  #encoded(text: string, what: string): Uint8Array {
    const bytes = encoder.encode(text)
    const most = (this.#connection.info?.max_payload ?? Infinity) - errorHeaderBytes
    if (bytes.length <= most) return bytes
    throw this.#failed(`${what} cannot be sent: it has ${bytes.length} bytes, and the most are ${most}`)
  }

  /** Tells the caller. */
  #failed(message: string, cause?: unknown): GantryError {
    const error = new GantryError('INTERNAL', message, { cause })
    this.fail(error)
    return error
  }

  #send(body: Uint8Array, head?: MsgHdrs): void {
    this.#isAnswered = true
    this.#end.abort()
    this.#answered.resolve()
    this.#message.respond(body, head === undefined ? {} : { headers: head })
  }

  #requireOpen(): void {
    if (this.#isAnswered)
      throw new Error(`${this.#contract.subject}: call ${this.requestId} is answered already`)
  }
}
