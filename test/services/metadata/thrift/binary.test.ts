import { expect, test } from 'vitest'
import { BinaryReader, BinaryWriter } from '../../../../services/metadata/thrift/binary.ts'
import { MalformedThrift, Scanner } from '../../../../services/metadata/thrift/scanner.ts'
import {
  list,
  map,
  set,
  struct,
  type StructType,
  unnamed,
  wireTypes,
} from '../../../../services/metadata/thrift/types.ts'

const Inner = struct({ text: [1, 'string'], bytes: [2, 'binary'] })
const Outer = struct({
  yes: [1, 'bool'],
  small: [2, 'byte'],
  short: [3, 'i16'],
  int: [4, 'i32'],
  long: [5, 'i64'],
  real: [6, 'double'],
  inner: [7, Inner],
  texts: [8, list('string')],
  numbers: [9, set('i64')],
  inners: [10, list(Inner)],
  byName: [11, map('string', list('i32'))],
  byList: [12, map(list('string'), 'string')],
})
const value = {
  yes: true,
  small: -1,
  short: -2,
  int: 2 ** 31 - 1,
  long: 2n ** 63n - 1n,
  real: 1.5,
  inner: { text: 'ü', bytes: Buffer.from([0, 255]) },
  texts: ['', 'a'],
  numbers: [-1n],
  inners: [{}, { text: 'b' }],
  byName: new Map([['a', [1, 2]]]),
  byList: new Map([[['x', 'y'], 'z']]),
}

function written(type: StructType, its: object): Buffer {
  const writer = new BinaryWriter()
  writer.struct(type, its)
  return writer.bytes
}

test('what is written is read again', () => {
  const bytes = written(Outer, value)
  const reader = new BinaryReader(bytes)
  expect(reader.struct(Outer)).toEqual(value)
  expect(reader.at).toBe(bytes.length)
})

test('a number of 64 bits is exact', () => {
  const type = struct({ long: [1, 'i64'] })
  const long = 2n ** 53n + 1n
  expect(new BinaryReader(written(type, { long })).struct(type).long).toBe(long)
})

test('what a type does not name stays as it came, and is written again', () => {
  const Known = struct({ int: [4, 'i32'] })
  const bytes = written(Outer, value)
  const known = new BinaryReader(bytes).struct(Known)
  expect(known.int).toBe(value.int)
  expect(known[unnamed]).toHaveLength(11)
  expect(new BinaryReader(written(Known, known)).struct(Outer)).toEqual(value)
})

test('a field of another type than expected is one that nobody names', () => {
  const Other = struct({ int: [4, 'string'] })
  expect(new BinaryReader(written(Outer, value)).struct(Other).int).toBeUndefined()
})

test('the end of a value is found, however few bytes come at a time', () => {
  const bytes = written(Outer, value)
  const more = Buffer.concat([bytes, Buffer.from([1, 2, 3])])
  const scanner = new Scanner(wireTypes.struct)
  for (let length = 0; length < bytes.length; length++)
    expect(scanner.scan(more.subarray(0, length))).toBeUndefined()
  expect(scanner.scan(more)).toBe(bytes.length)
})

test.each([
  ['a text of negative length', [wireTypes.string, 0, 1, 0xff, 0xff, 0xff, 0xff]],
  ['a list of negative length', [wireTypes.list, 0, 1, wireTypes.i32, 0xff, 0xff, 0xff, 0xff]],
  ['a type that there is not', [1, 0, 1, 0]],
  ['a list of elements of no type', [wireTypes.list, 0, 1, 1, 0, 0, 0, 1, 0]],
])('%s is no Thrift', (_, bytes) => {
  const all = Buffer.from([...bytes, 0])
  expect(() => new Scanner(wireTypes.struct).scan(all)).toThrow(MalformedThrift)
  expect(() => new BinaryReader(all).struct(struct({}))).toThrow(MalformedThrift)
})

test('what is nested without end is refused', () => {
  const deep = Buffer.alloc(3_000)
  for (let at = 0; at < deep.length; at += 3) deep[at] = wireTypes.struct
  expect(() => new Scanner(wireTypes.struct).scan(deep)).toThrow('nested too deeply')
})

test('what is cut off anywhere is refused', () => {
  const bytes = written(Outer, value)
  for (let length = 0; length < bytes.length; length++)
    expect(() => new BinaryReader(bytes.subarray(0, length)).struct(Outer)).toThrow(MalformedThrift)
})
