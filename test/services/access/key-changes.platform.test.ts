import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { call } from '../../../broker/rpc/client.ts'
import { connectWithToken, type NatsConnection } from '../../../broker/rpc/connection.ts'
import { parseToken } from '../../../broker/identity/token.ts'
import { type NewKey, openKeys, rotateKey } from '../../../services/access/keys/keys.ts'
import { agentKeys } from '../../../subjects/migrations/agents.ts'
import { alerts } from '../../../subjects/observability/alerts.ts'
import { assignments } from '../../../subjects/access/assignments.ts'
import { keys } from '../../../subjects/access/keys.ts'
import { rbac, roles } from '../../../subjects/access/roles.ts'
import { settings } from '../../../subjects/access/settings.ts'
import { connectInside, createClient, createKey, everything, issueInside } from '../../support/keys.ts'
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await startTestPlatform()
})
afterAll(() => platform[Symbol.asyncDispose]())

const wide = {
  pub: { allow: ['gantry.services.v1.keys.*', 'gantry.services.v1.roles.own'] },
  sub: { allow: [] },
}
const narrow = { pub: { allow: [keys.self.subject] }, sub: { allow: [] } }
const self = async (token: string) => {
  const headers = { authorization: `Bearer ${token}` }
  return (await platform.rest('platform', 'GET', '/api/v1/apikey', { headers })).status
}

describe('what a key makes', () => {
  const makers = { pub: { allow: ['gantry.services.v1.keys.*'] }, sub: { allow: [] } }

  test('ends no later than its maker, and names it', async () => {
    const maker = await createKey(platform, makers, { expiresInDays: 2 })
    const connection = await connectWithToken(platform.tcpUrl, maker.token, { reconnect: false })
    const make = (days?: number) =>
      call(connection, keys.create, {
        name: 'made',
        capabilities: narrow,
        ...(days === undefined ? {} : { expiresInDays: days }),
      })
    const [free, long, short] = [await make(), await make(30), await make(1)]
    expect([free.expires, long.expires]).toEqual([maker.expires, maker.expires])
    expect(short.expires! < maker.expires!).toBe(true)
    expect(short).toMatchObject({ createdBy: maker.id, roles: [] })
    await connection.close()
  })
})

describe('a role that may more than a key', () => {
  test('is neither replaced nor deleted by it', async () => {
    const wider = {
      name: 'wider',
      description: '',
      pub: { allow: ['gantry.>'] },
      sub: { allow: [] },
      visible_extensions: [],
    }
    await platform.call(roles.put, wider)
    const rules = { pub: { allow: ['gantry.services.v1.roles.*'] }, sub: { allow: [] } }
    await using client = await createClient(platform, rules)
    const replaced = call(client.connection, roles.put, { ...wider, pub: { allow: [] } })
    await expect(replaced).rejects.toMatchObject({ code: 'EXCEEDS_ROLE' })
    const deleted = call(client.connection, roles.delete, { name: 'wider' })
    await expect(deleted).rejects.toMatchObject({ code: 'EXCEEDS_ROLE' })
    expect(await platform.call(roles.list, {})).toContainEqual({ ...wider, builtIn: false })
    await platform.call(roles.delete, { name: 'wider' })
  })

  test('is not taken from a group by it', async () => {
    const assignment = { group: 'admins', roles: ['admin'] }
    await platform.call(assignments.put, assignment)
    const rules = { pub: { allow: ['gantry.services.v1.assignments.*'] }, sub: { allow: [] } }
    await using client = await createClient(platform, rules)
    const replaced = call(client.connection, assignments.put, { group: 'admins', roles: [] })
    await expect(replaced).rejects.toMatchObject({ code: 'EXCEEDS_ROLE' })
    const deleted = call(client.connection, assignments.delete, { group: 'admins' })
    await expect(deleted).rejects.toMatchObject({ code: 'EXCEEDS_ROLE' })
    expect(await platform.call(assignments.list, {})).toContainEqual(assignment)
    await platform.call(assignments.delete, { group: 'admins' })
    const unknown = call(client.connection, assignments.delete, { group: 'admins' })
    await expect(unknown).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })
})

