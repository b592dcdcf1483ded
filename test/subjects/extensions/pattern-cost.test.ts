import fc from 'fast-check'
import { expect, test } from 'vitest'
import { inputProblems, schemaLimits, schemaProblems } from '../../../subjects/extensions/schemas.ts'
import { patternSteps } from '../../../subjects/extensions/pattern-cost.ts'

const length = 1_000
const bound = (pattern: string) => patternSteps(pattern)(length)
const problemsOf = (schema: object) => schemaProblems({ type: 'string', ...schema }, 'x')

test.each([
  ['^abc$', 5],
  ['abc', 3 * (length + 1)],
  // The beginning, a character more often than there is room, itself, and the end after each of them.
  ['^a+$', 1 + (length + 2) + length],
  ['^[a-z)(|+]+$', 1 + (2 * (length + 1) + 1) + length],
  ['^\\p{L}+$', 1 + (8 * (length + 1) + 1) + length],
  ['^[^\\p{L}]$', 1 + 8 + 1],
  ['^\\(\\)\\d{4}-\\d{2}$', 1 + 2 + 2 + 9 + 1 + 5 + 1],
  ['^(?:red|green|blue)$', 1 + (3 + 1 + 5 + 1 + 4 + 1 + 2) + 3],
  ['^a?b??$', 1 + 2 + 2 * 2 + 4],
  ['^a{1000}$', 1 + 1_001 + 1],
  ['^(?:a{10}){10}$', 1 + 10 * (11 + 2) + 1 + 1],
])('%s takes at most %i steps', (pattern, steps) => {
  expect(bound(pattern)).toBe(steps)
})

test.each([
  '^(a+)+$',
  '^(a|aa)*$',
  '^(?:[a-z]+-?)*$',
  '^(a)\\1$',
  '(?=a)b',
  '(?<!a)b',
  '^(?i:a)$',
  '^(?:a?){100}a{100}$',
])('%s is refused', (pattern) => {
  const [problem] = problemsOf({ maxLength: length, pattern })
  expect(problem?.problem).toMatch(/can take too long/)
})

test('a pattern of some repetitions is taken for short texts', () => {
  const pattern = '^[a-z]+(?:-[a-z]+)?$'
  expect(problemsOf({ pattern })).toHaveLength(1)
  expect(problemsOf({ maxLength: 100, pattern })).toEqual([])
  expect(problemsOf({ pattern: '^[a-z]+$' })).toEqual([])
  expect(problemsOf({ maxLength: 254, pattern: '^[^@ ]+@[^@ ]+$' })).toEqual([])
})

test('all patterns of a schema together are compiled in no time', () => {
  const fields = (count: number, pattern: string) =>
    schemaProblems({ anyOf: Array.from({ length: count }, () => ({ maxLength: 9, pattern })) }, 'x')
  expect(fields(10, `^${'a'.repeat(400)}`)).toEqual([])
  expect(fields(20, `^${'a'.repeat(400)}`)).toHaveLength(1)
  expect(fields(20, '^\\p{L}')).toEqual([])
  expect(fields(21, '^\\P{L}')).toHaveLength(1)
})

/** Longest text that a pattern is taken for; 0: none. */
function longestOf(pattern: string): number {
  const steps = patternSteps(pattern)
  let [short, long] = [0, 100_000]
  while (short < long) {
    const middle = Math.ceil((short + long) / 2)
    if (steps(middle) <= schemaLimits.maxSteps) short = middle
    else long = middle - 1
  }
  return short
}

/** What does not match in the end is tried in every way. */
const hostile = (size: number) =>
  ['a', 'b', 'ab', 'aab', 'ба', '\u{10400}'].flatMap((text) =>
    ['', 'c', '\n'].map((end) => text.repeat(size).slice(0, Math.max(0, size - end.length)) + end),
  )

/** Of this thread, so that it does not depend on what else the machine does. */
const processorMs = () => process.threadCpuUsage().user / 1_000

/** Milliseconds that the worst of those takes. */
function worstMs(pattern: string): number {
  const texts = hostile(longestOf(pattern))
  return Math.max(
    ...texts.map((text) => {
      const began = processorMs()
      new RegExp(pattern, 'u').test(text)
      return processorMs() - began
    }),
  )
}

/** Most that one text may take; most take a tenth. */
const longMs = 250

test.each(['^a*a*a{1000}b', '^a{0,1500}a{0,1500}a{1500}b', '^a*a*b', 'a*b', '^(\\p{L}*)(\\p{L}*)(b|c)$'])(
  'what is taken of %s takes no time',
  (pattern) => {
    expect(longestOf(pattern)).toBeLessThan(3_100)
    expect(problemsOf({ maxLength: 3_100, pattern })).toHaveLength(1)
    expect(worstMs(pattern)).toBeLessThan(longMs)
  },
)

/** A pattern: its text, and a matcher that goes all ways one after the other. */
interface Node {
  readonly text: string
  /** Whether it matches from a place on, and what follows matches then. */
  readonly match: (run: Run, from: number, then: (to: number) => boolean) => boolean
}

interface Run {
  readonly text: string
  steps: number
}

