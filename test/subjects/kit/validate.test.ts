import { Type } from 'typebox'
import { describe, expect, test } from 'vitest'
import { isGantryError } from '../../../subjects/kit/errors.ts'
import { Endpoint } from '../../../subjects/extensions/model.ts'
import { inWords } from '../../../subjects/kit/forms.ts'
import { contracts, resources } from '../../../subjects/index.ts'
import { Labels, Measurement } from '../../../subjects/observability/metric-model.ts'
import { recurringPeriod } from '../../../subjects/migrations/model/recurrence.ts'
import { list, model, Name, Path, record, strict, Text, Timestamp } from '../../../subjects/kit/schemas.ts'
import { check, matches, problemsOf } from '../../../subjects/kit/validate.ts'

const Schema = strict({
  name: Type.String({ minLength: 1, maxLength: 5 }),
  count: Type.Optional(Type.Integer({ minimum: 1, maximum: 10 })),
  mode: Type.Optional(Type.Enum(['fast', 'slow'])),
  version: Type.Optional(Type.Literal(2)),
  rules: Type.Optional(list(strict({ allow: list(Type.String({ pattern: '^[a-z]+$' }), 3) }), 2)),
  labels: Type.Optional(record(Type.String({ maxLength: 3 }), 2, 'Labels')),
  size: Type.Optional(Type.Union([Type.Integer({ minimum: 0 }), Type.Literal('all')])),
})

const fieldsOf = (value: unknown) => problemsOf(Schema, value).map(({ field }) => field)
const problem = (value: unknown) =>
  problemsOf(Schema, value)
    .map(({ field, problem }) => `${field}: ${problem}`)
    .join('\n')

test('a value that fits has no problems and comes back as it is', () => {
  const value = {
    name: 'a',
    count: 1,
    mode: 'fast',
    version: 2,
    rules: [{ allow: ['a', 'b'] }],
    labels: { a: 'b' },
    size: 'all',
  }
  expect(problemsOf(Schema, value)).toEqual([])
  expect(check(Schema, value)).toBe(value)
  expect(matches(Schema, value)).toBe(true)
})

test('a schema that is used often, and so compiled, says the same', () => {
  const fresh = () => strict({ name: Type.String({ minLength: 2 }), size: Type.Optional(Type.Integer()) })
  const schema = fresh()
  for (let use = 0; use < 30; use++) {
    expect(matches(schema, { name: 'ab', size: use })).toBe(true)
    const bad = { name: 'a', size: 'large', colour: use }
    expect(problemsOf(schema, bad)).toEqual(problemsOf(fresh(), bad))
  }
})

describe('a problem names its field', () => {
  test.each([
    [{}, 'name'],
    [{ name: '' }, 'name'],
    [{ name: 'abcdef' }, 'name'],
    [{ name: 1 }, 'name'],
    [{ name: null }, 'name'],
    [{ name: 'a', count: 0 }, 'count'],
    [{ name: 'a', count: 11 }, 'count'],
    [{ name: 'a', count: 1.5 }, 'count'],
    [{ name: 'a', count: '1' }, 'count'],
    [{ name: 'a', mode: 'medium' }, 'mode'],
    [{ name: 'a', version: 1 }, 'version'],
    [{ name: 'a', rules: {} }, 'rules'],
    [{ name: 'a', rules: [{}] }, 'rules[0].allow'],
    [{ name: 'a', rules: [{ allow: ['a', 'B'] }] }, 'rules[0].allow[1]'],
    [{ name: 'a', rules: [{ allow: [] }, { allow: [], deny: [] }] }, 'rules[1].deny'],
    [{ name: 'a', rules: [{ allow: ['a', 'a', 'a', 'a'] }] }, 'rules[0].allow'],
    [{ name: 'a', labels: { a: 'long' } }, 'labels.a'],
    [{ name: 'a', labels: { a: 'b', c: 'd', e: 'f' } }, 'labels'],
    [{ name: 'a', labels: { 'a\nb': 'c' } }, 'labels.a\nb'],
    [{ name: 'a', labels: { ['x'.repeat(201)]: 'c' } }, `labels.${'x'.repeat(201)}`],
    [{ name: 'a', 'x/y~z': 1 }, 'x/y~z'],
    [{ name: 'a', size: -1 }, 'size'],
    [{ name: 'a', __proto__: null, constructor: 1 }, 'constructor'],
    [JSON.parse('{"name":"a","__proto__":{"count":1}}'), '__proto__'],
  ])('%j: %s', (value, field) => {
    expect(fieldsOf(value)).toEqual([field])
  })

  test.each([[undefined], [null], [1], ['text'], [[]]])('%j is not an object at all', (value) => {
    expect(fieldsOf(value)).toEqual([''])
  })
})

