import { emission, type Events } from '../../broker/events.ts'
import type { Log } from '../../broker/log.ts'
import type { Payload } from '../../subjects/contract.ts'
import { migrationEvents } from '../../subjects/migration-events.ts'
import type { ChangesView } from './changes/following.ts'
import type { Figures } from './figures.ts'
import type { Flights } from './flights.ts'
import type { KnownRecords } from './known-records.ts'
import type { Progress } from './progress.ts'
import { type MigrationRecord, workIdOf } from './record.ts'
import { RegularLook } from './regular-look.ts'
import { isActive } from './states.ts'
import { progressOf } from './view.ts'

const { progressed } = migrationEvents

export interface ProgressEventsOptions {
  readonly records: Pick<KnownRecords, 'all'>
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
export class ProgressEvents extends RegularLook {
  readonly #options: ProgressEventsOptions
  /** By the keys of their records: those that are worked on, and were at the last look. */
  readonly #followed = new Map<string, Followed>()

  constructor(options: ProgressEventsOptions) {
    super(
      () => this.#look(),
      (err) => options.log.debug({ err }, 'Progress could not be told; trying on.'),
    )
    this.#options = options
  }

  async #look(): Promise<void> {
    const records = this.#options.records.all()
    for (const key of this.#followed.keys()) if (!records.has(key)) this.#followed.delete(key)
    const moved = new Map<string, { key: string; record: MigrationRecord; mark: string }>()
    for (const [key, record] of records) {
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
