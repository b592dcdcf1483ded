import type { Log } from '../../../broker/common/log.ts'
import { monotonicMs } from '../../../broker/common/monotonic.ts'

/** Less changes nothing that people see. */
const minStepMs = 1_000

/** Notices that the clock of the host was set, by one that nobody sets. */
export class ClockSteps {
  readonly #log: Log
  #aheadMs = aheadMs()

  constructor(log: Log) {
    this.#log = log
  }

  /** To be called about once a second: says what has happened since the last time. */
  look(): void {
    const nowMs = aheadMs()
    const stepMs = nowMs - this.#aheadMs
    if (Math.abs(stepMs) < minStepMs) return
    this.#aheadMs = nowMs
    // One of the two is read in whole milliseconds.
    const stepSeconds = Math.round(stepMs / 100) / 10
    const seconds = Math.abs(stepSeconds)
    const what =
      stepMs < 0 ? `was set back by ${seconds} s` : `jumped ${seconds} s ahead, or the host was suspended`
    this.#log.warn({ stepSeconds }, `The clock of the host ${what}; schedules and windows use the new time.`)
  }
}

/** How far the clock of the host is ahead of the monotonic one. */
const aheadMs = (): number => Date.now() - monotonicMs()
