import { wireTypes } from './types.ts'

/** What came is no Thrift. */
export class MalformedThrift extends Error {}

/** Structs in structs, and no more: what is deeper is no metadata. */
const maxDepth = 64

const fixedBytes: Readonly<Record<number, number>> = {
  [wireTypes.bool]: 1,
  [wireTypes.byte]: 1,
  [wireTypes.double]: 8,
  [wireTypes.i16]: 2,
  [wireTypes.i32]: 4,
  [wireTypes.i64]: 8,
}

interface Frame {
  /** Types of what comes, by turns; none in a struct, whose fields say it themselves. */
  readonly types: readonly number[]
  /** Values that are still to come; of a struct as many as there are. */
  left: number
}

/**
 * Finds the end of a value in bytes that come piece by piece: messages of the binary protocol do not say how long they are.
 * Each byte is looked at once.
 */
export class Scanner {
  readonly #frames: Frame[] = []
  #at: number
  #skip = 0

  /** @param at where the value begins */
  constructor(wireType: number, at = 0) {
    this.#at = at
    this.#begin([wireType], 1)
  }

  /**
   * Where the value ends, or undefined where it goes on behind the bytes. Throws MalformedThrift.
   * @param bytes all from the beginning, with those of before
   */
  scan(bytes: Buffer): number | undefined {
    for (;;) {
      if (this.#skip > 0) {
        const skipped = Math.min(this.#skip, bytes.length - this.#at)
        this.#at += skipped
        this.#skip -= skipped
        if (this.#skip > 0) return undefined
      }
      const frame = this.#frames.at(-1)
      if (frame === undefined) return this.#at
      if (frame.left === 0) this.#frames.pop()
      else if (frame.types.length === 0) {
        const has = bytes.length - this.#at
        if (has < 1) return undefined
        const wireType = bytes[this.#at]!
        if (wireType === wireTypes.stop) {
          this.#at += 1
          this.#frames.pop()
        } else {
          if (has < fieldHeadBytes) return undefined
          if (!this.#value(wireType, bytes, fieldHeadBytes)) return undefined
        }
      } else {
        const wireType = frame.types[frame.left % frame.types.length]!
        if (!this.#value(wireType, bytes, 0)) return undefined
        frame.left -= 1
      }
    }
  }

  /** Goes past the head of a value, and past all of one of known length; false where not even the head is there. */
  #value(wireType: number, bytes: Buffer, before: number): boolean {
    const at = this.#at + before
    const has = bytes.length - at
    const fixed = fixedBytes[wireType]
    if (fixed !== undefined) return this.#pass(before + fixed)
    switch (wireType) {
      case wireTypes.string:
        if (has < 4) return false
        return this.#pass(before + 4 + count(bytes.readInt32BE(at)))
      case wireTypes.struct:
        this.#pass(before)
        return this.#begin([], Infinity)
      case wireTypes.list:
      case wireTypes.set: {
        if (has < 5) return false
        const [elements, size] = [bytes[at]!, count(bytes.readInt32BE(at + 1))]
        this.#pass(before + 5)
        return this.#begin([elements], size)
      }
      case wireTypes.map: {
        if (has < 6) return false
        const [keys, values, size] = [bytes[at]!, bytes[at + 1]!, count(bytes.readInt32BE(at + 2))]
        this.#pass(before + 6)
        // What is left is even before a key.
        return this.#begin([keys, values], 2 * size)
      }
      default:
        throw new MalformedThrift(`unknown type ${wireType}`)
    }
  }

  #pass(bytes: number): true {
    this.#skip += bytes
    return true
  }

  #begin(types: readonly number[], left: number): true {
    if (this.#frames.length > maxDepth) throw new MalformedThrift('the reply is nested too deeply')
    this.#frames.push({ types, left })
    return true
  }
}

/** Type and number of a field. */
const fieldHeadBytes = 3

function count(size: number): number {
  if (size < 0) throw new MalformedThrift(`a collection has ${size} elements`)
  return size
}
