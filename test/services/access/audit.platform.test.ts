import { EventEmitter } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { AuditTrail } from '../../../broker/audit/trail.ts'
import type { OidcConfig } from '../../../config/platform.ts'
import { Events } from '../../../broker/state/events.ts'
import { openKeys, issueKey } from '../../../services/access/keys/keys.ts'
import { Refusals } from '../../../services/access/audit.ts'
import type { Person } from '../../../services/access/roles/people.ts'
import { type AccessNeeds, accessService } from '../../../services/access/index.ts'
import { Assembly } from '../../../services/kit/assembly.ts'
import type { AuditEntry } from '../../../subjects/access/audit.ts'
import { keys } from '../../../subjects/access/keys.ts'
import { MetricRegistry } from '../../../subjects/observability/metric-registry.ts'
import { smallLimits, startTestBroker, type TestBroker } from '../../support/broker.ts'
import { testLog } from '../../support/platform.ts'
import { until } from '../../support/until.ts'

const salt = 'a salt for this test'
const neverAsked: OidcConfig = {
  issuer: 'https://login.example',
  clientId: 'cli',
  clientSecret: undefined,
  uiClientId: 'ui',
  uiClientSecret: undefined,
  scopes: 'openid',
  clockSkewSeconds: 30,
  groupsClaim: 'groups',
}
let broker: TestBroker
let trail: AuditTrail<AuditEntry>
let access: Awaited<ReturnType<typeof startAccess>>
const startAccess = (needs: AccessNeeds) => new Assembly<AccessNeeds>().add(accessService).start(needs)
beforeAll(async () => {
  broker = await startTestBroker()
  const [platform, auth, system] = await Promise.all([
    broker.connect('PLATFORM'),
    broker.connect('AUTH'),
    broker.connect('SYS'),
  ])
  trail = await openTrail()
  access = await startAccess({
    journals: undefined,
    events: await Events.open(platform, { maxFileBytes: 1e9 }),
    admit: async () => undefined,
    connections: { platform, auth, system },
    identity: broker.identity,
    salt,
    location: location(),
    rules: {
      adminSubject: 'ada',
      adminGroup: undefined,
      bootstrapAcknowledged: false,
      defaultRole: undefined,
    },
    security: { type: 'off' },
    metadataUser: () => undefined,
    signInConfig: {
      home: broker.home,
      oidc: neverAsked,
      host: '127.0.0.1',
      command: 'gantry',
      publicUrl: location().http,
    },
    trail,
    metrics: new MetricRegistry(),
    notices: new EventEmitter(),
    log: testLog,
  })
})
afterAll(async () => {
  await access.stop()
  await broker[Symbol.asyncDispose]()
})

const location = () => ({
  instance: broker.identity.instance,
  nats: broker.server.tcpUrl,
  http: 'http://127.0.0.1:8080',
})

const openTrail = async (maxFileBytes = smallLimits.maxFileBytes) =>
  AuditTrail.open<AuditEntry>(await broker.connect('PLATFORM'), {
    instance: broker.identity.instance,
    maxFileBytes,
    retentionMs: 90 * 24 * 3_600_000,
    log: testLog,
  })

async function entries(fits: (entry: AuditEntry) => boolean): Promise<AuditEntry[]> {
  const { records } = await trail.reader.page({ order: 'oldest', limit: 10_000, fits, sinceMs: 0 })
  return records.map(({ record }) => record)
}

const person = (subject: string): Person => ({ source: 'oidc', subject, groups: [] })

test('a sign-in is recorded with the session, and each key that it brought within the role', async () => {
  const collection = await openKeys(await broker.connect('PLATFORM'))
  const { key: wide } = await issueKey(
    collection,
    { salt, location: location() },
    {
      name: 'wide',
      notes: '',
      owner: 'bob',
      kind: 'key',
      roles: [],
      capabilities: { pub: { allow: ['gantry.>'] }, sub: { allow: [] } },
      visible_extensions: [],
    },
  )
  const { key, token } = await access.known.openSession(person('bob'), { from: '10.1.1.1', requestId: 'r1' })
  const common = { time: expect.any(String), user: 'bob', from: '10.1.1.1', result: 'ok', requestId: 'r1' }
  const recorded = await entries(({ user }) => user === 'bob')
  expect(recorded).toEqual([
    { ...common, kind: 'session', key: key.id, what: 'sign-in' },
    { ...common, kind: 'platform', what: keys.update.subject, object: wide.id },
  ])
  expect(JSON.stringify(recorded)).not.toContain(token.split('.').at(-1))
})

test('a sign-in that is refused is recorded', async () => {
  await expect(
    access.known.openSession(person('local:operator'), { from: '10.1.1.2' }),
  ).rejects.toMatchObject({
    code: 'UNAUTHENTICATED',
  })
  const [refused] = await until('it is recorded', async () => {
    const found = await entries(({ what, result }) => what === 'sign-in' && result !== 'ok')
    return found.length > 0 && found
  })
  expect(refused).toMatchObject({ kind: 'nobody', from: '10.1.1.2', result: 'UNAUTHENTICATED' })
})

test('refusals are counted by reason and address, and a crowd of addresses is one', async () => {
  const refusals = new Refusals(trail, testLog)
  const refused = { what: 'connect', result: 'UNAUTHENTICATED' } as const
  const mine = ({ reason = '' }: AuditEntry) => reason.startsWith('test ')
  for (let n = 0; n < 300; n++) {
    refusals.note({ ...refused, reason: 'test wrong', from: '10.0.0.1', key: 'k1' })
    refusals.note({ ...refused, reason: 'test unknown', from: '10.0.0.1', key: `k${n}` })
    refusals.note({ ...refused, reason: 'test crowd', from: `10.1.0.${n}` })
  }
  refusals.note({ ...refused, reason: 'test once', from: '10.0.0.1' })
  await refusals.flush()
  const recorded = await entries(mine)
  expect(recorded.length).toBeLessThan(30)
  expect(recorded.reduce((sum, { count = 1 }) => sum + count, 0)).toBe(901)
  const by = (reason: string) => recorded.filter((entry) => entry.reason === reason)
  expect(by('test wrong')).toMatchObject([{ kind: 'nobody', from: '10.0.0.1', key: 'k1', count: 300 }])
  // Not one key: none is named.
  expect(by('test unknown')).toMatchObject([{ from: '10.0.0.1', count: 300 }])
  expect(by('test unknown')[0]).not.toHaveProperty('key')
  expect(by('test crowd').at(-1)).not.toHaveProperty('from')
  expect(by('test once')[0]).not.toHaveProperty('count')
})

test('nobody signs in while it could not be recorded, and nothing is changed', async () => {
  const small = await openTrail(64 * 2 ** 20)
  const fill = async () => {
    for (;;) {
      small.requireRoom()
      const entry: AuditEntry = {
        time: new Date().toISOString(),
        kind: 'platform',
        what: 'x'.repeat(120),
        object: 'x'.repeat(400),
        result: 'ok',
      }
      await Promise.all(Array.from({ length: 200 }, () => small.append(entry)))
    }
  }
  await expect(fill()).rejects.toMatchObject({ code: 'STORAGE_FULL' })
  await until('it is known', () =>
    access.known.openSession(person('eve')).then(
      () => false,
      ({ code }: { code: string }) => code === 'STORAGE_FULL',
    ),
  )
  const before = (await entries(({ user }) => user === 'eve')).length
  await expect(access.known.openSession(person('eve'))).rejects.toMatchObject({ code: 'STORAGE_FULL' })
  expect((await entries(({ user }) => user === 'eve')).length).toBe(before)
})
