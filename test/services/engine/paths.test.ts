import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  bytesFromJson,
  isName,
  isPath,
  joinPath,
  jsonFromBytes,
  pathFromText,
  textFromPath,
} from '../../../services/engine/items/paths.ts'
import { isGantryError } from '../../../subjects/kit/errors.ts'
import { GivenPath } from '../../../subjects/kit/schemas.ts'
import { matches } from '../../../subjects/kit/validate.ts'

const anyBytes = fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes))
/** Text, in which bytes that belong together are likelier than in random bytes. */
const anyText = fc.string({ unit: 'binary', maxLength: 40 }).map((text) => Buffer.from(text))
/** Text with a few bytes spoilt. */
const spoiltText = fc.tuple(anyText, anyBytes, anyText).map((parts) => Buffer.concat(parts))
const bytes = fc.oneof(anyBytes, anyText, spoiltText)

const anyName = bytes
  .map((name) => Buffer.from(name.map((byte) => (byte === 0x2f || byte === 0 ? 0x61 : byte))))
  .filter((name) => name.length > 0 && !['.', '..'].includes(name.toString('latin1')))
const anyPath = fc.array(anyName, { maxLength: 6 }).map((names) => names.reduce(joinPath, Buffer.alloc(0)))

const hex = (buffer: Buffer) => buffer.toString('hex')

test('bytes survive JSON, through text', () => {
  fc.assert(
    fc.property(bytes, (given) => {
      const sent = JSON.parse(JSON.stringify(jsonFromBytes(given))) as ReturnType<typeof jsonFromBytes>
      expect(hex(bytesFromJson(sent))).toBe(hex(given))
    }),
  )
})

test('what is UTF-8 is readable in JSON, what is not is base64', () => {
  expect(jsonFromBytes(Buffer.from('naïve ☃'))).toBe('naïve ☃')
  expect(jsonFromBytes(Buffer.from('\ufeffbom'))).toBe('\ufeffbom')
  expect(jsonFromBytes(Buffer.from([0xff]))).toEqual({ b: '/w==' })
})

test('a path as text gives back the same bytes', () => {
  fc.assert(
    fc.property(anyPath, (path) => {
      const text = textFromPath(path)
      expect(text).toMatch(/^\//)
      expect(hex(pathFromText(text))).toBe(hex(path))
    }),
  )
})

test('text of a path has nothing that is not printable, and different paths are different text', () => {
  fc.assert(
    fc.property(anyPath, anyPath, (a, b) => {
      expect(textFromPath(a)).toMatch(/^(?:[^\p{C}\p{Z}%]| |%[0-9A-F]{2})*$/u)
      expect(textFromPath(a) === textFromPath(b)).toBe(a.equals(b))
    }),
  )
})

test.each([
  ['', '/'],
  ['plain/name.txt', '/plain/name.txt'],
  ['100%', '/100%25'],
  ['a b', '/a b'],
  ['new\nline', '/new%0Aline'],
  ['größe ☃ 🙂', '/größe ☃ 🙂'],
  ['\u202egnp.exe', '/%E2%80%AEgnp.exe'],
  ['no\u00a0break', '/no%C2%A0break'],
])('%j is shown as %s', (name, text) => {
  expect(textFromPath(Buffer.from(name))).toBe(text)
})

test('bytes that are not UTF-8 are shown one by one beside characters that are', () => {
  expect(textFromPath(Buffer.from([0x61, 0xff, 0xc3, 0xa9, 0xc3]))).toBe('/a%FFé%C3')
})

test('lower-case hexadecimal, and what need not be encoded, are understood', () => {
  expect(pathFromText('/%6e%C3%a9').toString()).toBe('né')
  expect(pathFromText('/a/b/').toString()).toBe('a/b')
})

test.each([
  ['', 'begin with /'],
  ['relative', 'begin with /'],
  ['//', 'empty segment'],
  ['/a//b', 'empty segment'],
  ['/.', 'segment .'],
  ['/a/../b', 'segment ..'],
  ['/%2e%2E/b', 'segment ..'],
  ['/a%2F..', 'segment ..'],
  ['/%00', 'NUL'],
  ['/100%', 'hexadecimal'],
  ['/%4', 'hexadecimal'],
  ['/\ud800', 'well-formed'],
])('%j is refused by the field’s name: %s', (text, problem) => {
  let error: unknown
  try {
    pathFromText(text, 'path of the migration')
  } catch (thrown) {
    error = thrown
  }
  expect(isGantryError(error, 'INVALID_INPUT')).toBe(true)
  expect(String(error)).toContain('path of the migration')
  expect(String(error)).toContain(problem)
})

test('names and paths are told from what is none', () => {
  fc.assert(fc.property(anyName, isName))
  fc.assert(fc.property(anyPath, isPath))
  for (const none of ['', '.', '..', 'a/b', '/', 'a\0']) expect(isName(Buffer.from(none)), none).toBe(false)
  for (const none of ['/', '/a', 'a/', 'a//b', 'a/./b', '..', 'a\0/b']) {
    expect(isPath(Buffer.from(none)), none).toBe(false)
  }
  expect(isName(Buffer.from('...'))).toBe(true)
})

test('the schema of given paths takes exactly the paths that can be read', () => {
  const piece = fc.constantFrom(
    '/',
    '%2F',
    '%2f',
    '.',
    '%2e',
    '%2E',
    '%00',
    '%',
    '%4',
    '%41',
    'a',
    '\0',
    'ä',
    '\n',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const text = `/${pieces.join('')}`
      let isReadable = true
      try {
        pathFromText(text)
      } catch {
        isReadable = false
      }
      expect(matches(GivenPath(''), text), JSON.stringify(text)).toBe(isReadable)
    }),
    { numRuns: 20_000 },
  )
})
