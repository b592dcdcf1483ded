import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AdminRules } from '../../../../config/platform.ts'
import { signInEntries } from '../../../../services/access/audit.ts'
import { admin, everyone, viewer } from '../../../../services/access/roles/built-in-roles.ts'
import { purgeEndedSessions } from '../../../../services/access/sign-in/ended-sessions.ts'
import { KeyEnds } from '../../../../services/access/keys/ends.ts'
import { type NewKey, issueKey } from '../../../../services/access/keys/keys.ts'
import { type Person, signIn } from '../../../../services/access/roles/people.ts'
import { type AccessState, openState } from '../../../../services/access/state.ts'
import { OwnerRoom } from '../../../../services/access/keys/owner-limits.ts'
import { keys } from '../../../../subjects/access/keys.ts'
import { defaultSettings } from '../../../../subjects/access/settings.ts'
import type { Role } from '../../../../subjects/access/roles.ts'
import { startTestBroker, type TestBroker } from '../../../support/broker.ts'
import { until } from '../../../support/until.ts'

let broker: TestBroker
let state: AccessState
beforeAll(async () => {
  broker = await startTestBroker()
  state = await openState(await broker.connect('PLATFORM'))
})
afterAll(() => broker[Symbol.asyncDispose]())

const issuer = {
  salt: 'salt of the tests',
  location: { instance: 'i', nats: 'nats://127.0.0.1:1', http: 'http://127.0.0.1:1' },
}
const rules = (some: Partial<AdminRules> = {}): AdminRules => ({
  adminSubject: 'the-admin',
  adminGroup: undefined,
  bootstrapAcknowledged: false,
  defaultRole: undefined,
  ...some,
})
const kicked: string[] = []
const kick = (keyId: string) => {
  kicked.push(keyId)
  return Promise.resolve()
}
const login = (person: Partial<Person>, adminRules = rules()) =>
  signIn(
    { source: 'oidc', subject: 'somebody', groups: [], ...person },
    { state, rules: adminRules, issuer, room: new OwnerRoom(state, kick), kick },
  )
const role = (name: string, pub: string[], sub: string[] = [], visible: string[] = []): Role => ({
  name,
  description: '',
  pub: { allow: pub },
  sub: { allow: sub },
  visible_extensions: visible,
})
const addRole = async (one: Role, ...groups: string[]) => {
  await state.roles.put(one.name, one)
  for (const group of groups) await state.assignments.put(group, { group, roles: [one.name] })
}
const rolesOf = async (person: Partial<Person>, adminRules?: AdminRules) =>
  (await login(person, adminRules)).user.roles

describe('who is an administrator', () => {
  test.each<[string, Partial<Person>, Partial<AdminRules>, string[]]>([
    ['the subject exactly', { subject: 'the-admin' }, {}, ['admin']],
    ['not in other case', { subject: 'The-Admin' }, {}, []],
    ['not with a blank', { subject: 'the-admin ' }, {}, []],
    ['not a part of it', { subject: 'the-admi' }, {}, []],
    ['a member of the group', { groups: ['x', 'admins'] }, { adminGroup: 'admins' }, ['admin']],
    ['not of one in other case', { groups: ['Admins'] }, { adminGroup: 'admins' }, []],
    ['not who is called as the group', { subject: 'admins' }, { adminGroup: 'admins' }, []],
    ['nobody by an empty group', { groups: [''] }, { adminGroup: 'admins' }, []],
    [
      'the group alone is configured',
      { subject: 'x' },
      { adminSubject: undefined, adminGroup: 'admins' },
      [],
    ],
    ['everybody in bootstrap mode', { subject: 'x' }, { adminSubject: undefined }, ['admin']],
    ['a directory’s user of the same name is another', { source: 'ldap', subject: 'the-admin' }, {}, []],
    ['unless that one is meant', { source: 'ldap', subject: 'ann' }, { adminSubject: 'ldap:ann' }, ['admin']],
    ['the default role is for all others', {}, { defaultRole: 'viewer' }, ['viewer']],
  ])('%s', async (_, person, adminRules, expected) => {
    expect(await rolesOf(person, rules(adminRules))).toEqual(expected)
  })

  test.each(['local:operator', 'ldap:ann', 'basic:x', 'oidc:x', '', 'a\nb', 'x'.repeat(301)])(
    'a provider’s subject %j is not known',
    async (subject) => {
      await expect(login({ subject })).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    },
  )
})

