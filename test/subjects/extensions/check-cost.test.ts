import { expect, test, vi } from 'vitest'
import { answerProblem, checkInput, fitsWithin } from '../../../subjects/extensions/contract.ts'
import { schemaProblems } from '../../../subjects/extensions/schemas.ts'
import { problemsOf } from '../../../subjects/kit/validate.ts'

/**
 * Most milliseconds of the processor that one message may take: two or three times of what it takes here at worst. What else
 * the machine does at the same time does not count.
 */
const longMs = 300
const processorMs = () => process.threadCpuUsage().user / 1_000
const tooMuch = /takes more than \d+ steps to validate/

const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index))
/** What is wrong comes last, so that everything is looked at. */
const listOf = (items: object) => ({
  type: 'object',
  properties: { list: { type: 'array', items }, end: { type: 'number' } },
})
const names = many(380, (index) => `field${index}`)
const fields = (values: unknown) => Object.fromEntries(names.map((name) => [name, values]))

test.each<[string, object, (count: number) => unknown, number]>([
  ['numbers', { type: 'number' }, (n) => n, 800_000],
  ['objects', { properties: { a: {}, b: {} }, required: ['a'] }, () => ({ a: 1 }), 250_000],
  ['names that nobody knows', { properties: fields({}), additionalProperties: false }, () => fields(1), 100],
  ['alternatives', { anyOf: many(380, (n) => ({ const: n })) }, () => 379, 50_000],
  ['all of them', { oneOf: many(380, () => ({ type: 'number' })) }, () => 1, 20_000],
  ['words of a list', { enum: many(1_000, (n) => `some word ${n}`) }, () => 'some word 999', 100_000],
  ['objects of a list', { enum: many(500, (n) => ({ a: 1, n })) }, () => ({ a: 1, n: 499 }), 100_000],
  ['texts', { type: 'string', maxLength: 3_000, pattern: '^a*a*b' }, () => 'a'.repeat(1_800), 1_000],
  ['long texts', { type: 'string', maxLength: 1_800, pattern: '^a*a*b' }, () => 'a'.repeat(100_000), 10],
  ['lengths', { anyOf: many(300, () => ({ maxLength: 9e5 })) }, () => '\u{10400}'.repeat(5e5), 10],
  ['formats', { format: 'idn-hostname' }, () => 'é.'.repeat(100), 50_000],
])('%s take no time, however many there are', (_, items, make, count) => {
  const schema = listOf(items)
  const msOf = (length: number) => {
    const answer = { list: many(length, make), end: 'x' }
    const began = processorMs()
    const problem = answerProblem({ output: schema }, answer)
    const ms = processorMs() - began
    expect(problem).toBeDefined()
    expect(ms).toBeLessThan(longMs)
    return problem
  }
  expect(msOf(count)).toMatch(tooMuch)
  for (let length = count; length >= 1; length = Math.floor(length / 8)) msOf(length)
})

test('neither do lists in which nothing is twice, or everything', () => {
  for (const make of [() => 0, (index: number) => index]) {
    for (const length of [2_500, 24_000, 200_000]) {
      const answer = many(length, make)
      const began = processorMs()
      answerProblem({ output: { type: 'array', uniqueItems: true } }, answer)
      expect(processorMs() - began).toBeLessThan(longMs)
    }
  }
})

test('what is usual is checked, and told where it is wrong', () => {
  const item = {
    type: 'object',
    properties: { id: { type: 'string', pattern: '^[a-z]+-\\d+$', maxLength: 60 } },
  }
  const schema = listOf({ ...item, required: ['id'], additionalProperties: false })
  const answer = { list: many(1_000, (index) => ({ id: `item-${index}` })), end: 1 }
  expect(schemaProblems(schema, 'x')).toEqual([])
  expect(answerProblem({ output: schema }, answer)).toBeUndefined()
  answer.list[999] = { id: '7' }
  expect(answerProblem({ output: schema }, answer)).toMatch(
    /^the reply does not match the output schema: list\[999\]\.id /,
  )
  const numbers = { list: many(100_000, (index) => index), end: 'x' }
  expect(answerProblem({ output: listOf({ type: 'number' }) }, { ...numbers, end: 1 })).toBeUndefined()
  expect(answerProblem({ output: listOf({ type: 'number' }) }, numbers)).toBe(
    'the reply does not match the output schema: does not match its schema, and is too large for an error per field: send fewer values',
  )
  expect(() => checkInput({ input: listOf({ type: 'number' }) }, { list: ['x'] })).toThrow(
    expect.objectContaining({ code: 'INVALID_INPUT', message: 'input: list[0] must be number' }),
  )
})

test('alternatives of one request are told apart in the same time', () => {
  const fits = fitsWithin()
  const slow = { type: 'string', pattern: '^a*a*b' }
  expect(fits({ type: 'number' }, 1)).toBe(true)
  const began = processorMs()
  for (let index = 0; index < 380; index++) expect(fits(slow, 'a'.repeat(1_500))).toBe(false)
  expect(processorMs() - began).toBeLessThan(longMs)
  expect(fits({ type: 'number' }, 1)).toBe(false)
})

test('what does not fit is matched once to know it, and once to tell it', () => {
  const pattern = '^only[ ]this$'
  const tried = vi.spyOn(RegExp.prototype, 'test')
  try {
    expect(problemsOf({ type: 'string', pattern }, 'that')).toHaveLength(1)
    const times = tried.mock.contexts.filter((context) => (context as RegExp).source === pattern).length
    expect(times).toBe(2)
  } finally {
    tried.mockRestore()
  }
})

test('a schema that would be checked in a slow way is refused', () => {
  for (const schema of [
    { 'x-about': { unevaluatedItems: false } },
    { type: 'object', properties: { unevaluatedProperties: { type: 'string' } } },
  ])
    expect(schemaProblems(schema, 'x')).toMatchObject([{ problem: expect.stringContaining('unevaluated') }])
  expect(schemaProblems({ const: 'unevaluatedItems' }, 'x')).toEqual([])
})
