import { readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { call } from '../../../../broker/rpc/client.ts'
import { parseToken } from '../../../../broker/identity/token.ts'
import { issueKey, openKeys } from '../../../../services/access/keys/keys.ts'
import { keys } from '../../../../subjects/access/keys.ts'
import { filesystems } from '../../../../subjects/filesystems/filesystems.ts'
import { settings } from '../../../../subjects/access/settings.ts'
import { namesBelow } from '../../../support/names-below.ts'
import { connectInside, createClient, createKey, everything } from '../../../support/keys.ts'
import { createHome, startTestPlatform, type TestPlatform } from '../../../support/platform.ts'
import { connectWithToken } from '../../../../broker/rpc/connection.ts'
import type { Capabilities } from '../../../../broker/identity/user-jwt.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await startTestPlatform()
})
afterAll(() => platform[Symbol.asyncDispose]())

const nothing: Capabilities = { pub: { allow: [] }, sub: { allow: [] } }
const keySubjects = Object.values(keys).map(({ subject }) => subject)
const code = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'it worked',
    (error: { code?: string }) => error.code,
  )

/** A client of another owner: a person's key, which only the sign-in of part 2 makes. */
async function clientOf(owner: string, capabilities: Capabilities) {
  const { connection, salt } = await connectInside(platform)
  const location = parseToken(platform.operatorToken)!.location
  const { key, token } = await issueKey(
    await openKeys(connection),
    { salt, location },
    {
      name: `key of ${owner}`,
      notes: '',
      owner,
      kind: 'key',
      roles: ['viewer'],
      capabilities,
      visible_extensions: [],
    },
  )
  await connection.close()
  return { key, token, connection: await connectWithToken(platform.tcpUrl, token, { reconnect: false }) }
}

