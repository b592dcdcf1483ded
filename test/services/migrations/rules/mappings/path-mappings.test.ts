import { expect, test } from 'vitest'
import { collide, overlapping } from '../../../../../services/migrations/rules/mappings/conflicts.ts'
import {
  applicable,
  engineMappings,
  leading,
  type Moved,
  targetsOf,
} from '../../../../../services/migrations/rules/mappings/frozen.ts'
import { pathFromText, textFromPath } from '../../../../../services/drivers/paths/path-text.ts'
import type { PathMapping } from '../../../../../subjects/migrations/model/path-mapping-model.ts'

const places = { source: 'from', target: 'to' }
/** `/a > /b` leads /a to /b. */
function mapping(text: string, other: Partial<PathMapping> = {}): PathMapping {
  const [sourcePath = '', targetPath = ''] = text.split(' > ')
  const filesystems = { sourceFileSystem: 'from', targetFileSystem: 'to' }
  return { id: text, description: '', ...filesystems, sourcePath, targetPath, ...other }
}
const moved = (path: string, ...mappings: string[]): Moved => ({
  ...places,
  path,
  pathMappings: mappings.map((text) => mapping(text)),
})

test.each<[path: string, all: string[], own: string[], regions: string[]]>([
  ['/a', [], [], []],
  ['/a', ['/b > /x'], [], []],
  ['/a', ['/a > /x'], ['/a > /x'], ['/a > /x']],
  ['/a/b', ['/a > /x', '/ > /y'], ['/a > /x'], ['/a/b > /x/b']],
  ['/', ['/ > /y'], ['/ > /y'], ['/ > /y']],
  [
    '/a',
    ['/a/b > /x', '/a/b/c > /y', '/ab > /z'],
    ['/a/b/c > /y', '/a/b > /x'],
    ['/a/b/c > /y', '/a/b > /x', '/a > /a'],
  ],
  ['/a', ['/a/b > /x', '/a > /y'], ['/a/b > /x', '/a > /y'], ['/a/b > /x', '/a > /y']],
  // To the same place as without it.
  ['/a', ['/a/b > /a/b'], ['/a/b > /a/b'], []],
])('a migration of %s with %j is led by %j', (path, all, own, regions) => {
  const foreign = [
    mapping('/a > /q', { sourceFileSystem: 'other' }),
    mapping('/a > /q', { targetFileSystem: 'other' }),
  ]
  const found = applicable([...all.map((text) => mapping(text)), ...foreign], { path, ...places })
  expect(found.map(({ id }) => id)).toEqual(own)
  const engine = engineMappings({ path, ...places, pathMappings: found }) ?? []
  expect(engine.map(({ from, to }) => `${textFromPath(from)} > ${textFromPath(to)}`)).toEqual(regions)
})

test('the mapping of a path is that of the longest prefix', () => {
  const migration = moved('/a', '/ > /y', '/a/b > /x')
  expect(leading(migration, pathFromText('/a/b/c'))?.id).toBe('/a/b > /x')
  expect(leading(migration, pathFromText('/a/c'))?.id).toBe('/ > /y')
  expect(targetsOf(migration)).toEqual(['/x', '/y/a'])
})

test.each<[asked: string, other: string, overlaps: boolean]>([
  ['/a > /x', '/a > /y', true],
  ['/a > /x', '/b > /x', true],
  ['/a > /x', '/b > /x/y', true],
  ['/a > /x/y', '/b > /x', true],
  ['/a > /x', '/b > /xy', false],
  ['/a/b > /x/b', '/a > /x', false],
  ['/a > /x', '/a/b > /x/b', false],
  ['/a/b > /x/c', '/a > /x', true],
  ['/a/b > /y', '/a > /x', false],
])('a mapping %s beside %s: overlaps %s', (asked, other, overlaps) => {
  expect(overlapping([mapping(other)], mapping(asked)) !== undefined).toBe(overlaps)
})

test('mappings from another source overlap by their targets alone, to another target never', () => {
  const asked = mapping('/a > /x')
  expect(overlapping([mapping('/a > /y', { sourceFileSystem: 'other' })], asked)).toBeUndefined()
  expect(overlapping([mapping('/a > /x', { sourceFileSystem: 'other' })], asked)).toBeDefined()
  expect(overlapping([mapping('/a > /x', { targetFileSystem: 'other' })], asked)).toBeUndefined()
})

test.each<[one: Moved, other: Moved, collides: boolean]>([
  // Without mappings people say themselves what they want.
  [moved('/'), moved('/a'), false],
  [moved('/'), { ...moved('/'), source: 'other' }, false],
  [moved('/a', '/a > /x'), moved('/x'), true],
  [moved('/a', '/a > /x'), moved('/b'), false],
  [moved('/a', '/a > /x'), moved('/'), true],
  [moved('/a', '/a > /x'), moved('/b', '/b > /x/y'), true],
  [moved('/a', '/a > /x'), moved('/a/b', '/a > /x'), false],
  [moved('/', '/a > /x'), moved('/a', '/a > /x'), false],
  [moved('/', '/a > /x'), moved('/x'), true],
  [moved('/a', '/a > /x'), { ...moved('/x'), target: 'other' }, false],
  [moved('/a', '/a > /x'), { ...moved('/a', '/a > /x'), source: 'other' }, true],
])('%o and %o collide: %s', (one, other, collides) => {
  expect(collide(one, other)).toBe(collides)
  expect(collide(other, one)).toBe(collides)
})
