import { Worker } from 'node:worker_threads'
import type { StoreBounds } from '../../drivers/contract/bounds.ts'
import {
  type DriverThreadData,
  driverThreadData,
  type DriverThreadOptions,
  endDrivers,
} from '../../drivers/threads.ts'
import type { FromThread, Job, Reply, ToThread } from './jobs.ts'
import { writeGraceMs } from '../run/stop.ts'
import { ThreadJob, type Publish } from './thread-job.ts'

/**
 * Bounds of a thread's memory. File content is outside of these heaps. Young objects are names, paths, and the requests to
 * stores that are under way: with room for these until they are answered, they are garbage before anybody looks for it. With
 * 4 MiB, collecting it took a fifth of a thread's time (`node bench/stores.ts "4 KiB to S3"`); with twice as much, no less.
 * The old heap holds what `EntryBudget` allows twice.
 */
const maxYoungGenerationSizeMb = 24
const usualMemoryMb = 256

/** The thread that had a job ended by itself, for want of memory or by a defect. */
export class ThreadEnded extends Error {
  /** Why, as far as that is known. */
  get reason(): string {
    return this.cause instanceof Error ? this.cause.message : 'it gave no reason'
  }
}

export interface EngineThreadOptions extends DriverThreadOptions {
  /** Where filesystems may be; without them anywhere. */
  readonly bounds?: StoreBounds | undefined
  /** Its old heap. */
  readonly threadMemoryMb?: number | undefined
  /** How long what is written may go on when its job is stopped; default: long enough for a store that answers. */
  readonly graceMs?: number | undefined
}

/** What a thread is started with. */
export interface ThreadData extends DriverThreadData {
  readonly bounds: StoreBounds | undefined
  readonly graceMs: number
}

/** A worker thread and the jobs that it has. */
export class EngineThread {
  /** Number of the thread, never used again in this process. */
  readonly threadId: number
  readonly #worker: Worker
  readonly #jobs = new Map<number, ThreadJob>()
  #lastId = 0
  #isTerminated = false

  /**
   * @param onEnd called once when the thread has ended, with its error if it had one, and whether it was asked to; its jobs
   *   are rejected by then
   */
  constructor(
    entry: URL,
    { bounds, threadMemoryMb = usualMemoryMb, graceMs = writeGraceMs, ...ofDrivers }: EngineThreadOptions,
    onEnd: (error: unknown, isTerminated: boolean) => void,
  ) {
    const data: ThreadData = { ...driverThreadData(ofDrivers), bounds, graceMs }
    // No arguments of the process: a loader of its own would be one more in every thread.
    this.#worker = new Worker(entry, {
      name: 'engine',
      execArgv: [],
      workerData: data,
      resourceLimits: { maxYoungGenerationSizeMb, maxOldGenerationSizeMb: threadMemoryMb },
    })
    this.threadId = this.#worker.threadId
    let failure: unknown
    this.#worker.on('message', (message: FromThread) => this.#jobs.get(message.id)?.receive(message))
    this.#worker.on('error', (error) => (failure = error))
    this.#worker.on('exit', () => {
      endDrivers(data)
      const message = 'the worker thread that had this job has ended'
      const error = this.#isTerminated ? new Error(message) : new ThreadEnded(message, { cause: failure })
      for (const job of this.#jobs.values()) job.end(error)
      onEnd(failure, this.#isTerminated)
    })
  }

  /**
   * Does a job. Rejects with the job's error; when the thread ends; with the signal's reason if it was aborted before the
   * job was done.
   */
  async run(job: Job, signal: AbortSignal, publish: Publish | undefined): Promise<Reply> {
    signal.throwIfAborted()
    const id = ++this.#lastId
    const running = new ThreadJob(id, job, publish, (message: ToThread) =>
      this.#worker.postMessage(message, []),
    )
    const abort = () => running.abort()
    this.#jobs.set(id, running)
    signal.addEventListener('abort', abort, { once: true })
    try {
      return await running.ended
    } catch (error) {
      signal.throwIfAborted()
      throw error
    } finally {
      signal.removeEventListener('abort', abort)
      this.#jobs.delete(id)
    }
  }

  /** Tells all jobs to end soon. */
  stop(): void {
    for (const job of this.#jobs.values()) job.abort()
  }

  /** Ends the thread after the call that it is in; jobs that it still has are rejected. */
  async terminate(): Promise<void> {
    this.#isTerminated = true
    await this.#worker.terminate()
  }
}
