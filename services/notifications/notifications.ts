import type { Events } from '../../broker/state/events.ts'
import { maxNotifications } from '../../subjects/observability/notifications.ts'
import { NotificationFold, toldEvents } from './fold.ts'

/**
 * What the stored events say, folded in memory: whoever asks has what came since the last question read first. Nothing is
 * stored beside the events.
 */
export class Notifications {
  readonly #events: Pick<Events, 'bounds' | 'read'>
  #fold = new NotificationFold(maxNotifications)
  /** Sequence of the last fact that was looked at. */
  #seen = 0
  #reading: Promise<void> | undefined

  constructor(events: Pick<Events, 'bounds' | 'read'>) {
    this.#events = events
  }

  /** As it is now. What was read stays when this fails, and the next one goes on there. */
  async now(): Promise<NotificationFold> {
    // One that is under way may have begun before what the caller knows of.
    await this.#reading?.catch(() => undefined)
    this.#reading ??= this.#read().finally(() => (this.#reading = undefined))
    await this.#reading
    return this.#fold
  }

  async #read(): Promise<void> {
    const { first, last } = await this.#events.bounds()
    // Fewer than were seen: the stream was made anew.
    if (last < this.#seen || !this.#fold.forgetBefore(first)) {
      this.#fold = new NotificationFold(maxNotifications)
      this.#seen = 0
    }
    if (last === this.#seen) return
    await this.#events.read(toldEvents, this.#seen, (fact) => {
      this.#fold.take(fact)
      this.#seen = fact.sequence
    })
    this.#seen = Math.max(this.#seen, last)
  }
}
