import type { Batch, FromThread, Job, Reply, ToThread } from './jobs.ts'
import { receivedError } from '../../drivers/contract/sent-error.ts'

/** Stores what a job hands over while it goes on. */
export type Publish = (batch: Batch) => Promise<void>

/** One job that a thread has: its conversation, until the thread has answered and all that it handed over is stored. */
export class ThreadJob {
  readonly #id: number
  readonly #post: (message: ToThread) => void
  readonly #publish: Publish | undefined
  readonly #flag = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  readonly #ended = Promise.withResolvers<Reply>()
  #unpublished = 0
  #publishError: Error | undefined
  #answer: { reply: Reply } | { error: unknown } | undefined

  constructor(id: number, job: Job, publish: Publish | undefined, post: (message: ToThread) => void) {
    this.#id = id
    this.#post = post
    this.#publish = publish
    post({ type: 'job', id, job, flag: this.#flag })
  }

  /** The answer. Rejects with the first failure to store a batch, the thread's error, or what `end` was given. */
  get ended(): Promise<Reply> {
    return this.#ended.promise
  }

  receive(message: FromThread): void {
    if (message.type === 'batch') void this.#store(message.batch)
    else this.#answered(message.type === 'reply' ? message : { error: receivedError(message.error) })
  }

  /** Ends the job soon; the thread answers with an error, or with the reply if it was done. */
  abort(): void {
    Atomics.store(this.#flag, 0, 1)
    this.#post({ type: 'abort', id: this.#id })
  }

  /** There will be no answer. */
  end(error: Error): void {
    this.#answered({ error })
  }

  /** Never rejects: a failure is the job's. */
  async #store(batch: Batch): Promise<void> {
    this.#unpublished++
    try {
      await this.#publish?.(batch)
      this.#post({ type: 'credit', id: this.#id })
    } catch (error) {
      this.#publishError ??= error instanceof Error ? error : new Error(String(error))
      this.abort()
    } finally {
      this.#unpublished--
      this.#settle()
    }
  }

  #answered(answer: { reply: Reply } | { error: unknown }): void {
    this.#answer = answer
    this.#settle()
  }

  #settle(): void {
    if (this.#answer === undefined || this.#unpublished > 0) return
    if (this.#publishError !== undefined) this.#ended.reject(this.#publishError)
    else if ('error' in this.#answer) this.#ended.reject(this.#answer.error)
    else this.#ended.resolve(this.#answer.reply)
  }
}
