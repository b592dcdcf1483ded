import { promisify } from 'node:util'
import { inflateRaw as inflateRawWithCallback } from 'node:zlib'
import { parseJson } from '../../http/json.ts'
import { AvroBytes, AvroError, type ReadValue, readerOf, TooShort } from './avro-values.ts'

const inflateRaw = promisify(inflateRawWithCallback)

/** The schema of events has some KiB. */
export const maxHeaderBytes = 256 * 1024
/** Append blobs, which files of the feed are, grew by 4 MiB at once at most when the feed came, and no block is longer. */
const maxBlockBytes = 8 * 1024 * 1024
/** Of a block that was compressed. */
const maxInflatedBytes = 32 * 1024 * 1024
/** A hundred for each of ten thousand events. They are read in one go, which nobody may make last. */
const maxValues = 1_000_000
/** What a file says of itself: schema and codec, and what else somebody may want to note. */
const maxProperties = 64

const magic = Buffer.from('Obj\u0001', 'latin1')
const syncBytes = 16

/** What stands at the beginning of an object container file of Avro. */
export interface AvroHeader {
  readonly read: ReadValue
  readonly isDeflated: boolean
  /** Stands behind the header, and behind each block. */
  readonly sync: Buffer
  /** Where the first block begins. */
  readonly endBytes: number
}

/** One block, by offsets in the bytes that it was found in. */
export interface AvroBlock {
  readonly count: number
  readonly data: Buffer
  readonly end: number
}

/** The header of a file by its first bytes; undefined where these end before it does. Throws AvroError. */
export function headerIn(file: Buffer): AvroHeader | undefined {
  return whole(
    () => {
      const bytes = new AvroBytes(file, { maxValues: maxProperties })
      if (!bytes.take(magic.length).equals(magic)) throw new AvroError('no object container file')
      const properties = new Map<string, Buffer>()
      bytes.items(() => {
        const name = bytes.text()
        properties.set(name, bytes.take(bytes.number()))
      })
      const sync = Buffer.from(bytes.take(syncBytes))
      const codec = properties.get('avro.codec')?.toString() ?? 'null'
      if (codec !== 'null' && codec !== 'deflate')
        throw new AvroError(`the codec ${codec.slice(0, 100)}, and null and deflate are read`)
      const schema = properties.get('avro.schema') ?? Buffer.alloc(0)
      return { read: readerOf(jsonIn(schema)), isDeflated: codec === 'deflate', sync, endBytes: bytes.at }
    },
    file.length >= maxHeaderBytes && 'a header that is too long',
  )
}

/**
 * The block that begins at an offset, or how many bytes from there on are needed at least to know more. Throws AvroError.
 * @param sync that of the file
 */
export function blockIn(
  file: Buffer,
  at: number,
  { sync }: Pick<AvroHeader, 'sync'>,
): AvroBlock | { readonly needsBytes: number } {
  try {
    const bytes = new AvroBytes(file, { at })
    const count = bytes.number()
    const length = bytes.number()
    if (count < 0 || count > maxValues || length < 0 || length > maxBlockBytes)
      throw new AvroError(`a block of ${count} values in ${length} bytes`)
    const end = bytes.at + length + syncBytes
    if (end > file.length) throw new TooShort(end)
    const data = bytes.take(length)
    if (!bytes.take(syncBytes).equals(sync)) throw new AvroError('a block that does not end where it says')
    return { count, data, end }
  } catch (error) {
    if (error instanceof TooShort) return { needsBytes: error.needsBytes - at }
    throw error
  }
}

/** The values of a block, of which there are as many as it says. Throws AvroError. */
export async function valuesIn(
  { count, data }: AvroBlock,
  { read, isDeflated }: Pick<AvroHeader, 'read' | 'isDeflated'>,
): Promise<readonly unknown[]> {
  const plain = isDeflated ? await inflated(data) : data
  const bytes = new AvroBytes(plain, { maxValues })
  const values = whole(() => bytes.within(() => Array.from({ length: count }, () => read(bytes))))
  if (values === undefined || bytes.at !== plain.length)
    throw new AvroError('a block with other values than it says')
  return values
}

async function inflated(data: Buffer): Promise<Buffer> {
  try {
    return await inflateRaw(data, { maxOutputLength: maxInflatedBytes })
  } catch (cause) {
    throw new AvroError(`a block that cannot be inflated: ${(cause as Error).message}`, { cause })
  }
}

/** What is read; undefined where the bytes end before it does, unless that is an error by itself. */
function whole<T>(read: () => T, tooLong: string | false = false): T | undefined {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof TooShort)) throw error
    if (tooLong !== false) throw new AvroError(tooLong)
    return undefined
  }
}

function jsonIn(text: Buffer): unknown {
  try {
    return parseJson(text)
  } catch (cause) {
    throw new AvroError('a schema that is no JSON', { cause })
  }
}
