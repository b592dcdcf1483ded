import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startRegion } from '../../../services/engine/items/items.ts'
import type { Counts } from '../../../services/engine/run/counts.ts'
import { packRules, type RuleLists } from '../../../services/engine/run/rules.ts'
import { textFromPath } from '../../../services/drivers/paths/path-text.ts'
import { patternTypes, type Rule, ruleTypes } from '../../../subjects/migrations/model/rules.ts'
import { walkTree } from '../../support/compare-trees.ts'
import { sharedMoves } from './move-folder.ts'
import { sharedTargets, targetKinds } from './targets.ts'

const createMove = sharedMoves()
const targets = sharedTargets()

const glob = (regex: string): Rule => ({ id: regex, type: 'regex', patternType: 'GLOB', regex })
const java = (regex: string): Rule => ({ id: regex, type: 'regex', regex })
const automaton = (regex: string): Rule => ({ id: regex, type: 'regex', patternType: 'AUTOMATA', regex })
const over1Kb: Rule = { id: 'size', type: 'fileSize', value: 1, unit: 'KB' }
const before2010: Rule = { id: 'date', type: 'date', beforeIsoDateTime: '2010-01-01T00:00:00Z' }
const youngerThanADay: Rule = { id: 'age', type: 'age', timeValue: 1, timeUnit: 'Days' }
const paths = (...list: string[]): Rule => ({ id: 'list', type: 'paths', paths: list })

const files = [
  'keep/a.csv',
  'keep/b.tmp',
  'cache/x/y',
  'deep/1/2/c.csv',
  'deep/1/d.bin',
  'top',
  'odd/100%',
  'odd/\xff',
]

function fill(root: string): void {
  for (const name of files) {
    const path = Buffer.concat([Buffer.from(`${root}/`), Buffer.from(name, 'latin1')])
    mkdirSync(dirname(join(root, name)), { recursive: true })
    writeFileSync(path, name === 'deep/1/d.bin' ? Buffer.alloc(2_000) : name)
  }
  utimesSync(join(root, 'top'), 1_000_000_000, 1_000_000_000)
  mkdirSync(join(root, 'empty'))
}

const pathsIn = (root: string): string[] =>
  [...walkTree(root)].map(({ path, stat }) => textFromPath(path) + (stat.isDirectory() ? '/' : '')).toSorted()

const everything = [
  '/cache/',
  '/cache/x/',
  '/cache/x/y',
  '/deep/',
  '/deep/1/',
  '/deep/1/2/',
  '/deep/1/2/c.csv',
  '/deep/1/d.bin',
  '/empty/',
  '/keep/',
  '/keep/a.csv',
  '/keep/b.tmp',
  '/odd/',
  '/odd/%FF',
  '/odd/100%25',
  '/top',
]
const without = (...left: string[]) => everything.filter((path) => !left.includes(path))

/** One source for all of the table. */
let shared: ReturnType<typeof createMove>
beforeAll(() => {
  shared = createMove()
  fill(shared.from)
})
afterAll(() => shared[Symbol.asyncDispose]())

const table: [what: string, rules: Partial<RuleLists>, arrived: string[], counts: Partial<Counts>][] = [
  ['nothing', {}, everything, { filesExcluded: 0, foldersExcluded: 0 }],
  [
    'a name',
    { exclusions: [glob('*.tmp')] },
    without('/keep/b.tmp'),
    { filesExcluded: 1, bytesExcluded: 10 },
  ],
  [
    'a name, by an automaton',
    { exclusions: [automaton('/(keep|none)/[a-c]\\.tmp')] },
    without('/keep/b.tmp'),
    { filesExcluded: 1, bytesExcluded: 10 },
  ],
  [
    'a folder, which is not entered',
    { exclusions: [java('.*/cache')] },
    without('/cache/', '/cache/x/', '/cache/x/y'),
    { foldersExcluded: 1, filesExcluded: 0, foldersScanned: 7 },
  ],
  [
    'size and date',
    { exclusions: [over1Kb, before2010] },
    without('/deep/1/d.bin', '/top'),
    { filesExcluded: 2, bytesExcluded: 2_003 },
  ],
  [
    'age',
    { exclusions: [youngerThanADay] },
    everything.filter((path) => path.endsWith('/') || path === '/top'),
    { filesExcluded: 7, filesMigrated: 1 },
  ],
  [
    'a list of paths, names as bytes',
    { exclusions: [paths('/odd/%FF', '/odd/100%25', '/deep/1')] },
    without('/odd/%FF', '/odd/100%25', '/deep/1/', '/deep/1/2/', '/deep/1/2/c.csv', '/deep/1/d.bin'),
    { filesExcluded: 2, foldersExcluded: 1 },
  ],
  [
    'all but some names; folders without such are not made',
    { inclusions: [glob('*.csv')] },
    ['/deep/', '/deep/1/', '/deep/1/2/', '/deep/1/2/c.csv', '/keep/', '/keep/a.csv'],
    { filesMigrated: 2, filesExcluded: 6 },
  ],
  [
    'all but what is large or old',
    { inclusions: [over1Kb, before2010] },
    ['/deep/', '/deep/1/', '/deep/1/d.bin', '/top'],
    { filesMigrated: 2, filesExcluded: 6 },
  ],
  [
    'all but what is young',
    { inclusions: [youngerThanADay] },
    without('/empty/', '/top'),
    { filesMigrated: 7, filesExcluded: 1 },
  ],
  [
    'all but a folder and a list',
    { inclusions: [glob('/deep/*/2'), paths('/odd/%FF')] },
    ['/deep/', '/deep/1/', '/deep/1/2/', '/deep/1/2/c.csv', '/odd/', '/odd/%FF'],
    { filesMigrated: 2, foldersMigrated: 3 },
  ],
  [
    'what is excluded of what is included',
    { inclusions: [paths('/keep', '/deep/1')], exclusions: [glob('*.tmp'), glob('2')] },
    ['/deep/', '/deep/1/', '/deep/1/d.bin', '/keep/', '/keep/a.csv'],
    { filesMigrated: 2 },
  ],
]

