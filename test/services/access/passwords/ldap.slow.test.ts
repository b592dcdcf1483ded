import { afterAll, beforeAll, expect } from 'vitest'
import { assignments } from '../../../../subjects/access/assignments.ts'
import { users } from '../../../../subjects/access/users.ts'
import { recordingLog } from '../../../support/log.ts'
import { askAs, authenticate, basicHeader, startGuarded } from '../../../support/passwords.ts'
import type { TestPlatform } from '../../../support/platform.ts'
import {
  answerLimit,
  groupsBase,
  hasSlapd,
  ldapTest,
  manager,
  peopleBase,
  type Slapd,
  startSlapd,
} from '../../../support/slapd.ts'

// The migrator with the people of a real directory.
const oddName = 'o, malley*()\\ +"<>;='
const people = [
  { uid: 'ann', password: 'of ann', alias: 'zoe' },
  { uid: 'bob', password: 'of bob' },
  { uid: 'dora', password: 'of dora' },
  { uid: 'eve', password: 'of eve' },
  { uid: 'sue', password: 'of sue' },
  { uid: 'locked', password: 'of locked', locked: true as const },
  { uid: 'without' },
  { uid: oddName, password: 'of malley' },
]
const many = Array.from({ length: answerLimit + 50 }, (_, index) => [`group-${index}`, ['sue']] as const)
const groups = { admins: ['ann', oddName], viewers: ['bob'], ...Object.fromEntries(many) }

const recorded = recordingLog()
let slapd: Slapd
let platforms: Record<'pattern' | 'search', TestPlatform>
beforeAll(async () => {
  if (!hasSlapd) return
  slapd = await startSlapd(people, groups)
  const common = { type: 'ldap', 'ldap.url': slapd.url, 'ldap.group-search-base': groupsBase }
  const [pattern, search] = await Promise.all([
    startGuarded({ ...common, 'ldap.user-dn-pattern': `uid={0},${peopleBase}` }, { log: recorded.log }),
    startGuarded(
      {
        ...common,
        'ldap.manager-dn': manager.dn,
        'ldap.manager-password': manager.password,
        'ldap.user-search-base': peopleBase,
        'ldap.user-search-filter': '(&(objectClass=inetOrgPerson)(uid={0}))',
      },
      { log: recorded.log },
    ),
  ])
  platforms = { pattern, search }
  for (const platform of [pattern, search]) {
    // One group by its distinguished name, the other by its common one.
    await platform.call(assignments.put, { group: `cn=admins,${groupsBase}`, roles: ['admin'] })
    await platform.call(assignments.put, { group: 'viewers', roles: ['viewer'] })
  }
})
afterAll(async () => {
  if (!hasSlapd) return
  await Promise.all(Object.values(platforms).map((platform) => platform[Symbol.asyncDispose]()))
  await slapd[Symbol.asyncDispose]()
})

let lastAddress = 1
const from = () => ({ localAddress: `127.0.0.${++lastAddress}` })
const creating = (name: string) => ({
  method: 'POST',
  path: `/fs/targets/local/${name}`,
  body: '{"fsRoot":"/usr/share"}',
})

