import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { call } from '../../broker/rpc/client.ts'
import { connectWithToken } from '../../broker/rpc/connection.ts'
import { formatToken, parseToken } from '../../broker/identity/token.ts'
import { assignments } from '../../subjects/access/assignments.ts'
import { audit, type AuditRecord } from '../../subjects/access/audit.ts'
import type { Input } from '../../subjects/kit/contract.ts'
import { filesystems } from '../../subjects/filesystems/filesystems.ts'
import { keys } from '../../subjects/access/keys.ts'
import { bandwidth } from '../../subjects/migrations/bandwidth.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { roles } from '../../subjects/access/roles.ts'
import { settings } from '../../subjects/access/settings.ts'
import { rawRequest } from '../support/http.ts'
import { type Client, createClient, createKey, everything } from '../support/keys.ts'
import { createFolder } from '../support/migrations.ts'
import { startTestPlatform, type TestPlatform } from '../support/platform.ts'
import { connectRaw } from '../support/raw-nats.ts'
import { until } from '../support/until.ts'

const folder = createFolder()
let platform: TestPlatform
let admin: Client
let operatorKey: string
beforeAll(async () => {
  platform = await startTestPlatform()
  admin = await createClient(platform, everything)
  operatorKey = (await platform.call(keys.self, {})).id
})
afterAll(async () => {
  await admin[Symbol.asyncDispose]()
  await platform[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

const recorded = async (filter: Input<typeof audit.list> = {}): Promise<AuditRecord[]> =>
  (await platform.call(audit.list, filter)).records
/** The newest record. */
const newest = async (filter: Input<typeof audit.list> = {}) => (await recorded({ ...filter, limit: 1 }))[0]!

const nothing = { pub: { allow: [] }, sub: { allow: [] } }
const loopback = '127.0.0.1'

describe('a change', () => {
  const rules = { pub: { allow: ['gantry.services.v1.keys.list'] }, sub: { allow: [] } }
  const role = { name: 'readers', description: '', ...rules, visible_extensions: [] }
  const roleDetails = `pub=${JSON.stringify(rules.pub)} sub=${JSON.stringify(rules.sub)} visible_extensions=[]`
  const changes = [
    [roles.put, role, 'readers', 'ok', roleDetails],
    [roles.put, { ...role, name: 'viewer' }, 'viewer', 'NOT_ALLOWED_IN_STATE', roleDetails],
    [assignments.put, { group: 'analysts', roles: ['readers'] }, 'analysts', 'ok', 'roles=["readers"]'],
    [
      assignments.put,
      { group: 'analysts', roles: ['nothing'] },
      'analysts',
      'NOT_FOUND',
      'roles=["nothing"]',
    ],
    [assignments.delete, { group: 'analysts' }, 'analysts', 'ok'],
    [roles.delete, { name: 'readers' }, 'readers', 'ok'],
    [settings.put, { sessionHours: 8 }, undefined, 'ok', 'sessionHours=8 (was 12)'],
    // What stays as it is has no other value before.
    [settings.put, { sessionHours: 8 }, undefined, 'ok', 'sessionHours=8'],
    [
      bandwidth.set,
      { scope: 'global', limit: 5, unit: 'MiB' },
      'application',
      'ok',
      'scope=global limit=5 (was -1) unit=MiB',
    ],
    [
      bandwidth.set,
      { scope: 'global', limit: -1 },
      'application',
      'ok',
      'scope=global limit=-1 (was 5.0 MiB/s)',
    ],
    [settings.put, { sessionHours: 0 }, undefined, 'INVALID_INPUT'],
    [
      filesystems['create-local'],
      { fileSystemId: 'here', role: 'source', fsRoot: folder.root },
      'here',
      'ok',
      `role=source fsRoot=${folder.root}`,
    ],
    [
      filesystems['update-local'],
      { fileSystemId: 'here', fsRoot: '/nothing/here' },
      'here',
      'STORE_REFUSED',
      'fsRoot=/nothing/here',
    ],
    [filesystems.delete, { fileSystemId: 'here' }, 'here', 'ok'],
    [filesystems.delete, { fileSystemId: 'here' }, 'here', 'NOT_FOUND'],
    [filesystems.clear, { role: 'target' }, 'target', 'ok'],
    [
      migrations.create,
      { path: '/', source: 'here', target: 'there', migrationId: 'm' },
      'm',
      'NOT_FOUND',
      'source=here target=there path=/',
    ],
    [migrations.start, { migrationId: 'm' }, 'm', 'NOT_FOUND'],
    [migrations.delete, { migrationId: 'm' }, 'm', 'NOT_FOUND'],
    [keys.update, { id: 'k0', name: 'x' }, 'k0', 'NOT_FOUND', 'name=x'],
  ] as const

  test.each(changes.map((change) => [change[0].subject, change[3], change] as const))(
    '%s is recorded with its result %s',
    async (what, result, [contract, input, object, , details]) => {
      await call(admin.connection, contract, input as never, { requestId: 'r1' }).catch(() => undefined)
      expect(await newest()).toEqual({
        sequence: expect.any(Number),
        time: expect.any(String),
        kind: 'key',
        key: admin.keyId,
        keyName: 'a key',
        user: 'local:operator',
        what,
        ...(object === undefined ? {} : { object }),
        ...(details === undefined ? {} : { details }),
        from: loopback,
        result,
        requestId: 'r1',
      })
    },
  )

  test('of keys is recorded too, with the id of a key that was made and the codes of refusals', async () => {
    const { id } = await platform.call(keys.create, { name: 'a key', capabilities: rules })
    expect(await newest()).toMatchObject({ what: keys.create.subject, object: id, result: 'ok' })
    await platform.call(keys.rotate, { id })
    expect(await newest()).toMatchObject({ what: keys.rotate.subject, object: id, result: 'ok' })
    await using narrow = await createClient(platform, {
      pub: { allow: ['gantry.services.v1.keys.*'] },
      sub: { allow: [] },
    })
    await call(narrow.connection, keys.create, { name: 'wide', capabilities: everything }).catch(
      () => undefined,
    )
    const refused = await newest()
    expect(refused).toMatchObject({ what: keys.create.subject, key: narrow.keyId, result: 'EXCEEDS_ROLE' })
    expect(refused.object).toBeUndefined()
    // Who gives up the key with which it calls gets its reply, and is recorded before it is gone.
    expect((await call(narrow.connection, keys.revoke, { id: narrow.keyId })).id).toBe(narrow.keyId)
    await narrow.connection.closed()
    expect(await newest()).toMatchObject({
      what: keys.revoke.subject,
      key: narrow.keyId,
      object: narrow.keyId,
    })
  })

  test('is recorded under the name that the key has by then', async () => {
    await using renamed = await createClient(platform, everything)
    const nameOf = async () => {
      await call(renamed.connection, migrations.start, { migrationId: 'm' }).catch(() => undefined)
      return (await newest({ key: renamed.keyId })).keyName
    }
    expect(await nameOf()).toBe('a key')
    await platform.call(keys.update, { id: renamed.keyId, name: 'another name' })
    await until('it has its new name', async () => (await nameOf()) === 'another name')
  })

  test('over REST is recorded with the address of the client, which a header of its cannot change', async () => {
    const headers = {
      authorization: `Bearer ${platform.operatorToken}`,
      'content-type': 'application/json',
      'x-request-id': 'r2',
      'x-forwarded-for': '10.1.1.1',
      'gantry-client-address': '10.1.1.1',
    }
    const put = { method: 'PUT', path: '/api/v1/admin/settings', headers, body: '{"sessionHours":9}' }
    // Every address of 127.0.0.0/8 is this host.
    expect((await rawRequest(platform, 'platform', { ...put, localAddress: '127.0.0.9' })).status).toBe(200)
    expect(await newest()).toMatchObject({
      what: settings.put.subject,
      key: operatorKey,
      from: '127.0.0.9',
      result: 'ok',
      requestId: 'r2',
    })
  })

  test('over NATS has the address that the broker tells, whatever the client says', async () => {
    const inbox = `_INBOX.${admin.keyId}.raw`
    await using raw = await connectRaw(platform.tcpUrl, admin.token, inbox)
    const info = 'Nats-Request-Info: {"host":"10.1.1.1"}'
    for (const [index, lines] of [
      ['Gantry-Client-Address: 10.1.1.1'],
      ['Gantry-Client-Address: 10.1.1.1 AAAA'],
      ['Gantry-Client-Address: 10.1.1.1', 'Gantry-Client-Address: 10.1.1.2'],
      [info],
    ].entries()) {
      raw.publish(settings.put.subject, inbox, [...lines, `Gantry-Request-Id: forged${index}`], '{}')
      const record = await until('it is recorded', async () =>
        (await recorded({ limit: 3 })).find(({ requestId }) => requestId === `forged${index}`),
      )
      expect(record).toMatchObject({ key: admin.keyId, from: loopback })
    }
  })

  test('that is only looked at is not recorded', async () => {
    const { sequence } = await newest()
    await platform.call(keys.list, {})
    await platform.call(settings.get, {})
    expect((await newest()).sequence).toBe(sequence)
  })
})

describe('connections that are refused', () => {
  test('are counted: a flood of them makes few records', async () => {
    const { id, token } = await createKey(platform, nothing)
    const wrong = `${token.slice(0, -4)}AAAA`
    const attempts = 60
    await Promise.all(
      Array.from({ length: attempts }, () =>
        connectWithToken(platform.tcpUrl, wrong, { reconnect: false }).catch(() => undefined),
      ),
    )
    const guesses = await until('all are recorded', async () => {
      const found = await recorded({ what: 'connect', key: id })
      return found.reduce((sum, { count = 1 }) => sum + count, 0) === attempts && found
    })
    expect(guesses.length).toBeLessThanOrEqual(5)
    expect(guesses[0]).toMatchObject({
      kind: 'nobody',
      key: id,
      from: loopback,
      result: 'UNAUTHENTICATED',
      reason: 'wrong secret',
    })
  })

  test('over REST have the address of the client', async () => {
    const { id, token } = await createKey(platform, nothing)
    await platform.call(keys.revoke, { id })
    const headers = { authorization: `Bearer ${token}` }
    await rawRequest(platform, 'platform', { path: '/api/v1/apikey', headers, localAddress: '127.0.0.7' })
    const refused = await until('it is recorded', async () => newest({ what: 'connect', key: id }))
    expect(refused).toMatchObject({ from: '127.0.0.7', reason: 'revoked key', result: 'UNAUTHENTICATED' })
  })

  test('and never got as far as the broker are counted as well', async () => {
    const { id, token } = await createKey(platform, nothing)
    const { location } = parseToken(token)!
    const localAddress = '127.0.0.11'
    const rest = (one: string) =>
      rawRequest(platform, 'platform', {
        path: '/api/v1/apikey',
        headers: { authorization: `Bearer ${one}` },
        localAddress,
      })
    const once = formatToken(location, id, 'once')
    for (let n = 0; n < 7; n++) await rest(`garbage ${n}`.replace(' ', ''))
    for (let n = 0; n < 3; n++) await rest(once)
    for (let n = 0; n < 40; n++) await rest(formatToken(location, id, `guess${n}`))
    const countOf = async (reason: string) => {
      const found = (await recorded({ what: 'connect', limit: 1_000 })).filter(
        (record) => record.reason === reason && record.from === localAddress,
      )
      return { sum: found.reduce((sum, { count = 1 }) => sum + count, 0), one: found[0] }
    }
    await until('garbage is recorded', async () => (await countOf('malformed token')).sum === 7)
    await until('the same again is recorded', async () => (await countOf('refused just before')).sum === 2)
    const { one } = await until('guesses are recorded', async () => {
      const seen = await countOf('too many refusals')
      return seen.sum >= 15 && seen
    })
    expect(one).toMatchObject({ kind: 'nobody', key: id, from: localAddress, result: 'THROTTLED' })
  })

  test('cannot name another address', async () => {
    const { id, token } = await createKey(platform, nothing)
    await platform.call(keys.revoke, { id })
    const name = 'edge 10.1.1.1 AAAA'
    await connectWithToken(platform.tcpUrl, token, { reconnect: false, name }).catch(() => undefined)
    const refused = await until('it is recorded', async () => newest({ what: 'connect', key: id }))
    expect(refused.from).toBe(loopback)
  })
})

describe('what the broker does not let a key do', () => {
  const countOf = (records: readonly AuditRecord[]) => records.reduce((sum, { count = 1 }) => sum + count, 0)
  const denied = (key: string, times: number) =>
    until('all are recorded', async () => {
      const found = await recorded({ key, result: 'DENIED' })
      return countOf(found) === times && found
    })

  test('is recorded with the key, its owner and the subject, counted, and never with a token', async () => {
    await using narrow = await createClient(platform, nothing)
    const foreign = 'gantry.extensions.elsewhere'
    const times = 500
    for (let n = 0; n < times; n++) narrow.connection.publish(keys.list.subject)
    narrow.connection.publish(`x.${narrow.token}`)
    narrow.connection.subscribe(foreign, { callback: () => undefined })
    const found = await denied(narrow.keyId, times + 2)
    // They may fall into two seconds.
    expect(found.length).toBeLessThanOrEqual(5)
    const common = { kind: 'key', user: 'local:operator', from: loopback, result: 'DENIED' }
    for (const record of found) expect(record).toMatchObject(common)
    expect(found.filter(({ what }) => what === 'subscribe')).toMatchObject([{ object: foreign }])
    const published = found.filter(({ what }) => what === 'publish')
    expect(countOf(published.filter(({ object }) => object === keys.list.subject))).toBe(times)
    expect(countOf(published.filter(({ object }) => object === undefined))).toBe(1)
  })

  test('over REST is recorded with the address of the client', async () => {
    const { id, token } = await createKey(platform, nothing)
    const headers = { authorization: `Bearer ${token}` }
    const request = { path: '/api/v1/keys', headers, localAddress: '127.0.0.12' }
    expect((await rawRequest(platform, 'platform', request)).status).toBe(403)
    const found = await denied(id, 1)
    expect(found[0]).toMatchObject({
      kind: 'key',
      what: 'publish',
      object: keys.list.subject,
      from: '127.0.0.12',
    })
  })
})

describe('the list', () => {
  test('is filtered and comes in pages', async () => {
    for (const sessionHours of [1, 2, 3]) await platform.call(settings.put, { sessionHours })
    const all = await recorded({ limit: 1_000 })
    const inOrder = all.map(({ sequence }) => sequence)
    expect(inOrder).toEqual(inOrder.toSorted((a, b) => b - a))

    const seen: number[] = []
    for (let after: number | undefined, isMore = true; isMore;) {
      const page = await platform.call(audit.list, {
        order: 'oldest',
        limit: 7,
        ...(after === undefined ? {} : { after }),
      })
      seen.push(...page.records.map(({ sequence }) => sequence))
      after = page.next
      isMore = after !== undefined
    }
    expect(seen.slice(0, inOrder.length)).toEqual(inOrder.toReversed())

    const filters: [Input<typeof audit.list>, (record: AuditRecord) => boolean][] = [
      [{ key: admin.keyId }, ({ key }) => key === admin.keyId],
      [{ user: 'local:operator' }, ({ user }) => user === 'local:operator'],
      [{ what: 'gantry.services.v1.settings' }, ({ what }) => what === settings.put.subject],
      [{ object: 'here' }, ({ object }) => object === 'here'],
      [{ result: 'NOT_FOUND' }, ({ result }) => result === 'NOT_FOUND'],
      [{ result: 'refused' }, ({ result }) => result !== 'ok'],
      [{ since: all[3]!.time }, ({ time }) => time >= all[3]!.time],
      [{ until: all[3]!.time }, ({ time }) => time <= all[3]!.time],
    ]
    for (const [filter, fits] of filters) {
      const expected = all.filter(fits)
      const got = await recorded({ ...filter, limit: 1_000 })
      expect(
        got.filter(({ sequence }) => sequence <= all[0]!.sequence),
        JSON.stringify(filter),
      ).toEqual(expected)
      expect(expected.length).toBeGreaterThan(0)
    }
  })

  test('and its verification are for administrators, over REST as well', async () => {
    const get = (path: string, token: string) =>
      platform.rest('platform', 'GET', path, { headers: { authorization: `Bearer ${token}` } })
    const { token } = await createKey(platform, nothing)
    for (const path of ['/api/v1/admin/audit', '/api/v1/admin/audit/verify']) {
      expect((await get(path, token)).status).toBe(403)
      expect((await get(path, platform.operatorToken)).status).toBe(200)
    }
    expect(await platform.call(audit.verify, {})).toMatchObject({ intact: true, fromFirst: true })
  })
})

test('no secret is in the storage: not the token of a key, nor the credentials of a store', async () => {
  const { token } = await createKey(platform, everything)
  const sharedKey = Buffer.from('a shared key that nobody may see').toString('base64')
  const options = {
    accountName: 'account',
    sharedKey,
    containerName: 'data',
    endpoint: 'blob.core.windows.net',
  }
  await platform.rest('migrator', 'POST', '/fs/targets/adls2/shared-key/lake', { body: options })
  // A request that is refused by its form is recorded without what it said.
  await platform.rest('platform', 'POST', '/api/v1/keys', { body: { name: token, id: token } })
  await platform.rest('platform', 'GET', `/api/v1/keys/${token}`)
  expect(await newest({ what: 'gantry.services.v1.filesystems' })).toMatchObject({ object: 'lake' })
  const folder = join(platform.home, 'jetstream')
  const stored = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name)))
  expect(stored.some((bytes) => bytes.includes('"what":"connect"'))).toBe(true)
  for (const secret of [parseToken(token)!.secret, token, sharedKey]) {
    expect(stored.filter((bytes) => bytes.includes(secret))).toHaveLength(0)
  }
})
