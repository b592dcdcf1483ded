import { backoffMs } from '../../broker/common/backoff.ts'
import type { Collection } from '../../broker/state/collection.ts'
import type { Log } from '../../broker/common/log.ts'
import { whenDue } from '../../broker/tasks/tasks.ts'
import { restarted, type MigrationRecord } from '../migrations/lifecycle/record.ts'
import { begun } from './recurrence.ts'
import { applyTransition } from '../migrations/lifecycle/transition.ts'
import { nextDueMs, type Admission, admissionsOf } from './admission.ts'

export interface SchedulerOptions {
  readonly records: Collection<typeof MigrationRecord>
  /** How many migrations may run at once, 0 for any number. */
  readonly limit: () => Promise<number>
  /** Begins what else is due by the records; resolves to when the next of it is, in milliseconds since 1970. */
  readonly alsoDue: (records: readonly MigrationRecord[], nowMs: number) => Promise<number | undefined>
  readonly log: Log
}

/** Gives migrations their turn: whenever a record changes, when a recurrence is due, when a window begins or ends, and when it is asked to look. */
export class Scheduler {
  readonly #options: SchedulerOptions
  #watch: { stop(): Promise<void> } | undefined
  /** What turns depend on, of each record as it was seen last. */
  readonly #seen = new Map<string, string>()
  #looking: Promise<void> | undefined
  #again = false
  #failures = 0
  readonly #task = whenDue('migrations.schedule', () => this.look())
  #isStopped = false

  constructor(options: SchedulerOptions) {
    this.#options = options
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

  #follow(token: string, record: MigrationRecord | undefined): void {
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
        this.#options.log.warn({ err: error }, 'Migrations cannot get their turn at the moment; trying on.')
      }
    }
    if (waitMs === undefined || this.#isStopped) return
    this.#task.due(waitMs)
  }

  /** Resolves to the time until turns change by themselves, in milliseconds. */
  async #look(): Promise<number | undefined> {
    const { records, limit, alsoDue } = this.#options
    const all = await records.all()
    const now = Date.now()
    for (const turn of admissionsOf(all, await limit(), now)) await this.#take(turn)
    const due = [nextDueMs(all, now), await alsoDue(all, now)].filter((ms) => ms !== undefined && ms > now)
    return due.length === 0 ? undefined : Math.min(...(due as number[])) - now
  }

  async #take({ migrationId, internalId, trigger }: Admission): Promise<void> {
    const { records, log } = this.#options
    const isThis = (current: MigrationRecord) => current.internalId === internalId
    const now = new Date()
    const record = await applyTransition(records, migrationId, trigger, (current) => {
      if (!isThis(current)) return undefined
      if (trigger === 'due') return { ...current, scheduled: now.toISOString() }
      return trigger === 'admitted' ? admitted(current, now) : current
    })
    if (record === undefined) return
    log.debug({ migration: migrationId, state: record.state }, 'A migration had its turn.')
    // What came of it may be somebody's turn: who is due has to be admitted.
    this.#again = true
  }
}

/** A record that begins or goes on to run. A recurrence is a beginning from the root. */
export function admitted(current: MigrationRecord, now: Date): MigrationRecord {
  const started = now.toISOString()
  const record = current.state === 'RECURRENCE_SCHEDULED' ? restarted(current) : current
  const { recurrence } = record
  return {
    ...record,
    started: record.started ?? started,
    ...(recurrence === undefined || record.seeded ? {} : { recurrence: begun(recurrence, now.getTime()) }),
  }
}
