import { MessageChannel, Worker } from 'node:worker_threads'
import { receivedError, type SentError } from '../drivers/contract/sent-error.ts'
import { StoreError } from '../drivers/contract/store-error.ts'
import { type Relay, serveRelay } from './relay.ts'

/** Below the deadline of the calls that ask a store, so that the caller hears of the store and not of the deadline. */
const patienceMs = 25_000

/** Questions at once, each in a thread of its own; more wait. A mount that hangs takes one of them until patience ends. */
const maxThreads = 8

/**
 * So many an owner may ask when all threads are taken, up to `maxThreadsOfAll`: whoever asks stores that do not answer keeps
 * no other owner waiting. A thread takes 20 MB.
 */
const shareOfOwner = 2
const maxThreadsOfAll = 24

/** Memory of a thread for its objects: who answers may be anybody, and must not take the platform's. */
const maxHeapMb = 512

/** How long an idle thread is kept: somebody who looks through folders asks again sooner, and it takes 20 MB. */
const idleMs = 2_000

/** Who asks. */
export interface Asker {
  /** Of the key that asks; who asks for the platform itself, shares the turns of whoever made the filesystem. */
  readonly owner: string
  readonly signal: AbortSignal
}

/** What a thread answers with (`serve-questions.ts`). */
export type Answer<Answered> = Answered | { readonly error: SentError }

export interface QuestionThreadsOptions {
  /** The module that threads run. */
  readonly entry: URL
  readonly workerData: object
  /** What is asked, for messages, such as `the store`. */
  readonly what: string
  /** Does what threads ask of the process, over the `port` in their data; without it they have none. */
  readonly relay?: Relay | undefined
  readonly patienceMs?: number | undefined
  readonly idleMs?: number | undefined
}

/** Whose turn has not come yet. */
interface Waiting {
  readonly owner: string
  readonly begin: () => void
}

/**
 * Asks what may block or take long in worker threads, so that nobody else is held up by it: the calls of some drivers block,
 * for ever where a mount hangs. Questions and answers are plain data. Whose turn comes next is the owner with the fewest questions
 * under way. One
 * idle thread is kept for the next question, for a while.
 */
export class QuestionThreads<Question, Answered extends object> {
  readonly #options: QuestionThreadsOptions
  readonly #patienceMs: number
  readonly #idleMs: number
  /** By owner, those that have waited longest first; owners too. Thousands may wait. */
  readonly #waiting = new Map<string, Set<Waiting>>()
  /** Questions under way, by owner. */
  readonly #busyOf = new Map<string, number>()
  #idle: Worker | undefined
  #ending: NodeJS.Timeout | undefined
  #isClosed = false
  #busy = 0

  constructor(options: QuestionThreadsOptions) {
    this.#options = options
    this.#patienceMs = options.patienceMs ?? patienceMs
    this.#idleMs = options.idleMs ?? idleMs
  }

  /** Ends the idle thread; one that is at work ends with its answer. */
  close(): void {
    this.#isClosed = true
    this.#keep(undefined)
  }