/** undefined for what is no file, or is gone: nats-server writes some of its files anew. */
function contentOf(path: string): Buffer | undefined {
  try {
    return statSync(path).isFile() ? readFileSync(path) : undefined
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Every file below a folder whose bytes contain the text. */
function filesWith(folder: string, text: string): string[] {
  return namesBelow(folder)
    .map((name) => join(folder, name))
    .filter((path) => contentOf(path)?.includes(text) === true)
}

describe('create', () => {
  test('answers the record, and the token this once', async () => {
    const capabilities = { pub: { allow: [keys.self.subject] }, sub: { allow: ['gantry.extensions.demo.>'] } }
    const { token, ...key } = await platform.call(keys.create, {
      name: 'ci',
      notes: 'of the build',
      capabilities,
    })
    expect(key).toEqual({
      id: expect.stringMatching(/^k[0-9a-z]+$/),
      name: 'ci',
      notes: 'of the build',
      owner: 'local:operator',
      kind: 'key',
      roles: [],
      createdBy: parseToken(platform.operatorToken)!.keyId,
      visible_extensions: ['*'],
      created: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      capabilities,
    })
    const again = await platform.call(keys.get, { id: key.id })
    expect(again).toEqual(key)
    expect(JSON.stringify(await platform.call(keys.list, {}))).not.toContain(parseToken(token)!.secret)
  })

  test('the token says where its instance is', async () => {
    const { token, id } = await createKey(platform, nothing)
    const { location, keyId } = parseToken(token)!
    expect(keyId).toBe(id)
    expect(location).toEqual({
      instance: platform.instance,
      nats: platform.tcpUrl,
      http: platform.httpUrls.platform,
    })
  })

  test('has the permissions of a role, or those that are named, and not both', async () => {
    const { id, capabilities, roles } = await platform.call(keys.create, { name: 'looks', role: 'viewer' })
    expect(capabilities.pub.allow).toContain(filesystems.list.subject)
    expect(capabilities.pub.allow).not.toContain(keys.create.subject)
    expect(roles).toEqual([])
    const ask = (input: object) => platform.call(keys.create, { name: 'asked', ...input })
    await expect(ask({})).rejects.toThrow('capabilities is missing: give it, or a role such as viewer')
    await expect(ask({ role: 'viewer', capabilities: nothing })).rejects.toThrow(
      'role cannot be combined with capabilities',
    )
    expect(await code(ask({ role: 'none' }))).toBe('NOT_FOUND')
    // Somebody narrow cannot give what only the role has, nor learn by this what it has.
    await using narrow = await createClient(platform, {
      pub: { allow: [keys.create.subject] },
      sub: { allow: [] },
    })
    await expect(
      call(narrow.connection, keys.create, { name: 'wide', role: 'viewer' }),
    ).rejects.toMatchObject({
      code: 'EXCEEDS_ROLE',
      message:
        'the role viewer has permissions that your key lacks: choose another role, or give capabilities',
      details: undefined,
    })
    await platform.call(keys.revoke, { id })
  })

  test('its secret is nowhere in the folder, neither in the store nor in a log', async () => {
    const { token, id } = await createKey(platform, everything)
    await using client = await createClient(platform, everything)
    await platform.rest('platform', 'GET', '/api/v1/apikey', {
      headers: { authorization: `Bearer ${token}` },
    })
    expect(client.keyId).not.toBe(id)
    expect(filesWith(join(platform.home, 'jetstream'), id)).not.toEqual([])
    expect(filesWith(platform.home, parseToken(token)!.secret)).toEqual([])
    const own = filesWith(platform.home, parseToken(platform.operatorToken)!.secret)
    expect(own).toEqual([join(platform.home, 'credentials')])
    expect(statSync(own[0]!).mode & 0o777).toBe(0o600)
  })

  test('two keys with the same name are two keys', async () => {
    const [one, other] = await Promise.all([createKey(platform, nothing), createKey(platform, nothing)])
    expect(one.id).not.toBe(other.id)
    expect(one.token).not.toBe(other.token)
  })

  test.each<[string, Partial<Record<'pub' | 'sub', string[]>>]>([
    ['publish to another subject', { pub: [filesystems.list.subject] }],
    ['publish to more of the same', { pub: ['gantry.services.v1.keys.*'] }],
    ['publish to all', { pub: ['>'] }],
    ['publish to any first token', { pub: ['*.services.v1.keys.self'] }],
    ['subscribe to another subject', { sub: ['gantry.extensions.other.>'] }],
    ['subscribe to the parent', { sub: ['gantry.extensions.>'] }],
    ['subscribe to inboxes', { sub: ['_INBOX.>'] }],
    ['publish to system subjects', { pub: ['$SYS.>'] }],
    ['one right, one beyond', { pub: [keys.self.subject, 'x'] }],
  ])('more than the creator may is refused: %s', async (_, { pub = [], sub = [] }) => {
    const own = { pub: { allow: keySubjects }, sub: { allow: ['gantry.extensions.demo.>'] } }
    await using creator = await createClient(platform, own)
    const before = (await platform.call(keys.list, {})).length
    const error: unknown = await call(creator.connection, keys.create, {
      name: 'more',
      capabilities: { pub: { allow: pub }, sub: { allow: sub } },
    }).catch((error: unknown) => error)
    expect(error).toMatchObject({ code: 'EXCEEDS_ROLE' })
    expect((error as Error).message).toContain('exceeds role permissions')
    expect((error as Error).message).toContain([...pub, ...sub].at(-1))
    expect((await platform.call(keys.list, {})).length).toBe(before)
  })

  test('a rule to publish to inboxes is granted to anybody, as every key may answer', async () => {
    const own = { pub: { allow: keySubjects }, sub: { allow: [] } }
    await using creator = await createClient(platform, own)
    const allow = ['_INBOX.>', `_INBOX.${creator.keyId}.>`]
    const capabilities = { pub: { allow }, sub: { allow: [] } }
    const made = await call(creator.connection, keys.create, { name: 'answers', capabilities })
    expect(made.capabilities).toEqual(capabilities)
    await using client = await createClient(platform, capabilities)
    client.connection.publish(`_INBOX.${creator.keyId}.x`)
    await client.connection.flush()
  })

  test('as much as the creator may, or less, is granted', async () => {
    const own = { pub: { allow: keySubjects }, sub: { allow: ['gantry.extensions.demo.>'] } }
    await using creator = await createClient(platform, own)
    for (const sub of [
      'gantry.extensions.demo.>',
      'gantry.extensions.demo.*',
      'gantry.extensions.demo.a.b',
    ]) {
      const capabilities = { pub: { allow: keySubjects }, sub: { allow: [sub] } }
      const made = await call(creator.connection, keys.create, { name: 'less', capabilities })
      expect(made.capabilities).toEqual(capabilities)
    }
  })

  test.each<[string, object, string]>([
    ['no name', { name: undefined }, 'name'],
    ['an empty name', { name: '' }, 'name'],
    ['a name with a slash', { name: 'a/b' }, 'name'],
    ['a name with a control character', { name: 'a\u0000b' }, 'name'],
    ['a name that is too long', { name: 'x'.repeat(129) }, 'name'],
    ['no capabilities', { capabilities: undefined }, 'capabilities'],
    ['half of the capabilities', { capabilities: { pub: { allow: [] } } }, 'capabilities'],
    ['a rule that is no subject', { capabilities: { ...nothing, pub: { allow: ['a..b'] } } }, 'pub.allow[0]'],
    ['a rule with a space', { capabilities: { ...nothing, sub: { allow: ['a b'] } } }, 'sub.allow[0]'],
    ['> in the middle', { capabilities: { ...nothing, sub: { allow: ['a.>.b'] } } }, 'sub.allow[0]'],
    ['a deny list', { capabilities: { ...nothing, pub: { allow: [], deny: [] } } }, 'deny'],
    ['too many rules', { capabilities: { ...nothing, pub: { allow: Array(201).fill('a') } } }, 'pub.allow'],
    ['an owner', { owner: 'somebody' }, 'owner'],
    ['a kind', { kind: 'agent' }, 'kind'],
    ['roles', { roles: ['admin'] }, 'roles'],
    ['an id', { id: 'k1' }, 'id'],
    ['an expiry in the past', { expiresInDays: -1 }, 'expiresInDays'],
    ['an expiry now', { expiresInDays: 0 }, 'expiresInDays'],
    ['an expiry in parts of a day', { expiresInDays: 0.5 }, 'expiresInDays'],
    ['an expiry as text', { expiresInDays: '1' }, 'expiresInDays'],
  ])('%s is refused by name', async (_, change, named) => {
    const body = { name: 'x', capabilities: nothing, ...change }
    const reply = await platform.rest('platform', 'POST', '/api/v1/keys', { body })
    expect(reply.status).toBe(400)
    expect(reply.body).toMatchObject({ code: 'INVALID_INPUT', details: expect.any(Array) })
    expect((reply.body as { message: string }).message).toContain(named)
  })
})

describe('who sees which keys', () => {
  test('an owner the own ones, an administrator all, and what one may not see is not there', async () => {
    const ada = await clientOf('ada', { pub: { allow: keySubjects }, sub: { allow: [] } })
    const bob = await clientOf('bob', { pub: { allow: keySubjects }, sub: { allow: [] } })
    const own = await call(ada.connection, keys.create, { name: 'of ada', capabilities: nothing })
    expect(own).toMatchObject({ owner: 'ada', roles: [] })

    const ids = async (connection: Parameters<typeof call>[0]) =>
      (await call(connection, keys.list, {})).map(({ id }) => id).toSorted()
    expect(await ids(ada.connection)).toEqual([ada.key.id, own.id].toSorted())
    expect(await ids(bob.connection)).toEqual([bob.key.id])
    expect(await ids(platform.operator)).toEqual(expect.arrayContaining([ada.key.id, own.id, bob.key.id]))

    expect((await call(ada.connection, keys.get, { id: own.id })).name).toBe('of ada')
    expect((await call(platform.operator, keys.get, { id: own.id })).name).toBe('of ada')
    for (const contract of [keys.get, keys.revoke]) {
      expect(await code(call(bob.connection, contract, { id: own.id }))).toBe('NOT_FOUND')
      expect(await code(call(bob.connection, contract, { id: 'k00000000000000' }))).toBe('NOT_FOUND')
    }
    expect((await call(ada.connection, keys.get, { id: own.id })).revoked).toBeUndefined()
    expect((await call(ada.connection, keys.revoke, { id: own.id })).revoked).toBeDefined()
    await ada.connection.close()
    await bob.connection.close()
  })

  test('pages are of those that the caller may see, in order of their ids', async () => {
    const cleo = await clientOf('cleo', { pub: { allow: keySubjects }, sub: { allow: [] } })
    await Promise.all(
      Array.from({ length: 9 }, () =>
        call(cleo.connection, keys.create, { name: 'x', capabilities: nothing }),
      ),
    )
    const all = (await call(cleo.connection, keys.list, {})).map(({ id }) => id)
    expect(all).toHaveLength(10)
    expect(all).toEqual(all.toSorted())
    const paged: string[] = []
    for (let after: string | undefined; ;) {
      const page = await call(cleo.connection, keys.list, {
        limit: 3,
        ...(after === undefined ? {} : { after }),
      })
      if (page.length === 0) break
      expect(page.length).toBeLessThanOrEqual(3)
      paged.push(...page.map(({ id }) => id))
      after = paged.at(-1)
    }
    expect(paged).toEqual(all)
    await cleo.connection.close()
  })

  test('a key that may not ask is denied by the broker', async () => {
    await using narrow = await createClient(platform, {
      pub: { allow: [keys.self.subject] },
      sub: { allow: [] },
    })
    expect(await code(call(narrow.connection, keys.list, {}))).toBe('DENIED')
    expect((await call(narrow.connection, keys.self, {})).id).toBe(narrow.keyId)
    const headers = { authorization: `Bearer ${narrow.token}` }
    const reply = await platform.rest('platform', 'GET', '/api/v1/keys', { headers })
    expect(reply).toMatchObject({ status: 403, body: { code: 'DENIED' } })
    expect((reply.body as { message: string }).message).toContain(keys.list.subject)
  })
})

test('the last use is noted', async () => {
  const { id, token } = await createKey(platform, everything)
  expect((await platform.call(keys.get, { id })).lastUsed).toBeUndefined()
  const connection = await connectWithToken(platform.tcpUrl, token)
  await expect.poll(async () => (await platform.call(keys.get, { id })).lastUsed).toMatch(/^\d{4}-\d\d-\d\dT/)
  await connection.close()
})

test('the operator’s token stays the same over restarts, and follows the platform to other ports', async () => {
  const home = await createHome()
  const first = await startTestPlatform({ home })
  const { id } = await first.call(keys.self, {})
  await first[Symbol.asyncDispose]()
  const second = await startTestPlatform({ home })
  expect(second.operatorToken).toBe(first.operatorToken)
  await second[Symbol.asyncDispose]()

  rmSync(join(home, 'messaging.config'))
  const moved = await startTestPlatform({ home: await createHome({}, home) })
  expect(parseToken(moved.operatorToken)).toMatchObject({ keyId: id, location: { nats: moved.tcpUrl } })
  expect(readFileSync(join(home, 'credentials'), 'utf8').trim()).toBe(moved.operatorToken)
  expect((await moved.call(keys.self, {})).id).toBe(id)

  await moved.call(keys.revoke, { id })
  await moved[Symbol.asyncDispose]()
  const renewed = await startTestPlatform({ home })
  expect((await renewed.call(keys.self, {})).id).not.toBe(id)
  await renewed[Symbol.asyncDispose]()
  rmSync(home, { recursive: true, force: true })
})

test('a page that would not fit into a message says so, and a smaller one does', async () => {
  await platform.call(settings.put, { maxKeys: 200 })
  const dora = await clientOf('dora', { pub: { allow: ['gantry.>'] }, sub: { allow: [] } })
  const rules = Array.from({ length: 200 }, (_, index) => `gantry.${'x'.repeat(240)}.${index}`)
  const large = { pub: { allow: rules }, sub: { allow: [] } }
  // All at once would wait for each other for longer than a call may take.
  for (let made = 0; made < 180; made += 30)
    await Promise.all(
      Array.from({ length: 30 }, () =>
        call(dora.connection, keys.create, { name: 'large', capabilities: large }),
      ),
    )
  const error: unknown = await call(dora.connection, keys.list, {}).catch((error: unknown) => error)
  expect(error).toMatchObject({ code: 'TOO_LARGE' })
  expect((error as Error).message).toContain('limit')
  expect(await call(dora.connection, keys.list, { limit: 50 })).toHaveLength(50)
  expect((await platform.call(keys.self, {})).owner).toBe('local:operator')
  await dora.connection.close()
})