describe('a role beyond the key that gives it', () => {
  /** Somebody who may write roles, and sees one extension. */
  const giver = async () => {
    const writing = ['roles', 'assignments'].map((resource) => `gantry.services.v1.${resource}.*`)
    const capabilities = { pub: { allow: writing }, sub: { allow: [] } }
    const visible_extensions = ['weather']
    const { token } = await issueInside(platform, { owner: 'gina', capabilities, visible_extensions })
    return connectWithToken(platform.tcpUrl, token, { reconnect: false })
  }
  const nothing = { description: '', pub: { allow: [] }, sub: { allow: [] }, visible_extensions: [] }
  const role = (name: string, visible_extensions: string[] = []) => ({ ...nothing, name, visible_extensions })

  test('by the extensions that it shows is refused', async () => {
    const gina = await giver()
    const put = (one: ReturnType<typeof role>) => call(gina, roles.put, one)
    await put(role('sees', ['weather']))
    for (const [hidden, shown] of [
      [['news'], ['weather', 'news']],
      [['*'], ['*']],
    ] as const)
      await expect(put(role('sees', [...shown]))).rejects.toMatchObject({
        code: 'EXCEEDS_ROLE',
        details: { visibleExtensions: hidden },
      })
    await platform.call(roles.put, role('sees-all', ['*']))
    const assigned = call(gina, assignments.put, { group: 'own', roles: ['sees-all'] })
    await expect(assigned).rejects.toMatchObject({
      code: 'EXCEEDS_ROLE',
      details: { visibleExtensions: ['*'] },
    })
    await expect(call(gina, roles.delete, { name: 'sees-all' })).rejects.toMatchObject({
      code: 'EXCEEDS_ROLE',
    })
    await call(gina, assignments.put, { group: 'own', roles: ['sees'] })
    await platform.call(assignments.delete, { group: 'own' })
    for (const name of ['sees', 'sees-all']) await platform.call(roles.delete, { name })
    await gina.close()
  })

  test('by the limits of its owners is refused, unless the key is an administrator’s', async () => {
    await platform.call(settings.put, {
      maxKeys: 50,
      roleLimits: { small: { maxKeys: 40 }, large: { maxKeys: 60 } },
    })
    const gina = await giver()
    await call(gina, roles.put, role('small'))
    const beyond = { code: 'EXCEEDS_ROLE', details: { limits: ['maxKeys 60'] } }
    await expect(call(gina, roles.put, role('large'))).rejects.toMatchObject(beyond)
    await platform.call(roles.put, role('large'))
    await expect(call(gina, assignments.put, { group: 'own', roles: ['large'] })).rejects.toMatchObject(
      beyond,
    )
    await call(gina, assignments.put, { group: 'own', roles: ['small'] })
    await platform.call(assignments.put, { group: 'own', roles: ['large'] })
    await platform.call(assignments.delete, { group: 'own' })
    for (const name of ['small', 'large']) await platform.call(roles.delete, { name })
    await platform.call(settings.put, { maxKeys: 100, roleLimits: {} })
    await gina.close()
  })
})