  /** Rejects with what the thread threw, StoreError where it does not answer in time, and the signal's reason. */
  async ask(question: Question, { owner, signal }: Asker): Promise<Answered> {
    await this.#turn(owner, signal)
    const worker = this.#idle ?? this.#start()
    this.#idle = undefined
    clearTimeout(this.#ending)
    const patience = AbortSignal.timeout(this.#patienceMs)
    let hasAnswered = false
    try {
      const answer = await answerOf<Answered>(worker, question, AbortSignal.any([signal, patience]))
      hasAnswered = true
      if ('error' in answer) throw receivedError(answer.error)
      return answer
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY')
        throw new StoreError('io', `${this.#options.what} answers with more than ${maxHeapMb} MiB can hold`, {
          cause: error,
        })
      if (hasAnswered || !patience.aborted) throw error
      const seconds = this.#patienceMs / 1_000
      throw new StoreError('unreachable', `${this.#options.what} did not answer within ${seconds} s`, {
        cause: error,
      })
    } finally {
      if (hasAnswered && !this.#isClosed) this.#keep(worker)
      // Never awaited: a thread ends after the call that it is in, which may hang.
      else void worker.terminate()
      this.#count(owner, -1)
      this.#goOn()
    }
  }

  #start(): Worker {
    const { entry, workerData, relay } = this.#options
    const resourceLimits = { maxOldGenerationSizeMb: maxHeapMb }
    const settings = { name: 'questions', execArgv: [], resourceLimits }
    const channel = relay && new MessageChannel()
    const worker = new Worker(
      entry,
      channel === undefined
        ? { ...settings, workerData }
        : { ...settings, workerData: { ...workerData, port: channel.port2 }, transferList: [channel.port2] },
    )
    if (relay !== undefined && channel !== undefined) serveRelay(channel.port1, relay)
    // Whoever waits for an answer hears of it; of one that fails while it is idle, without this, the process would die.
    worker.on('error', () => undefined)
    worker.on('exit', () => {
      if (this.#idle === worker) this.#idle = undefined
    })
    return worker
  }

  /** Resolves when a thread may be had, and is counted. */
  async #turn(owner: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiting = { owner, begin: resolve }
    const leave = () => {
      if (this.#leave(waiting)) reject(signal.reason)
    }
    signal.addEventListener('abort', leave, { once: true })
    const own = this.#waiting.get(owner) ?? new Set()
    this.#waiting.set(owner, own.add(waiting))
    this.#goOn()
    try {
      await promise
    } finally {
      signal.removeEventListener('abort', leave)
    }
  }

  /** Gives those their turn for whom there are threads. */
  #goOn(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      this.#leave(next)
      this.#toEnd(next.owner)
      this.#count(next.owner, 1)
      next.begin()
    }
  }

  /** Of the owner with the fewest questions under way, the one that has waited longest; undefined when nobody may begin. */
  #next(): Waiting | undefined {
    if (this.#busy >= maxThreadsOfAll) return undefined
    let next: Waiting | undefined
    for (const [owner, [first]] of this.#waiting)
      if (next === undefined || this.#busyWith(owner) < this.#busyWith(next.owner)) next = first
    if (next === undefined || this.#busy < maxThreads) return next
    return this.#busyWith(next.owner) < shareOfOwner ? next : undefined
  }

  /** Of owners with as many under way, those come first that had no turn for longest. */
  #toEnd(owner: string): void {
    const own = this.#waiting.get(owner)
    if (own === undefined) return
    this.#waiting.delete(owner)
    this.#waiting.set(owner, own)
  }

  /** Whether it was there. */
  #leave(waiting: Waiting): boolean {
    const own = this.#waiting.get(waiting.owner)
    const wasThere = own?.delete(waiting) === true
    if (own?.size === 0) this.#waiting.delete(waiting.owner)
    return wasThere
  }

  #busyWith(owner: string): number {
    return this.#busyOf.get(owner) ?? 0
  }

  #count(owner: string, change: 1 | -1): void {
    this.#busy += change
    const busy = this.#busyWith(owner) + change
    if (busy === 0) this.#busyOf.delete(owner)
    else this.#busyOf.set(owner, busy)
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
async function answerOf<Answered>(
  worker: Worker,
  question: unknown,
  signal: AbortSignal,
): Promise<Answer<Answered>> {
  signal.throwIfAborted()
  const ended = new AbortController()
  const { promise, resolve, reject } = Promise.withResolvers<Answer<Answered>>()
  const on = { signal: ended.signal }
  signal.addEventListener('abort', () => reject(signal.reason), on)
  worker.once('message', resolve)
  worker.once('error', reject)
  const onExit = () => reject(new Error('the thread that asked has ended'))
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
