import * as fc from 'fast-check'
import { Type } from 'typebox'
import { describe, expect, test } from 'vitest'
import { coerceField, coerceFields } from '../../../subjects/kit/coerce.ts'
import { list, record, strict } from '../../../subjects/kit/schemas.ts'
import { problemsOf } from '../../../subjects/kit/validate.ts'

const texts = list(Type.String({ maxLength: 10 }))
const numbers = list(Type.Integer())
const pair = strict({ a: Type.Integer(), b: Type.Optional(Type.String({ maxLength: 10 })) })
const labels = record(Type.String({ maxLength: 10 }), 10, 'Labels')
const counts = record(Type.Integer(), 10, 'Counts')

describe('text becomes what the schema asks for', () => {
  test.each([
    ['boolean', Type.Boolean(), 'true', true],
    ['boolean', Type.Boolean(), 'false', false],
    ['integer', Type.Integer(), '42', 42],
    ['integer', Type.Integer(), '-7', -7],
    ['integer', Type.Integer(), '9007199254740991', Number.MAX_SAFE_INTEGER],
    ['number', Type.Number(), '1.5', 1.5],
    ['number', Type.Number(), '-1e3', -1000],
    ['null', Type.Null(), 'null', null],
    ['string', Type.String(), '42', '42'],
    ['string', Type.String(), 'true', 'true'],
    ['string', Type.String(), '', ''],
    ['enum of texts', Type.Enum(['1', 'two']), '1', '1'],
    ['enum of numbers', Type.Enum([1, 2]), '1', 1],
    ['literal number', Type.Literal(2), '2', 2],
    ['literal boolean', Type.Literal(true), 'true', true],
    ['literal text', Type.Literal('true'), 'true', 'true'],
    ['once repeated', Type.Integer(), ['42'], 42],
    ['list, repeated', numbers, ['1', '2'], [1, 2]],
    ['list, once', numbers, ['1'], [1]],
    ['list, with commas', numbers, '1,2', [1, 2]],
    ['list, with commas and once', numbers, ['1,2'], [1, 2]],
    ['list, JSON', numbers, '[1,2]', [1, 2]],
    ['list, empty', texts, '', []],
    ['list of an enumeration, empty', Type.Array(Type.Enum(['a', 'b'])), '', ['']],
    ['list of names, empty', Type.Array(Type.String({ minLength: 1 })), '', ['']],
    ['list of names without any', Type.Array(Type.String({ minLength: 1 })), '[]', []],
    ['list of texts, repeated, with commas', texts, ['a,b', 'c'], ['a,b', 'c']],
    ['list of texts, JSON, with commas', texts, '["a,b"]', ['a,b']],
    ['list of texts, JSON, once', texts, ['["a,b","c"]'], ['a,b', 'c']],
    ['list of names without any, once', Type.Array(Type.String({ minLength: 1 })), ['[]'], []],
    ['list of lists, once', list(numbers), ['[1,2]'], [[1, 2]]],
    ['list of texts that looks like JSON', texts, '[a,b]', ['[a', 'b]']],
    ['list of objects', list(pair), ['{"a":1}', '{"a":2}'], [{ a: 1 }, { a: 2 }]],
    ['list of one object', list(pair), '{"a":1,"b":"x"}', [{ a: 1, b: 'x' }]],
    ['list of lists', list(numbers), '[1,2]', [1, 2]],
    ['object', pair, '{"a":1}', { a: 1 }],
    ['record, JSON', labels, '{"a":"1"}', { a: '1' }],
    ['record, one pair', labels, 'a=1', { a: '1' }],
    ['record, pairs', labels, ['a=1', 'b=x=y', 'c='], { a: '1', b: 'x=y', c: '' }],
    ['record of numbers', counts, ['a=1'], { a: 1 }],
    ['union', Type.Union([Type.Integer(), Type.Literal('all')]), '5', 5],
    ['union', Type.Union([Type.Integer(), Type.Literal('all')]), 'all', 'all'],
    ['union with a list', Type.Union([Type.Boolean(), numbers]), '1,2', [1, 2]],
    ['several types', { type: ['integer', 'boolean'] }, 'true', true],
    ['oneOf', { oneOf: [{ type: 'integer' }, { type: 'string' }] }, '7', 7],
    [
      'record by additionalProperties',
      { type: 'object', additionalProperties: { type: 'integer' } },
      'a=1',
      { a: 1 },
    ],
    ['anything', {}, '{"a":1}', '{"a":1}'],
  ])('%s: %j, %j → %j', (_, schema, text, value) => {
    expect(coerceField(schema, text)).toEqual(value)
  })
})

