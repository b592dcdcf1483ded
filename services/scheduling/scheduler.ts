import { backoffMs } from '../../broker/common/retry.ts'
import type { Log } from '../../broker/common/log.ts'
import { type Task, whenDue } from '../../broker/tasks/tasks.ts'
import type { TaskName } from '../../broker/tasks/task-list.ts'
import { type Admission, admissionsOf, nextDueMs, type Schedulable } from './admission.ts'

export interface SchedulerOptions<R extends Schedulable> {
  readonly task: TaskName
  readonly records: {
    all(): Promise<readonly R[]>
    watch(onChange: (token: string, record: R | undefined) => void): Promise<{ stop(): Promise<void> }>
  }
  /** Tells a record of its turn; resolves to whether that was still so. */
  readonly take: (admission: Admission) => Promise<boolean>
  /** How many may run at once, 0 for any number. */
  readonly limit: () => Promise<number>
  /** Begins what else is due by the records; resolves to when the next of it is, in milliseconds since 1970. */
  readonly alsoDue: (records: readonly R[], nowMs: number) => Promise<number | undefined>
  readonly log: Log
}

/** Gives records their turn: whenever a record changes, when a recurrence is due, when a window begins or ends, and when it is asked to look. */
export class Scheduler<R extends Schedulable> {
  readonly #options: SchedulerOptions<R>
  #watch: { stop(): Promise<void> } | undefined
  /** What turns depend on, of each record as it was seen last. */
  readonly #seen = new Map<string, string>()
  #looking: Promise<void> | undefined
  #again = false
  #failures = 0
  readonly #task: Task
  #isStopped = false

  constructor(options: SchedulerOptions<R>) {
    this.#options = options
    this.#task = whenDue(options.task, () => this.look())
  }

  async start(): Promise<void> {
    this.#watch = await this.#options.records.watch((token, record) => this.#follow(token, record))
    await this.look()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#task.stop()
    await this.#watch?.stop()
    await this.#looking
  }

  #follow(token: string, record: R | undefined): void {
    if (record === undefined) {
      this.#seen.delete(token)
      return
    }
    const { internalId, state, priority, scheduled, recurrence } = record
    const { nextRun, schedule, timeZone, windowSeconds } = recurrence ?? {}
    const plan = [nextRun, schedule, timeZone, windowSeconds]
    const facts = [internalId, state, priority, scheduled, ...plan].join(' ')
    if (this.#seen.get(token) === facts) return
    this.#seen.set(token, facts)
    void this.look()
  }

  /** Resolves when all that was stored before has had its turn. Never rejects: what fails is looked at again. */
  look(): Promise<void> {
    this.#again = true
    this.#looking ??= this.#lookOften().finally(() => (this.#looking = undefined))
    return this.#looking
  }

  async #lookOften(): Promise<void> {
    this.#task.notDue()
    let waitMs: number | undefined
    while (this.#again && !this.#isStopped) {
      this.#again = false
      try {
        waitMs = await this.#look()
        this.#failures = 0
      } catch (error) {
        this.#failures += 1
        waitMs = backoffMs(this.#failures)
        if (this.#isStopped) return
        this.#options.log.warn(
          { err: error },
          'Waiting migrations cannot be started at the moment; retrying.',
        )
      }
    }
    if (waitMs === undefined || this.#isStopped) return
    this.#task.due(waitMs)
  }

  /** Resolves to the time until turns change by themselves, in milliseconds. */
  async #look(): Promise<number | undefined> {
    const { records, limit, take, alsoDue } = this.#options
    const all = await records.all()
    const now = Date.now()
    for (const turn of admissionsOf(all, await limit(), now)) {
      // What came of it may be somebody's turn: who is due has to be admitted.
      if (await take(turn)) this.#again = true
    }
    const due = [nextDueMs(all, now), await alsoDue(all, now)].filter((ms) => ms !== undefined && ms > now)
    return due.length === 0 ? undefined : Math.min(...(due as number[])) - now
  }
}
