import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { coveringRule, ruleCovers, uncovered } from '../../../subjects/kit/patterns.ts'
import { SubjectPattern } from '../../../subjects/kit/schemas.ts'
import { matches } from '../../../subjects/kit/validate.ts'
import { type Permissions, startPermissionServer, type Wire } from '../permission-server.ts'

test.each([
  ['a', 'a', true],
  ['a', 'b', false],
  ['a', 'A', false],
  ['a', 'a.b', false],
  ['a.b', 'a', false],
  ['*', 'a', true],
  ['*', '*', true],
  ['*', 'a.b', false],
  ['*', '>', false],
  ['a', '*', false],
  ['a.*', 'a.b', true],
  ['a.*', 'a.>', false],
  ['a.*.c', 'a.b.c', true],
  ['a.*.c', 'a.*.c', true],
  ['a.*.c', 'a.b.*', false],
  ['>', 'a', true],
  ['>', '>', true],
  ['>', '*.*', true],
  ['a.>', 'a', false],
  ['a.>', 'a.b.c', true],
  ['a.>', 'a.*', true],
  ['a.>', 'a.>', true],
  ['a.>', 'a.b.>', true],
  ['a.>', '>', false],
  ['*.>', 'a.>', true],
  ['*.>', '>', false],
  ['gantry.services.v1.>', 'gantry.services.v1.keys.create', true],
  ['gantry.services.v1.*.list', 'gantry.services.v1.keys.list', true],
  ['gantry.services.v1.*.list', 'gantry.services.v1.keys.*', false],
])('the rule %s covers %s: %s', (rule, requested, expected) => {
  expect(ruleCovers(rule, requested)).toBe(expected)
})

test('the first rule that covers is named, and what none covers', () => {
  expect(coveringRule(['a.b', 'a.*', 'a.>'], 'a.c')).toBe('a.*')
  expect(coveringRule(['a.b'], 'a.c')).toBeUndefined()
  expect(coveringRule([], 'a')).toBeUndefined()
  expect(uncovered(['a.*', 'b'], ['a.x', 'b', 'c', 'a.>'])).toEqual(['c', 'a.>'])
})

const word = fc.constantFrom('a', 'b')
const token = fc.oneof(word, fc.constant('*'))
const literal = fc.array(word, { minLength: 1, maxLength: 4 }).map((tokens) => tokens.join('.'))
const pattern = fc
  .tuple(fc.array(token, { maxLength: 3 }), fc.boolean())
  .map(([tokens, rest]) => (rest || tokens.length === 0 ? [...tokens, '>'] : tokens).join('.'))

/** `x` is in no pattern and stands for all other words; five tokens are one more than any pattern has. */
const subjects = subjectsOf(['a', 'b', 'x'], 5)

function subjectsOf(words: readonly string[], length: number): string[] {
  if (length === 0) return []
  const shorter = subjectsOf(words, length - 1)
  return [...words, ...shorter.flatMap((subject) => words.map((word) => `${subject}.${word}`))]
}

/** The definition of a wildcard, told in another way than in the code. */
function matcherOf(text: string): RegExp {
  const source = text.replaceAll('.', '\\.').replaceAll('*', '[^.]+').replaceAll('>', '.+')
  return new RegExp(`^${source}$`)
}

test('a rule covers a pattern exactly when it matches every subject that the pattern matches', () => {
  fc.assert(
    fc.property(pattern, pattern, (rule, requested) => {
      const [ruleMatcher, requestedMatcher] = [matcherOf(rule), matcherOf(requested)]
      const all = subjects.every((subject) => !requestedMatcher.test(subject) || ruleMatcher.test(subject))
      expect(ruleCovers(rule, requested)).toBe(all)
    }),
    { numRuns: 5_000 },
  )
})

test('the patterns of these tests are patterns by the schema', () => {
  fc.assert(fc.property(pattern, (text) => matches(SubjectPattern, text)))
})

/**
 * What nats-server 2.15 lets through beside that: it compares the subject of a subscription with each rule as if it were
 * literal, and so takes a `>` for a word that a last `*` of the rule matches. The subscriber then gets all that is deeper.
 */
const slipsThrough = (rule: string, requested: string) =>
  rule.endsWith('*') && requested.endsWith('>') && ruleCovers(rule, `${requested.slice(0, -1)}*`)

const refused = async (wire: Wire, ...lines: string[]) =>
  (await wire.send(...lines)).some((line) => line.startsWith("-ERR 'Permissions Violation"))

test('nats-server decides the same, but for a last * that lets > through', async () => {
  const users = 60
  const requestsEach = 20
  const rulesOf = fc.sample(fc.array(pattern, { minLength: 1, maxLength: 3 }), users)
  await using server = await startPermissionServer(
    rulesOf.map((allow) => ({ publish: { allow }, subscribe: { allow } })),
  )
  const differences: string[] = []
  for (const [user, rules] of rulesOf.entries()) {
    using wire = await server.connect(user)
    const differs = (what: string, requested: string) =>
      differences.push(`[${rules.join(' ')}] ${what} ${requested}`)
    for (const requested of fc.sample(pattern, requestsEach)) {
      const allowed = !(await refused(wire, `SUB ${requested} 1`, 'UNSUB 1'))
      const expected = rules.some((rule) => ruleCovers(rule, requested) || slipsThrough(rule, requested))
      if (allowed !== expected) differs('subscribe', requested)
    }
    for (const requested of fc.sample(literal, requestsEach)) {
      const allowed = !(await refused(wire, `PUB ${requested} 0`, ''))
      if (allowed !== (coveringRule(rules, requested) !== undefined)) differs('publish', requested)
    }
  }
  expect(differences).toEqual([])
})

/**
 * `a.*` and `a.*.>` together match all that `a.>` matches. Rule by rule neither covers it, so that we refuse it. The
 * server decides rule by rule as well, and allows it, because the `>` slips through `a.*` alone. Every union that covers
 * a pattern which none of its rules covers is of this form: all subjects with the fewest tokens and unknown words must be
 * matched by one rule, which has the pattern's length and ends in `*`. Hence a subscription that a union covers is always
 * allowed by the server, and we are the stricter.
 */
test('what only a union of rules covers is refused by us, and slips through in nats-server', async () => {
  const union = ['a.*', 'a.*.>']
  const parts: Permissions[] = union.map((rule) => ({ subscribe: { allow: [rule] } }))
  await using server = await startPermissionServer([{ subscribe: { allow: union } }, ...parts])
  const decisions: boolean[] = []
  for (const user of [0, 1, 2]) {
    using wire = await server.connect(user)
    decisions.push(!(await refused(wire, 'SUB a.> 1')))
  }
  expect(coveringRule(union, 'a.>')).toBeUndefined()
  expect(decisions).toEqual([true, true, false])
})

test('a last * of a rule gives all that is deeper, unless that is denied', async () => {
  const allow = ['a.*']
  await using server = await startPermissionServer([
    { subscribe: { allow } },
    { subscribe: { allow, deny: ['a.*.>'] } },
    {},
  ])
  using open = await server.connect(0)
  using closed = await server.connect(1)
  using publisher = await server.connect(2)
  expect(await open.send('SUB a.> 1')).toEqual([])
  expect(await closed.send('SUB a.> 1')).toEqual([])
  await publisher.send('PUB a.b 0', '', 'PUB a.b.c 0', '')
  expect(await open.send()).toEqual(['MSG a.b 1 0', '', 'MSG a.b.c 1 0', ''])
  expect(await closed.send()).toEqual(['MSG a.b 1 0', ''])
})
