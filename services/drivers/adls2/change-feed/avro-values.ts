/** What came is no Avro, or has more in it than is read. */
export class AvroError extends Error {}

/** A value is not there as a whole. */
export class TooShort extends Error {
  /** From the first byte to the last one that is known to be missing. */
  readonly needsBytes: number

  constructor(needsBytes: number) {
    super('the value goes on after what is there')
    this.needsBytes = needsBytes
  }
}

/** Records, lists and unions in one another: an event has four levels. */
const maxDepth = 64

/** Bytes of a number of 64 bits, seven to a byte. */
const longestNumber = 10

/** Reads the binary encoding of Avro 1.8.2. Throws AvroError, TooShort. */
export class AvroBytes {
  readonly #bytes: Buffer
  at: number
  /** Values that may still be read: lists of what takes no bytes could go on for ever. */
  #left: number
  #depth = 0

  constructor(bytes: Buffer, { at = 0, maxValues = Number.POSITIVE_INFINITY } = {}) {
    this.#bytes = bytes
    this.at = at
    this.#left = maxValues
  }

  /** Those of the next value. They belong to the buffer that is read. */
  take(length: number): Buffer {
    if (length < 0) throw new AvroError('a length below zero')
    const end = this.at + length
    if (end > this.#bytes.length) throw new TooShort(end)
    const taken = this.#bytes.subarray(this.at, end)
    this.at = end
    return taken
  }

  /** An int or a long. Beyond 2^53 not exact: lengths and counts that large are none. */
  number(): number {
    let value = 0
    let scale = 1
    for (let read = 0; read < longestNumber; read++) {
      const byte = this.#bytes[this.at++]
      if (byte === undefined) throw new TooShort(this.at)
      value += (byte & 0x7f) * scale
      scale *= 128
      if (byte < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2
    }
    throw new AvroError(`a number of more than ${longestNumber} bytes`)
  }

  text(): string {
    return this.take(this.number()).toString('utf8')
  }

  /** Reads the items of a list or map, which come in blocks. */
  items(one: () => void): void {
    for (let count = this.number(); count !== 0; count = this.number()) {
      // Below zero their size in bytes follows, for those who leave them out.
      if (count < 0) this.number()
      for (let left = Math.abs(count); left > 0; left--) {
        this.spend()
        one()
      }
    }
  }

  /** Reads what is in a value of a type that may be in itself. */
  within<T>(read: () => T): T {
    this.spend()
    if (++this.#depth > maxDepth) throw new AvroError(`more than ${maxDepth} levels`)
    const value = read()
    this.#depth--
    return value
  }

  /** Counts a value: some take no bytes. */
  spend(): void {
    if (--this.#left < 0) throw new AvroError('more values than a block of events has')
  }
}

/** Reads one value of a type. */
export type ReadValue = (bytes: AvroBytes) => unknown

type Json = Readonly<Record<string, unknown>>

const primitives: Readonly<Record<string, ReadValue>> = {
  null: () => null,
  boolean: (bytes) => bytes.take(1)[0] === 1,
  int: (bytes) => bytes.number(),
  long: (bytes) => bytes.number(),
  float: (bytes) => bytes.take(4).readFloatLE(),
  double: (bytes) => bytes.take(8).readDoubleLE(),
  bytes: (bytes) => bytes.take(bytes.number()),
  string: (bytes) => bytes.text(),
}

/**
 * What reads values of a schema, as JSON has it: records as objects without prototype, enums as texts, unions as what is in
 * them. Whoever wrote a file chose its schema, so it is followed as data: no code is made of it. Throws AvroError.
 */
export const readerOf = (schema: unknown): ReadValue => new Schema().reader(schema, '', 0)

class Schema {
  readonly #named = new Map<string, ReadValue>()

  reader(schema: unknown, namespace: string, depth: number): ReadValue {
    if (depth > maxDepth) throw new AvroError(`a schema of more than ${maxDepth} levels`)
    const below = (one: unknown, space = namespace) => this.reader(one, space, depth + 1)
    if (typeof schema === 'string') return this.#known(schema, namespace)
    if (Array.isArray(schema)) return unionOf(schema.map((one) => below(one)))
    const its = membersOf(schema)
    const { type, items, values, symbols, size } = its
    switch (type) {
      case 'record':
      case 'error':
        return this.#record(its, namespace, below)
      case 'enum':
        return this.#name(its, namespace).set(enumOf(textsIn(symbols)))
      case 'fixed':
        if (!Number.isSafeInteger(size)) throw new AvroError('a fixed without its size')
        return this.#name(its, namespace).set((bytes) => bytes.take(size as number))
      case 'array':
        return arrayOf(below(items))
      case 'map':
        return mapOf(below(values))
      default:
        return below(type)
    }
  }

  #known(name: string, namespace: string): ReadValue {
    const primitive = Object.hasOwn(primitives, name) ? primitives[name] : undefined
    const read = primitive ?? this.#named.get(fullName(name, namespace)) ?? this.#named.get(name)
    if (read === undefined) throw new AvroError(`a type that is not known: ${name.slice(0, 100)}`)
    return read
  }

  #record(its: Json, namespace: string, below: (one: unknown, space: string) => ReadValue): ReadValue {
    const { name, set } = this.#name(its, namespace)
    const space = name.includes('.') ? name.slice(0, name.lastIndexOf('.')) : ''
    const fields = listIn(its['fields']).map((field) => {
      const { name: of, type } = membersOf(field)
      if (typeof of !== 'string') throw new AvroError('a field without its name')
      return { of, read: below(type, space) }
    })
    return set((bytes) =>
      bytes.within(() => {
        const record = Object.create(null) as Record<string, unknown>
        for (const { of, read } of fields) {
          bytes.spend()
          record[of] = read(bytes)
        }
        return record
      }),
    )
  }

  /** Gives a name to a type whose reader comes later: it may be in itself. */
  #name(its: Json, outer: string) {
    const { name, namespace } = its
    if (typeof name !== 'string') throw new AvroError('a type without its name')
    const full = fullName(name, typeof namespace === 'string' ? namespace : outer)
    let reader: ReadValue | undefined
    const read: ReadValue = (bytes) => reader?.(bytes)
    this.#named.set(full, read)
    const set = (found: ReadValue): ReadValue => {
      reader = found
      return read
    }
    return { name: full, set }
  }
}

const fullName = (name: string, namespace: string): string =>
  name.includes('.') || namespace === '' ? name : `${namespace}.${name}`

const unionOf =
  (branches: readonly ReadValue[]): ReadValue =>
  (bytes) => {
    const branch = branches[bytes.number()]
    if (branch === undefined) throw new AvroError('a branch that the union does not have')
    return branch(bytes)
  }

const enumOf =
  (symbols: readonly string[]): ReadValue =>
  (bytes) =>
    symbols[bytes.number()]

const arrayOf =
  (read: ReadValue): ReadValue =>
  (bytes) =>
    bytes.within(() => {
      const found: unknown[] = []
      bytes.items(() => found.push(read(bytes)))
      return found
    })

const mapOf =
  (read: ReadValue): ReadValue =>
  (bytes) =>
    bytes.within(() => {
      const found = Object.create(null) as Record<string, unknown>
      bytes.items(() => (found[bytes.text()] = read(bytes)))
      return found
    })

function membersOf(value: unknown): Json {
  if (typeof value !== 'object' || value === null) throw new AvroError('a schema that is none')
  return value as Json
}

function listIn(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new AvroError('a list is missing in the schema')
  return value as readonly unknown[]
}

function textsIn(value: unknown): readonly string[] {
  return listIn(value).filter((one) => typeof one === 'string')
}
