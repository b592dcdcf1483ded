import { describe, expect, test } from 'vitest'
import { entryFor, pathMatches } from '../../../http-edge/metadata/access-map.ts'

test.each([
  ['/docs', '/docs', true],
  ['/docs', '/docs/', true],
  ['/docs', '/doc', false],
  ['/docs', '/Docs', false],
  ['/docs', '/docs/x', false],
  ['/docs/**', '/docs', true],
  ['/docs/**', '/docs/a/b', true],
  ['/docs/**', '/docsx', false],
  ['/**', '/', true],
  ['/**', '/agents/a/tables', true],
  ['/agents/*', '/agents', false],
  ['/agents/*', '/agents/a', true],
  ['/agents/*', '/agents/a/tables', false],
  // A slash in a name is a part of that name.
  ['/agents/*', '/agents/a%2Ftables', true],
  ['/agents/*/tables', '/agents/a%2Ftables', false],
  ['/agents/**/tables', '/agents/tables', true],
  ['/agents/**/tables', '/agents/a/b/tables', true],
  ['/agents/**/tables', '/agents/a/b', false],
  ['/**/a/**/b', '/a/x/a/b/c/b', true],
  ['/**/a/**/b', '/b/a', false],
  ['/agents/prod-*', '/agents/prod-1', true],
  ['/agents/prod-*', '/agents/prod-', true],
  ['/agents/prod-*', '/agents/test-1', false],
  ['/agents/*-*-x', '/agents/a-b-c-x', true],
  ['/agents/h?ve', '/agents/hive', true],
  ['/agents/h?ve', '/agents/hve', false],
  // Written in another way, it is the same.
  ['/agents/hive', '/%61gents/h%69ve', true],
  ['/agents/h?ve', '/agents/h%C3%AFve', true],
  // A dot is a dot, and a name that cannot be decoded is no other.
  ['/a.b', '/axb', false],
  ['/agents/*', '/agents/%ff', true],
  ['/agents/x', '/agents/%ff', false],
])('%s and %s: %s', (pattern, path, expected) => {
  expect(pathMatches(pattern, path)).toBe(expected)
})

test('nobody can send a path that takes long', () => {
  const pattern = `/${'**/a*a*a*b/'.repeat(5)}x`
  expect(pathMatches(pattern, `/${'a'.repeat(30_000)}`)).toBe(false)
  expect(pathMatches(pattern, '/aab'.repeat(15_000))).toBe(false)
})

describe('the first entry that fits decides', () => {
  const map = [
    { pattern: '/agents/**', method: 'DELETE', access: ['admin'] },
    { pattern: '/agents/*', method: 'GET', access: ['viewer', 'admin'] },
    { pattern: '/docs/**', method: undefined, access: ['isAnonymous()'] },
  ]
  test.each([
    ['DELETE', '/agents/a', ['admin']],
    ['GET', '/agents/a', ['viewer', 'admin']],
    // What a route of GET answers too.
    ['HEAD', '/agents/a', ['viewer', 'admin']],
    ['GET', '/agents/a/', ['viewer', 'admin']],
    ['POST', '/docs', ['isAnonymous()']],
    ['POST', '/agents/a', undefined],
    ['GET', '/agents', undefined],
    ['GET', '/', undefined],
  ])('%s %s', (method, path, access) => {
    expect(entryFor(map, method, path)?.access).toEqual(access)
  })
  test('whichever is before another', () => {
    expect(
      entryFor([{ pattern: '/**', method: undefined, access: ['x'] }, ...map], 'GET', '/docs')?.access,
    ).toEqual(['x'])
  })
})
