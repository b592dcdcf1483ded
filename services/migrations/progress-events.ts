import type { Collection } from '../../broker/collection.ts'
import { emission, type Events } from '../../broker/events.ts'
import type { Log } from '../../broker/log.ts'
import type { Payload } from '../../subjects/contract.ts'
import { migrationEvents } from '../../subjects/migration-events.ts'
import type { ChangesView } from './changes/following.ts'
import type { Figures } from './figures.ts'
import type { Flights } from './flights.ts'
import type { Progress } from './progress.ts'
import { type MigrationRecord, workIdOf } from './record.ts'
import { isActive } from './states.ts'
import { progressOf } from './view.ts'

/** However fast files arrive, a follower hears of a migration so often. */
const lookEveryMs = 1_000

const { progressed } = migrationEvents

export interface ProgressEventsOptions {
  readonly records: Pick<Collection<typeof MigrationRecord>, 'watch'>
  readonly progress: Pick<Progress, 'changes'>
  readonly flights: Pick<Flights, 'of'>
  readonly changesOf: (record: MigrationRecord) => ChangesView | undefined
  readonly figures: Pick<Figures, 'some'>
  readonly events: Pick<Events, 'say'>
  readonly log: Log
}

/** A migration whose figures may move. */
interface Followed {
  readonly record: MigrationRecord
  /** What its figures are made of; the same text while they are the same. */
  readonly mark: string
  /** The figures that were told last. */
  told: string
}

/**
 * Tells of figures that have moved. Whether they have is known in memory; they are read for those alone, so that what
 * stands still costs nothing. Nobody can tell whether somebody listens, so it is told in any case.
 */
export class ProgressEvents {
  readonly #options: ProgressEventsOptions
  /** By their keys in the collection. */
  readonly #records = new Map<string, MigrationRecord>()
  /** By the same keys: those that are worked on, and were at the last look. */
  readonly #followed = new Map<string, Followed>()
  #looking: Promise<void> | undefined
  #watch: { stop(): Promise<void> } | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(options: ProgressEventsOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    this.#watch = await this.#options.records.watch((key, record) => {
      if (record === undefined) this.#records.delete(key)
      else this.#records.set(key, record)
    })
    this.#timer = setInterval(() => void this.look(), lookEveryMs).unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#watch?.stop()
    await this.#looking
  }

  /** Tells what has moved since the last look; while one is under way there is no other. Never rejects. */
  look(): Promise<void> {
    this.#looking ??= this.#look()
      // The broker may be away; what was not told is told later.
      .catch((err: unknown) => this.#options.log.debug({ err }, 'Progress could not be told; trying on.'))
      .finally(() => (this.#looking = undefined))
    return this.#looking
  }

  async #look(): Promise<void> {
    for (const key of this.#followed.keys()) if (!this.#records.has(key)) this.#followed.delete(key)
    const moved = new Map<string, { key: string; record: MigrationRecord; mark: string }>()
    for (const [key, record] of this.#records) {
      const followed = this.#followed.get(key)
      if (followed === undefined && !isActive(record.state)) continue
      const mark = this.#markOf(record)
      if (followed?.record !== record || followed.mark !== mark)
        moved.set(record.migrationId, { key, record, mark })
    }
    if (moved.size === 0) return
    const { figures, events } = this.#options
    for (const one of await figures.some([...moved.keys()])) {
      const { key, record, mark } = moved.get(one.record.migrationId)!
      const info = progressOf(one)
      const told = figuresIn(info)
      if (told !== this.#followed.get(key)?.told) events.say(emission(progressed, info.id, info))
      // What it came to rest at is told.
      if (isActive(record.state)) this.#followed.set(key, { record, mark, told })
      else this.#followed.delete(key)
    }
  }

  #markOf(record: MigrationRecord): string {
    const { progress, flights, changesOf } = this.#options
    const workId = workIdOf(record)
    const { lagSeconds = 0, ...changes }: Partial<ChangesView> = changesOf(record) ?? {}
    const lag = grows(changes.detection) ? 0 : lagSeconds
    return JSON.stringify([progress.changes(workId), flights.of(workId), changes, lag])
  }
}

/** Whether the lag only tells how long ago somebody looked: it grows by itself. */
const grows = (detection: ChangesView['detection'] | undefined): boolean => detection !== 'watching'

/** What moves while something is done: time passes in any case, and conditions have an event of their own. */
function figuresIn({ state, pathRetryCount, progress }: Payload<typeof progressed>): string {
  const { duration: _, etaEstimate: _eta, changeLagSeconds, ...figures } = progress
  const lag = grows(figures.changeDetection) ? 0 : changeLagSeconds
  return JSON.stringify([state, pathRetryCount, figures, lag])
}
