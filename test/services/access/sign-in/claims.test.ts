import { describe, expect, test } from 'vitest'
import { groupsIn, personOf } from '../../../../services/access/sign-in/claims.ts'

describe('groups of a claim', () => {
  test.each<[string, object, string, string[] | undefined]>([
    ['an array', { groups: ['a', 'b'] }, 'groups', ['a', 'b']],
    ['one as a text', { groups: 'a' }, 'groups', ['a']],
    ['an empty array', { groups: [] }, 'groups', []],
    ['inside an object', { realm_access: { roles: ['a'] } }, 'realm_access.roles', ['a']],
    ['deep inside', { a: { b: { c: 'x' } } }, 'a.b.c', ['x']],
    ['a name with dots of a URL', { 'https://x.example/groups': ['a'] }, 'https://x.example/groups', ['a']],
    ['not there', {}, 'groups', undefined],
    ['not there, with a dot', { realm_access: {} }, 'realm_access.roles', undefined],
    ['inside a text', { realm_access: 'x' }, 'realm_access.length', undefined],
    ['of the language', {}, 'constructor.name', undefined],
    ['a number', { groups: 7 }, 'groups', undefined],
  ])('%s', (_, claims, name, groups) => {
    expect(groupsIn(claims as Record<string, unknown>, name)).toEqual(groups)
  })
})

test('a person: each thing from the first source that has it', () => {
  const sources = [
    { name: 7, preferred_username: 'ada' },
    { name: 'Ada Lovelace', groups: [] },
    { email: 'ada@example.org', groups: ['never seen'] },
  ]
  expect(personOf('1', sources, 'groups')).toEqual({
    source: 'oidc',
    subject: '1',
    name: 'Ada Lovelace',
    email: 'ada@example.org',
    groups: [],
  })
  expect(personOf('1', [{ preferred_username: 'ada', name: 'x'.repeat(3_000) }], 'groups').name).toBe('ada')
})
