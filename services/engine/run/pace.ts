import { setTimeout as delay } from 'node:timers/promises'
import { type Amount, type Bucket, BucketView } from './bucket.ts'
import type { Stop } from './stop.ts'

/** How often who waits looks whether the limit was changed. */
const recheckMs = 100
/** Amounts are taken in slices of what this time allows, so that a change of the limit holds soon, and all get their turn. */
const sliceSeconds = 0.25
/** Smaller parts of a large file would be mostly requests. */
const minPartBytes = 256 * 1024
/** From this on waiting is rare, and parts and threads need not be arranged for it. */
const fast = { bytes: 256 * 1024 * 1024, requests: 10_000 } as const

const nanosecondsPerMs = 1e6

/** Whether those who move under these limits mostly wait. */
export function isSlow(buckets: readonly Bucket[]): boolean {
  return buckets.some((bucket) => {
    const view = new BucketView(bucket)
    return (
      (view.rate('bytes') ?? Number.POSITIVE_INFINITY) < fast.bytes ||
      (view.rate('requests') ?? Number.POSITIVE_INFINITY) < fast.requests
    )
  })
}

/** Keeps a job to the limits that hold for it, all of them. */
export class Pace {
  readonly #buckets: readonly BucketView[]
  readonly #stop: Stop

  constructor(buckets: readonly Bucket[], stop: Stop) {
    this.#buckets = buckets.map((bucket) => new BucketView(bucket))
    this.#stop = stop
  }

  get isLimited(): boolean {
    return this.#lowest('bytes') !== undefined || this.#lowest('requests') !== undefined
  }

  /** Resolves when one request may be made that moves this many bytes. Throws when the job is to end. */
  async pay(bytes: number): Promise<void> {
    if (!this.isLimited) return
    await this.#take('requests', 1)
    for (let left = bytes; left > 0;) {
      const slice = this.sliceBytes(left)
      await this.#take('bytes', slice)
      left -= slice
    }
  }

  /** The most that should be moved in one go, where `usual` is without limits: what a second allows. */
  pieceBytes(usual: number): number {
    const rate = this.#lowest('bytes')
    return rate === undefined ? usual : Math.min(usual, Math.max(minPartBytes, Math.floor(rate)))
  }

  /** The most that is taken at once: one that is waited for when the limit changes is still moved in one go. */
  sliceBytes(usual: number): number {
    const rate = this.#lowest('bytes')
    return rate === undefined ? usual : Math.min(usual, Math.max(1, Math.floor(rate * sliceSeconds)))
  }

  #lowest(amount: Amount): number | undefined {
    let lowest: number | undefined
    for (const bucket of this.#buckets) {
      const rate = bucket.rate(amount)
      if (rate !== undefined && (lowest === undefined || rate < lowest)) lowest = rate
    }
    return lowest
  }

  async #take(amount: Amount, count: number): Promise<void> {
    const taken = this.#buckets
      .filter((bucket) => bucket.rate(amount) !== undefined)
      .map((bucket) => new Taken(bucket, amount, count))
    for (;;) {
      let waitMs = 0
      for (const one of taken) waitMs = Math.max(waitMs, one.waitMs())
      if (waitMs === 0) return
      // The thread's other jobs go on meanwhile.
      await delay(Math.min(waitMs, recheckMs), undefined, { signal: this.#stop.signal }).catch(
        () => undefined,
      )
      this.#stop.check()
    }
  }
}

/** What was taken from one bucket. */
class Taken {
  readonly #bucket: BucketView
  readonly #amount: Amount
  readonly #count: number
  #changes: number
  #until: bigint

  constructor(bucket: BucketView, amount: Amount, count: number) {
    this.#bucket = bucket
    this.#amount = amount
    this.#count = count
    this.#changes = bucket.changes
    this.#until = bucket.take(amount, count)
  }

  /** Time until it may be used, in milliseconds; a limit that was changed begins anew. */
  waitMs(): number {
    const { changes } = this.#bucket
    if (changes !== this.#changes) {
      this.#changes = changes
      this.#until = this.#bucket.take(this.#amount, this.#count)
    }
    if (this.#until === 0n) return 0
    return Math.max(0, Math.ceil(Number(this.#until - process.hrtime.bigint()) / nanosecondsPerMs))
  }
}
