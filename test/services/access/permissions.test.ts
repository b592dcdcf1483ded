import fc from 'fast-check'
import { expect, test } from 'vitest'
import { intersection, union } from '../../../services/access/permissions.ts'
import { coveringRule, uncovered } from '../../../subjects/kit/patterns.ts'
import { isVisible } from '../../../subjects/extensions/visible.ts'

const token = fc.constantFrom('a', 'b', '*')
const pattern = fc
  .tuple(fc.array(token, { minLength: 1, maxLength: 3 }), fc.boolean())
  .map(([tokens, open]) => [...tokens, ...(open ? ['>'] : [])].join('.'))
const rules = fc.array(pattern, { maxLength: 4 })
const subject = fc
  .array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 5 })
  .map((t) => t.join('.'))
const capabilities = (pub: string[]) => ({ pub: { allow: pub }, sub: { allow: [] } })
const allows = (list: string[], one: string) => coveringRule(list, one) !== undefined

test('a union allows what any of its roles does, and no more', () => {
  fc.assert(
    fc.property(fc.array(rules, { maxLength: 3 }), subject, (roles, one) => {
      const { permissions } = union(roles.map((pub) => ({ ...capabilities(pub), visible_extensions: [] })))
      expect(allows(permissions.pub.allow, one)).toBe(roles.some((role) => allows(role, one)))
    }),
    { numRuns: 20_000 },
  )
})

test('an intersection allows nothing that one of the two does not', () => {
  fc.assert(
    fc.property(rules, rules, (one, other) => {
      const { allow } = intersection(capabilities(one), capabilities(other)).pub
      expect([...uncovered(one, allow), ...uncovered(other, allow)]).toEqual([])
    }),
    { numRuns: 20_000 },
  )
})

test('an intersection keeps each rule that the other covers', () => {
  fc.assert(
    fc.property(rules, rules, (one, other) => {
      const { allow } = intersection(capabilities(one), capabilities(other)).pub
      const common = one.filter((rule) => allows(other, rule))
      expect(uncovered(allow, common)).toEqual([])
    }),
    { numRuns: 20_000 },
  )
})

test.each([
  [['gantry.extensions.demo.>'], ['demo'], true],
  [['gantry.extensions.demo.>'], ['*'], true],
  [['gantry.>'], ['demo'], true],
  [['>'], ['other', 'demo'], true],
  [['gantry.extensions.*.>'], ['demo'], true],
  [['gantry.extensions.demo.>'], [], false],
  [['gantry.extensions.demo.>'], ['other'], false],
  [['gantry.extensions.demo.>'], ['Demo'], false],
  [['gantry.extensions.demo.>'], ['dem'], false],
  [['gantry.extensions.demo.*'], ['demo'], false],
  [['gantry.extensions.demo.a'], ['demo'], false],
  [['gantry.extensions.other.>'], ['*'], false],
  [['gantry.extensions.Demo.>'], ['demo'], false],
  [[], ['*'], false],
  [[], [], false],
])('who may subscribe to %j and is named %j sees it: %s', (allow, visible_extensions, expected) => {
  expect(isVisible('demo', { sub: { allow }, visible_extensions })).toBe(expected)
})
