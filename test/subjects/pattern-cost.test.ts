import { expect, test } from 'vitest'
import { inputProblems, schemaLimits, schemaProblems } from '../../subjects/extension-schemas.ts'
import { patternCost } from '../../subjects/pattern-cost.ts'

const length = 1_000
const bound = (pattern: string) => patternCost(pattern, length)

test.each([
  ['^abc$', 1],
  ['abc', length],
  ['^[a-z]+$', length],
  ['^[a-z)(|+]+$', length],
  ['^\\(\\)\\d{4}-\\d{2}$', 1],
  ['^(?:red|green|blue)$', 3],
  ['^(?<year>\\d{4})$', 1],
  ['^a?b??$', 4],
  ['^a|b', 2 * length],
  ['^(?:a|b)', 2],
  ['^\\d{1,3}(?:\\.\\d{1,3}){3}$', 81],
  ['^[a-z]+@[a-z]+$', length ** 2],
])('%s has at most %i ways', (pattern, ways) => {
  expect(bound(pattern)).toBe(ways)
})

test.each([
  '^(a+)+$',
  '^(a|aa)*$',
  '^(?:[a-z]+-?)*$',
  '^(a)\\1$',
  '(?=a)b',
  '(?<!a)b',
  '^(?:a?){100}a{100}$',
])('%s is refused', (pattern) => {
  const [problem] = schemaProblems({ type: 'string', maxLength: length, pattern }, 'output')
  expect(problem?.problem).toMatch(/can take too long/)
})

test('a pattern of some repetitions is taken for short texts', () => {
  const pattern = '^[a-z]+(?:-[a-z]+)?$'
  expect(schemaProblems({ type: 'string', pattern }, 'x')).toHaveLength(1)
  expect(schemaProblems({ type: 'string', maxLength: 100, pattern }, 'x')).toEqual([])
})

test('what is allowed takes no time, whatever the text is', () => {
  // As bad as the limit lets through: what does not match is tried in every way.
  const pattern = '^a*a*b$'
  const maxLength = Math.floor(Math.sqrt(schemaLimits.maxPatternSteps))
  expect(schemaProblems({ type: 'string', maxLength, pattern }, 'x')).toEqual([])
  const began = performance.now()
  expect(new RegExp(pattern, 'u').test('a'.repeat(maxLength))).toBe(false)
  expect(performance.now() - began).toBeLessThan(2_000)
})

test('names that JavaScript means something by are no fields', () => {
  const schema = {
    type: 'object',
    properties: JSON.parse('{"__proto__": {"type": "string"}, "a b": {}}') as object,
  }
  expect(inputProblems(schema, 'input').map(({ field }) => field)).toEqual([
    'input.properties.__proto__',
    'input.properties.a b',
  ])
})

const lists = (levels: number) => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`) as unknown

test.each(['default', 'const', 'enum', 'examples', 'x-own'])('a %s without end is too deep', (keyword) => {
  expect(schemaProblems({ [keyword]: lists(10_000) }, 'input')).toEqual([
    {
      field: 'input',
      problem: `is too deep: at most ${schemaLimits.maxNesting} lists and objects in each other`,
    },
  ])
  expect(schemaProblems({ [keyword]: lists(schemaLimits.maxNesting - 1) }, 'input')).toEqual([])
})

test.each([
  [{ type: [] }, 'must be one of object, '],
  [{ multipleOf: 0 }, 'must be a number above 0'],
  [{ multipleOf: -1 }, 'must be a number above 0'],
  [{ multipleOf: '1' }, 'must be a number above 0'],
])('%j fits nothing, and is refused', (schema, problem) => {
  expect(schemaProblems(schema, 'input')).toEqual([
    { field: `input.${Object.keys(schema)[0]}`, problem: expect.stringContaining(problem) },
  ])
})
