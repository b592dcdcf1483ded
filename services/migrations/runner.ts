import { setTimeout as delay } from 'node:timers/promises'
import { backoffMs } from '../../broker/backoff.ts'
import type { Collection } from '../../broker/collection.ts'
import type { NatsConnection } from '../../broker/connection.ts'
import { emission } from '../../broker/events.ts'
import type { Log } from '../../broker/log.ts'
import { Queue } from '../../broker/queue.ts'
import { migrationEvents } from '../../subjects/migration-events.ts'
import { ActiveMigration } from './active.ts'
import { noCounts } from './engine/counts.ts'
import { ComesAgain, type Mover, type MoveSpec } from './engine/mover.ts'
import type { FailureLedger } from './failures.ts'
import type { Progress } from './progress.ts'
import { factOf, type MigrationRecord } from './record.ts'
import { next } from './states.ts'
import { sweep } from './sweep.ts'
import type { CountListener } from './worker-book.ts'

export interface RunnerOptions {
  readonly connection: NatsConnection
  readonly records: Collection<typeof MigrationRecord>
  readonly progress: Progress
  readonly failures: FailureLedger
  readonly mover: Mover
  readonly threads: number
  /** The stores of a migration, ready to be opened. */
  readonly resolve: (record: MigrationRecord) => Promise<MoveSpec>
  readonly onCount: CountListener
  readonly log: Log
}

/** A migration that is worked on. */
interface Followed {
  /** Ends the present work on it. */
  halt: AbortController
  /** Grows with every change of its record. */
  changes: number
}

/**
 * Works on every migration whose record says RUNNING, and on no other: follows the records, and changes them only when
 * its work is done (COMPLETED) or has ended because somebody stopped it (STOPPED).
 */
export class Runner {
  readonly #options: RunnerOptions
  /** By internal id. */
  readonly #followed = new Map<string, Followed>()
  readonly #working = new Set<Promise<void>>()
  /** Queues that were there when this process began: whoever worked on them is gone. */
  readonly #inherited = new Set<string>()
  readonly #closing = new AbortController()
  #watch: { stop(): Promise<void> } | undefined

  constructor(options: RunnerOptions) {
    this.#options = options
  }

  /** Clears what processes that died have left, and begins to follow the records. */
  async start(): Promise<void> {
    const { connection, records, progress, failures } = this.#options
    for (const name of await sweep({ connection, records, progress, failures })) this.#inherited.add(name)
    this.#watch = await records.watch((_, record) => {
      if (record !== undefined) this.#follow(record)
    })
  }

  /** Hands back all work; it goes on when the platform starts again. */
  async stop(): Promise<void> {
    this.#closing.abort(new ComesAgain('the platform is stopping'))
    await this.#watch?.stop()
    await Promise.all(this.#working)
  }

  #follow({ migrationId, internalId, state }: MigrationRecord): void {
    const known = this.#followed.get(internalId)
    if (known !== undefined) {
      known.changes += 1
      if (state !== 'RUNNING') known.halt.abort(new Error('the migration was stopped'))
      return
    }
    if (!isActive(state) || this.#closing.signal.aborted) return
    const followed = { halt: new AbortController(), changes: 0 }
    this.#followed.set(internalId, followed)
    const working = this.#keepWorking(migrationId, internalId, followed).finally(() =>
      this.#working.delete(working),
    )
    this.#working.add(working)
  }

  /** Works until the record says that there is nothing to do; what fails is tried again. Never rejects. */
  async #keepWorking(migrationId: string, internalId: string, followed: Followed): Promise<void> {
    const { records, log } = this.#options
    const { signal } = this.#closing
    for (let attempt = 1; !signal.aborted; attempt++) {
      try {
        followed.halt = new AbortController()
        const { changes } = followed
        const record = await records.get(migrationId)
        if (record === undefined || record.internalId !== internalId || !isActive(record.state)) {
          // Unless it was changed while the question was on its way.
          if (followed.changes === changes) break
          continue
        }
        await this.#work(record, AbortSignal.any([signal, followed.halt.signal]))
        attempt = 0
      } catch (error) {
        if (signal.aborted) break
        log.warn({ err: error, migration: migrationId }, 'A migration cannot go on at the moment; trying on.')
        await delay(backoffMs(attempt), undefined, { signal }).catch(() => undefined)
      }
    }
    this.#followed.delete(internalId)
  }

  async #work(record: MigrationRecord, signal: AbortSignal): Promise<void> {
    const { records, resolve } = this.#options
    if (record.state === 'STOPPING') return this.#drained(record)
    const { internalId, migrationId } = record
    const takeBack = this.#inherited.has(internalId)
    const active = await ActiveMigration.open({
      ...this.#options,
      spec: await resolve(record),
      takeBack,
      signal,
    })
    this.#inherited.delete(internalId)
    if (!record.seeded || active.isNew) {
      await active.seed()
      await records.update(migrationId, (current) => ({ ...current, seeded: true }))
    }
    if (await active.run()) await this.#completed(record)
    else if (!this.#closing.signal.aborted) await this.#drained(record)
  }

  async #completed({ migrationId, internalId }: MigrationRecord): Promise<void> {
    const { connection, records, progress, failures, log } = this.#options
    const [totals, failedPathCount] = await Promise.all([progress.totals(), failures.count(internalId)])
    const counts = totals.get(internalId) ?? noCounts()
    const completed = new Date().toISOString()
    const record = await records.update(
      migrationId,
      (current) => {
        const to = next(current.state, current.resumable, 'finished')
        return to === 'COMPLETED' ? { ...current, state: to, completed, counts } : undefined
      },
      (changed) => [
        emission(migrationEvents.completed, migrationId, { ...factOf(changed), failedPathCount }),
      ],
    )
    // Somebody stopped it at the last moment.
    if (record.state !== 'COMPLETED') return
    await Queue.deleteByName(connection, internalId)
    await progress.forget((migration) => migration === internalId)
    log.info({ migration: migrationId, failedPathCount }, 'A migration is completed.')
  }

  async #drained({ migrationId, internalId }: MigrationRecord): Promise<void> {
    const { records, connection } = this.#options
    const record = await records.update(
      migrationId,
      (current) => {
        const to = next(current.state, current.resumable, 'drained')
        return to === 'STOPPED' ? { ...current, state: to } : undefined
      },
      (changed) => [emission(migrationEvents.stopped, migrationId, factOf(changed))],
    )
    if (record.state === 'STOPPED' && !record.resumable) await Queue.deleteByName(connection, internalId)
  }
}

const isActive = (state: MigrationRecord['state']): boolean => state === 'RUNNING' || state === 'STOPPING'
