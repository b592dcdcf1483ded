/**
 * What the threads have brought to the target of one item so far, in shared memory: files that are whole, and bytes, those
 * of files under way included. It goes with the item, which is counted by what came of it.
 */
export type Meter = SharedArrayBuffer

/** Bytes and files that were moved. */
export interface Moved {
  readonly bytes: number
  readonly files: number
}

export const nothingMoved: Moved = { bytes: 0, files: 0 }

/** In 64-bit words. */
const places = { bytes: 0, files: 1 } as const
const words = 2

export const newMeter = (): Meter => new SharedArrayBuffer(words * BigInt64Array.BYTES_PER_ELEMENT)

export function readMeter(meter: Meter): Moved {
  const longs = new BigInt64Array(meter)
  return {
    bytes: Number(Atomics.load(longs, places.bytes)),
    files: Number(Atomics.load(longs, places.files)),
  }
}

/** What notes on a meter; without one nothing is noted. */
export class MeterView {
  readonly #meter: Meter | undefined
  readonly #longs: BigInt64Array | undefined
  #bytes = 0

  constructor(meter: Meter | undefined) {
    this.#meter = meter
    this.#longs = meter === undefined ? undefined : new BigInt64Array(meter)
  }

  /** One of its own for a file that may fail when some of it is there. */
  ofFile(): MeterView {
    return new MeterView(this.#meter)
  }

  bytes(count: number): void {
    this.#bytes += count
    if (this.#longs !== undefined && count !== 0) Atomics.add(this.#longs, places.bytes, BigInt(count))
  }

  file(): void {
    if (this.#longs !== undefined) Atomics.add(this.#longs, places.files, 1n)
  }

  /** Takes back all bytes that this view has noted. */
  undo(): void {
    this.bytes(-this.#bytes)
  }
}
