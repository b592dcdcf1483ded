import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Alert, AlertKindName } from '../../../subjects/observability/alert-model.ts'
import { alerts } from '../../../subjects/observability/alerts.ts'
import { openKeys } from '../../../services/access/keys/keys.ts'
import { keys } from '../../../subjects/access/keys.ts'
import { files } from '../../../subjects/kit/names.ts'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import { verifications } from '../../../subjects/migrations/verifications.ts'
import { gantry } from '../../cli/support.ts'
import { connectInside, createClient, createKey } from '../../support/keys.ts'
import { addLocal, createFolder, migrate } from '../../support/migrations.ts'
import { createHome, startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { isSignedWith, type Receiver, startReceiver } from '../../support/receiver.ts'
import { until } from '../../support/until.ts'
import { bareExtension, capabilitiesOf } from '../../support/example-extension.ts'

let platform: TestPlatform
let home: string
let receiver: Receiver
beforeAll(async () => {
  home = await createHome()
  receiver = await startReceiver()
  platform = await startTestPlatform({ home })
})
afterAll(async () => {
  await platform[Symbol.asyncDispose]()
  await receiver[Symbol.asyncDispose]()
  rmSync(home, { recursive: true, force: true })
})

const list = (input: { state?: Alert['state']; rule?: string } = {}) => platform.call(alerts.list, input)
const firing = async (rule: string, object: string) =>
  (await list({ rule, state: 'firing' })).find((one) => one.object === object)
const untilFiring = (rule: string, object: string) =>
  until(`${rule} fires for ${object}`, () => firing(rule, object))
const untilResolved = (rule: string, object: string) =>
  until(`${rule} is resolved for ${object}`, async () => (await firing(rule, object)) === undefined)
/** Makes a rule that does not wait. */
const atOnce = (name: string, kind: AlertKindName, more: { threshold?: number } = {}) =>
  platform.call(alerts['put-rule'], { name, kind, forSeconds: 0, keepFiringForSeconds: 0, ...more })

const nobody = { pub: { allow: [] }, sub: { allow: [] } }
/** Makes a key of which two of ten days are left. */
async function expiringKey(): Promise<string> {
  const { id } = await createKey(platform, nobody, { expiresInDays: 2 })
  const { connection } = await connectInside(platform)
  const created = new Date(Date.now() - 8 * 86_400_000).toISOString()
  await (await openKeys(connection)).update(id, (key) => ({ ...key, created }))
  await connection.close()
  return id
}

describe('rules', () => {
  const rest = (method: string, path: string, body?: object) =>
    platform.rest('platform', method, `/api/v1/admin/alert-rules${path}`, body === undefined ? {} : { body })

  test('come with the platform, are changed, and are again what they were', async () => {
    const built = await platform.call(alerts.rules, {})
    expect(built).toHaveLength(10)
    expect(built.every(({ builtIn, enabled }) => builtIn && enabled)).toBe(true)
    const { body } = await rest('PUT', '/storage-file', { threshold: 90, enabled: false })
    expect(body).toMatchObject({ threshold: 90, enabled: false, kind: 'storage-file', builtIn: true })
    expect((await rest('DELETE', '/storage-file')).body).toEqual({ outcome: 'reset', name: 'storage-file' })
    expect(await platform.call(alerts.rules, {})).toEqual(built)
  })

  test('of one’s own begin as the built-in one of their kind', async () => {
    const environment = { env: { GANTRY_HOME: home } }
    const made = await gantry(
      [...'alerts put-rule mine --kind key-expiring --threshold 3 --severity critical --json'.split(' ')],
      environment,
    )
    expect(JSON.parse(made.out)).toMatchObject({ name: 'mine', forSeconds: 0, severity: 'critical' })
    expect((await gantry(['alerts', 'rules'], environment)).out).toContain('mine')
    const deleted = await gantry(['alerts', 'delete-rule', 'mine'], environment)
    expect(deleted).toMatchObject({ code: 0, out: expect.stringMatching(/deleted/) as string })
    expect((await rest('DELETE', '/mine')).status).toBe(404)
  })

  test('that make no sense are refused, with the field', async () => {
    expect((await rest('PUT', '/new', {})).body).toMatchObject({
      code: 'NOT_ACCEPTED',
      details: [
        {
          field: 'kind',
          problem: expect.stringMatching(
            /^is missing: a new rule requires it; use extension-lost, error-rate, /,
          ) as string,
        },
      ],
    })
    expect((await rest('PUT', '/storage-file', { threshold: 200 })).status).toBe(409)
    expect((await rest('PUT', '/storage-file', { kind: 'error-rate' })).body).toMatchObject({
      code: 'NOT_ALLOWED_IN_STATE',
    })
    expect((await rest('PUT', '/http', { kind: 'error-rate', object: 'http2' })).body).toMatchObject({
      code: 'NOT_ACCEPTED',
      details: [{ field: 'object', problem: 'must be http for error-rate, or left out' }],
    })
  })

  test('about what does not exist say so, until it does', async () => {
    const { id } = await createKey(platform, nobody)
    const about = async (kind: AlertKindName, object: string) => {
      const name = `about-${kind}`
      const put = await platform.call(alerts['put-rule'], { name, kind, object })
      const listed = (await platform.call(alerts.rules, {})).find((rule) => rule.name === name)
      expect(listed).toEqual(put)
      return put.warning
    }
    const noneOf = (what: string) => `there is no ${what} nope: the rule takes effect once it exists`
    expect(await about('migration-failed', 'nope')).toBe(noneOf('migration'))
    expect(await about('metadata-migration-lagging', 'nope')).toBe(noneOf('metadata migration'))
    expect(await about('extension-lost', 'nope')).toBe(noneOf('extension'))
    expect(await about('key-expiring', 'nope')).toBe(noneOf('API key'))
    expect(await about('key-expiring', id)).toBeUndefined()
    expect(await about('error-rate', 'http')).toBeUndefined()
    for (const { name } of await platform.call(alerts.rules, {}))
      if (name.startsWith('about-')) await platform.call(alerts['delete-rule'], { name })
  })
})

describe('alerts', () => {
  test('tell of an extension that is lost, until it is back', async () => {
    await atOnce('lost', 'extension-lost')
    const { token, ...first } = await bareExtension(platform, 'weather')
    await first.register()
    expect(await list({ rule: 'lost' })).toEqual([])
    await first.connection.close()
    const alert = await untilFiring('lost', 'weather')
    expect(alert.summary).toMatch(/^the extension weather was lost at 20/)
    const again = await bareExtension(platform, 'weather', { token })
    await again.register({ instance: 'one' })
    await untilResolved('lost', 'weather')
    expect(await platform.call(alerts.get, { id: alert.id })).toMatchObject({
      state: 'resolved',
      resolved: expect.any(String),
    })
    // A goodbye is no loss.
    await again.ask('extensions.deregister', { prefix: 'weather', instance: 'one' })
    await again.connection.close()
    expect(await firing('lost', 'weather')).toBeUndefined()
  })

  test('tell of storage and of keys, and are resolved with their rule', async () => {
    await atOnce('full', 'storage-file', { threshold: 0 })
    const { summary, threshold } = await untilFiring('full', 'max_file')
    expect(summary).toMatch(/^[\d.]+ % of max_file is in use$/)
    expect(threshold).toBe(0)
    await platform.call(alerts['delete-rule'], { name: 'full' })
    await untilResolved('full', 'max_file')

    const id = await expiringKey()
    expect((await untilFiring('key-expiring', id)).value).toBeCloseTo(2, 1)
    await platform.call(keys.revoke, { id })
    await untilResolved('key-expiring', id)
  })

  test('tell of failures over HTTP', async () => {
    await atOnce('errors', 'error-rate', { threshold: 10 })
    await using extension = await bareExtension(platform, 'silent')
    await extension.register()
    const asked = Array.from({ length: 30 }, () =>
      platform.rest('platform', 'POST', '/api/v1/extensions/silent/forecast', {
        body: { city: 'Oslo', how: 'silent' },
      }),
    )
    expect(new Set((await Promise.all(asked)).map(({ status }) => status))).toEqual(new Set([504]))
    expect((await untilFiring('errors', 'http')).value).toBeGreaterThan(10)
    await platform.call(alerts['delete-rule'], { name: 'errors' })
  })

  test('tell of a migration with paths that did not arrive', async () => {
    using folder = createFolder('from', 'to')
    writeFileSync(join(folder.from, 'file'), 'x')
    mkdirSync(join(folder.to, 'file/full'), { recursive: true })
    await addLocal(platform, 'from', 'source', folder.from)
    await addLocal(platform, 'to', 'target', folder.to)
    await atOnce('failed', 'migration-failed')
    await migrate(platform, { source: 'from', target: 'to' })
    const alert = await untilFiring('failed', 'everything')
    expect(alert.summary).toBe('migration “everything” has 1 path that was not copied')
    // It says what is so now, and is the same alert, as long as its rule keeps it.
    await platform.call(alerts['put-rule'], { name: 'failed', keepFiringForSeconds: 60 })
    writeFileSync(join(folder.from, 'other'), 'x')
    mkdirSync(join(folder.to, 'other/full'), { recursive: true })
    await platform.call(migrations['add-pending-region'], { migrationId: 'everything', path: '/' })
    const later = await until('it says that two are missing', async () => {
      const its = await firing('failed', 'everything')
      return its?.summary.includes('2 paths') === true && its
    })
    expect(later).toMatchObject({ id: alert.id, fired: alert.fired })
  })
})

describe('alerts of verifications', () => {
  test('tell of differences, until another verification finds none', async () => {
    using folder = createFolder('from', 'to')
    writeFileSync(join(folder.from, 'file'), 'x')
    await addLocal(platform, 'checked-from', 'source', folder.from)
    await addLocal(platform, 'checked-to', 'target', folder.to)
    const migrationId = 'checked'
    await platform.call(migrations.create, {
      migrationId,
      path: '/',
      source: 'checked-from',
      target: 'checked-to',
    })
    const verify = async (originalPaths: string[] = []) => {
      const { id } = await platform.call(verifications.create, { migrationId, originalPaths })
      const state = async () => (await platform.call(verifications.get, { verificationId: id })).status
      await until('verified', async () => (await state()) === 'COMPLETE')
    }
    // All of them have more paths than a message holds.
    const paths = Array.from({ length: 100 }, (_, index) => `/${index}${'/folder'.repeat(1_300)}`)
    for (let count = 0; count < 6; count++) await verify(paths)
    await verify()
    await atOnce('differing', 'migration-differences')
    const alert = await untilFiring('differing', migrationId)
    expect(alert).toMatchObject({ summary: expect.stringContaining('found 1 difference: see') })
    writeFileSync(join(folder.to, 'file'), 'x')
    await verify()
    await untilResolved('differing', migrationId)
  })
})

describe('webhooks', () => {
  const put = (input: object) => platform.call(alerts['put-webhook'], input as { name: string })
  const messages = (object: string) => receiver.messages.filter(({ body }) => body.data['object'] === object)
  let secret: string

  test('at inner networks are refused, until the configuration names the host', async () => {
    const refused = await platform.rest('platform', 'PUT', '/api/v1/admin/alert-webhooks/pager', {
      body: { url: receiver.url },
    })
    expect(refused).toMatchObject({ status: 409, body: { details: [{ field: 'url' }] } })
    expect(JSON.stringify(refused.body)).toContain('alerts.webhook_hosts')
    await put({ name: 'name', url: `http://localhost:${receiver.port}/x` })
    expect(await platform.call(alerts['test-webhook'], { name: 'name' })).toMatchObject({
      delivered: false,
      problem: expect.stringContaining('alerts.webhook_hosts'),
    })
    expect(receiver.messages).toEqual([])
    await platform.call(alerts['delete-webhook'], { name: 'name' })

    await platform[Symbol.asyncDispose]()
    const config = join(home, files.config)
    const changed = {
      ...(JSON.parse(readFileSync(config, 'utf8')) as object),
      'alerts.webhook_hosts': `127.0.0.1:${receiver.port}`,
    }
    writeFileSync(config, JSON.stringify(changed))
    platform = await startTestPlatform({ home })
    // Alerts of before are still there, as they were.
    expect(await firing('failed', 'everything')).toBeDefined()
    const lost = (await list({ rule: 'lost' })).filter(({ object }) => object === 'weather')
    expect(lost.map(({ state }) => state)).toEqual(['resolved'])
  })

  test('get what fires and what is resolved, signed; events tell of both', async () => {
    const made = await put({ name: 'pager', url: `${receiver.url}/hook?token=very-secret` })
    secret = made.secret!
    expect(made.url).toBe(`${receiver.url}/…`)
    await using client = await createClient(platform, {
      pub: { allow: [] },
      sub: { allow: ['gantry.events.v1.alerts.>'] },
    })
    const facts: unknown[] = []
    client.connection.subscribe('gantry.events.v1.alerts.>', {
      callback: (_, message) => void facts.push([message.subject.split('.')[4], message.json()]),
    })
    await client.connection.flush()
    const key = await expiringKey()
    const { id } = await untilFiring('key-expiring', key)
    await until('a message', () => messages(key).length === 1)
    await platform.call(keys.revoke, { id: key })
    await untilResolved('key-expiring', key)
    await until('another', () => messages(key).length === 2)
    const [fired, resolved] = messages(key) as [(typeof receiver.messages)[0], (typeof receiver.messages)[0]]
    expect(fired.path).toBe('/hook?token=very-secret')
    expect([fired, resolved].map((message) => isSignedWith(secret, message))).toEqual([true, true])
    expect([fired.body.type, resolved.body.type]).toEqual(['alert.fired', 'alert.resolved'])
    expect(resolved.body.data).toMatchObject({ id, rule: 'key-expiring', state: 'resolved', object: key })
    expect(fired.headers['webhook-id']).not.toBe(resolved.headers['webhook-id'])
    const fact = { id, rule: 'key-expiring', kind: 'key-expiring', severity: 'warning' }
    await until('both facts', () => facts.length >= 2)
    expect(facts).toEqual([
      ['fired', { ...fact, state: 'firing' }],
      ['resolved', { ...fact, state: 'resolved' }],
    ])
  })

  test('show no secret, and what is stored holds none in plain text', async () => {
    const { body } = await platform.rest('platform', 'GET', '/api/v1/admin/alert-webhooks')
    expect(body).toMatchObject([{ name: 'pager', waiting: 0, lastSuccess: { time: expect.any(String) } }])
    const stored = (text: string) => {
      try {
        return execFileSync('grep', ['-rlaF', '-e', text, home]).toString()
      } catch {
        return ''
      }
    }
    for (const text of [secret, secret.slice(6), 'very-secret']) {
      expect(JSON.stringify(body)).not.toContain(text)
      expect(stored(text)).toBe('')
    }
    expect(stored('"pager"')).not.toBe('')
    // It is given once.
    expect(await put({ name: 'pager', rules: ['key-expiring'] })).not.toHaveProperty('secret')
  })

  test('that do not take a message get it again, over a restart, with the same id', async () => {
    receiver.answer = (response) => response.writeHead(503).end()
    const key = await expiringKey()
    await untilFiring('key-expiring', key)
    await until('an attempt that failed', async () => {
      const [webhook] = await platform.call(alerts.webhooks, {})
      return webhook!.lastFailure?.problem === 'status 503' && webhook!.waiting === 1
    })
    await platform[Symbol.asyncDispose]()
    const before = messages(key).length
    receiver.answer = (response) => response.writeHead(204).end()
    platform = await startTestPlatform({ home })
    await until('it is taken', async () => (await platform.call(alerts.webhooks, {}))[0]!.waiting === 0)
    const sent = messages(key)
    expect(sent.length).toBe(before + 1)
    expect(new Set(sent.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
    expect(sent.every((message) => isSignedWith(secret, message))).toBe(true)
  })

  test('hear only of the rules that they name, and of a trial', async () => {
    const before = receiver.messages.length
    await atOnce('full', 'storage-file', { threshold: 0 })
    await untilFiring('full', 'max_file')
    receiver.answer = (response) => response.writeHead(302, { location: '/elsewhere' }).end()
    const tried = await gantry(['alerts', 'test-webhook', 'pager', '--json'], { env: { GANTRY_HOME: home } })
    expect(JSON.parse(tried.out)).toMatchObject({
      delivered: false,
      problem: 'status 302: redirects are not followed',
    })
    expect(receiver.messages.slice(before).map(({ body }) => body.type)).toEqual(['alert.test'])
  })

  test('are for who may set them alone', async () => {
    const { token } = await createKey(platform, {
      ...capabilitiesOf('weather'),
      pub: { allow: [alerts.list.subject] },
    })
    const headers = { authorization: `Bearer ${token}` }
    expect((await platform.rest('platform', 'GET', '/api/v1/admin/alerts', { headers })).status).toBe(200)
    const url = 'https://attacker.example/'
    const path = '/api/v1/admin/alert-webhooks/pager'
    expect((await platform.rest('platform', 'PUT', path, { headers, body: { url } })).status).toBe(403)
  })
})
