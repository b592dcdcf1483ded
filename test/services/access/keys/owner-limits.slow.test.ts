import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Type } from 'typebox'
import { call } from '../../../../broker/rpc/client.ts'
import { Collection } from '../../../../broker/state/collection.ts'
import { connectWithToken } from '../../../../broker/rpc/connection.ts'
import { refuseRole } from '../../../../services/access/callers.ts'
import { openKeys, sessionsOf } from '../../../../services/access/keys/keys.ts'
import { OwnerRoom } from '../../../../services/access/keys/owner-limits.ts'
import { type Person, signIn } from '../../../../services/access/roles/people.ts'
import { type AccessState, openState, readSettings } from '../../../../services/access/state.ts'
import type { GantryError } from '../../../../subjects/kit/errors.ts'
import { keys } from '../../../../subjects/access/keys.ts'
import { defaultSettings, limitsOfRoles, settings } from '../../../../subjects/access/settings.ts'
import { startTestBroker, type TestBroker } from '../../../support/broker.ts'
import { connectInside, createKey, everything, issueInside } from '../../../support/keys.ts'
import { startTestPlatform, type TestPlatform } from '../../../support/platform.ts'

const ownKeys = { pub: { allow: Object.values(keys).map(({ subject }) => subject) }, sub: { allow: [] } }
const nothing = { pub: { allow: [] }, sub: { allow: [] } }

describe('keys of an owner', () => {
  let platform: TestPlatform
  beforeAll(async () => {
    platform = await startTestPlatform()
  })
  afterAll(() => platform[Symbol.asyncDispose]())

  /** A client of somebody whose keys are its own. */
  async function clientOf(owner: string) {
    const { token } = await issueInside(platform, { owner, capabilities: ownKeys })
    return connectWithToken(platform.tcpUrl, token, { reconnect: false })
  }
  const make = (connection: Awaited<ReturnType<typeof clientOf>>) =>
    call(connection, keys.create, { name: 'another', capabilities: nothing })

  test('reach a limit; revoking some makes room, and others are not affected', async () => {
    await platform.call(settings.put, { maxKeys: 5 })
    const connection = await clientOf('ada')
    // With the one that asks, and however many ask at once.
    const asked = await Promise.allSettled(Array.from({ length: 20 }, () => make(connection)))
    const made = asked.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    const refused = asked.flatMap((one) => (one.status === 'rejected' ? [one.reason as GantryError] : []))
    expect(made).toHaveLength(4)
    expect(new Set(refused.map(({ code }) => code))).toEqual(new Set(['LIMIT_REACHED']))
    expect(refused[0]!.message).toMatch(/^ada already has 5 valid keys.*maxKeys.*gantry keys revoke/)
    await call(connection, keys.revoke, { id: made[0]!.id })
    await make(connection)
    await expect(make(connection)).rejects.toMatchObject({ code: 'LIMIT_REACHED' })
    await platform.call(settings.put, { maxKeys: 6 })
    await make(connection)
    const other = await clientOf('bob')
    await make(other)
    await createKey(platform, everything)
    await Promise.all([connection.close(), other.close()])
  })

  test('that were revoked are forgotten, but for the last hundred', async () => {
    await platform.call(settings.put, { maxKeys: 2 })
    const connection = await clientOf('carl')
    const made: string[] = []
    for (let n = 0; n < 120; n++) {
      const { id } = await make(connection)
      await call(connection, keys.revoke, { id })
      made.push(id)
    }
    const known = await call(connection, keys.list, {})
    expect(known.length).toBeLessThanOrEqual(104)
    expect(known.map(({ id }) => id)).toContain(made.at(-1))
    await connection.close()
  })

  test('are listed a page at a time, with sessions, and without those of others', async () => {
    await platform.call(settings.put, { maxKeys: 100 })
    const { key, token } = await issueInside(platform, { owner: 'dora', capabilities: ownKeys })
    const ids = [key.id]
    for (let n = 0; n < 3; n++) {
      ids.push((await issueInside(platform, { owner: 'dora', kind: 'session' })).key.id)
      ids.push((await issueInside(platform, { owner: 'dora' })).key.id)
      await issueInside(platform, { owner: 'dorb' })
    }
    const connection = await connectWithToken(platform.tcpUrl, token, { reconnect: false })
    const pages: string[] = []
    for (let after: string | undefined; ; after = pages.at(-1)) {
      const page = await call(connection, keys.list, { limit: 2, ...(after === undefined ? {} : { after }) })
      if (page.length === 0) break
      expect(page.length).toBeLessThanOrEqual(2)
      pages.push(...page.map(({ id }) => id))
    }
    expect(pages).toEqual(ids.toSorted())
    await connection.close()
  })

  test('of an administrator are limited by its role', async () => {
    await platform.call(settings.put, { maxKeys: 1, roleLimits: { admin: { maxKeys: 100 } } })
    await createKey(platform, everything)
    await createKey(platform, everything)
    await platform.call(settings.put, { roleLimits: {} })
    // Known from the next count on.
    const { connection } = await connectInside(platform)
    const live = (await (await openKeys(connection)).listGroup('local:operator')).length
    await platform.call(settings.put, { maxKeys: live })
    await expect(createKey(platform, everything)).rejects.toMatchObject({ code: 'LIMIT_REACHED' })
    await connection.close()
  })
})

