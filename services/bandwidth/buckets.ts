import { type Bucket, newBucket, type Rates, setRates } from '../engine/run/bucket.ts'

/** The limits of this process, by what they are about; they hold for all of its threads as soon as they are set. */
export class Buckets {
  readonly #buckets = new Map<string, Bucket>()

  of(id: string): Bucket {
    const known = this.#buckets.get(id) ?? newBucket()
    this.#buckets.set(id, known)
    return known
  }

  /** Returns whether that is a change. */
  set(id: string, rates: Rates): boolean {
    return setRates(this.of(id), rates)
  }
}