for (const way of ['pattern', 'search'] as const) {
  const as = (userName: string, password: string, more = {}) =>
    askAs(platforms[way], basicHeader(userName, password), { ...from(), ...more })

  ldapTest(`by ${way}: the right password opens what the roles of the groups allow`, async () => {
    expect((await as('ann', 'of ann')).status).toBe(200)
    expect((await as('ann', 'of ann', creating('a'))).status).toBe(201)
    expect((await as('bob', 'of bob')).status).toBe(200)
    expect(await as('bob', 'of bob', creating('b'))).toMatchObject({
      status: 403,
      body: { code: 'DENIED' },
    })
    expect((await as('dora', 'of dora')).status).toBe(403)
    expect(await platforms[way].call(users.get, { subject: 'ldap:ann' })).toMatchObject({
      name: 'ann of the directory',
      email: 'someone@example.org',
      groups: [`cn=admins,${groupsBase}`, 'admins'],
      roles: ['admin'],
    })
  })

  ldapTest(`by ${way}: more groups than the directory names in one answer`, async () => {
    expect((await as('sue', 'of sue')).status).toBe(403)
    const { groups: known } = await platforms[way].call(users.get, { subject: 'ldap:sue' })
    expect(known.filter((name) => !name.includes('='))).toHaveLength(many.length)
  })

  ldapTest(`by ${way}: a token has the same roles`, async () => {
    const { status, body } = await authenticate(platforms[way], 'bob', 'of bob', from())
    expect(status).toBe(200)
    const bearer = `Bearer ${String(body['token'])}`
    expect((await askAs(platforms[way], bearer)).status).toBe(200)
    expect((await askAs(platforms[way], bearer, creating('c'))).status).toBe(403)
  })

  ldapTest(`by ${way}: every way to write a name is the one person`, async () => {
    expect((await as('ANN', 'of ann')).status).toBe(200)
    expect((await as('zoe', 'of ann')).status).toBe(way === 'search' ? 200 : 401)
    const known = await platforms[way].call(users.list, {})
    expect(known.filter(({ subject }) => /ann|zoe/i.test(subject))).toHaveLength(1)
  })

  ldapTest(`by ${way}: wrong, empty, unknown, locked and missing passwords are 401`, async () => {
    for (const [userName, password] of [
      ['ann', 'wrong'],
      ['ann', ''],
      ['', ''],
      ['nobody', 'of ann'],
      ['nobody', ''],
      ['locked', 'of locked'],
      ['without', 'anything'],
      ['ann', 'of ann\0'],
    ] as const) {
      expect((await as(userName, password)).status, `${userName} ${password}`).toBe(401)
      expect((await authenticate(platforms[way], userName, password, from())).status).toBe(401)
    }
  })

  ldapTest(`by ${way}: a name is a name, whatever is in it`, async () => {
    expect((await as(oddName, 'of malley')).status).toBe(200)
    for (const userName of [
      '*',
      'an*',
      'ann)(uid=*',
      'ann)(|(uid=*)',
      '*)(objectClass=*',
      `ann,${peopleBase}`,
      'ann+sn=Someone',
      'bob,ou=people,dc=example,dc=org\0',
      '\\61nn',
      '\\2a',
      'ann\0',
      '{0}',
    ]) {
      expect((await as(userName, 'of ann')).status, userName).toBe(401)
    }
  })
}

ldapTest('without the directory it is 503 and open to nobody, and works again with it', async () => {
  const { search, pattern } = platforms
  const asEve = (platform: TestPlatform, password = 'of eve') =>
    askAs(platform, basicHeader('eve', password), from())
  const session = await authenticate(search, 'bob', 'of bob', from())
  await slapd.stop()
  for (const platform of [search, pattern]) {
    expect(await asEve(platform)).toMatchObject({ status: 503, body: { code: 'UNAVAILABLE' } })
    expect((await asEve(platform, 'wrong')).status).toBe(503)
    expect((await authenticate(platform, 'eve', 'of eve', from())).status).toBe(503)
    expect((await askAs(platform, undefined)).status).toBe(401)
    expect((await asEve(platform, '')).status).toBe(401)
  }
  // Who has signed in needs the directory no more, nor does an API token.
  expect((await askAs(search, `Bearer ${String(session.body['token'])}`)).status).toBe(200)
  expect((await askAs(search, `Bearer ${search.operatorToken}`)).status).toBe(200)
  await slapd.start()
  for (const platform of [search, pattern]) expect((await asEve(platform)).status).toBe(403)
})

ldapTest('no password is in the log', async () => {
  const text = recorded.text()
  expect(text).toContain('The directory could not be queried')
  for (const secret of ['of ann', 'of bob', 'of eve', manager.password]) expect(text).not.toContain(secret)
})