describe('sessions of a person', () => {
  let broker: TestBroker
  let state: AccessState
  const kicked: string[] = []
  const kick = (keyId: string) => {
    kicked.push(keyId)
    return Promise.resolve()
  }
  const issuer = {
    salt: 'salt of the tests',
    location: { instance: 'i', nats: 'nats://127.0.0.1:1', http: 'http://127.0.0.1:1' },
  }
  const rules = {
    adminSubject: 'nobody',
    adminGroup: undefined,
    bootstrapAcknowledged: false,
    defaultRole: undefined,
  }
  beforeAll(async () => {
    broker = await startTestBroker()
    state = await openState(await broker.connect('PLATFORM'))
  })
  afterAll(() => broker[Symbol.asyncDispose]())

  test('end with the oldest when there are too many: one can always sign in again', async () => {
    await state.settings.put('settings', { ...defaultSettings, maxSessions: 3 })
    const options = { state, rules, issuer, room: new OwnerRoom(state, kick), kick }
    const ada: Person = { source: 'oidc', subject: 'ada', groups: [] }
    const begun: string[] = []
    for (let n = 0; n < 130; n++) begun.push((await signIn(ada, options)).key.id)
    const stored = await state.keys.listGroup(sessionsOf('ada'))
    const live = stored.filter(({ revoked }) => revoked === undefined).map(({ id }) => id)
    expect(live.toSorted()).toEqual(begun.slice(-3).toSorted())
    expect(kicked).toEqual(begun.slice(0, -3))
    // What ended does not pile up.
    expect(stored.length).toBeLessThanOrEqual(104)
    const bob = await signIn({ ...ada, subject: 'bob' }, options)
    expect((await state.keys.get(bob.key.id))?.revoked).toBeUndefined()
    expect(kicked).toHaveLength(127)
  })
})

test('settings that were stored before these limits are read, with their defaults', async () => {
  await using broker = await startTestBroker()
  const connection = await broker.connect('PLATFORM')
  const before = {
    exceedingKeys: 'revoke',
    sessionHours: 2,
    maxRunningMigrations: 3,
    filesystemRoots: [],
    storeHosts: [],
    maxKeys: 7,
    maxSessions: 8,
    maxConnections: 90,
    roleLimits: {},
    maxRules: 10,
  }
  const stored = await Collection.open(connection, { bucket: 'settings', schema: Type.Any(), version: 4 })
  await stored.put('settings', before)
  expect(await readSettings(await openState(connection))).toEqual({ ...defaultSettings, ...before })
})

test('of several roles the highest limit counts; a role without one leaves the general limit', () => {
  const limits = { ...defaultSettings, maxKeys: 10, roleLimits: { ci: { maxKeys: 3 }, ops: { maxKeys: 30 } } }
  expect(limitsOfRoles(limits, []).maxKeys).toBe(10)
  expect(limitsOfRoles(limits, ['ci']).maxKeys).toBe(3)
  expect(limitsOfRoles(limits, ['ci', 'ops', 'viewer']).maxKeys).toBe(30)
  expect(limitsOfRoles(limits, ['ops']).maxSessions).toBe(defaultSettings.maxSessions)
  expect(limitsOfRoles(limits, ['constructor', '__proto__']).maxKeys).toBe(10)
})

test('a role without limits of its own exceeds those of a key that has some', () => {
  const limited = { ...defaultSettings, roleLimits: { guest: { maxKeys: 5 } } }
  const nothing = { pub: { allow: [], deny: [] }, sub: { allow: [], deny: [] } }
  const key = { capabilities: nothing, visible_extensions: [] }
  const give = (name: string) => () =>
    refuseRole(
      key,
      limitsOfRoles(limited, ['guest']),
      { ...nothing, name, description: '', visible_extensions: [] },
      limited,
    )
  expect(give('guest')).not.toThrow()
  expect(give('free')).toThrow(`limits maxKeys ${defaultSettings.maxKeys}`)
})
