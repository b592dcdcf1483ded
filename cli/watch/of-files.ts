import type { Payload } from '../../subjects/kit/contract.ts'
import { eventSubject } from '../../subjects/kit/names.ts'
import { migrationEvents } from '../../subjects/migrations/events.ts'
import type { Session } from '../sign-in/session.ts'
import { AllStarted, ended, OneNamed } from './look.ts'
import { type Info, type Rate, RateMeter } from '../../subjects/migrations/rate.ts'
import type { Seen } from './seen.ts'
import { conditionLines, endLine, type FailuresTold, liveLine, plainLine } from './text.ts'
import type { Watched } from './watch.ts'

const subjectOf = ({ resource, event }: (typeof migrationEvents)[keyof typeof migrationEvents]) =>
  eventSubject(resource, event, '*')
const ofAnyKind = eventSubject(migrationEvents.started.resource, '*', '*')
const failuresChanged = subjectOf(migrationEvents['failures-changed'])
const begun = subjectOf(migrationEvents.started)
type Begun = Payload<typeof migrationEvents.started>

/** One migration of files, or all that are started. */
export class OfFiles implements Watched {
  readonly #watched: OneNamed | AllStarted
  readonly #meters = new Map<string, RateMeter>()

  constructor(migrationId: string | undefined) {
    this.#watched = migrationId === undefined ? new AllStarted() : new OneNamed(migrationId)
  }

  listen(session: Session, wake: () => void, failed: (told: FailuresTold) => void): void {
    // Nobody but the platform publishes these.
    session.listen(ofAnyKind, wake)
    session.listen(begun, (payload) => this.#watched.begun((payload as Begun).migrationId))
    session.listen(failuresChanged, (payload) => {
      const told = payload as FailuresTold
      if (this.#watched.has(told.migrationId)) failed(told)
    })
  }

  async look(session: Session): Promise<Seen[]> {
    return (await this.#watched.look(session)).map((info) => seenOf(info, this.#measured(info)))
  }

  #measured(info: Info): Rate {
    const meter = this.#meters.get(info.id) ?? new RateMeter()
    this.#meters.set(info.id, meter)
    return meter.add(info, performance.now())
  }
}

export const seenOf = (info: Info, rate: Rate): Seen => ({
  id: info.id,
  isOver: ended.includes(info.state),
  isDone: info.state === 'COMPLETED' && info.progress.failedPaths === 0,
  said: [info.state, ...info.conditions.map(({ reason }) => reason)].join(),
  reply: info,
  line: (columns) => liveLine(info, rate, columns),
  below: conditionLines(info),
  plain: plainLine(info, rate),
  end: endLine(info),
})
