import { Worker } from 'node:worker_threads'
import { type Entry, StoreError, type StorePath } from '../drivers/index.ts'
import { receivedError } from '../drivers/sent-error.ts'
import type { FilesystemSpec } from '../../subjects/filesystem-kinds.ts'
import type { Answer, Question } from './questions.ts'

/** Below the deadline of the calls that ask a store, so that the caller hears of the store and not of the deadline. */
const patienceMs = 25_000

/** Questions at once, each in a thread of its own; more wait. A mount that hangs takes one of them until patience ends. */
const maxThreads = 8

/** How long an idle thread is kept: somebody who looks through folders asks again sooner, and it takes 20 MB. */
const idleMs = 2_000

interface StoresOptions {
  /** The module that threads run. */
  readonly entry?: URL
  readonly patienceMs?: number
  readonly idleMs?: number
}

/**
 * Asks stores in worker threads: the calls of some drivers block, for ever where a mount hangs, and nobody else may be
 * held up by that. One idle thread is kept for the next question, for a while.
 */
export class Stores {
  readonly #entry: URL
  readonly #patienceMs: number
  readonly #idleMs: number
  readonly #waiting = new Set<PromiseWithResolvers<void>>()
  #idle: Worker | undefined
  #ending: NodeJS.Timeout | undefined
  #isClosed = false
  #busy = 0

  constructor(options: StoresOptions = {}) {
    this.#entry = options.entry ?? new URL('./store-thread.ts', import.meta.url)
    this.#patienceMs = options.patienceMs ?? patienceMs
    this.#idleMs = options.idleMs ?? idleMs
  }

  /** Proves that the store is there and takes the credentials. Throws GantryError INVALID_INPUT, StoreError. */
  async probe(spec: FilesystemSpec, signal: AbortSignal): Promise<void> {
    await this.#ask({ kind: 'probe', spec }, signal)
  }

  /**
   * The `limit` first entries of a folder by the bytes of their names, those up to `after` left out. Throws as `probe`
   * does; StoreError `gone` when there is no such folder.
   */
  async firstEntries(
    spec: FilesystemSpec,
    folder: StorePath,
    { after, limit }: { after: Buffer | undefined; limit: number },
    signal: AbortSignal,
  ): Promise<Entry[]> {
    const entries = await this.#ask({ kind: 'list', spec, folder, after, limit }, signal)
    // Structured cloning makes Uint8Arrays of Buffers.
    return entries.map((entry) => ({ ...entry, name: Buffer.from(entry.name) }))
  }

  /** What stands at a path, without following a symbolic link; undefined when nothing does. Throws as `probe` does. */
  async stat(spec: FilesystemSpec, path: StorePath, signal: AbortSignal): Promise<Entry | undefined> {
    const [entry] = await this.#ask({ kind: 'stat', spec, path }, signal)
    return entry
  }

  /** Ends the idle thread; one that is at work ends with its answer. */
  close(): void {
    this.#isClosed = true
    this.#keep(undefined)
  }

  async #ask(question: Question, signal: AbortSignal): Promise<Entry[]> {
    await this.#turn(signal)
    const worker = this.#idle ?? this.#start()
    this.#idle = undefined
    clearTimeout(this.#ending)
    const patience = AbortSignal.timeout(this.#patienceMs)
    let hasAnswered = false
    try {
      const answer = await answerOf(worker, question, AbortSignal.any([signal, patience]))
      hasAnswered = true
      if ('error' in answer) throw receivedError(answer.error)
      return answer.entries
    } catch (error) {
      if (hasAnswered || !patience.aborted) throw error
      const seconds = this.#patienceMs / 1_000
      throw new StoreError('unreachable', `the store did not answer within ${seconds} s`, { cause: error })
    } finally {
      if (hasAnswered && !this.#isClosed) this.#keep(worker)
      // Never awaited: a thread ends after the call that it is in, which may hang.
      else void worker.terminate()
      this.#busy--
      for (const first of this.#waiting.values().take(1)) first.resolve()
    }
  }

  #start(): Worker {
    const worker = new Worker(this.#entry, { name: 'store', execArgv: [] })
    // Whoever waits for an answer hears of it; of one that fails while it is idle, without this, the process would die.
    worker.on('error', () => undefined)
    worker.on('exit', () => {
      if (this.#idle === worker) this.#idle = undefined
    })
    return worker
  }

  /** Resolves when a thread may be had, and counts it. */
  async #turn(signal: AbortSignal): Promise<void> {
    while (this.#busy >= maxThreads) {
      signal.throwIfAborted()
      const free = Promise.withResolvers<void>()
      const abort = () => free.reject(signal.reason)
      signal.addEventListener('abort', abort, { once: true })
      this.#waiting.add(free)
      try {
        await free.promise
      } finally {
        signal.removeEventListener('abort', abort)
        this.#waiting.delete(free)
      }
    }
    this.#busy++
  }

  /** Keeps one idle thread, the last; it does not keep the process alive. */
  #keep(worker: Worker | undefined): void {
    clearTimeout(this.#ending)
    void this.#idle?.terminate()
    this.#idle = worker
    if (worker === undefined) return
    worker.unref()
    this.#ending = setTimeout(() => this.#keep(undefined), this.#idleMs).unref()
  }
}

/** Rejects with the signal's reason, and when the thread ends. */
async function answerOf(worker: Worker, question: Question, signal: AbortSignal): Promise<Answer> {
  signal.throwIfAborted()
  const ended = new AbortController()
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const on = { signal: ended.signal }
  signal.addEventListener('abort', () => reject(signal.reason), on)
  worker.once('message', resolve)
  worker.once('error', reject)
  const onExit = () => reject(new Error('the thread that asked the store has ended'))
  worker.once('exit', onExit)
  worker.ref()
  worker.postMessage(question, [])
  try {
    return await promise
  } finally {
    ended.abort()
    worker.off('message', resolve)
    worker.off('error', reject)
    worker.off('exit', onExit)
  }
}