describe('a problem says what would be right', () => {
  test.each([
    [{}, 'name: is required'],
    [{ name: 'a', mode: 'medium' }, 'mode: must be one of fast, slow'],
    [{ name: 'a', version: 1 }, 'version: must be 2'],
    [{ name: 'a', Count: 1 }, 'Count: is not a field here; did you mean count?'],
    [
      { name: 'a', other: 1 },
      'other: is not a field here; the fields are name, count, mode, version, rules, labels, size',
    ],
    [
      { name: 'a', rules: [{ allow: [], deny: [] }] },
      'rules[0].deny: is not a field here; the fields are allow',
    ],
    [
      { name: 'a', rules: [{ allow: [], Allow: [] }] },
      'rules[0].Allow: is not a field here; did you mean allow?',
    ],
    [{ name: 'a', size: 'some' }, 'size: must be integer, or must be all'],
  ])('%j: %s', (value, text) => {
    expect(problem(value)).toBe(text)
  })
})

test.each([
  [{ const: { b: 1 } }, 'must be {"b":1}'],
  [{ const: null }, 'must be null'],
  [{ enum: [{ b: 1 }, [1, 2], 'x', null] }, 'must be one of {"b":1}, [1,2], x, null'],
  [{ enum: [[]] }, 'must be one of []'],
  [{ const: { b: 'x'.repeat(5_000) } }, `must be {"b":"${'x'.repeat(993)}…`],
  [
    { enum: Array.from({ length: 500 }, () => ['x']) },
    `must be one of ${'["x"], '.repeat(500).slice(0, 999)}…`,
  ],
])('values of any kind are shown, and cut', (schema, text) => {
  expect(problemsOf(schema, 7)).toEqual([{ field: '', problem: text }])
})

test('an empty text is told the form that it must have, and nothing else', () => {
  const problem = 'must be an absolute path that begins with / and contains no NUL'
  expect(problemsOf(strict({ path: Path('A path') }), { path: '' })).toEqual([{ field: 'path', problem }])
})

test('a union says in one sentence what it takes, where it has words for that', () => {
  const noLimit =
    'a whole number of at least 1, with a separate unit (limit 10, unit MiB), or -1 for no limit'
  for (const limit of ['10MiB', 0, 1.5])
    expect(problemsOf(resources.bandwidth.set.input, { scope: 'global', limit })).toEqual([
      { field: 'limit', problem: `must be ${noLimit}` },
    ])
  const period = 'a number of seconds, at most 31622400, or a number with a unit: 30S, 10M, 4H or 1D'
  expect(problemsOf(strict({ recurringPeriod }), { recurringPeriod: '1hour' })).toEqual([
    { field: 'recurringPeriod', problem: `must be ${period}` },
  ])
})

test('the error has all problems in its message and details', () => {
  try {
    check(Schema, { count: 0, Mode: 'fast' }, 'settings')
    expect.unreachable()
  } catch (error) {
    expect(isGantryError(error, 'INVALID_INPUT')).toBe(true)
    expect(error).toMatchObject({
      message: expect.stringMatching(
        /^settings: name is required; .*Mode .*did you mean mode.*; count must be/,
      ),
      details: [{ field: 'name' }, { field: 'Mode' }, { field: 'count' }],
    })
  }
})

test('many problems are cut at twenty', () => {
  const many = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`field${index}`, index]))
  const problems = problemsOf(Schema, many)
  expect(problems).toHaveLength(20)
  expect(problems[0]).toEqual({ field: 'name', problem: 'is required' })
  expect(problems[19]).toMatchObject({ field: 'field18' })
})

