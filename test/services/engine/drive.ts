import {
  add,
  noCounts,
  type Counts,
  type Failure,
  type ItemResult,
} from '../../../services/engine/run/counts.ts'
import { startRegion } from '../../../services/engine/items/items.ts'
import type { ChildBatch, Mover, MoveSpec } from '../../../services/engine/mover.ts'

/** What a migration came to. */
export interface Driven {
  readonly counts: Counts
  readonly failures: Failure[]
  readonly regions: number
  readonly transfers: number
}

export interface DriveOptions {
  readonly signal?: AbortSignal
  readonly redelivered?: boolean
  /** Default: the migration's root. */
  readonly start?: Uint8Array
  /** Called once all is listed; nothing is copied before. Without it, both go on together. */
  readonly afterScan?: () => void
  /** Called with every item before it is copied. */
  readonly beforeTransfer?: (item: Uint8Array) => void
}

/** Items under way at once; the work queue has as many for two threads. */
const regionSlots = 2
const transferSlots = 4

/**
 * Runs a migration with queues in memory, first in, first out; what is to be tried again goes in again, at once. Rejects
 * with the first item's error, and begins nothing after it.
 */
export async function drive(mover: Mover, spec: MoveSpec, options: DriveOptions = {}): Promise<Driven> {
  const { signal = new AbortController().signal, redelivered = false, afterScan, beforeTransfer } = options
  const counts = noCounts()
  const failures: Failure[] = []
  const regions = new Lane(regionSlots)
  const folders = new Lane(regionSlots, true)
  const transfers = new Lane(transferSlots, afterScan !== undefined)

  const settle = (result: ItemResult, again: (item: Uint8Array) => void) => {
    add(counts, result.counts)
    failures.push(...result.failures)
    if (result.retry !== undefined) again(result.retry)
    result.split?.forEach(again)
  }
  const addRegion = (item: Uint8Array) =>
    regions.add(async () => {
      const result = await mover.scan(
        spec,
        item,
        async (children) => {
          for (const child of children.transfers) addTransfer(child)
          for (const child of children.regions) addRegion(child)
          for (const child of children.folders) addFolders(child)
        },
        signal,
        redelivered,
      )
      settle(result, addRegion)
    })
  const addTransfer = (item: Uint8Array) =>
    transfers.add(async () => {
      beforeTransfer?.(item)
      settle(await mover.transfer(spec, item, signal, redelivered), addTransfer)
    })

  const addFolders = (item: Uint8Array) =>
    folders.add(async () => {
      const publish = async (children: ChildBatch) => children.folders.forEach(addFolders)
      settle(await mover.finishFolders(spec, item, publish, signal), addFolders)
    })

  addRegion(options.start ?? startRegion())
  await regions.untilDone()
  afterScan?.()
  transfers.open()
  await transfers.untilDone()
  folders.open()
  await folders.untilDone()
  return { counts, failures, regions: regions.length, transfers: transfers.length }
}

/** Work in the order in which it came, so much at a time. */
class Lane {
  readonly #all: Promise<void>[] = []
  readonly #waiting: (() => void)[] = []
  #room: number
  #isClosed: boolean
  #hasFailed = false

  constructor(slots: number, isClosed = false) {
    this.#room = slots
    this.#isClosed = isClosed
  }

  get length(): number {
    return this.#all.length
  }

  add(work: () => Promise<void>): void {
    const done = this.#run(work)
    this.#all.push(done)
    done.catch(() => (this.#hasFailed = true))
  }

  open(): void {
    this.#isClosed = false
    this.#next()
  }

  /** Until all work is done, also such as is added meanwhile. */
  async untilDone(): Promise<void> {
    for (let i = 0; i < this.#all.length; i++) await this.#all[i]
  }

  async #run(work: () => Promise<void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.push(resolve)
    this.#next()
    await promise
    try {
      if (!this.#hasFailed) await work()
    } finally {
      this.#room++
      this.#next()
    }
  }

  #next(): void {
    while (!this.#isClosed && this.#room > 0 && this.#waiting.length > 0) {
      this.#room--
      this.#waiting.shift()?.()
    }
  }
}
