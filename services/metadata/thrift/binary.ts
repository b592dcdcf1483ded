import { MalformedThrift, Scanner } from './scanner.ts'
import {
  type Fields,
  type RawField,
  type StructType,
  type Struct,
  type ThriftType,
  unnamed,
  type Value,
  wireTypeOf,
  wireTypes,
} from './types.ts'

const firstBytes = 1024

/** Writes values in the binary protocol. */
export class BinaryWriter {
  #bytes = Buffer.allocUnsafe(firstBytes)
  #length = 0

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  value(type: ThriftType, value: unknown): void {
    switch (type) {
      case 'bool':
        this.byte(value === true ? 1 : 0)
        return
      case 'byte':
        this.byte(value as number)
        return
      case 'i16':
        this.i16(value as number)
        return
      case 'i32':
        this.i32(value as number)
        return
      case 'i64':
        this.#room(8).writeBigInt64BE(value as bigint, this.#length - 8)
        return
      case 'double':
        this.#room(8).writeDoubleBE(value as number, this.#length - 8)
        return
      case 'string':
        this.raw(Buffer.from(value as string))
        return
      case 'binary':
        this.raw(value as Buffer)
        return
    }
    switch (type.kind) {
      case 'list':
      case 'set': {
        const elements = value as readonly unknown[]
        this.byte(wireTypeOf(type.elements))
        this.i32(elements.length)
        for (const element of elements) this.value(type.elements, element)
        return
      }
      case 'map': {
        const entries = value as ReadonlyMap<unknown, unknown>
        this.byte(wireTypeOf(type.keys))
        this.byte(wireTypeOf(type.values))
        this.i32(entries.size)
        for (const [key, its] of entries) {
          this.value(type.keys, key)
          this.value(type.values, its)
        }
        return
      }
      case 'struct':
        this.struct(type, value as Struct<Fields>)
    }
  }

  struct(type: StructType, value: Struct<Fields>): void {
    for (const [name, [id, its]] of Object.entries(type.fields)) {
      const field = value[name]
      if (field === undefined) continue
      this.#field(wireTypeOf(its), id)
      this.value(its, field)
    }
    for (const { id, wireType, bytes } of value[unnamed] ?? []) {
      this.#field(wireType, id)
      this.#append(bytes)
    }
    this.byte(wireTypes.stop)
  }

  byte(value: number): void {
    this.#room(1)[this.#length - 1] = value
  }

  i16(value: number): void {
    this.#room(2).writeInt16BE(value, this.#length - 2)
  }

  i32(value: number): void {
    this.#room(4).writeInt32BE(value, this.#length - 4)
  }

  /** Bytes with their number before them. */
  raw(bytes: Buffer): void {
    this.i32(bytes.length)
    this.#append(bytes)
  }

  #field(wireType: number, id: number): void {
    this.byte(wireType)
    this.i16(id)
  }

  #append(bytes: Buffer): void {
    bytes.copy(this.#room(bytes.length), this.#length - bytes.length)
  }

  /** All bytes, with so many more at the end of what is written. */
  #room(bytes: number): Buffer {
    const length = this.#length + bytes
    if (length > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(length, 2 * this.#bytes.length))
      this.#bytes.copy(larger, 0, 0, this.#length)
      this.#bytes = larger
    }
    this.#length = length
    return this.#bytes
  }
}

/** Reads values in the binary protocol from bytes that have all of them. Throws MalformedThrift. */
export class BinaryReader {
  readonly #bytes: Buffer
  #at: number

  constructor(bytes: Buffer, at = 0) {
    this.#bytes = bytes
    this.#at = at
  }

  get at(): number {
    return this.#at
  }

  value(type: ThriftType): unknown {
    switch (type) {
      case 'bool':
        return this.#take(1)[0] !== 0
      case 'byte':
        return this.#take(1).readInt8()
      case 'i16':
        return this.i16()
      case 'i32':
        return this.i32()
      case 'i64':
        return this.#take(8).readBigInt64BE()
      case 'double':
        return this.#take(8).readDoubleBE()
      case 'string':
        return this.#take(this.#size()).toString()
      case 'binary':
        // A copy: what is read may be kept for longer than all that it came with.
        return Buffer.from(this.#take(this.#size()))
    }
    switch (type.kind) {
      case 'list':
      case 'set': {
        this.#requireType(type.elements)
        const size = this.#size()
        const elements: unknown[] = []
        for (let i = 0; i < size; i++) elements.push(this.value(type.elements))
        return elements
      }
      case 'map': {
        const [keys, values] = [this.byte(), this.byte()]
        const size = this.#size()
        // Servers leave out the types of what is empty.
        if (size > 0 && (keys !== wireTypeOf(type.keys) || values !== wireTypeOf(type.values)))
          throw new MalformedThrift(`a map has keys of type ${keys} and values of type ${values}`)
        const entries = new Map<unknown, unknown>()
        for (let i = 0; i < size; i++) entries.set(this.value(type.keys), this.value(type.values))
        return entries
      }
      case 'struct':
        return this.struct(type)
    }
  }

  struct<F extends Fields>(type: StructType<F>): Struct<F> {
    const value: Record<string | symbol, unknown> = {}
    const others: RawField[] = []
    for (let wireType = this.byte(); wireType !== wireTypes.stop; wireType = this.byte()) {
      const id = this.i16()
      const field = type.byId.get(id)
      if (field !== undefined && wireTypeOf(field.type) === wireType)
        value[field.name] = this.value(field.type)
      else others.push({ id, wireType, bytes: Buffer.from(this.#skip(wireType)) })
    }
    if (others.length > 0) value[unnamed] = others
    return value as Struct<F>
  }

  byte(): number {
    return this.#take(1)[0]!
  }

  i16(): number {
    return this.#take(2).readInt16BE()
  }

  i32(): number {
    return this.#take(4).readInt32BE()
  }

  string(): string {
    return this.value('string') as Value<'string'>
  }

  #requireType(elements: ThriftType): void {
    const wireType = this.byte()
    if (wireType !== wireTypeOf(elements)) {
      // Servers leave out the type of what is empty.
      if (this.#bytes.length >= this.#at + 4 && this.#bytes.readInt32BE(this.#at) === 0) return
      throw new MalformedThrift(`a list has elements of type ${wireType}`)
    }
  }

  #skip(wireType: number): Buffer {
    const begin = this.#at
    const end = new Scanner(wireType, begin).scan(this.#bytes)
    if (end === undefined) throw ended()
    this.#at = end
    return this.#bytes.subarray(begin, end)
  }

  #size(): number {
    const size = this.i32()
    if (size < 0) throw new MalformedThrift(`a collection has ${size} elements`)
    return size
  }

  #take(bytes: number): Buffer {
    const end = this.#at + bytes
    if (end > this.#bytes.length) throw ended()
    const taken = this.#bytes.subarray(this.#at, end)
    this.#at = end
    return taken
  }
}

const ended = () => new MalformedThrift('the reply ends too early')
