import { setTimeout as delay } from 'node:timers/promises'
import type { NatsConnection } from '../../../broker/rpc/connection.ts'
import type { Log } from '../../../broker/common/log.ts'
import type { Queue } from '../../../broker/queue/queue.ts'
import { storageUse } from '../../../broker/state/storage.ts'
import type { Room } from '../assignments/assignments.ts'
import { type ChildLanes, lastLane } from './lanes.ts'

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
/** Items of folders that wait before the queue gets no more than it must; 64 folders are some 3 KB. */
export interface FrontierBounds {
  /** To be listed: then what is below more of them is listed with them, as the queue would grow with the breadth of the tree. */
  readonly regions: number
  /** To get their times at the end: what is beyond them is found by going down the tree once more. */
  readonly folders: number
}
const usualBounds: FrontierBounds = { regions: 1_000, folders: 10_000 }
/** Part of the folders' bound that may be done by the time that somebody counts what waits. */
const doneMeanwhile = 0.01
/** How often a paused lister looks, in milliseconds; the movers need longer for what waits. */
const checkMs = 100
/** Who looks seldom sees that it waits, between two of its looks. */
const heldMs = 2_000

/** Holds listing back while the movers have enough to do. */
export class Frontier {
  readonly #connection: NatsConnection
  readonly #queue: Queue
  readonly #log: Log
  readonly #bounds: FrontierBounds
  #isTight = false
  #heldUntilMs = 0

  constructor(connection: NatsConnection, queue: Queue, log: Log, bounds = usualBounds) {
    this.#connection = connection
    this.#queue = queue
    this.#log = log
    this.#bounds = bounds
  }

  /** Whether listing waits because there is too little storage. */
  get waitsForStorage(): boolean {
    return performance.now() < this.#heldUntilMs
  }

  /** Whether there may be folders that are to get their times, and that are not in the queue. */
  hasLeftFolders(waiting: ReadonlyMap<string, number>): boolean {
    return (waiting.get(lastLane) ?? 0) >= this.#bounds.folders * (1 - doneMeanwhile)
  }

  /** Resolves when more may be put into these lanes. Rejects with the signal's reason. */
  async room(lanes: ChildLanes, signal: AbortSignal): Promise<Room> {
    for (;;) {
      const waiting = await this.#queue.pendingByLane()
      const transfers = waiting.get(lanes.transfers) ?? 0
      const room = {
        goesDeep: (waiting.get(lanes.regions) ?? 0) >= this.#bounds.regions,
        leavesFolders: (waiting.get(lanes.folders) ?? 0) >= this.#bounds.folders,
      }
      if (transfers === 0) return room
      if (transfers <= maxWaitingTransfers) {
        if (!(await this.#storageIsTight())) return room
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
        'The storage is nearly full (max_file in messaging.config); listing waits until queued files are copied.',
      )
    }
    return this.#isTight
  }
}