/** A name that is no text, which Azure cannot have. */
const notText = '/odd/%FF'

test.each(targetKinds.flatMap((to) => table.map((row) => [to, ...row] as const)))(
  'to a %s, left out: %s',
  async (to, _, lists, arrived, expected) => {
    const rules = packRules({ exclusions: [], inclusions: [], ...lists })
    await using target = await targets.create(to)
    const { counts, failures } = await shared.run({}, { target: target.spec, ...(rules && { rules }) })
    const lost = to === 'container' && arrived.includes(notText) ? [notText] : []
    expect(failures.map(({ path, failure }) => [path, failure])).toEqual(lost.map((path) => [path, 'name']))
    expect(await target.paths()).toEqual(arrived.filter((path) => !lost.includes(path)))
    const { filesMigrated = counts.filesMigrated + lost.length } = expected
    expect(counts).toMatchObject({ ...expected, filesMigrated: filesMigrated - lost.length })
    expect(counts.filesScanned).toBe(counts.filesMigrated + lost.length)
    expect(counts.foldersScanned).toBe(counts.foldersMigrated)
  },
)

test('the table has all forms of rules, and all kinds of patterns', () => {
  const rules = table.flatMap(([, { exclusions = [], inclusions = [] }]) => [...exclusions, ...inclusions])
  const patterns = rules.flatMap((rule) => (rule.type === 'regex' ? [rule.patternType ?? 'JAVA_PCRE'] : []))
  expect(new Set(rules.map(({ type }) => type))).toEqual(new Set(ruleTypes))
  expect(new Set(patterns)).toEqual(new Set(patternTypes))
})

test('a folder that is scanned again by itself is left out with the one above it', async () => {
  const rules = packRules({ exclusions: [glob('deep')], inclusions: [] })
  if (rules === undefined) expect.unreachable()
  await using move = createMove({ rules })
  fill(move.from)
  const { counts } = await move.run({ start: startRegion(Buffer.from('deep/1')) })
  expect(counts).toMatchObject({ foldersExcluded: 1, foldersScanned: 0, filesScanned: 0 })
  expect(pathsIn(move.to)).toEqual([])
})

test('rules go before the policy, and a rule that is taken away lets its files in the next time', async () => {
  const rules = packRules({ exclusions: [glob('*.csv')], inclusions: [] })
  if (rules === undefined) expect.unreachable()
  await using move = createMove({ policy: 'SkipIfSizeMatch' })
  fill(move.from)
  await move.run({}, { rules })
  const { counts } = await move.run()
  expect(counts).toMatchObject({ filesMigrated: 2, filesSkipped: 6, filesExcluded: 0 })
})

test('from and to Azure', async () => {
  const { spec: container } = await targets.createContainer()
  const rules = packRules({ exclusions: [glob('*.tmp')], inclusions: [glob('/keep'), glob('*.bin')] })
  if (rules === undefined) expect.unreachable()
  await using move = createMove({ rules })
  fill(move.from)
  const there = await move.run({}, { target: container })
  expect(there.counts).toMatchObject({ filesMigrated: 2 })
  const onTheSource = packRules({ exclusions: [glob('/deep')], inclusions: [] })
  if (onTheSource === undefined) expect.unreachable()
  await move.run({}, { source: container, rules: onTheSource })
  expect(pathsIn(move.to)).toEqual(['/keep/', '/keep/a.csv'])
})
