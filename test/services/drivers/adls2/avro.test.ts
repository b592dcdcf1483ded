import { Type } from 'avsc'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  type AvroHeader,
  blockIn,
  headerIn,
  maxHeaderBytes,
  valuesIn,
} from '../../../../services/drivers/adls2/change-feed/avro-file.ts'
import { AvroBytes, AvroError, readerOf } from '../../../../services/drivers/adls2/change-feed/avro-values.ts'
import { avroFile, eventOf } from '../../../support/change-feed-double.ts'

interface Read {
  readonly values: unknown[]
  /** Of the next block. */
  readonly at: number
}

/** All blocks that are there as a whole. */
async function blocksOf(file: Buffer, header: AvroHeader, from: number): Promise<Read> {
  const values: unknown[] = []
  for (let at = from; ;) {
    const block = blockIn(file, at, header)
    if ('needsBytes' in block) return { values, at }
    values.push(...(await valuesIn(block, header)))
    at = block.end
  }
}

const headerOf = (file: Buffer): AvroHeader => headerIn(file) ?? expect.fail('no header')

test('events as a library writes them, by the schema in the file', async () => {
  for (const codec of ['null', 'deflate'] as const) {
    const file = await avroFile([eventOf('/a'), eventOf('/b', { eventType: 'Control' })], { codec })
    const header = headerOf(file)
    const { values, at } = await blocksOf(file, header, header.endBytes)
    expect(at).toBe(file.length)
    expect(values).toMatchObject([
      {
        subject: '/a',
        schemaVersion: 5,
        data: {
          blobType: 'AppendBlob',
          contentLength: 2 ** 40 + 1,
          contentType: null,
          share: 0.5,
          recursive: false,
          url: '',
          blobPropertiesUpdated: { ContentType: { current: 'a', earlier: [{ earlier: null }] } },
        },
        metadataVersion: '1',
      },
      { subject: '/b', eventType: 'Control' },
    ])
  }
})

const anyText = fc.string({ maxLength: 40, unit: 'binary' })

test('a file that is cut at any bytes gives each event once, wherever reading goes on', async () => {
  const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyText, { maxLength: 30 }),
      fc.constantFrom('null' as const, 'deflate' as const),
      fc.integer({ min: 1, max: 3_000 }),
      cuts,
      async (subjects, codec, blockSize, at) => {
        const file = await avroFile(
          subjects.map((subject) => eventOf(subject)),
          { codec, blockSize },
        )
        const ends = [...at.map((share) => Math.floor(share * file.length)), file.length].toSorted(
          (a, b) => a - b,
        )
        const found: unknown[] = []
        let from = 0
        for (const end of ends) {
          const cut = file.subarray(0, end)
          const header = headerIn(cut)
          if (header === undefined) continue
          const read = await blocksOf(cut, header, Math.max(from, header.endBytes))
          found.push(...read.values.map((value) => (value as { subject: unknown }).subject))
          from = read.at
        }
        expect(found).toEqual(subjects)
        expect(from).toBe(file.length)
      },
    ),
  )
})

test('any schema and value of the format is read as the library reads it', async () => {
  const schema = {
    type: 'record',
    name: 'a.Tree',
    fields: [
      { name: 'long', type: 'long' },
      { name: 'ints', type: { type: 'array', items: 'int' } },
      { name: 'text', type: ['null', 'string', 'boolean'] },
      { name: 'kind', type: { type: 'enum', name: 'Kind', symbols: ['X', 'Y'] } },
      { name: 'other', type: 'a.Kind' },
      { name: 'below', type: { type: 'map', values: 'Tree' } },
      { name: 'f', type: 'float' },
    ],
  } as const
  const type = Type.forSchema(schema as never)
  const read = readerOf(JSON.parse(JSON.stringify(schema)))
  // The library takes this one for its own.
  const mapKey = anyText.filter((text) => text !== '__proto__')
  const { tree } = fc.letrec((tie) => ({
    tree: fc.record({
      // The library writes no long at the very ends of what is exact.
      long: fc.maxSafeInteger().filter((long) => Math.abs(long) < Number.MAX_SAFE_INTEGER),
      ints: fc.array(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), { maxLength: 5 }),
      text: fc.option(fc.oneof(anyText, fc.boolean())),
      kind: fc.constantFrom('X', 'Y'),
      other: fc.constantFrom('X', 'Y'),
      below: fc.oneof({ maxDepth: 3 }, fc.constant({}), fc.dictionary(mapKey, tie('tree'), { maxKeys: 2 })),
      f: fc.integer({ min: -100, max: 100 }),
    }),
  }))
  const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
  fc.assert(
    fc.property(tree, (value) => {
      const bytes = type.toBuffer(value)
      const from = new AvroBytes(bytes)
      expect(plain(read(from))).toEqual(plain(type.fromBuffer(bytes)))
      expect(from.at).toBe(bytes.length)
    }),
  )
})

test('names of fields are names and nothing else', () => {
  const read = readerOf(record([{ name: '__proto__', type: 'long' }]))
  const value = read(new AvroBytes(Buffer.from([2])))
  expect(Object.entries(value as object)).toEqual([['__proto__', 1]])
})

