import { heartbeatEveryMs } from '../../subjects/extensions/model.ts'

/**
 * Since when heartbeats could be heard: silence counts from then on. A platform that was stopped, on a machine that was
 * suspended, or whose clock was set, has heard nobody, and everybody may be well.
 */
export class HeartbeatBaseline {
  #sinceMs: number
  #lookedMs: number

  constructor(nowMs: number) {
    this.#sinceMs = nowMs
    this.#lookedMs = nowMs
  }

  /** To be asked again and again: a check that comes later than a heartbeat would have restarts it. */
  sinceMs(nowMs: number): number {
    if (nowMs - this.#lookedMs > heartbeatEveryMs) this.#sinceMs = nowMs
    this.#lookedMs = nowMs
    return this.#sinceMs
  }
}