describe('update', () => {
  test('a name and notes change, all else stays, connections too', async () => {
    await using client = await createClient(platform, wide)
    const before = await platform.call(keys.get, { id: client.keyId })
    const after = await platform.call(keys.update, { id: client.keyId, name: 'new', notes: 'why' })
    expect(after).toMatchObject({
      id: before.id,
      name: 'new',
      notes: 'why',
      capabilities: before.capabilities,
    })
    expect(await call(client.connection, keys.self, {})).toMatchObject({ name: 'new' })
    expect((await platform.call(keys.update, { id: client.keyId, notes: '' })).name).toBe('new')
  })

  test('a narrowed key may less at once: its connections are dropped before the reply', async () => {
    const client = await createClient(platform, wide)
    await platform.call(keys.update, { id: client.keyId, capabilities: narrow })
    await client.connection.closed()
    const again = await connectWithToken(platform.tcpUrl, client.token, { reconnect: false })
    expect(await call(again, keys.self, {})).toMatchObject({ capabilities: narrow })
    await expect(call(again, roles.own, {})).rejects.toMatchObject({ code: 'DENIED' })
    await again.close()
  })

  test('over REST under both paths; a key that narrows itself gets its reply', async () => {
    const { id, token } = await createKey(platform, wide)
    const headers = { authorization: `Bearer ${token}` }
    const put = (path: string, body: unknown) => platform.rest('platform', 'PUT', path, { headers, body })
    expect(await put(`/api/v1/key/${id}`, { name: 'one' })).toMatchObject({
      status: 200,
      body: { name: 'one' },
    })
    const capabilities = { ...narrow, pub: { allow: [keys.self.subject, keys.update.subject] } }
    expect(await put(`/api/v1/keys/${id}`, { capabilities })).toMatchObject({
      status: 200,
      body: { capabilities },
    })
  })

  test('it is never widened, not by an administrator either', async () => {
    const { id } = await createKey(platform, narrow)
    const widened = platform.call(keys.update, { id, capabilities: wide })
    await expect(widened).rejects.toMatchObject({
      code: 'EXCEEDS_ROLE',
      message: expect.stringMatching(
        `^a key cannot gain permissions \\(publish .+\\): create another key, then revoke this one with "gantry keys revoke ${id}"$`,
      ),
    })
    expect((await platform.call(keys.get, { id })).capabilities).toEqual(narrow)
  })

  test('of a wider key is refused to a narrow one of the same owner', async () => {
    await using client = await createClient(platform, {
      pub: { allow: ['gantry.services.v1.keys.*'] },
      sub: { allow: [] },
    })
    const { id } = await createKey(platform, wide)
    for (const contract of [keys.update, keys.rotate, keys.revoke]) {
      await expect(call(client.connection, contract, { id })).rejects.toMatchObject({ code: 'EXCEEDS_ROLE' })
    }
  })

  test('a revoked key is not changed, and an unknown one is not there', async () => {
    const { id } = await createKey(platform, narrow)
    await platform.call(keys.revoke, { id })
    for (const contract of [keys.update, keys.rotate]) {
      await expect(platform.call(contract, { id })).rejects.toMatchObject({ code: 'NOT_ALLOWED_IN_STATE' })
      await expect(platform.call(contract, { id: 'k0' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    }
  })
})

describe('rotate', () => {
  test('both tokens open the key for as long as they overlap; the new one is shown once', async () => {
    const { id, token: old } = await createKey(platform, narrow)
    const { token, ...key } = await platform.call(keys.rotate, { id, overlapMinutes: 5 })
    expect(parseToken(token)!.keyId).toBe(id)
    expect(token).not.toBe(old)
    expect([await self(old), await self(token)]).toEqual([200, 200])
    expect(Date.parse(key.oldTokenExpires!)).toBeGreaterThan(Date.now())
    expect(await platform.call(keys.get, { id })).toEqual(
      expect.objectContaining({ ...key, lastUsed: expect.anything() }),
    )
    const third = await platform.call(keys.rotate, { id })
    expect([await self(old), await self(token), await self(third.token)]).toEqual([401, 200, 200])
  })

  test('without an overlap the old token ends at once, and so do its connections', async () => {
    const client = await createClient(platform, narrow)
    const { token, oldTokenExpires } = await platform.call(keys.rotate, {
      id: client.keyId,
      overlapMinutes: 0,
    })
    expect(oldTokenExpires).toBeUndefined()
    await client.connection.closed()
    expect([await self(client.token), await self(token)]).toEqual([401, 200])
  })

  test('what the old token opened is closed by the server when the overlap ends', async () => {
    const { id, token: old } = await createKey(platform, narrow)
    const { connection, salt } = await connectInside(platform)
    const { location } = parseToken(old)!
    const until = new Date(Date.now() + 2_000).toISOString()
    const { token } = await rotateKey(await openKeys(connection), { salt, location }, { id, until })
    const byOld = await connectWithToken(platform.tcpUrl, old, { reconnect: false })
    const byNew = await connectWithToken(platform.tcpUrl, token, { reconnect: false })
    await byOld.closed()
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(until))
    expect(await call(byNew, keys.self, {})).toMatchObject({ id })
    expect(await self(old)).toBe(401)
    await Promise.all([byNew.close(), connection.close()])
  })
})

describe('the token that a rotation has replaced', () => {
  const all = { pub: { allow: ['gantry.>'] }, sub: { allow: ['gantry.>'] } }
  const replaced = { code: 'DENIED', message: expect.stringContaining('use the new one') }

  test('goes on with its work, and neither makes nor changes keys', async () => {
    const { id, token: old } = await createKey(platform, all)
    const other = await createKey(platform, narrow)
    const { token } = await platform.call(keys.rotate, { id })
    const byOld = await connectWithToken(platform.tcpUrl, old, { reconnect: false })
    expect(await call(byOld, keys.self, {})).toMatchObject({ id })
    expect(await call(byOld, roles.own, {})).toBeDefined()
    const made = { name: 'made', capabilities: narrow }
    for (const refused of [
      call(byOld, keys.create, made),
      call(byOld, agentKeys.register, { name: 'made' }),
      call(byOld, keys.rotate, { id, overlapMinutes: 0 }),
      call(byOld, keys.rotate, { id: other.id }),
      call(byOld, keys.update, { id, name: 'changed' }),
      call(byOld, keys.revoke, { id }),
    ])
      await expect(refused).rejects.toMatchObject(replaced)
    const byNew = await connectWithToken(platform.tcpUrl, token, { reconnect: false })
    expect(await call(byNew, keys.create, made)).toMatchObject({ createdBy: id })
    expect(await call(byNew, keys.rotate, { id: other.id })).toMatchObject({ id: other.id })
    await Promise.all([byOld.close(), byNew.close()])
  })

  test('changes nothing that outlasts it, though its key may', async () => {
    const { id, token: old } = await createKey(platform, everything)
    const { token } = await platform.call(keys.rotate, { id })
    const role = { name: 'kept', description: '', ...narrow, visible_extensions: [] }
    const assignment = { group: 'kept', roles: ['admin'] }
    const webhook = { name: 'kept', url: 'https://alerts.example/' }
    const changes = (connection: NatsConnection) => [
      () => call(connection, roles.put, role),
      () => call(connection, roles.delete, { name: role.name }),
      () => call(connection, assignments.put, assignment),
      () => call(connection, assignments.delete, { group: assignment.group }),
      () => call(connection, settings.put, { sessionHours: 8 }),
      () => call(connection, alerts['put-webhook'], webhook),
      () => call(connection, alerts['delete-webhook'], { name: webhook.name }),
      () => call(connection, alerts['put-rule'], { name: 'kept', kind: 'storage-file' }),
      () => call(connection, alerts['delete-rule'], { name: 'kept' }),
    ]
    const byOld = await connectWithToken(platform.tcpUrl, old, { reconnect: false })
    for (const change of changes(byOld)) await expect(change()).rejects.toMatchObject(replaced)
    expect(await call(byOld, settings.get, {})).toBeDefined()
    const byNew = await connectWithToken(platform.tcpUrl, token, { reconnect: false })
    for (const change of changes(byNew)) await change()
    await Promise.all([byOld.close(), byNew.close()])
  })

  test('over REST it is told to use the new one, which stays valid', async () => {
    const { id, token: old } = await createKey(platform, all)
    // A connection that the edge has open already.
    expect(await self(old)).toBe(200)
    const { token } = await platform.call(keys.rotate, { id })
    const post = (path: string, by: string, body: unknown) =>
      platform.rest('platform', 'POST', path, { headers: { authorization: `Bearer ${by}` }, body })
    const rotate = (by: string) => post(`/api/v1/keys/${id}/rotate`, by, { overlapMinutes: 0 })
    for (const reply of [
      await post('/api/v1/keys', old, { name: 'made', capabilities: narrow }),
      await rotate(old),
    ])
      expect(reply).toMatchObject({ status: 403, body: replaced })
    expect([await self(old), await self(token)]).toEqual([200, 200])
    expect((await rotate(token)).status).toBe(200)
  })

  test('is named where somebody asks what the key may, or what the token is', async () => {
    const { id, token: old } = await createKey(platform, all)
    const ask = async (subject: string) =>
      (await platform.call(rbac.check, { action: 'publish', subject, keyId: id })).explanation
    const examine = async (token: string) => (await platform.call(keys.examine, { token })).explanation
    const { token } = await platform.call(keys.rotate, { id })
    expect(await ask(keys.create.subject)).toContain('but not for the replaced token')
    expect(await ask(keys.list.subject)).not.toContain('replaced')
    expect(await examine(old)).toContain('the replaced token')
    expect(await examine(token)).not.toContain('replaced')
  })
})

describe('a key that rotates another', () => {
  const day = 24 * 3_600_000
  const inDays = (days: number) => new Date(Date.now() + days * day).toISOString()
  /** Two keys of one owner with the same rules. */
  const pair = async (own: Partial<NewKey>, other: Partial<NewKey>) => {
    const both = { owner: 'rita', capabilities: wide }
    const issued = await issueInside(platform, { ...both, ...other })
    const { token } = await issueInside(platform, { ...both, ...own })
    const connection = await connectWithToken(platform.tcpUrl, token, { reconnect: false })
    const { id } = issued.key
    const rotate = async () => {
      await using _ = { [Symbol.asyncDispose]: () => connection.close() }
      return await call(connection, keys.rotate, { id, overlapMinutes: 0 })
    }
    return { sibling: issued.token, rotate }
  }

  test.each<[what: string, own: Partial<NewKey>, other: Partial<NewKey>, details: unknown]>([
    ['has no end', { expires: inDays(1) }, {}, { expires: [expect.any(String)] }],
    ['ends later', { expires: inDays(1) }, { expires: inDays(2) }, { expires: [expect.any(String)] }],
    [
      'sees another extension',
      { visible_extensions: ['weather'] },
      { visible_extensions: ['weather', 'news'] },
      { visibleExtensions: ['news'] },
    ],
    [
      'sees all extensions',
      { visible_extensions: ['weather'] },
      { visible_extensions: ['*'] },
      { visibleExtensions: ['*'] },
    ],
  ])('is refused where that %s, whose token stays valid', async (_, own, other, details) => {
    const { rotate, sibling } = await pair(own, other)
    await expect(rotate()).rejects.toMatchObject({ code: 'EXCEEDS_ROLE', details })
    expect(await self(sibling)).toBe(200)
  })

  test.each<[what: string, own: Partial<NewKey>, other: Partial<NewKey>]>([
    ['ends earlier', { expires: inDays(2) }, { expires: inDays(1) }],
    ['sees less', { visible_extensions: ['*'] }, { visible_extensions: ['news'] }],
    ['has no end, by a session', { kind: 'session', expires: inDays(1) }, {}],
  ])('may where that %s', async (_, own, other) => {
    const { rotate, sibling } = await pair(own, other)
    expect(await self((await rotate()).token)).toBe(200)
    expect(await self(sibling)).toBe(401)
  })

  test('may itself, whatever its end', async () => {
    const { token, key } = await issueInside(platform, { capabilities: wide, expires: inDays(1) })
    const connection = await connectWithToken(platform.tcpUrl, token, { reconnect: false })
    const rotated = await call(connection, keys.rotate, { id: key.id })
    expect(rotated.expires).toBe(key.expires)
    await connection.close()
  })
})

test('the explanation of a refusal names what is allowed', async () => {
  const { id } = await createKey(platform, narrow)
  const asked = { action: 'publish', subject: roles.own.subject, keyId: id } as const
  expect(await platform.call(rbac.check, asked)).toMatchObject({
    allowed: false,
    explanation: expect.stringContaining(keys.self.subject),
  })
})