/** A file of one block, of whatever says what it is. */
function fileOf(
  schema: unknown,
  count: number,
  data: Buffer,
  { codec = 'null', size = data.length } = {},
): Buffer {
  const long = Type.forSchema('long')
  const text = (value: string) => Type.forSchema('string').toBuffer(value)
  const sync = Buffer.alloc(16, 1)
  const schemaText = typeof schema === 'string' ? schema : JSON.stringify(schema)
  const properties = [
    long.toBuffer(2),
    text('avro.schema'),
    text(schemaText),
    text('avro.codec'),
    text(codec),
  ]
  const header = [Buffer.from('Obj\u0001', 'latin1'), ...properties, long.toBuffer(0), sync]
  return Buffer.concat([...header, long.toBuffer(count), long.toBuffer(size), data, sync])
}

const readAll = async (file: Buffer): Promise<unknown[]> => {
  const header = headerOf(file)
  return (await blocksOf(file, header, header.endBytes)).values
}

const record = (fields: unknown) => ({ type: 'record', name: 'R', fields })

test('what is no such file, or would take more than it gives, is refused', async () => {
  const long = (value: number) => Type.forSchema('long').toBuffer(value)
  const nulls = { type: 'array', items: 'null' }
  const refused: readonly [string, Buffer, RegExp][] = [
    ['another file', Buffer.from('PAR1 and so on'), /no object container file/],
    ['a codec', fileOf('"long"', 1, long(1), { codec: 'snappy' }), /the codec snappy/],
    ['no schema', fileOf('', 1, long(1)), /no JSON/],
    ['no type', fileOf('7', 1, long(1)), /none/],
    ['another type', fileOf('"Some"', 1, long(1)), /not known: Some/],
    ['a record without fields', fileOf(record(undefined), 1, long(1)), /list is missing/],
    ['a fixed of any size', fileOf({ type: 'fixed', name: 'F', size: 1.5 }, 1, long(1)), /without its size/],
    ['a deep schema', fileOf(`${'['.repeat(100)}"int"${']'.repeat(100)}`, 1, long(0)), /levels/],
    ['a record in itself', fileOf(record([{ name: 'r', type: 'R' }]), 1, long(0)), /levels/],
    ['more values than bytes', fileOf(nulls, 1, Buffer.concat([long(2 ** 40), long(0)])), /more values/],
    ['more records than bytes', fileOf(record([]), 2 ** 40, Buffer.alloc(0)), /a block of/],
    [
      'more fields than bytes',
      fileOf(
        record(Array.from({ length: 9_000 }, (_, field) => ({ name: `f${field}`, type: 'null' }))),
        100_000,
        Buffer.alloc(0),
      ),
      /more values/,
    ],
    ['a branch', fileOf('["null"]', 1, long(1)), /branch/],
    ['a text below zero', fileOf('"string"', 1, long(-5)), /below zero/],
    ['a long text', fileOf('"string"', 1, long(1e12)), /other values/],
    ['a number without end', fileOf('"long"', 1, Buffer.alloc(20, 0xff)), /more than 10 bytes/],
    ['bytes that are over', fileOf('"long"', 1, Buffer.alloc(2)), /other values/],
    ['a long block', fileOf('"long"', 1, long(1), { size: 1e9 }), /a block of 1 values/],
    ['another size', fileOf('"bytes"', 1, Buffer.alloc(30), { size: 3 }), /does not end where/],
    ['no deflated block', fileOf('"long"', 1, Buffer.alloc(9, 0xff), { codec: 'deflate' }), /inflated/],
    [
      'a long header',
      Buffer.concat([fileOf('"long"', 0, long(0)).subarray(0, 5), long(1e9), Buffer.alloc(maxHeaderBytes)]),
      /too long|more values/,
    ],
  ]
  for (const [what, file, message] of refused)
    await expect(readAll(file), what).rejects.toThrow(
      expect.objectContaining({ message: expect.stringMatching(message) }),
    )
  for (const [, file] of refused) await expect(readAll(file)).rejects.toBeInstanceOf(AvroError)
})

test('a bomb is not inflated', async () => {
  const { deflateRawSync } = await import('node:zlib')
  const data = deflateRawSync(Buffer.alloc(100 * 1024 * 1024))
  await expect(readAll(fileOf('"bytes"', 1, data, { codec: 'deflate' }))).rejects.toThrow(/inflated/)
})

test('whatever is changed in a file, it is read or refused', async () => {
  const files = await Promise.all(
    (['null', 'deflate'] as const).map((codec) => avroFile([eventOf('/a'), eventOf('/b')], { codec })),
  )
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...files),
      fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 5 }),
      async (file, changes) => {
        const changed = Buffer.from(file)
        for (const [at, byte] of changes) changed[at % changed.length] = byte
        try {
          const header = headerIn(changed)
          if (header !== undefined) await blocksOf(changed, header, header.endBytes)
        } catch (error) {
          expect(error).toBeInstanceOf(AvroError)
        }
      },
    ),
    { numRuns: 500 },
  )
})
