import { expect, test } from 'vitest'
import { parseJson } from '../../../../services/drivers/http/json.ts'

const parsed = (text: string) => parseJson(Buffer.from(text))
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)

const objects = (keysOf: (n: number) => number[]): string => {
  const one = (n: number) => Object.fromEntries(keysOf(n).map((key) => [`key ${key}`, 1]))
  return JSON.stringify(Array.from({ length: 200_000 }, (_, n) => one(n)))
}

test('reads what stores answer, however long', () => {
  expect(parsed('{"a":[1,"\\u00fc"]}')).toEqual({ a: [1, '\u00fc'] })
  const names = Array.from({ length: 50_000 }, (_, n) => `[[[[{{{{,,,,\\"${n}`)
  expect(parsed(JSON.stringify({ names, last: '\\' }))).toEqual({ names, last: '\\' })
  const files = Array.from({ length: 60_000 }, (_, n) => ({
    name: `file ${n}`,
    metadata: { [`of ${n}`]: 1 },
    'a "b"': n,
  }))
  expect(parsed(JSON.stringify(files))).toEqual(files)
})

test('refuses what is no JSON', () => {
  expect(() => parsed('{')).toThrow(SyntaxError)
})

test.each([
  ['lists in one another', nested(600_000)],
  ['objects in one another', `${'{"":'.repeat(300_000)}1${'}'.repeat(300_000)}`],
  ['objects of other keys', objects((n) => [n, n + 1, n + 2])],
  ['objects of the same keys in another order', objects((n) => [n % 100, (n >> 3) % 101, n % 1_009])],
  ['lists beside one another', `[${'[],'.repeat(8_100_000)}1]`],
])('refuses millions of %s', (_what, text) => {
  expect(() => parsed(text)).toThrow('more in it than one of a store has')
})