test('roles of all groups together, each rule once, and what everybody may', async () => {
  await addRole(role('a', ['x.*', 'y.one'], ['gantry.extensions.a.>'], ['a']), 'ga')
  await addRole(role('b', ['x.1', 'y.one', 'z.>'], [], ['a', 'b']), '/realm/gb')
  await state.assignments.put('gc', { group: 'gc', roles: ['gone', 'viewer'] })
  const { user, key } = await login({ groups: ['ga', '/realm/gb', 'unknown'] })
  expect(user.roles).toEqual(['a', 'b'])
  expect(user.permissions.pub.allow.toSorted()).toEqual(
    [...everyone.pub.allow, 'x.*', 'y.one', 'z.>'].toSorted(),
  )
  expect(user.permissions.sub.allow).toEqual(['gantry.extensions.a.>'])
  expect(user.visible_extensions).toEqual(['a', 'b'])
  expect(key).toMatchObject({ kind: 'session', owner: 'somebody', capabilities: user.permissions })
  expect(await state.users.get('somebody')).toEqual(user)
  expect(await rolesOf({ groups: ['gc'] })).toEqual([viewer.name])
  expect((await login({ groups: [] })).user.permissions.pub.allow).toEqual(everyone.pub.allow)
  expect((await login({ subject: 'the-admin' })).user.permissions).toEqual({ pub: admin.pub, sub: admin.sub })
})

test('what a session may do was decided at its sign-in; the next one finds what has changed since', async () => {
  await addRole(role('first', ['one']), 'g')
  const before = await login({ subject: 'stays', groups: ['g'] })
  await addRole(role('second', ['two']), 'g')
  expect((await state.keys.get(before.key.id))!.capabilities.pub.allow).toContain('one')
  const after = await login({ subject: 'stays', groups: ['g'] })
  expect(after.user.roles).toEqual(['second'])
  expect(after.key.capabilities.pub.allow).toContain('two')
  expect(after.key.capabilities.pub.allow).not.toContain('one')
  expect((await state.keys.get(before.key.id))!.capabilities.pub.allow).toContain('one')
})

