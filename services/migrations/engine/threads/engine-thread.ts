import { Worker } from 'node:worker_threads'
import { incarnation } from '../../../drivers/local-temporary.ts'
import type { FromThread, Job, Reply, ToThread } from './jobs.ts'
import { ThreadJob, type Publish } from './thread-job.ts'

/**
 * Bounds of a thread's memory, in MB. File content is outside of these heaps. Young objects are names and paths, gone
 * after an item: with more room for them a thread would only grow. The old heap holds the known files of a folder.
 */
const resourceLimits = { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 256 }

/** A worker thread and the jobs that it has. */
export class EngineThread {
  /** Number of the thread, never used again in this process. */
  readonly threadId: number
  readonly #worker: Worker
  readonly #jobs = new Map<number, ThreadJob>()
  #lastId = 0

  /** @param onEnd called once when the thread has ended, with its error if it had one; its jobs are rejected by then */
  constructor(entry: URL, onEnd: (error: unknown) => void) {
    // No arguments of the process: a loader of its own would be one more in every thread.
    this.#worker = new Worker(entry, {
      name: 'engine',
      execArgv: [],
      workerData: { incarnation },
      resourceLimits,
    })
    this.threadId = this.#worker.threadId
    let failure: unknown
    this.#worker.on('message', (message: FromThread) => this.#jobs.get(message.id)?.receive(message))
    this.#worker.on('error', (error) => (failure = error))
    this.#worker.on('exit', () => {
      const error = new Error('the worker thread that had this job has ended', { cause: failure })
      for (const job of this.#jobs.values()) job.end(error)
      onEnd(failure)
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
    await this.#worker.terminate()
  }
}
