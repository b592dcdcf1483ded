/**
 * A limit in shared memory, that all threads of a process keep together: for bytes and for requests the amount that a
 * second allows, and the moment from which on what is paid for has not been taken yet (virtual scheduling, GCRA). Taking
 * an amount moves that moment; whoever took waits until it is there. So the order is that of asking, nobody holds a lock,
 * and a limit that nobody set costs one look.
 */
export type Bucket = SharedArrayBuffer

/** Amounts a second; undefined for no limit. */
export interface Rates {
  readonly bytesPerSecond: number | undefined
  readonly requestsPerSecond: number | undefined
}

export const noRates: Rates = { bytesPerSecond: undefined, requestsPerSecond: undefined }

export type Amount = 'bytes' | 'requests'

/** In 32-bit words: which amounts are limited, and how often that was changed. */
const limitedAt = 0
const changesAt = 1
const flags = { bytes: 1, requests: 2 } as const
/** In 64-bit words, the two above being the first: what a second allows, and the next free moment in nanoseconds. */
const places = { bytes: { rate: 1, free: 2 }, requests: { rate: 3, free: 4 } } as const
const words = 5

const nanosecondsPerSecond = 1e9
/**
 * What was not taken may be made up for so long: a timer that is late, or a store that was slow for a moment, does not
 * make the rate lower than the limit.
 */
const burstNs = 200_000_000n

/** A limit that is none yet. */
export const newBucket = (): Bucket => new SharedArrayBuffer(words * BigInt64Array.BYTES_PER_ELEMENT)

/**
 * Changes what a second allows; all threads see it at once, and what was to be waited for is forgotten. Returns whether it
 * was another before.
 */
export function setRates(bucket: Bucket, { bytesPerSecond, requestsPerSecond }: Rates): boolean {
  const longs = new BigInt64Array(bucket)
  const ints = new Int32Array(bucket)
  const before = [Atomics.load(longs, places.bytes.rate), Atomics.load(longs, places.requests.rate)]
  const rates = [bytesPerSecond, requestsPerSecond].map((rate) =>
    rate === undefined ? 0n : BigInt(Math.max(1, Math.floor(rate))),
  ) as [bigint, bigint]
  if (rates.every((rate, index) => rate === before[index])) return false
  Atomics.store(longs, places.bytes.rate, rates[0])
  Atomics.store(longs, places.requests.rate, rates[1])
  Atomics.store(longs, places.bytes.free, 0n)
  Atomics.store(longs, places.requests.free, 0n)
  Atomics.store(ints, limitedAt, (rates[0] > 0n ? flags.bytes : 0) | (rates[1] > 0n ? flags.requests : 0))
  Atomics.add(ints, changesAt, 1)
  return true
}

/** One thread's view of a bucket. */
export class BucketView {
  readonly #longs: BigInt64Array
  readonly #ints: Int32Array

  constructor(bucket: Bucket) {
    this.#longs = new BigInt64Array(bucket)
    this.#ints = new Int32Array(bucket)
  }

  /** What a second allows; undefined without a limit. */
  rate(amount: Amount): number | undefined {
    if ((Atomics.load(this.#ints, limitedAt) & flags[amount]) === 0) return undefined
    return Number(Atomics.load(this.#longs, places[amount].rate))
  }

  /** Grows with every change of the limits: what was taken before it counts no more. */
  get changes(): number {
    return Atomics.load(this.#ints, changesAt)
  }

  /** Takes an amount, and says at which moment (nanoseconds of the process's clock) it may be used; 0 without a limit. */
  take(amount: Amount, count: number): bigint {
    const rate = this.rate(amount)
    // Its limit may have been lifted between the two looks.
    if (rate === undefined || rate === 0) return 0n
    const { free } = places[amount]
    const lasts = BigInt(Math.ceil((count * nanosecondsPerSecond) / rate))
    const earliest = process.hrtime.bigint() - burstNs
    for (;;) {
      const found = Atomics.load(this.#longs, free)
      const until = (found > earliest ? found : earliest) + lasts
      if (Atomics.compareExchange(this.#longs, free, found, until) === found) return until
    }
  }
}
