import { expect, test } from 'vitest'
import {
  type NamedEntry,
  packRules,
  type RuleLists,
  Rules,
  unpackRules,
} from '../../../services/engine/run/rules.ts'
import { nameOf, parentOf } from '../../../services/drivers/paths/path-text.ts'
import { pathFromText } from '../../../services/drivers/paths/path-text.ts'
import type { Rule } from '../../../subjects/migrations/model/rules.ts'

const glob = (regex: string, id = regex): Rule => ({ id, type: 'regex', patternType: 'GLOB', regex })
const java = (regex: string): Rule => ({ id: regex, type: 'regex', regex })
const paths = (...list: string[]): Rule => ({ id: 'list', type: 'paths', paths: list })
const day = 86_400_000

/** `/a/b` is a file of 100 bytes of yesterday, `/a/b/` a folder. */
function verdict(lists: Partial<RuleLists>, text: string, entry: Partial<NamedEntry> = {}) {
  const rules = new Rules({ exclusions: [], inclusions: [], ...lists })
  const path = pathFromText(text)
  const type = text.endsWith('/') ? 'folder' : 'file'
  const sizeBytes = type === 'file' ? 100 : 0
  const found = rules.inFolder(parentOf(path)).verdict({
    name: nameOf(path),
    type,
    sizeBytes,
    modifiedMs: Date.now() - day,
    ...entry,
  })
  return typeof found === 'string' ? found : (found.excludedBy ?? 'not included')
}

const size: Rule = { id: 'size', type: 'fileSize', value: 99, unit: 'B' }
const kilobyte: Rule = { id: 'kilobyte', type: 'fileSize', value: 1, unit: 'KB' }
const before: Rule = { id: 'date', type: 'date', beforeIsoDateTime: '2020-01-01T00:00:00.000Z' }
const before1970: Rule = { id: '1970', type: 'date', beforeIsoDateTime: '1970-01-01T00:00:00.000Z' }
const young: Rule = { id: 'age', type: 'age', timeValue: 2, timeUnit: 'Days' }
const old = Date.parse('2019-12-31T23:59:59.999Z')

test.each<[rule: Rule, path: string, entry: Partial<NamedEntry>, expected: string]>([
  [glob('*.tmp'), '/a/b.tmp', {}, '*.tmp'],
  [glob('*.tmp'), '/a/b.tmp/', {}, '*.tmp'],
  [glob('*.tmp'), '/a/b.tmp', { type: 'symlink' }, '*.tmp'],
  [glob('*.tmp'), '/a/b', {}, 'taken'],
  [java('/a/.*'), '/a/b', {}, '/a/.*'],
  // A path as it is shown: % and what is not UTF-8 are percent-encoded.
  [java('.*/100%25'), '/a/100%25', {}, '.*/100%25'],
  [glob('%FF*'), '/a/%FFx', {}, '%FF*'],
  [size, '/a', {}, 'size'],
  [size, '/a', { sizeBytes: 99 }, 'taken'],
  [size, '/a/', { sizeBytes: 100 }, 'taken'],
  [kilobyte, '/a', { sizeBytes: 1_001 }, 'kilobyte'],
  [kilobyte, '/a', { sizeBytes: 1_000 }, 'taken'],
  [before, '/a', { modifiedMs: old }, 'date'],
  [before, '/a', { modifiedMs: old + 1 }, 'taken'],
  [before, '/a/', { modifiedMs: old }, 'taken'],
  [before, '/a', { modifiedMs: 0 }, 'date'],
  [before, '/a', { modifiedMs: -0.5 }, 'date'],
  [before1970, '/a', { modifiedMs: 0 }, 'taken'],
  [before1970, '/a', { modifiedMs: -0.5 }, '1970'],
  [young, '/a', {}, 'age'],
  [young, '/a', { modifiedMs: Date.now() - 3 * day }, 'taken'],
  [young, '/a', { modifiedMs: 0 }, 'taken'],
  [young, '/a/', {}, 'taken'],
  [paths('/a/b'), '/a/b', {}, 'list'],
  [paths('/a/b'), '/a/b/', {}, 'list'],
  [paths('/a/b'), '/a/bc', {}, 'taken'],
])('exclusion %o: %s %o is %s', (rule, path, entry, expected) => {
  expect(verdict({ exclusions: [rule] }, path, entry)).toBe(expected)
})

test('no date and no age matches a file of which the store gives no time', () => {
  const { verdict: decide } = new Rules({ exclusions: [before, young], inclusions: [] }).inFolder(
    Buffer.alloc(0),
  )
  expect(decide({ name: Buffer.from('a'), type: 'file', sizeBytes: 100 })).toBe('taken')
})

