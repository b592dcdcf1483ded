import { hash } from 'node:crypto'
import { emission, type Events } from '../../../broker/state/events.ts'
import type { Log } from '../../../broker/common/log.ts'
import type { Payload } from '../../../subjects/kit/contract.ts'
import { migrationEvents } from '../../../subjects/migrations/events.ts'
import { isTold } from '../../../subjects/migrations/model/changes.ts'
import type { ChangesView } from '../live/following.ts'
import type { Figures } from './figures.ts'
import type { InFlightProgress } from '../progress/in-flight-progress.ts'
import type { KnownRecords } from '../lifecycle/known-records.ts'
import type { Progress } from '../progress/progress.ts'
import { type MigrationRecord, workIdOf } from '../lifecycle/record.ts'
import { Poller } from '../../scheduling/poller.ts'
import { isActive } from '../lifecycle/states.ts'
import { progressOf } from './view.ts'

const { progressed } = migrationEvents

export interface ProgressEventsOptions {
  readonly records: Pick<KnownRecords, 'all'>
  readonly progress: Pick<Progress, 'changes'>
  readonly inFlight: Pick<InFlightProgress, 'of'>
  readonly changesOf: (record: MigrationRecord) => ChangesView | undefined
  readonly figures: Pick<Figures, 'some'>
  readonly events: Pick<Events, 'publishEphemeral'>
  readonly log: Log
}

/** What was seen of a migration at the last look. */
interface Seen {
  readonly record: MigrationRecord
  /** What its figures are made of; the same text while they are the same. */
  readonly mark: string
  /** Digest of the figures that were told last; undefined when none were. */
  readonly told: string | undefined
}

/** A migration at rest has nothing in memory that moves: its record alone says what changes. */
const restingMark = ''

/**
 * Publishes the figures of migrations that have moved. Whether they have is known in memory; figures are read for those
 * alone, so a migration that stands still costs nothing. They are published whether or not anybody listens.
 *
 * Every record is compared with the one of the last look, also at rest: a migration may begin and end between two looks,
 * and its last state is published all the same, once.
 */
export class ProgressEvents extends Poller {
  readonly #options: ProgressEventsOptions
  /** By the keys of their records. */
  readonly #seen = new Map<string, Seen>()

  constructor(options: ProgressEventsOptions) {
    super(
      'migrations.progress-events',
      () => this.#look(),
      (err) => options.log.debug({ err }, 'Progress could not be published; trying again.'),
    )
    this.#options = options
  }

  /** Takes what is at rest now as known: whoever follows from now on can ask for it. */
  override start(): void {
    for (const [key, record] of this.#options.records.all())
      if (!isActive(record.state)) this.#seen.set(key, { record, mark: restingMark, told: undefined })
    super.start()
  }

  async #look(): Promise<void> {
    const records = this.#options.records.all()
    const seen = this.#seen
    for (const key of seen.keys()) if (!records.has(key)) seen.delete(key)
    const moved = new Map<string, { key: string; record: MigrationRecord; mark: string }>()
    for (const [key, record] of records) {
      const before = seen.get(key)
      const mark = isActive(record.state) ? this.#markOf(record) : restingMark
      if (before?.record === record && before.mark === mark) continue
      if (before === undefined && record.state === 'NONSCHEDULED')
        seen.set(key, { record, mark, told: undefined })
      else moved.set(record.migrationId, { key, record, mark })
    }
    if (moved.size === 0) return
    const { figures, events } = this.#options
    for (const one of await figures.some([...moved.keys()])) {
      const { key, record, mark } = moved.get(one.record.migrationId)!
      const info = progressOf(one)
      const told = hash('sha1', figuresIn(info))
      if (told !== seen.get(key)?.told) events.publishEphemeral(emission(progressed, info.id, info))
      seen.set(key, { record, mark, told })
    }
  }

  #markOf(record: MigrationRecord): string {
    const { progress, inFlight, changesOf } = this.#options
    const workId = workIdOf(record)
    const { lagSeconds = 0, ...changes }: Partial<ChangesView> = changesOf(record) ?? {}
    const lag = grows(changes.detection) ? 0 : lagSeconds
    return JSON.stringify([progress.changes(workId), inFlight.of(workId), changes, lag])
  }
}

/** Whether the lag only tells how long ago somebody looked: it grows by itself. */
const grows = (detection: ChangesView['detection'] | undefined): boolean => !isTold(detection)

/** What moves while something is done: time passes in any case, and conditions have an event of their own. */
function figuresIn({ state, pathRetryCount, progress }: Payload<typeof progressed>): string {
  const { duration: _, etaEstimate: _eta, changeLagSeconds, ...figures } = progress
  const lag = grows(figures.changeDetection) ? 0 : changeLagSeconds
  return JSON.stringify([state, pathRetryCount, figures, lag])
}
