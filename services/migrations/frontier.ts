import { setTimeout as delay } from 'node:timers/promises'
import type { NatsConnection } from '../../broker/connection.ts'
import type { Log } from '../../broker/log.ts'
import type { Queue } from '../../broker/queue.ts'
import { storageUse } from '../../broker/storage.ts'

/**
 * Transfers that may wait before listing pauses: the lister outruns the movers, and the queue would grow with the number
 * of files. 1,000 items are up to 512,000 files, some 40 MB.
 */
const maxWaitingTransfers = 1_000
/**
 * Share of the platform's storage above which listing pauses while there is something to move: the queue must not take
 * what the records of progress need, or nothing could be finished and nothing would be freed.
 */
const maxStorageShare = 0.7
/** How often a paused lister looks, in milliseconds; the movers need longer for what waits. */
const checkMs = 100
/** Who looks seldom sees that it waits, between two of its looks. */
const heldMs = 2_000

/** Holds listing back while the movers have enough to do. */
export class Frontier {
  readonly #connection: NatsConnection
  readonly #queue: Queue
  readonly #log: Log
  #isTight = false
  #heldUntilMs = 0

  constructor(connection: NatsConnection, queue: Queue, log: Log) {
    this.#connection = connection
    this.#queue = queue
    this.#log = log
  }

  /** Whether listing waits because there is too little storage. */
  get waitsForStorage(): boolean {
    return performance.now() < this.#heldUntilMs
  }

  /** Resolves when more may be put into this lane of transfers. Rejects with the signal's reason. */
  async room(lane: string, signal: AbortSignal): Promise<void> {
    for (;;) {
      const waiting = await this.#queue.pendingIn(lane)
      if (waiting === 0) return
      if (waiting <= maxWaitingTransfers) {
        if (!(await this.#storageIsTight())) return
        this.#heldUntilMs = performance.now() + heldMs
      }
      await delay(checkMs, undefined, { signal })
    }
  }

  async #storageIsTight(): Promise<boolean> {
    const { fileBytes, maxFileBytes } = await storageUse(this.#connection)
    const wasTight = this.#isTight
    this.#isTight = fileBytes > maxFileBytes * maxStorageShare
    if (this.#isTight && !wasTight) {
      this.#log.warn(
        { queue: this.#queue.name, fileBytes, maxFileBytes },
        'The storage is nearly full (max_file in messaging.config); listing waits for what is to be moved.',
      )
    }
    return this.#isTight
  }
}