describe('what cannot be converted stays, and validation names it', () => {
  test.each([
    ['boolean', Type.Boolean(), 'yes'],
    ['boolean', Type.Boolean(), ''],
    ['boolean', Type.Boolean(), 'TRUE'],
    ['boolean twice', Type.Boolean(), ['true', 'true']],
    ['integer', Type.Integer(), '1.5'],
    ['integer', Type.Integer(), ''],
    ['integer', Type.Integer(), ' 1'],
    ['integer', Type.Integer(), '0x10'],
    ['integer beyond the exact ones', Type.Integer(), '9007199254740993'],
    ['number', Type.Number(), 'NaN'],
    ['number', Type.Number(), 'Infinity'],
    ['number', Type.Number(), '1e999'],
    ['enum', Type.Enum(['a', 'b']), 'c'],
    ['literal', Type.Literal(2), '3'],
    ['text twice', Type.String(), ['a', 'b']],
    ['object', pair, 'a=1'],
    ['object', pair, '{"a":'],
    ['record without a value', labels, 'a'],
    ['record with a key twice', labels, ['a=1', 'a=2']],
    ['union', Type.Union([Type.Integer(), Type.Boolean()]), 'x'],
  ])('%s: %j, %j', (_, schema, text) => {
    const input = strict({ field: schema })
    const values = coerceFields(input, { field: text })
    expect(values).toEqual({ field: text })
    expect(problemsOf(input, values).map(({ field }) => field)).toEqual(['field'])
  })

  test('in a list or record the item that is wrong', () => {
    const input = strict({ numbers, counts })
    const values = coerceFields(input, { numbers: '1,x', counts: ['a=1', 'b=x'] })
    expect(values).toEqual({ numbers: [1, 'x'], counts: { a: 1, b: 'x' } })
    expect(problemsOf(input, values).map(({ field }) => field)).toEqual(['numbers[1]', 'counts.b'])
  })
})

test('a name that the schema does not know stays, also one that every object has', () => {
  const input = strict({ a: Type.Optional(Type.Integer()) })
  const values = coerceFields(input, { a: '1', b: '2', constructor: 'x', ['__proto__']: 'y' })
  expect(Object.entries(values)).toEqual([
    ['a', 1],
    ['b', '2'],
    ['constructor', 'x'],
    ['__proto__', 'y'],
  ])
  expect(problemsOf(input, values)).toHaveLength(3)
})

test('a record takes any key as its own', () => {
  const { field } = coerceFields(strict({ field: labels }), { field: ['__proto__=x', 'toString=y'] })
  expect(Object.entries(Object(field))).toEqual([
    ['__proto__', 'x'],
    ['toString', 'y'],
  ])
})

const returns = <T>(
  name: string,
  arbitrary: fc.Arbitrary<T>,
  schema: object,
  write: (value: T) => string | string[],
) =>
  test(name, () => {
    fc.assert(
      fc.property(arbitrary, (value) => {
        expect(coerceField(schema, write(value))).toEqual(value)
      }),
    )
  })

describe('a value written as text comes back', () => {
  returns('boolean', fc.boolean(), Type.Boolean(), String)
  returns('integer', fc.maxSafeInteger(), Type.Integer(), String)
  returns(
    'number',
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
    Type.Number(),
    String,
  )
  returns('text', fc.string(), Type.String(), String)
  returns('list, repeated', fc.array(fc.string(), { minLength: 2 }), texts, (list) => list)
  returns('list, JSON', fc.array(fc.string()), texts, (list) => JSON.stringify(list))
  returns('list, commas', fc.array(fc.integer(), { minLength: 1 }), numbers, (list) => list.join(','))
  const word = fc.stringMatching(/^[^,[][^,]*$/)
  returns('list, one word', fc.tuple(word), texts, ([text]) => text)
  returns(
    'record',
    fc.dictionary(fc.stringMatching(/^[^=]+$/), fc.string(), { minKeys: 1 }),
    labels,
    (value) => Object.entries(value).map(([key, text]) => `${key}=${text}`),
  )
  returns('record, JSON', fc.dictionary(fc.string(), fc.string()), labels, (value) => JSON.stringify(value))
})
