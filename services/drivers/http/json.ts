/** What is shorter takes some 50 MB at most, whatever is in it, and is not looked at. */
const checkedBytes = 1024 * 1024
/** Lists and objects in one another: answers of stores have six. */
const maxDepth = 64
/** Half a million files with all that HDFS tells of each. */
const maxValues = 16_000_000

/**
 * Objects of other keys, or of the same in another order, up to each of their keys. Node makes something for each of them: two
 * million in 24 MiB take it up to 19 s. Only what people name themselves, as metadata, has other keys in each object.
 */
const maxShapes = 100_000

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a]
const isOpening = (byte: number): boolean => byte === 0x5b || byte === 0x7b
const isClosing = (byte: number): boolean => byte === 0x5d || byte === 0x7d

/**
 * The JSON of an answer. Throws an Error for anything else, and where it would take some hundred times the memory of its text:
 * a store says what it likes.
 */
export function parseJson(body: Buffer): unknown {
  if (body.length > checkedBytes) requireUsual(body)
  return JSON.parse(body.toString('utf8'))
}

/** The object that an answer is; undefined for anything else, and for what `parseJson` refuses. */
export function jsonObject(body: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const json = parseJson(body)
    return typeof json === 'object' && json !== null ? (json as Readonly<Record<string, unknown>>) : undefined
  } catch {
    return undefined
  }
}

function requireUsual(body: Buffer): void {
  let [depth, values, from, to] = [0, 0, 0, 0]
  const shapes = new Set<number>()
  /** Of the objects and lists that are open, from the outermost on: their keys so far. */
  const keys = new Int32Array(maxDepth + 1)
  for (let at = 0; at < body.length; at++) {
    const byte = body[at]!
    if (byte === quote) {
      from = ++at
      for (let next = body[at]; next !== quote && next !== undefined; next = body[at])
        at += next === backslash ? 2 : 1
      to = at
    } else if (byte === comma) values++
    else if (byte === colon) {
      let shape = keys[depth]!
      for (let of = from; of < to; of++) shape = mixed(shape, body[of]!)
      keys[depth] = mixed(shape, byte)
      shapes.add(keys[depth]! >>> 2)
    } else if (isOpening(byte)) {
      values++
      if (depth < maxDepth) keys[depth + 1] = 0
      depth++
    } else if (isClosing(byte)) depth--
    if (depth > maxDepth || values > maxValues || shapes.size > maxShapes)
      throw new Error('the answer has more in it than one of a store has')
  }
}

/** A number that is hardly ever the same for others (FNV-1a). */
const mixed = (hash: number, next: number): number => Math.imul(hash ^ next ^ 0x81_1c_9d_c5, 0x01_00_01_93)
