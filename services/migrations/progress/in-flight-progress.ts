import { type Meter, type Moved, newMeter, nothingMoved, readMeter } from '../../engine/run/meter.ts'

/** What is under way, and how much of it is at the target: in views until it is counted, and stored nowhere. */
export interface InFlightTransfer {
  /** It was counted, or nobody goes on with it. Idempotent. */
  end(): void
}

export interface MeteredTransfer extends InFlightTransfer {
  /** Where the threads note what they bring. */
  readonly meter: Meter
}

/** What somebody elsewhere has under way. */
export interface ReportedTransfer extends InFlightTransfer {
  /** So much is at the target of what is not counted. */
  says(moved: Moved): void
  /** So much of it was counted since it was said. */
  counted(moved: Moved): void
}

interface Open {
  readonly read: () => Moved
  /** What listeners know of it. */
  told: Moved
}

const minus = (one: Moved, other: Moved): Moved => ({
  bytes: one.bytes - other.bytes,
  files: one.files - other.files,
})
const isNothing = ({ bytes, files }: Moved): boolean => bytes === 0 && files === 0

/** Knows what is under way here, by work id. */
export class InFlightProgress {
  readonly #open = new Map<string, Set<Open>>()
  readonly #onMoved: (moved: Moved) => void

  /** @param onMoved told by `tell` what was moved since, and at the end of a transfer, below zero, what it was told of it: that is counted now */
  constructor(onMoved: (moved: Moved) => void = () => undefined) {
    this.#onMoved = onMoved
  }

  /** An item is worked on. */
  begin(workId: string): MeteredTransfer {
    const meter = newMeter()
    const transfer = this.#add(workId, () => readMeter(meter))
    return { meter, end: () => this.#end(workId, transfer) }
  }

  /** Somebody elsewhere works on it. */
  beginElsewhere(workId: string): ReportedTransfer {
    let moved = nothingMoved
    const transfer = this.#add(workId, () => moved)
    return {
      says: (said) => (moved = said),
      counted: ({ bytes, files }) => {
        moved = { bytes: Math.max(0, moved.bytes - bytes), files: Math.max(0, moved.files - files) }
        const { told } = transfer
        const left = { bytes: Math.min(told.bytes, moved.bytes), files: Math.min(told.files, moved.files) }
        this.#tell(transfer, left)
      },
      end: () => this.#end(workId, transfer),
    }
  }

  /** How much of what is under way is at the target. */
  of(workId: string): Moved {
    let [bytes, files] = [0, 0]
    for (const transfer of this.#open.get(workId) ?? []) {
      const moved = transfer.read()
      bytes += moved.bytes
      files += moved.files
    }
    return { bytes, files }
  }

  /** Tells what was moved since it did so last. */
  tell(): void {
    for (const inFlight of this.#open.values())
      for (const transfer of inFlight) this.#tell(transfer, transfer.read())
  }

  #add(workId: string, read: () => Moved): Open {
    const transfer = { read, told: nothingMoved }
    const inFlight = this.#open.get(workId) ?? new Set()
    this.#open.set(workId, inFlight.add(transfer))
    return transfer
  }

  #tell(transfer: Open, moved: Moved): void {
    const more = minus(moved, transfer.told)
    transfer.told = moved
    if (!isNothing(more)) this.#onMoved(more)
  }

  #end(workId: string, transfer: Open): void {
    const inFlight = this.#open.get(workId)
    if (inFlight?.delete(transfer) !== true) return
    if (inFlight.size === 0) this.#open.delete(workId)
    this.#tell(transfer, nothingMoved)
  }
}
