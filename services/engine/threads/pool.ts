import { availableParallelism } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { abortable } from '../../../broker/common/abortable.ts'
import { EngineThread, type EngineThreadOptions } from './engine-thread.ts'
import type { Job, Reply } from './jobs.ts'
import type { Publish } from './thread-job.ts'

/**
 * What a thread may have at once: two jobs, so that it finds the next when it has done one. Parts of a file that go over
 * the network count half, since the thread waits for them; more of them would hold too much memory.
 */
const threadCapacity = 4
export const fullWeight = 2
export const halfWeight = 1

/**
 * What goes first: finishing what is begun, then what was just changed, then files, then finding more of them (the lister
 * outruns the movers), then looking at what is there.
 */
const priorities = ['parts', 'changes', 'files', 'scans', 'walks'] as const
type Priority = (typeof priorities)[number]

/**
 * Work that may take long before it finds a file to copy: of each kind a thread has one at most, so that its other place is
 * for the files that are found.
 */
const longKinds: Partial<Record<Priority, 'listing' | 'walk'>> = {
  scans: 'listing',
  changes: 'listing',
  walks: 'walk',
}
/**
 * A walk goes on beside whatever the thread has: it would never begin while there are files to move. So does what mostly
 * waits for its limits, without keeping the thread.
 */
export const noWeight = 0

/** Of jobs of different migrations, from the most urgent to the least: one that waits goes before all that are less so. */
const urgencies = ['high', 'normal', 'low'] as const
export type Urgency = (typeof urgencies)[number]
const usualUrgency: Urgency = 'normal'

/** How long `close` waits for jobs to stop: between two files or two requests. */
const closeTimeoutMs = 5_000

/** Where the pool reports a thread that ended by itself. */
export interface PoolLog {
  error(fields: object, message: string): void
}

interface JobOptions {
  readonly signal: AbortSignal
  readonly priority: Priority
  /** Share of a thread; default `fullWeight`. */
  readonly weight?: number
  readonly publish?: Publish
  /** A job that may end its thread gets one to itself; default: no. */
  readonly isAlone?: boolean
}

interface PooledThread {
  readonly thread: EngineThread
  load: number
  /** Kinds of long work that it has. */
  readonly long: Set<(typeof longKinds)[Priority]>
}

/** A job without a thread. */
interface Waiting {
  readonly weight: number
  readonly start: (thread: PooledThread) => void
  readonly refuse: (error: unknown) => void
}

/** Jobs that wait for the same kind of room. */
interface Line {
  readonly urgency: Urgency
  readonly priority: Priority
  readonly waiting: Set<Waiting>
}

/** Kind of long work that a job is; not a listing that mostly waits. */
const longKindOf = (priority: Priority, weight: number) =>
  priority !== 'walks' && weight === noWeight ? undefined : longKinds[priority]

const closed = () => new Error('the engine is closed')

export interface PoolOptions extends EngineThreadOptions {
  /** Default: one for each core. */
  readonly threads?: number | undefined
  readonly log: PoolLog
  /** The module that the threads run. */
  readonly entry: URL
}

