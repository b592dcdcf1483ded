import { Run, type RunDependencies } from './run.ts'
import type { MetadataMigrationRecord } from './record.ts'

/** A migration at work in this process. */
interface Running {
  readonly internalId: string
  readonly run: Run
  readonly done: Promise<void>
}

/** Works on all migrations whose records say RUNNING, each from the moment when its record does until it does not any more. */
export class Runner {
  readonly #dependencies: RunDependencies
  readonly #running = new Map<string, Running>()
  /** Runs that were ended and whose last piece of work may still be under way. */
  /** Runs that are told to end, with the internal ids of their migrations. */
  readonly #ending = new Map<Promise<void>, string>()
  #watch: { stop(): Promise<void> } | undefined
  #isClosing = false

  constructor(dependencies: RunDependencies) {
    this.#dependencies = dependencies
  }

  async start(): Promise<void> {
    this.#watch = await this.#dependencies.records.watch((token, record) => this.#look(token, record))
  }

  async stop(): Promise<void> {
    this.#isClosing = true
    await this.#watch?.stop()
    for (const token of [...this.#running.keys()]) this.#end(token)
    await Promise.all(this.#ending.keys())
  }

  /** Resolves when nothing is under way any more for a migration that is to be worked on no longer. */
  async ended(internalId: string): Promise<void> {
    const running = this.#running.values().find((one) => one.internalId === internalId)
    const ending = [...this.#ending].flatMap(([done, id]) => (id === internalId ? [done] : []))
    await Promise.all([running?.done, ...ending])
  }

  #look(token: string, record: MetadataMigrationRecord | undefined): void {
    const isWorked = record?.state === 'RUNNING' && !this.#isClosing
    const running = this.#running.get(token)
    if (running !== undefined && (!isWorked || running.internalId !== record.internalId)) this.#end(token)
    if (isWorked && !this.#running.has(token)) this.#begin(token, record)
  }

  #begin(token: string, record: MetadataMigrationRecord): void {
    const run = new Run(this.#dependencies, record)
    // Of one that was ended before, nothing may be written after this one has begun.
    const before = [...this.#ending.keys()]
    const done = Promise.all(before)
      .then(() => run.work())
      .then(async () => {
        if (this.#running.get(token)?.run !== run) return
        this.#running.delete(token)
        // It may have been started again before that was known here.
        this.#look(token, await this.#dependencies.records.get(record.migrationName))
      })
      .catch((err: unknown) =>
        this.#dependencies.log.error({ err }, 'The work of a metadata migration has ended unexpectedly.'),
      )
    this.#running.set(token, { internalId: record.internalId, run, done })
  }

  #end(token: string): void {
    const running = this.#running.get(token)
    if (running === undefined) return
    this.#running.delete(token)
    running.run.end()
    const ending = running.done.finally(() => this.#ending.delete(ending))
    this.#ending.set(ending, running.internalId)
  }
}
