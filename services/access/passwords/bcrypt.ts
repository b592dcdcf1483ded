import { Worker } from 'node:worker_threads'
import { GantryError } from '../../../subjects/kit/errors.ts'

export interface Comparison {
  readonly id: number
  readonly password: string
  readonly hash: string
}

export interface Outcome {
  readonly id: number
  /** undefined when the comparison itself failed. */
  readonly isEqual: boolean | undefined
}

/** Each takes a quarter of a second of the thread; more would wait longer than a caller does. */
const maxWaiting = 64

/** Compares passwords with bcrypt hashes in a thread of its own: a comparison takes longer than a thousand requests. */
export class Bcrypt {
  #worker: Worker | undefined
  #lastId = 0
  readonly #waiting = new Map<number, PromiseWithResolvers<boolean>>()

  /** @throws GantryError OVERLOADED when too many wait, INTERNAL when the thread failed */
  async compare(password: string, hash: string): Promise<boolean> {
    if (this.#waiting.size >= maxWaiting) {
      throw new GantryError(
        'OVERLOADED',
        `too many sign-ins: ${maxWaiting} passwords are waiting to be checked; try again in a moment`,
      )
    }
    this.#worker ??= this.#start()
    const outcome = Promise.withResolvers<boolean>()
    const id = ++this.#lastId
    this.#waiting.set(id, outcome)
    const comparison: Comparison = { id, password, hash }
    this.#worker.postMessage(comparison, [])
    return outcome.promise
  }

  #start(): Worker {
    const entry = new URL('./bcrypt-thread.ts', import.meta.url)
    const worker = new Worker(entry, { name: 'bcrypt', execArgv: [] })
    // It does not keep the process alive.
    worker.unref()
    worker.on('message', ({ id, isEqual }: Outcome) => {
      const waiting = this.#waiting.get(id)
      this.#waiting.delete(id)
      if (isEqual === undefined) waiting?.reject(failed())
      else waiting?.resolve(isEqual)
    })
    worker.on('error', (cause) => this.#end(worker, failed(cause)))
    worker.on('exit', () => this.#end(worker, failed()))
    return worker
  }

  /** The next comparison starts another thread. */
  #end(worker: Worker, error: GantryError): void {
    // A thread that failed ends after that, when there may be another.
    if (this.#worker !== worker) return
    this.#worker = undefined
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }

  close(): void {
    void this.#worker?.terminate()
  }
}

const failed = (cause?: unknown) =>
  new GantryError('INTERNAL', 'the password could not be checked', { cause })