/** Worker threads that share the engine's jobs. They are started with the first job, and replaced when they end. */
export class ThreadPool implements AsyncDisposable {
  readonly size: number
  readonly #entry: URL
  readonly #threadOptions: EngineThreadOptions
  readonly #log: PoolLog
  readonly #threads = new Set<PooledThread>()
  /** In the order in which they get a thread. */
  readonly #lines: readonly Line[] = urgencies.flatMap((urgency) =>
    priorities.map((priority) => ({ urgency, priority, waiting: new Set<Waiting>() })),
  )
  /** By migration, where it is not the usual one. */
  readonly #urgencies = new Map<string, Urgency>()
  readonly #unfinished = new Set<Promise<unknown>>()
  /** What runs jobs that may end their thread: one at a time, as each may take all the memory that a thread has. */
  #isolated: EngineThread | undefined
  #isolatedJobs = 0
  #lastIsolated: Promise<unknown> = Promise.resolve()
  #isClosed = false

  constructor({ threads, log, entry, ...threadOptions }: PoolOptions) {
    this.size = threads ?? availableParallelism()
    this.#entry = entry
    this.#threadOptions = threadOptions
    this.#log = log
  }

  /** Numbers of the threads that live, started if need be. */
  liveThreads(): number[] {
    this.#startThreads()
    return this.#all.map(({ threadId }) => threadId)
  }

  /**
   * Does a job in the least loaded thread, once one has room. Rejects with the job's error, with the signal's reason, and
   * when the thread or the pool ends.
   */
  async run(job: Job, options: JobOptions): Promise<Reply> {
    const done = options.isAlone === true ? this.#runAlone(job, options) : this.#run(job, options)
    this.#unfinished.add(done)
    try {
      return await done
    } finally {
      this.#unfinished.delete(done)
    }
  }

  /**
   * Does a job in each thread that there is, whatever else it has. Rejects with the signal's reason; a thread that ends, or
   * cannot do it, is left out.
   */
  async runInEach(job: Job, signal: AbortSignal): Promise<void> {
    const done = Promise.allSettled(this.#all.map((thread) => thread.run(job, signal, undefined)))
    this.#unfinished.add(done)
    await done.finally(() => this.#unfinished.delete(done))
    signal.throwIfAborted()
  }

  /** How urgent jobs of a migration are from now on. */
  setUrgency(id: string, urgency: Urgency): void {
    if (urgency === usualUrgency) this.#urgencies.delete(id)
    else this.#urgencies.set(id, urgency)
  }

  async #run(job: Job, { signal, priority, weight = fullWeight, publish }: JobOptions): Promise<Reply> {
    const urgency = this.#urgencies.get(job.spec.id) ?? usualUrgency
    const pooled = await this.#place({ signal, priority, urgency, weight })
    try {
      return await pooled.thread.run(job, signal, publish)
    } finally {
      pooled.load -= weight
      pooled.long.delete(longKindOf(priority, weight))
      this.#assign()
    }
  }

  async #runAlone(job: Job, { signal, publish }: JobOptions): Promise<Reply> {
    const before = this.#lastIsolated
    const own = Promise.withResolvers<void>()
    this.#lastIsolated = own.promise
    this.#isolatedJobs++
    try {
      await abortable(before, signal)
      if (this.#isClosed) throw closed()
      this.#isolated ??= this.#startThread(() => (this.#isolated = undefined))
      return await this.#isolated.run(job, signal, publish)
    } finally {
      if (--this.#isolatedJobs === 0) await this.#isolated?.terminate()
      // Whoever was aborted while it waited must not let others in.
      void before.then(() => own.resolve())
    }
  }

  /** A thread, its load already counted. */
  async #place({
    signal,
    priority,
    urgency,
    weight,
  }: Required<Omit<JobOptions, 'publish' | 'isAlone'>> & {
    readonly urgency: Urgency
  }): Promise<PooledThread> {
    signal.throwIfAborted()
    if (this.#isClosed) throw closed()
    const { promise, resolve, reject } = Promise.withResolvers<PooledThread>()
    const waiting = { weight, start: resolve, refuse: reject }
    const queue = this.#lines.find((line) => line.urgency === urgency && line.priority === priority)!.waiting
    const abort = () => {
      queue.delete(waiting)
      reject(signal.reason)
    }
    signal.addEventListener('abort', abort, { once: true })
    queue.add(waiting)
    this.#assign()
    try {
      return await promise
    } finally {
      signal.removeEventListener('abort', abort)
      queue.delete(waiting)
    }
  }

  /** Gives waiting jobs to threads with room, the most urgent first. */
  #assign(): void {
    if (this.#isClosed) return
    this.#startThreads()
    for (const { priority, waiting } of this.#lines) {
      for (const job of waiting) {
        const pooled = this.#roomiest(priority, job.weight)
        if (pooled === undefined) break
        waiting.delete(job)
        pooled.load += job.weight
        const kind = longKindOf(priority, job.weight)
        if (kind !== undefined) pooled.long.add(kind)
        job.start(pooled)
      }
    }
  }

  #roomiest(priority: Priority, weight: number): PooledThread | undefined {
    let best: PooledThread | undefined
    for (const pooled of this.#threads) {
      const isTaken = pooled.long.has(longKindOf(priority, weight))
      if (pooled.load + weight > threadCapacity || isTaken) continue
      if (best === undefined || pooled.load < best.load) best = pooled
    }
    return best
  }

  #startThreads(): void {
    while (this.#threads.size < this.size && !this.#isClosed) {
      const thread = this.#startThread(() => this.#threads.delete(pooled))
      const pooled = { thread, load: 0, long: new Set<(typeof longKinds)[Priority]>() }
      this.#threads.add(pooled)
    }
  }

  #startThread(onEnd: () => void): EngineThread {
    const onEnded = (error: unknown, isTerminated: boolean) => {
      onEnd()
      if (isTerminated) return
      this.#log.error(
        { err: error, threadId: thread.threadId },
        'a worker thread of the engine ended; it is replaced',
      )
    }
    const thread = new EngineThread(this.#entry, this.#threadOptions, onEnded)
    return thread
  }

  get #all(): EngineThread[] {
    const threads = Array.from(this.#threads, ({ thread }) => thread)
    return this.#isolated === undefined ? threads : [...threads, this.#isolated]
  }

  /** Refuses what waits, stops what runs, and ends the threads. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const { refuse } of this.#lines.flatMap(({ waiting }) => [...waiting])) refuse(closed())
    for (const thread of this.#all) thread.stop()
    const timeout = new AbortController()
    await Promise.race([
      Promise.allSettled(this.#unfinished),
      delay(closeTimeoutMs, undefined, { signal: timeout.signal }).catch(() => undefined),
    ])
    timeout.abort()
    await Promise.all(this.#all.map((thread) => thread.terminate()))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