describe('keys of somebody who may less than before', () => {
  const keyOf = async (
    owner: string,
    pub: string[],
    kind: NewKey['kind'] = 'key',
    visible_extensions: string[] = [],
  ) => {
    const capabilities = { pub: { allow: pub }, sub: { allow: [] } }
    const asked = { name: 'a key', notes: '', owner, kind, roles: [], capabilities, visible_extensions }
    return (await issueKey(state.keys, issuer, asked)).key.id
  }
  const rulesOf = async (id: string) => (await state.keys.get(id))!.capabilities.pub.allow

  test('are narrowed to what their owner may, and dropped; others are left alone', async () => {
    await addRole(role('less', ['a.b.*', 'c']), 'less')
    const inside = await keyOf('owner', ['a.b.1'])
    const beyond = await keyOf('owner', ['a.>', 'c', 'd'])
    const others = await keyOf('another', ['a.>'])
    const session = await keyOf('owner', ['a.>'], 'session')
    kicked.length = 0
    const { narrowed } = await login({ subject: 'owner', groups: ['less'] })
    expect(narrowed).toEqual([{ id: beyond, name: 'a key', became: 'narrowed' }])
    expect(kicked).toEqual([beyond])
    expect((await rulesOf(beyond)).toSorted()).toEqual(['a.b.*', 'c'])
    expect([await rulesOf(inside), await rulesOf(others), await rulesOf(session)]).toEqual([
      ['a.b.1'],
      ['a.>'],
      ['a.>'],
    ])
    expect((await login({ subject: 'owner', groups: ['less'] })).narrowed).toEqual([])
  })

  test('see no extension that their owner does not see, with the same rules too', async () => {
    await addRole(role('sees', ['a.b.*'], [], ['weather', 'news']), 'sees')
    const keyThatSees = (...seen: string[]) => keyOf('seer', ['a.b.*'], 'key', seen)
    const inside = await keyThatSees('news')
    const beyond = await keyThatSees('news', 'stocks')
    const everything = await keyThatSees('*')
    const session = await keyOf('seer', ['a.b.*'], 'session', ['stocks'])
    kicked.length = 0
    const { narrowed, ...signedIn } = await login({ subject: 'seer', groups: ['sees'] })
    const expected = [beyond, everything].map((id) => ({ id, name: 'a key', became: 'narrowed' as const }))
    expect(narrowed).toHaveLength(2)
    expect(narrowed).toEqual(expect.arrayContaining(expected))
    expect(kicked.toSorted()).toEqual([beyond, everything].toSorted())
    const seenBy = async (id: string) => (await state.keys.get(id))!.visible_extensions
    expect(await Promise.all([inside, beyond, everything, session].map(seenBy))).toEqual([
      ['news'],
      ['news'],
      ['weather', 'news'],
      ['stocks'],
    ])
    expect(await rulesOf(beyond)).toEqual(['a.b.*'])
    const recorded = signInEntries({ narrowed, ...signedIn }, {}).slice(1)
    expect(recorded.map(({ what, object }) => [what, object])).toEqual(
      narrowed.map(({ id }) => [keys.update.subject, id]),
    )
    expect((await login({ subject: 'seer', groups: ['sees'] })).narrowed).toEqual([])
  })

  test('of agents, when their owner is no administrator any more, are revoked; else they stay', async () => {
    const id = await keyOf('the-admin', ['$JS.ACK.*.region.>'], 'agent')
    expect((await login({ subject: 'the-admin' })).narrowed).toEqual([])
    const { narrowed } = await login({ subject: 'the-admin' }, rules({ adminSubject: 'another' }))
    expect(narrowed).toEqual([{ id, name: 'a key', became: 'revoked' }])
  })

  test('or revoked, as the settings say', async () => {
    await state.settings.put('settings', { ...defaultSettings, exceedingKeys: 'revoke', sessionHours: 2 })
    const beyond = await keyOf('third', ['a.>'])
    const { narrowed, key } = await login({ subject: 'third' })
    expect(narrowed).toEqual([{ id: beyond, name: 'a key', became: 'revoked' }])
    expect((await state.keys.get(beyond))!.revoked).toBeDefined()
    const hours = (Date.parse(key.expires!) - Date.now()) / 3_600_000
    expect(hours).toBeGreaterThan(1.9)
    expect(hours).toBeLessThanOrEqual(2)
  })
})

test('of keys that were revoked nothing is remembered, however many there were', async () => {
  const capabilities = { pub: { allow: ['a.>'] }, sub: { allow: [] } }
  const given = { owner: 'forgotten', kind: 'key' as const, roles: [], capabilities, visible_extensions: [] }
  const { id: beyond } = (await issueKey(state.keys, issuer, { name: 'a key', notes: '', ...given })).key
  const ends = await KeyEnds.open(state.keys)
  const isKnown = () => [...ends.all()].some(({ id }) => id === beyond)
  await state.keys.update(beyond, (key) => ({ ...key, expires: '2100-01-01T00:00:00.000Z' }))
  await until('its end is known', isKnown)
  await state.keys.update(beyond, (key) => ({ ...key, revoked: new Date().toISOString() }))
  await until('it is forgotten', () => !isKnown())
  await ends.stop()
})

test('sessions that ended more than a day ago are forgotten; keys, and sessions that go on, are not', async () => {
  const day = 24 * 3_600_000
  const begun = await login({ subject: 'leaves' })
  const stays = await login({ subject: 'stays' })
  await state.keys.update(begun.key.id, (key) => ({ ...key, revoked: new Date().toISOString() }))
  const ends = await KeyEnds.open(state.keys)
  expect(await purgeEndedSessions(state.keys, ends, Date.now() + day - 60_000)).toBe(0)
  expect(await purgeEndedSessions(state.keys, ends, Date.now() + day + 60_000)).toBe(1)
  expect(await purgeEndedSessions(state.keys, ends, Date.now() + day + 60_000)).toBe(0)
  expect(await state.keys.get(begun.key.id)).toBeUndefined()
  expect(await state.keys.get(stays.key.id)).toBeDefined()
  const isOver = ({ kind, expires }: { kind: string; expires?: string }) =>
    kind === 'session' && expires !== undefined
  const before = await state.keys.list({ limit: 1_000 })
  await purgeEndedSessions(state.keys, ends, Date.now() + 400 * day)
  await ends.stop()
  expect(await state.keys.list({ limit: 1_000 })).toEqual(before.filter((key) => !isOver(key)))
})
