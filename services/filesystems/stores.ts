import { Worker } from 'node:worker_threads'
import { type Entry, type Side, StoreError, type StorePath } from '../drivers/index.ts'
import { receivedError } from '../drivers/contract/sent-error.ts'
import type { StoreBounds } from '../drivers/contract/bounds.ts'
import { removalSeconds } from '../../subjects/filesystems/filesystems.ts'
import type { FilesystemSpec } from '../../subjects/filesystems/kinds.ts'
import type { CheckLine } from './check.ts'
import type { Answer, Answered, Question } from './questions.ts'
import type { Removed } from './removal.ts'

/** Below the deadline of the calls that ask a store, so that the caller hears of the store and not of the deadline. */
const patienceMs = 25_000

/** So long a removal goes on: what it is in then has until the end of the patience. */
const removalMs = removalSeconds * 1_000

/** Questions at once, each in a thread of its own; more wait. A mount that hangs takes one of them until patience ends. */
const maxThreads = 8

/**
 * So many an owner may ask when all threads are taken, up to `maxThreadsOfAll`: whoever asks stores that do not answer keeps
 * no other owner waiting. A thread takes 20 MB.
 */
const shareOfOwner = 2
const maxThreadsOfAll = 24

/** How long an idle thread is kept: somebody who looks through folders asks again sooner, and it takes 20 MB. */
const idleMs = 2_000

/** Who asks. */
export interface Asker {
  /** Of the key that asks; who asks for the platform itself, shares the turns of whoever made the filesystem. */
  readonly owner: string
  readonly signal: AbortSignal
}

interface StoresOptions {
  /** The module that threads run. */
  readonly entry?: URL
  /** Where filesystems may be; without them anywhere. */
  readonly bounds?: StoreBounds
  /** Modules with more kinds of filesystems, which its threads load. */
  readonly kinds?: readonly string[]
  readonly patienceMs?: number
  readonly idleMs?: number
  readonly removalMs?: number
}

/** Whose turn has not come yet. */
interface Waiting {
  readonly owner: string
  readonly begin: () => void
}

/**
 * Asks stores in worker threads: the calls of some drivers block, for ever where a mount hangs, and nobody else may be
 * held up by that. Whose turn comes next is the owner with the fewest questions under way. One idle thread is kept for the
 * next question, for a while.
 */
export class Stores {
  readonly #entry: URL
  readonly #bounds: StoreBounds | undefined
  readonly #kinds: readonly string[]
  readonly #patienceMs: number
  readonly #idleMs: number
  readonly #removalMs: number
  /** By owner, those that have waited longest first; owners too. Thousands may wait. */
  readonly #waiting = new Map<string, Set<Waiting>>()
  /** Questions under way, by owner. */
  readonly #busyOf = new Map<string, number>()
  #idle: Worker | undefined
  #ending: NodeJS.Timeout | undefined
  #isClosed = false
  #busy = 0

  constructor(options: StoresOptions = {}) {
    this.#entry = options.entry ?? new URL('./store-thread.ts', import.meta.url)
    this.#bounds = options.bounds
    this.#kinds = options.kinds ?? []
    this.#patienceMs = options.patienceMs ?? patienceMs
    this.#idleMs = options.idleMs ?? idleMs
    this.#removalMs = options.removalMs ?? removalMs
  }

  /**
   * Proves that the store is there and takes the credentials. Throws GantryError NOT_ACCEPTED, StoreError.
   * @param asker whose turn it takes
   */
  async probe(spec: FilesystemSpec, asker: Asker): Promise<void> {
    await this.#ask({ kind: 'probe', spec }, asker)
  }

  /**
   * The `limit` first entries of a folder by the bytes of their names, those up to `after` left out. Throws as `probe`
   * does; StoreError `gone` when there is no such folder.
   */
  async firstEntries(
    spec: FilesystemSpec,
    folder: StorePath,
    { after, limit }: { after: Buffer | undefined; limit: number },
    asker: Asker,
  ): Promise<Entry[]> {
    const entries = await this.#entries({ kind: 'list', spec, folder, after, limit }, asker)
    // Structured cloning makes Uint8Arrays of Buffers.
    return entries.map((entry) => ({ ...entry, name: Buffer.from(entry.name) }))
  }

  /** What stands at a path, without following a symbolic link; undefined when nothing does. Throws as `probe` does. */
  async stat(spec: FilesystemSpec, path: StorePath, asker: Asker): Promise<Entry | undefined> {
    const [entry] = await this.#entries({ kind: 'stat', spec, path }, asker)
    return entry
  }

  /**
   * Removes what stands at a path, for as long as a call may take. Throws as `probe` does, when nothing is gone.
   * @param recursive whether a folder goes with all that is in it
   */
  async remove(spec: FilesystemSpec, path: StorePath, recursive: boolean, asker: Asker): Promise<Removed> {
    const budgetMs = this.#removalMs
    const answer = await this.#ask({ kind: 'remove', spec, path, recursive, budgetMs }, asker)
    if ('removed' in answer) return answer.removed
    throw new Error('the thread has answered another question')
  }

  /** Tries what a migration needs of a store. Throws GantryError NOT_ACCEPTED, and StoreError where it does not answer in time. */
  async check(spec: FilesystemSpec, side: Side, asker: Asker): Promise<CheckLine[]> {
    const answer = await this.#ask({ kind: 'check', spec, side }, asker)
    if ('checks' in answer) return answer.checks
    throw new Error('the thread has answered another question')
  }

  /** Ends the idle thread; one that is at work ends with its answer. */
  close(): void {
    this.#isClosed = true
    this.#keep(undefined)
  }

  async #entries(question: Question, asker: Asker): Promise<Entry[]> {
    const answer = await this.#ask(question, asker)
    return 'entries' in answer ? answer.entries : []
  }

  async #ask(question: Question, { owner, signal }: Asker): Promise<Answered> {
    await this.#turn(owner, signal)
    const worker = this.#idle ?? this.#start()
    this.#idle = undefined
    clearTimeout(this.#ending)
    const patience = AbortSignal.timeout(this.#patienceMs)
    let hasAnswered = false
    try {
      const answer = await answerOf(worker, question, AbortSignal.any([signal, patience]))
      hasAnswered = true
      if ('error' in answer) throw receivedError(answer.error)
      return answer
    } catch (error) {
      if (hasAnswered || !patience.aborted) throw error
      const seconds = this.#patienceMs / 1_000
      throw new StoreError('unreachable', `the store did not answer within ${seconds} s`, { cause: error })
    } finally {
      if (hasAnswered && !this.#isClosed) this.#keep(worker)
      // Never awaited: a thread ends after the call that it is in, which may hang.
      else void worker.terminate()
      this.#count(owner, -1)
      this.#goOn()
    }
  }

  #start(): Worker {
    const worker = new Worker(this.#entry, {
      name: 'store',
      execArgv: [],
      workerData: { bounds: this.#bounds, kinds: this.#kinds },
    })
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
