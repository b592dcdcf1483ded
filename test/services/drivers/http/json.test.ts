import { expect, test } from 'vitest'
import { parseJson } from '../../../../services/drivers/http/json.ts'

const parsed = (text: string) => parseJson(Buffer.from(text))
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)

test('reads what stores answer, however long', () => {
  expect(parsed('{"a":[1,"\\u00fc"]}')).toEqual({ a: [1, '\u00fc'] })
  const names = Array.from({ length: 50_000 }, (_, n) => `[[[[{{{{,,,,\\"${n}`)
  expect(parsed(JSON.stringify({ names, last: '\\' }))).toEqual({ names, last: '\\' })
})

test('refuses what is no JSON', () => {
  expect(() => parsed('{')).toThrow(SyntaxError)
})

test.each([
  ['lists in one another', nested(600_000)],
  ['objects in one another', `${'{"":'.repeat(300_000)}1${'}'.repeat(300_000)}`],
  ['lists beside one another', `[${'[],'.repeat(8_100_000)}1]`],
])('refuses millions of %s', (_what, text) => {
  expect(() => parsed(text)).toThrow('more in it than one of a store has')
})
