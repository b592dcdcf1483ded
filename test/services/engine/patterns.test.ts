import { RE2JS } from 're2js'
import { describe, expect, test } from 'vitest'
import { translate } from '../../../services/engine/patterns/pattern.ts'
import type { PatternType } from '../../../subjects/migrations/model/rules.ts'

const matches = (type: PatternType, pattern: string, path: string): boolean =>
  RE2JS.compile(translate(type, pattern)).matches(path)

const problemOf = (type: PatternType, pattern: string): string => {
  try {
    translate(type, pattern)
  } catch (error) {
    return (error as Error).message
  }
  return ''
}

const cases: [type: PatternType, pattern: string, yes: string[], no: string[]][] = [
  // A name anywhere.
  ['GLOB', '*.tmp', ['/a.tmp', '/a/b/.tmp'], ['/a.tmp/b', '/a.tmpx']],
  ['GLOB', '_temporary*', ['/x/_temporary', '/_temporary-1'], ['/a_temporary', '/_temporary/x']],
  ['GLOB', '?', ['/a', '/a/é', '/😀'], ['/ab', '/a/bc']],
  ['GLOB', '{.snapshot,~snapshot}', ['/.snapshot', '/a/~snapshot'], ['/snapshot']],
  ['GLOB', '{a,b{c,d}}', ['/a', '/bc', '/bd'], ['/b', '/ac']],
  ['GLOB', '[a-c]x', ['/ax', '/cx'], ['/dx', '/-x']],
  ['GLOB', '[!a-c]x', ['/dx', '/-x'], ['/ax', '//x']],
  ['GLOB', '[^a]', ['/b'], ['/a', '//']],
  ['GLOB', '[]-]', ['/]', '/-'], ['/a']],
  ['GLOB', '\\*\\{', ['/*{'], ['/x{']],
  ['GLOB', 'a.b+c$', ['/a.b+c$'], ['/axb+c$']],
  ['GLOB', 'a,b}', ['/a,b}'], ['/a']],
  // From the root on.
  ['GLOB', '/data/*', ['/data/a'], ['/data', '/data/a/b', '/x/data/a']],
  ['GLOB', '/data/**', ['/data/a', '/data/a/b'], ['/data', '/data2/a']],
  ['GLOB', '/data/**/x', ['/data/x', '/data/a/b/x'], ['/data/ax', '/x']],
  ['GLOB', '/a**z', ['/az', '/a/b/z'], ['/a']],
  ['GLOB', '/**/x', ['/x', '/a/x'], ['/ax']],
  // The end of a path.
  ['GLOB', 'logs/*.log', ['/logs/a.log', '/x/logs/a.log'], ['/a.log', '/mylogs/a.log', '/logs/x/a.log']],
  ['JAVA_PCRE', '/data/.*\\.tmp', ['/data/a/b.tmp'], ['/data/b.tmp2', '/x/data/b.tmp']],
  ['JAVA_PCRE', '^/data/\\Qa+b\\E$', ['/data/a+b'], ['/data/aab']],
  ['JAVA_PCRE', '(?i).*/readme(\\.(?:md|txt))?', ['/a/README.md', '/Readme'], ['/readme.pdf']],
  ['JAVA_PCRE', '/[]a]+', ['/]a'], ['/b']],
  ['JAVA_PCRE', '/\\p{Lu}\\d{2,3}', ['/Ä12'], ['/ä12']],
  ['AUTOMATA', '/data/@', ['/data/', '/data/a/b'], ['/data']],
  ['AUTOMATA', '@".tmp"', ['/a.tmp'], ['/atmp']],
  ['AUTOMATA', '/a\\@^$', ['/a@^$'], ['/a@']],
  ['AUTOMATA', '/[^a-c/]+(x|y)?', ['/dex', '/d'], ['/a', '/d/e']],
  ['AUTOMATA', '/a()b', ['/ab'], ['/a()b']],
  ['AUTOMATA', '/a#|/b', ['/b'], ['/a', '/a#']],
]

test.each(cases)('%s %s', (type, pattern, yes, no) => {
  expect(yes.filter((path) => !matches(type, pattern, path))).toEqual([])
  expect(no.filter((path) => matches(type, pattern, path))).toEqual([])
})

describe('what cannot be matched in linear time, or means something else there, is refused by its name', () => {
  const refused: [type: PatternType, pattern: string, named: string][] = [
    ['JAVA_PCRE', '(a)\\1', 'backreferences, \\1'],
    ['JAVA_PCRE', '(?<n>a)\\k<n>', 'backreferences, \\k<…>'],
    ['JAVA_PCRE', 'a(?=b)', 'lookahead, (?=…)'],
    ['JAVA_PCRE', 'a(?!b)', 'negative lookahead, (?!…)'],
    ['JAVA_PCRE', '(?<=a)b', 'lookbehind, (?<=…)'],
    ['JAVA_PCRE', '(?<!a)b', 'negative lookbehind, (?<!…)'],
    ['JAVA_PCRE', '(?>a+)b', 'atomic groups, (?>…)'],
    ['JAVA_PCRE', 'a*+b', 'possessive quantifiers, *+'],
    ['JAVA_PCRE', 'a{1,2}+b', 'possessive quantifiers, {1,2}+'],
    ['JAVA_PCRE', '[a-z&&[^b]]', 'intersections of classes'],
    ['JAVA_PCRE', '[a[b]]', 'classes inside of classes'],
    ['JAVA_PCRE', '(?x) a b', 'flags other than i, m and s'],
    ['JAVA_PCRE', 'a\\Z', 'say \\z or $'],
    ['JAVA_PCRE', '\\h', 'horizontal space'],
    ['JAVA_PCRE', '\\u0041', 'say \\x{…}'],
    ['AUTOMATA', '~(ab)', 'complements, ~'],
    ['AUTOMATA', 'a&b', 'intersections, &'],
    ['AUTOMATA', '<1-9>', 'intervals and names, <…>'],
  ]
  test.each(refused)('%s %s', (type, pattern, named) => {
    expect(problemOf(type, pattern)).toContain('is not supported')
    expect(problemOf(type, pattern)).toContain(named)
  })
})

test.each<[PatternType, string, string]>([
  ['JAVA_PCRE', '(', 'missing closing )'],
  ['JAVA_PCRE', 'a**', 'nested repetition'],
  ['JAVA_PCRE', '(?:(?:a{30}){30}){3}', 'repeat count'],
  ['JAVA_PCRE', `(?:${'a?'.repeat(300)}){4}`, 'the most are 2000'],
  ['AUTOMATA', 'a+?', 'repeats a repetition'],
  ['AUTOMATA', '"a', 'quotation mark is not closed'],
  ['AUTOMATA', '[a', 'bracket is not closed'],
  ['GLOB', '{a', 'brace is not closed'],
  ['GLOB', '[a', 'bracket is not closed'],
  ['GLOB', 'a[+-9]', 'slash in brackets'],
  ['GLOB', 'folder/', 'leave it out'],
  ['GLOB', 'a\\', 'nothing follows a backslash'],
])('%s %s is no pattern', (type, pattern, said) => {
  expect(problemOf(type, pattern)).toMatch(/^input: regex /)
  expect(problemOf(type, pattern)).toContain(said)
})
