/** What is shorter takes some 50 MB at most, whatever is in it, and is not looked at. */
const checkedBytes = 1024 * 1024
/** Lists and objects in one another: answers of stores have six. */
const maxDepth = 64
/** Half a million files with all that HDFS tells of each. */
const maxValues = 16_000_000

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c]
const opening: ReadonlySet<number> = new Set([0x5b, 0x7b])
const closing: ReadonlySet<number> = new Set([0x5d, 0x7d])

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
  let [depth, values, isText] = [0, 0, false]
  for (let at = 0; at < body.length; at++) {
    const byte = body[at]!
    if (isText) {
      if (byte === backslash) at++
      else if (byte === quote) isText = false
    } else if (byte === quote) isText = true
    else if (byte === comma) values++
    else if (opening.has(byte)) {
      depth++
      values++
    } else if (closing.has(byte)) depth--
    if (depth > maxDepth || values > maxValues)
      throw new Error('the answer has more in it than one of a store has')
  }
}
