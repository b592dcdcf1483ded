import { expect, test } from 'vitest'
import type { Rule } from '../../../../subjects/migrations/model/rules.ts'
import { excludedFailures } from '../../../../services/migrations/failures/excluded-failures.ts'
import { normalRule } from '../../../../services/migrations/rules/normal.ts'

const glob = (regex: string): Rule => normalRule({ id: regex, type: 'regex', regex, patternType: 'GLOB' })
/** As a table with partitions has them, and each rule is asked about each folder on the way. */
const globs = Array.from({ length: 40 }, (_, index) => glob(`/data/year=${index}/**/*.tmp${index}`))
const rules = { exclusions: [...globs, glob('**.tmp')], inclusions: [] }
const folder = Array.from({ length: 10 }, (_, index) => `folder-number-${index}`).join('/')
const page = Array.from({ length: 500 }, (_, index) => ({
  sequence: index + 1,
  entry: {
    path: `/${folder}/${index}.tmp`,
    failure: 'io' as const,
    message: 'unreadable',
    attempts: 1,
    timeMs: 0,
  },
}))

test('all failures of a page are judged, and others have their turns meanwhile', async () => {
  let turns = 0
  const turn = setInterval(() => turns++, 1)
  const excluded = await excludedFailures(rules, { path: '/' })(page)
  clearInterval(turn)
  expect(excluded.size).toBe(page.length)
  expect(turns).toBeGreaterThan(3)
})

test('for an answer that somebody waits for, the first ones are judged', async () => {
  const excluded = await excludedFailures(rules, { path: '/' }, 1)(page)
  expect(excluded.has(1)).toBe(true)
  expect(excluded.size).toBeLessThan(page.length)
})

test('rules are compiled once, for all pages and all callers', async () => {
  const many = {
    exclusions: Array.from({ length: 600 }, (_, n) => glob(`/a${n}/**/*.b${n}`)),
    inclusions: [],
  }
  const took = async () => {
    const began = performance.now()
    await excludedFailures(structuredClone(many), { path: '/' })(page.slice(0, 1))
    return performance.now() - began
  }
  const first = await took()
  expect(await took()).toBeLessThan(first / 2)
})