test('the first exclusion that matches decides, whatever its form', () => {
  const exclusions = [young, glob('*.c', 'c'), paths('/x.c'), glob('x*', 'x'), size]
  expect(verdict({ exclusions }, '/x.c')).toBe('age')
  expect(verdict({ exclusions }, '/x.c', { modifiedMs: old })).toBe('c')
  expect(verdict({ exclusions: exclusions.slice(2) }, '/x.c')).toBe('list')
  expect(verdict({ exclusions: exclusions.slice(3) }, '/x.c')).toBe('x')
})

test.each<[rule: Rule, path: string, entry: Partial<NamedEntry>, expected: string]>([
  [glob('*.csv'), '/a/b.csv', {}, 'taken'],
  [glob('*.csv'), '/a/b.txt', {}, 'not included'],
  [glob('*.csv'), '/a/b/', {}, 'walked'],
  // All of an included folder is included.
  [glob('reports'), '/a/reports/', {}, 'taken'],
  [glob('reports'), '/a/reports/x/y', {}, 'taken'],
  [glob('/a/*/x'), '/a/', {}, 'walked'],
  [glob('/a/*/x'), '/b/', {}, 'not included'],
  [glob('/a/*/x'), '/a/1/', {}, 'walked'],
  [glob('/a/*/x'), '/a/1/y/', {}, 'not included'],
  [glob('/a/**/x'), '/a/1/2/3/', {}, 'walked'],
  [glob('/a/**/x'), '/b/1/', {}, 'not included'],
  [glob('/{a,b}/x'), '/c/', {}, 'walked'],
  [java('/a/.*'), '/b/', {}, 'walked'],
  [paths('/a/b', '/c%25'), '/a/', {}, 'walked'],
  [paths('/a/b', '/c%25'), '/a/b/', {}, 'taken'],
  [paths('/a/b', '/c%25'), '/a/b/c', {}, 'taken'],
  [paths('/a/b', '/c%25'), '/a/c', {}, 'not included'],
  [paths('/a/b', '/c%25'), '/d/', {}, 'not included'],
  [paths('/a/b', '/c%25'), '/c%25', {}, 'taken'],
  [paths('/'), '/a/b', {}, 'taken'],
  [size, '/a', {}, 'taken'],
  [size, '/a', { sizeBytes: 1 }, 'not included'],
  [size, '/a/b/', {}, 'walked'],
])('inclusion %o: %s %o is %s', (rule, path, entry, expected) => {
  expect(verdict({ inclusions: [rule] }, path, entry)).toBe(expected)
})

test('an exclusion goes before an inclusion', () => {
  const lists = { inclusions: [paths('/a')], exclusions: [glob('*.tmp')] }
  expect(verdict(lists, '/a/b.tmp')).toBe('*.tmp')
  expect(verdict(lists, '/a/b')).toBe('taken')
})

test('a folder below an excluded one is excluded, the root of the migration and what is above it never', () => {
  const rules = new Rules({ exclusions: [glob('a')], inclusions: [] })
  const excluding = (path: string, root: string) => rules.excluding(pathFromText(path), pathFromText(root))
  expect(excluding('/x/a/b/c', '/x')).toBe('a')
  expect(excluding('/x/a', '/x')).toBe('a')
  expect(excluding('/x/a/b', '/x/a')).toBeUndefined()
  expect(excluding('/x/a', '/x/a')).toBeUndefined()
  expect(excluding('/a', '/')).toBe('a')
  expect(excluding('/b', '/')).toBeUndefined()
})

test('patterns that others take for ever on take no time, alone and with others', () => {
  const hostile = ['(a+)+b', '(a|aa)+b', '(.*a){20}b', '([^/]*x?)*y', '(?:a?){200}a{200}b', '(x+x+)+y']
  const exclusions = hostile.map(java)
  const rules = new Rules({ exclusions, inclusions: [] })
  const { verdict: decide } = rules.inFolder(Buffer.alloc(0))
  const entry = { type: 'file', sizeBytes: 0 } as const
  const beganMs = performance.now()
  for (const character of ['a', 'x', '/a']) {
    expect(decide({ name: Buffer.from(character.repeat(255)), ...entry })).toBe('taken')
    expect(decide({ name: Buffer.from(character.repeat(2_000)), ...entry })).toBe('taken')
  }
  // A backtracking matcher needs longer than the universe exists.
  expect(performance.now() - beganMs).toBeLessThan(5_000)
})

test('rules are packed once, and compiled once', () => {
  const lists = { exclusions: [glob('*.tmp')], inclusions: [] }
  const packed = packRules(lists)
  expect(packed?.json).toBeInstanceOf(SharedArrayBuffer)
  expect(packRules({ exclusions: [], inclusions: [] })).toBeUndefined()
  const again = packRules(structuredClone(lists))
  expect(again?.key).toBe(packed?.key)
  if (packed === undefined || again === undefined) expect.unreachable()
  expect(unpackRules(again)).toBe(unpackRules(packed))
})