const one = (text: string, fits: (char: string) => boolean): Node => ({
  text,
  match: (run, from, then) => {
    run.steps += 1
    const char = run.text[from]
    return char !== undefined && fits(char) && then(from + 1)
  },
})
const edge = (text: string, isThere: (text: string, at: number) => boolean): Node => ({
  text,
  match: (run, from, then) => {
    run.steps += 1
    return isThere(run.text, from) && then(from)
  },
})
const sequence = (nodes: readonly Node[]): Node => ({
  text: nodes.map(({ text }) => text).join(''),
  match: (run, from, then) => {
    const go = (index: number, at: number): boolean =>
      index === nodes.length ? then(at) : nodes[index]!.match(run, at, (to) => go(index + 1, to))
    return go(0, from)
  },
})
const choice = (open: string, nodes: readonly Node[]): Node => ({
  text: `${open}${nodes.map(({ text }) => text).join('|')})`,
  match: (run, from, then) => nodes.some((node) => node.match(run, from, then)),
})
const repeat = (node: Node, text: string, min: number, max: number): Node => ({
  text: node.text + text,
  match: (run, from, then) => {
    const go = (count: number, at: number): boolean => {
      const more = () =>
        count < max && node.match(run, at, (to) => (to > at || count < min) && go(count + 1, to))
      const enough = () => count >= min && then(at)
      return text.endsWith('?') && text !== '?' ? enough() || more() : more() || enough()
    }
    return go(0, from)
  },
})

const isWord = (char: string | undefined) => char !== undefined && /\w/.test(char)
const leaf = fc.constantFrom(
  one('a', (char) => char === 'a'),
  one('b', (char) => char === 'b'),
  one('[ab]', (char) => char === 'a' || char === 'b'),
  one('[^b\\]]', (char) => char !== 'b'),
  one('\\u{61}', (char) => char === 'a'),
  one('\\p{L}', (char) => char !== '-'),
  one('.', () => true),
  edge('$', (text, at) => at === text.length),
  edge('\\b', (text, at) => isWord(text[at - 1]) !== isWord(text[at])),
)
const amount = fc.constantFrom(
  ...['*', '+', '?', '*?', '+?', '??'].map(
    (text) => [text, text[0] === '+' ? 1 : 0, text[0] === '?' ? 1 : Infinity] as const,
  ),
  ['{3}', 3, 3] as const,
  ['{2,}', 2, Infinity] as const,
  ['{0,4}', 0, 4] as const,
  ['{1,2}?', 1, 2] as const,
  ['{30}', 30, 30] as const,
)
const { inside: part } = fc.letrec<{ inside: Node; group: Node; repeated: Node }>((tie) => ({
  inside: fc.oneof({ maxDepth: 4, withCrossShrink: true }, leaf, tie('repeated'), tie('group')),
  group: fc
    .tuple(
      fc.constantFrom('(', '(?:', '(?<n>'),
      fc.array(fc.array(tie('inside'), { maxLength: 3 }).map(sequence), { minLength: 1, maxLength: 3 }),
    )
    .map(([open, nodes]) => choice(open, nodes)),
  repeated: fc
    .tuple(fc.oneof(leaf, tie('group')), amount)
    .filter(([node]) => node.text !== '$' && node.text !== '\\b')
    .map(([node, [text, min, max]]) => repeat(node, text, min, max)),
}))
const anyPattern = fc
  .tuple(fc.boolean(), fc.array(part, { minLength: 1, maxLength: 4 }))
  .map(([isAnchored, nodes]) => ({ isAnchored, ...sequence(nodes) }))
  .filter(({ text }) => (text.match(/\?<n>/g) ?? []).length < 2)

test('no text takes more steps than a pattern may', () => {
  let compared = 0
  fc.assert(
    fc.property(
      anyPattern,
      fc.array(fc.constantFrom('a', 'b', '-'), { maxLength: 12 }),
      ({ isAnchored, text: inner, match }, chars) => {
        const pattern = isAnchored ? `^${inner}` : inner
        const steps = patternSteps(pattern)(chars.length)
        // More than these would not fit the stack of the matcher.
        fc.pre(steps <= 1_500)
        const run: Run = { text: chars.join(''), steps: 0 }
        const starts = isAnchored ? [0] : [...chars.keys(), chars.length]
        const isFound = starts.some((start) => match(run, start, () => true))
        expect(isFound).toBe(new RegExp(pattern, 'u').test(run.text))
        expect(run.steps).toBeLessThanOrEqual(steps)
        compared += 1
      },
    ),
    { numRuns: 2_000, maxSkipsPerRun: 20 },
  )
  expect(compared).toBe(2_000)
})

test('no text of a length that is taken takes long', () => {
  fc.assert(
    fc.property(anyPattern, ({ isAnchored, text }) => {
      const pattern = isAnchored ? `^${text}` : text
      // Some are taken for no text at all.
      fc.pre(patternSteps(pattern)(0) <= schemaLimits.maxSteps)
      expect(worstMs(pattern)).toBeLessThan(longMs)
    }),
    { numRuns: 100 },
  )
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
      problem: `is nested too deeply: use at most ${schemaLimits.maxNesting} levels of lists and objects`,
    },
  ])
  expect(schemaProblems({ [keyword]: lists(schemaLimits.maxNesting - 1) }, 'input')).toEqual([])
})

test.each([
  [{ type: [] }, 'must be one of object, '],
  [{ multipleOf: 0 }, 'must be a number greater than 0'],
  [{ multipleOf: -1 }, 'must be a number greater than 0'],
  [{ multipleOf: '1' }, 'must be a number greater than 0'],
])('%j fits nothing, and is refused', (schema, problem) => {
  expect(schemaProblems(schema, 'input')).toEqual([
    { field: `input.${Object.keys(schema)[0]}`, problem: expect.stringContaining(problem) },
  ])
})
