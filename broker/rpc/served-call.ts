import type { Msg, NatsConnection } from '@nats-io/transport-node'
import type { Call, Caller, ClientConnection, Contract } from '../../subjects/kit/contract.ts'
import { type ErrorCode, GantryError } from '../../subjects/kit/errors.ts'
import type { TraceContext } from '../../subjects/kit/trace-context.ts'
import { connectionOf } from '../messages/caller.ts'
import type { RequestContext } from '../messages/request-context.ts'
import type { Log } from '../common/log.ts'
import { requestIdOf } from '../messages/request.ts'

/**
 * A request from its arrival to its reply: what its handler gets, and what the log says of it. Most handlers take less
 * time than it would take to read and make all of this, so that each part is made when it is asked for.
 */
export class ServedCall implements Call<Contract>, RequestContext {
  /** Of `performance.now()`. */
  readonly started = performance.now()
  readonly message: Msg
  /** Set before a handler gets the call. */
  caller!: Caller
  /** What the handler has said that it has changed, as it was. */
  replaced: Readonly<Record<string, unknown>> | undefined
  trace: TraceContext | undefined
  readonly #addressOf: (message: Msg, requestId: string) => string | undefined
  #requestId: string | undefined
  #controller: AbortController | undefined
  #tasks: (() => Promise<void>)[] | undefined

  constructor(message: Msg, addressOf: (message: Msg, requestId: string) => string | undefined) {
    this.message = message
    this.#addressOf = addressOf
  }

  get requestId(): string {
    return (this.#requestId ??= requestIdOf(this.message))
  }

  get connection(): ClientConnection | undefined {
    return connectionOf(this.message)
  }

  get clientAddress(): string | undefined {
    return this.#addressOf(this.message, this.requestId)
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    return this.#controller.signal
  }

  fail<E extends ErrorCode>(code: E, message: string, details?: unknown): GantryError<E> {
    return new GantryError(code, message, { details })
  }

  abort(): void {
    this.#controller?.abort()
  }

  afterReply(task: () => Promise<void>): void {
    this.#tasks ??= []
    this.#tasks.push(task)
  }

  replaces(before: Readonly<Record<string, unknown>>): void {
    this.replaced = before
  }

  /**
   * Does what follows the reply, or the refusal, which can have ended something, too. The broker has the reply when a
   * flush after it is answered.
   */
  answered(connection: NatsConnection, log: Log): void {
    const tasks = this.#tasks
    if (tasks === undefined) return
    connection
      .flush()
      .then(() => Promise.all(tasks.map((task) => task())))
      .catch((err: unknown) =>
        log.error({ err, requestId: this.requestId }, 'An action after a reply failed.'),
      )
  }
}
