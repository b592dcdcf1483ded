import { readFileSync } from 'node:fs'

/** What Linux has unless it is told otherwise. */
const defaultMaxQueued = 16_384

/**
 * Counts the events of one kernel queue. A thread has a single queue, whatever it watches, so all its watches share one
 * count: each of them alone may stay far below the limit while together they exceed it.
 *
 * Nobody tells when the system drops events because its queue is full. But then the whole queue is read in one turn of the
 * thread's loop, so that many events in one turn are the sign. Half as many are enough, since events of watches that ended
 * in the meantime are not seen.
 */
export class EventCount {
  readonly #suspect: number
  readonly #onSuspect = new Set<() => void>()
  #count = 0

  /** @param maxQueued events that the system keeps for this thread */
  constructor(maxQueued = maxQueuedEvents()) {
    this.#suspect = maxQueued / 2
  }

  /** Calls back whenever events may have been lost, whoever they were for. Returns what ends that. */
  onSuspect(tell: () => void): () => void {
    this.#onSuspect.add(tell)
    return () => this.#onSuspect.delete(tell)
  }

  /** The queue had an event more. */
  add(): void {
    if (this.#count++ > 0) return
    setImmediate(() => {
      const isSuspect = this.#count >= this.#suspect
      this.#count = 0
      if (isSuspect) for (const tell of this.#onSuspect) tell()
    })
  }
}

/** How many events the system keeps for a reader. */
function maxQueuedEvents(): number {
  try {
    const limit = Number(readFileSync('/proc/sys/fs/inotify/max_queued_events', 'utf8'))
    return limit > 0 ? limit : defaultMaxQueued
  } catch {
    return defaultMaxQueued
  }
}
