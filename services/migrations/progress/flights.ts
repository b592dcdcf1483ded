import { type Meter, type Moved, newMeter, nothingMoved, readMeter } from '../../engine/run/meter.ts'

/** What is under way, and how much of it is at the target: in views until it is counted, and stored nowhere. */
export interface Flight {
  /** It was counted, or nobody goes on with it. Twice is harmless. */
  end(): void
}

export interface MeteredFlight extends Flight {
  /** Where the threads note what they bring. */
  readonly meter: Meter
}

/** What somebody elsewhere has under way. */
export interface SaidFlight extends Flight {
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
export class Flights {
  readonly #open = new Map<string, Set<Open>>()
  readonly #onMoved: (moved: Moved) => void

  /** @param onMoved told by `tell` what was moved since, and at the end of a flight, below zero, what it was told of it: that is counted now */
  constructor(onMoved: (moved: Moved) => void = () => undefined) {
    this.#onMoved = onMoved
  }

  /** An item is worked on. */
  begin(workId: string): MeteredFlight {
    const meter = newMeter()
    const flight = this.#add(workId, () => readMeter(meter))
    return { meter, end: () => this.#end(workId, flight) }
  }

  /** Somebody elsewhere works on it. */
  beginElsewhere(workId: string): SaidFlight {
    let moved = nothingMoved
    const flight = this.#add(workId, () => moved)
    return {
      says: (said) => (moved = said),
      counted: ({ bytes, files }) => {
        moved = { bytes: Math.max(0, moved.bytes - bytes), files: Math.max(0, moved.files - files) }
        const { told } = flight
        const left = { bytes: Math.min(told.bytes, moved.bytes), files: Math.min(told.files, moved.files) }
        this.#tell(flight, left)
      },
      end: () => this.#end(workId, flight),
    }
  }

  /** How much of what is under way is at the target. */
  of(workId: string): Moved {
    let [bytes, files] = [0, 0]
    for (const flight of this.#open.get(workId) ?? []) {
      const moved = flight.read()
      bytes += moved.bytes
      files += moved.files
    }
    return { bytes, files }
  }

  /** Tells what was moved since it did so last. */
  tell(): void {
    for (const flights of this.#open.values()) for (const flight of flights) this.#tell(flight, flight.read())
  }

  #add(workId: string, read: () => Moved): Open {
    const flight = { read, told: nothingMoved }
    const flights = this.#open.get(workId) ?? new Set()
    this.#open.set(workId, flights.add(flight))
    return flight
  }

  #tell(flight: Open, moved: Moved): void {
    const more = minus(moved, flight.told)
    flight.told = moved
    if (!isNothing(more)) this.#onMoved(more)
  }

  #end(workId: string, flight: Open): void {
    const flights = this.#open.get(workId)
    if (flights?.delete(flight) !== true) return
    if (flights.size === 0) this.#open.delete(workId)
    this.#tell(flight, nothingMoved)
  }
}
