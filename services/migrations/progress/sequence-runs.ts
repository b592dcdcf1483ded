/** Sequences, most of which follow each other: takes as much memory as there are gaps. */
export class SequenceRuns {
  /** Ascending, apart from each other; both ends are included. */
  readonly #firsts: number[] = []
  readonly #lasts: number[] = []

  has(sequence: number): boolean {
    const at = this.#runUpTo(sequence)
    return at >= 0 && sequence <= this.#lasts[at]!
  }

  add(sequence: number): void {
    const before = this.#runUpTo(sequence)
    if (before >= 0 && sequence <= this.#lasts[before]!) return
    const follows = before >= 0 && this.#lasts[before] === sequence - 1
    const leads = this.#firsts[before + 1] === sequence + 1
    if (follows && leads) {
      this.#firsts.splice(before + 1, 1)
      this.#lasts.splice(before, 1)
    } else if (follows) this.#lasts[before] = sequence
    else if (leads) this.#firsts[before + 1] = sequence
    else {
      this.#firsts.splice(before + 1, 0, sequence)
      this.#lasts.splice(before + 1, 0, sequence)
    }
  }

  /** Index of the last run that begins at the sequence or before it; -1 without one. */
  #runUpTo(sequence: number): number {
    let low = 0
    let high = this.#firsts.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#firsts[middle]! <= sequence) low = middle + 1
      else high = middle
    }
    return low - 1
  }
}