describe('problems are told without looking at', () => {
  /** A value that counts how often something in it was read. */
  const counted = (target: object) => {
    const reads = { count: 0 }
    const value = new Proxy(target, {
      get: (inside, name) => {
        reads.count += 1
        return Reflect.get(inside, name) as unknown
      },
    })
    return { value, reads }
  }
  const many = 90_000

  test('each of many unknown fields', () => {
    const fields = Array.from({ length: many }, (_, index): [string, number] => [`field${index}`, index])
    const { value, reads } = counted(Object.fromEntries(fields))
    const problems = problemsOf(Schema, value)
    expect(problems).toHaveLength(20)
    expect(reads.count).toBeLessThan(1_000)
  })

  test('each of too many items', () => {
    const { value, reads } = counted(Array.from({ length: many }, () => 0))
    const problems = problemsOf(strict({ items: list(Type.String(), 100) }), { items: value })
    expect(problems).toHaveLength(20)
    expect(reads.count).toBeLessThan(1_000)
  })

  test('the one that is wrong, where all the others are right', () => {
    const { value } = counted(Array.from({ length: many }, (_, index) => (index === many - 1 ? 0 : 'x')))
    const schema = strict({ items: Type.Array(Type.String()) })
    expect(problemsOf(schema, { items: value })).toEqual([
      { field: `items[${many - 1}]`, problem: 'must be string' },
    ])
  })

  test('a value nested deeper than a stack can follow', () => {
    let deep: unknown = 0
    for (let level = 0; level < 100_000; level++) deep = { deep }
    expect(problemsOf(Schema, { name: 'one', deep })).toMatchObject([{ field: 'deep' }])
  })
})

test('a long name of an unknown field is cut', () => {
  const [problem] = problemsOf(strict({}), { ['x'.repeat(100_000)]: 1 })
  expect(problem?.field).toBe(`${'x'.repeat(399)}…`)
})

test('the length of a text is that of its characters, not of its UTF-16 form', () => {
  expect(matches(Schema, { name: '😀😀😀😀😀' })).toBe(true)
  expect(matches(Schema, { name: 'e\u0301e\u0301e\u0301' })).toBe(false)
})

test('what was made for the documents does not change what fits', () => {
  const Named = model('Named', { text: Text('Free text') })
  expect(matches(Named, { text: '' })).toBe(true)
  expect(problemsOf(Named, { text: '', title: 'Named' }).map(({ field }) => field)).toEqual(['title'])
})

test('a form is told in words, not as a pattern', () => {
  const schema = strict({ name: Name('n'), at: Timestamp('t') })
  expect(problemsOf(schema, { name: 'a/b', at: 'tomorrow' })).toEqual([
    {
      field: 'name',
      problem: expect.stringContaining('must be a name without / \\ % [ ] ; and control characters'),
    },
    { field: 'at', problem: 'must be a time such as 2026-01-31T12:00:00Z' },
  ])
})

test('a text that is no name comes with one that is', () => {
  const problemOf = (name: string) => problemsOf(strict({ name: Name('n') }), { name })[0]?.problem
  expect(problemOf(' team/a; b ')).toMatch(/, such as team-a- b$/)
  expect(problemOf('..')).toMatch(/and not \. or \.\.$/)
})

test.each(['.', '..', ' ', ' a', 'a ', 'a\u009b', 'a\u202eb', 'a/b', 'a%b'])('%j is no name', (name) => {
  expect(problemsOf(strict({ name: Name('n') }), { name })).toHaveLength(1)
})

test.each(['a', '...', '.a', 'a b', 'größer', '名前', 'a*', '>'])('%j is a name', (name) => {
  expect(problemsOf(strict({ name: Name('n') }), { name })).toEqual([])
})

test('every form of the contracts is told in words', () => {
  const patterns = [
    ...JSON.stringify(contracts.map(({ input }) => input)).matchAll(/"pattern":("(?:[^"\\]|\\.)*")/g),
  ]
  expect(patterns.length).toBeGreaterThan(0)
  expect(
    patterns.map(([, text]) => JSON.parse(text!) as string).filter((text) => inWords(text) === undefined),
  ).toEqual([])
})

test.for(['a\nb', 'a\u001b[2J', 'a\u009b2J', 'a\u007f', 'a\u202eb', 'a\u2066b'])(
  'what a terminal would obey is in no line of text: %j',
  (text) => {
    const words = [{ field: '', problem: 'must be one line of text without control characters' }]
    expect(problemsOf(Endpoint.properties.summary, text)).toEqual(words)
    expect(problemsOf(Measurement.properties.help, text)).toEqual(words)
    expect(matches(Labels, { name: text })).toBe(false)
    expect(matches(record(Text('Any'), 1, 'Texts'), { [text]: '' })).toBe(false)
  },
)
