import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pino from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectWithToken } from '../../broker/rpc/connection.ts'
import { logOptions } from '../../cli/log.ts'
import { connect } from '../../sdk/index.ts'
import { files, httpServers } from '../../subjects/kit/names.ts'
import { createFolder } from '../support/migrations.ts'
import { CookieBrowser, signInAt } from '../support/cookie-browser.ts'
import { basicHeader } from '../support/passwords.ts'
import { createHome } from '../support/platform.ts'
import { until } from '../support/until.ts'
import { type CliProcess, gantry, spawnGantry } from './support.ts'

/** Secrets that are given to the platform from outside; each is to be found nowhere. */
const given = {
  sharedKey: Buffer.from('the shared key of an account, 64 bytes long or more, says nobody').toString(
    'base64',
  ),
  wrongPassword: 'wrong-password-4711',
  migratorPassword: 'right-password-4711',
  wrongToken: 'gantry_nonsense.e30.k0123456789abc.wrong-token-secret',
  collectorSecret: 'collector-secret-4711',
}

let home: string
const data = createFolder('stores')
let platform: CliProcess
let url: string
let migratorUrl: string
let operatorToken: string

beforeAll(async () => {
  home = await createHome()
  const { out: hash } = await gantry(['credential', 'hash'], { stdin: given.migratorPassword })
  appendFileSync(
    join(home, httpServers.migrator.propertiesFile),
    `security.type=basic\nsecurity.basic.user=ada\nsecurity.basic.password=${hash.trim()}\n`,
  )
  // Once to have a configuration, to which the collector is added; nobody listens at its address.
  await start('silent')
  await stop()
  const config = join(home, files.config)
  const collector = {
    'otlp.endpoint': 'http://127.0.0.1:9',
    'otlp.headers': `authorization=${given.collectorSecret}`,
  }
  writeFileSync(config, JSON.stringify({ ...JSON.parse(readFileSync(config, 'utf8')), ...collector }))
  await start('info')
})
afterAll(async () => {
  await platform[Symbol.asyncDispose]()
  rmSync(home, { recursive: true, force: true })
  data[Symbol.dispose]()
})

async function start(level: string): Promise<void> {
  platform = spawnGantry(['up', '--log-level', level], { GANTRY_HOME: home, GANTRY_TOKEN: '' })
  await platform.said('Press Ctrl-C to stop.')
  operatorToken = readFileSync(join(home, files.credentials), 'utf8').trim()
  const urls = [...platform.written.out.matchAll(/http:\/\/127\.0\.0\.1:\d+/g)].map(([one]) => one)
  url = urls.find((one) => one.endsWith(`:${portOf('platform')}`))!
  migratorUrl = urls.find((one) => one.endsWith(`:${portOf('migrator')}`))!
}

const portOf = (server: 'platform' | 'migrator') =>
  /server\.port=(\d+)/.exec(readFileSync(join(home, httpServers[server].propertiesFile), 'utf8'))![1]

async function stop(): Promise<void> {
  platform.child.kill('SIGTERM')
  expect(await platform.ended).toBe(0)
}

async function ask(
  method: string,
  path: string,
  { body, authorization = `Bearer ${operatorToken}`, base = url, ...headers }: Record<string, unknown> = {},
) {
  const response = await fetch(`${String(base)}${path}`, {
    method,
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      authorization: String(authorization),
      ...(headers as Record<string, string>),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown> }
}

interface Line {
  readonly level: number
  readonly msg: string
  readonly requestId?: string
  readonly traceId?: string
  readonly subject?: string
  readonly path?: string
}

/** The lines of the log so far: each is one event, in JSON. */
const lines = (): Line[] =>
  platform.written.err
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line)

test('the level changes while it runs; a request has one id in the lines of all who had to do with it', async () => {
  expect((await ask('GET', '/api/v1/admin/logging')).body).toEqual({ level: 'info' })
  await ask('GET', '/api/v1/keys', { 'x-request-id': 'before' })
  expect((await ask('PUT', '/api/v1/admin/logging', { body: { level: 'debug' } })).body).toEqual({
    level: 'debug',
  })
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
  const traceparent = `00-${traceId}-00f067aa0ba902b7-00`
  await ask('GET', '/api/v1/observability/metrics', { 'x-request-id': 'during', traceparent })
  const env = { GANTRY_TOKEN: operatorToken }
  expect((await gantry(['logging', 'put', 'info'], { env })).code).toBe(0)
  await ask('GET', '/api/v1/keys', { 'x-request-id': 'after' })
  const of = (requestId: string) => lines().filter((line) => line.requestId === requestId)
  await until('the edge has said it', () => of('during').some((line) => line.path !== undefined))
  expect(of('before')).toEqual([])
  expect(of('after')).toEqual([])
  expect(of('during').map(({ subject, path }) => subject ?? path)).toEqual([
    'gantry.internal.v1.keys.permissions',
    'gantry.services.v1.observability.list',
    '/api/v1/observability/metrics',
  ])
  expect((await ask('PUT', '/api/v1/admin/logging', { body: { level: 'loud' } })).status).toBe(400)
})

/** A run with everything that has to do with secrets; those that come of it. */
async function fullRun(): Promise<string[]> {
  const env = { GANTRY_TOKEN: operatorToken }
  const secrets: string[] = []
  const capabilities = { pub: { allow: ['gantry.services.v1.platform.ping'] }, sub: { allow: [] } }
  const made = await ask('POST', '/api/v1/keys', { body: { name: 'a key', capabilities } })
  const { id, token } = made.body as { id: string; token: string }
  secrets.push(token, operatorToken)
  // What is refused is logged most.
  expect((await ask('GET', '/api/v1/keys', { authorization: `Bearer ${token}` })).status).toBe(403)
  expect((await ask('GET', '/api/v1/keys', { authorization: `Bearer ${given.wrongToken}` })).status).toBe(401)
  expect((await ask('GET', `/api/v1/keys?token=${token}`)).status).toBe(400)
  const broker = JSON.parse(
    (await gantry(['info', '--json'], { env: { GANTRY_TOKEN: operatorToken } })).out,
  ) as {
    broker: { tcp: string }
  }
  const wrong = `${token.slice(0, -4)}aaaa`
  secrets.push(wrong)
  await expect(connectWithToken(broker.broker.tcp, wrong, { reconnect: false })).rejects.toThrow()
  const rotated = (await ask('POST', `/api/v1/keys/${id}/rotate`, { body: {} })).body as { token: string }
  secrets.push(rotated.token)
  await ask('POST', '/api/v1/admin/keys/examine', { body: { token: rotated.token } })
  await ask('DELETE', `/api/v1/keys/${id}`)
  // A store that is not there, with its key.
  const lake = await ask('POST', '/fs/targets/adls2/shared-key/lake', {
    base: migratorUrl,
    body: {
      sharedKey: given.sharedKey,
      endpoint: 'store.invalid',
      accountName: 'lake',
      containerName: 'container',
      insecure: true,
    },
  })
  expect(lake.status).toBeGreaterThan(400)
  for (const password of [given.wrongPassword, given.migratorPassword]) {
    const authorization = basicHeader('ada', password)
    secrets.push(authorization.slice('Basic '.length))
    await ask('GET', '/fs/targets', { base: migratorUrl, authorization })
    const signedIn = await ask('POST', '/authentication/authenticate', {
      base: migratorUrl,
      body: { userName: 'ada', password },
    })
    const { token: jwt } = signedIn.body as { token?: string }
    if (jwt !== undefined) secrets.push(jwt, jwt.split('.')[2]!)
  }
  const [, password] = /administrator +(\S+)/.exec(firstOutput) ?? []
  secrets.push(password!)
  const redirectUri = 'http://127.0.0.1:49152/callback'
  const begun = await ask('POST', '/api/v1/sign-in', { body: { client: 'cli', redirectUri } })
  const { authorizationUrl, flow } = begun.body as { authorizationUrl: string; flow: string }
  const credentials = { name: 'administrator', password: password! }
  const { url: callback } = await signInAt(new CookieBrowser(), authorizationUrl, credentials, redirectUri)
  const completed = await ask('POST', '/api/v1/sign-in/complete', {
    body: { flow, callback: callback.search.slice(1) },
  })
  const session = (completed.body as { token: string }).token
  secrets.push(session, flow, callback.searchParams.get('code')!)
  // A migration, and an extension.
  for (const name of ['here', 'there']) {
    const role = name === 'here' ? 'source' : 'target'
    const command = ['filesystems', 'create-local', name, '--role', role, '--fs-root', folder(name)]
    expect(await gantry(command, { env })).toMatchObject({ code: 0 })
  }
  const command = [
    'migrations',
    'create',
    '--migration-id',
    'm',
    '--path',
    '/',
    '--source',
    'here',
    '--target',
    'there',
  ]
  expect(await gantry([...command, '--auto-start'], { env })).toMatchObject({ code: 0 })
  expect(await gantry(['watch', 'm', '--json'], { env })).toMatchObject({ code: 0 })
  const may = { pub: { allow: ['gantry.services.v1.>'] }, sub: { allow: ['gantry.extensions.told.>'] } }
  const own = (await ask('POST', '/api/v1/keys', { body: { name: 'told', capabilities: may } })).body
  secrets.push(own['token'] as string)
  const extension = await connect({ prefix: 'told', version: '1.0.0', token: own['token'] as string })
  await extension.ready()
  await extension.stop()
  // A trace, for the collector that is not there.
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
  await ask('GET', '/api/v1/ping', { traceparent })
  return secrets
}

function folder(name: string): string {
  const path = join(data.stores, name)
  mkdirSync(path)
  writeFileSync(join(path, 'file.txt'), 'a file')
  return path
}

let firstOutput = ''

test('nothing that a full run prints has a secret in it', async () => {
  // Another platform, whose development passwords were shown at its first start and are known from there.
  await stop()
  rmSync(join(home, files.developmentProvider))
  await start('debug')
  firstOutput = platform.written.out
  const secrets = await fullRun()
  await stop()
  const config = JSON.parse(readFileSync(join(home, files.config), 'utf8')) as Record<string, string>
  const ofFile = Object.entries(config).filter(([key]) => /seed|salt/.test(key))
  expect(ofFile.length).toBeGreaterThan(4)
  const all = [...secrets, ...Object.values(given), ...ofFile.map(([, value]) => value)]
  const { out, err } = platform.written
  expect(lines().length).toBeGreaterThan(30)
  expect(lines().map(({ msg }) => msg)).toContain('The OpenTelemetry collector does not respond.')
  const shown = (text: string) =>
    all.filter((secret) => text.includes(secret) || text.includes(encodeURIComponent(secret)))
  expect(shown(err)).toEqual([])
  // People are shown the passwords of the development provider, once.
  const [, password] = /administrator +(\S+)/.exec(firstOutput)!
  expect(shown(out)).toEqual([password])
  const brokerLog = readFileSync(join(home, 'run', 'nats-server.log'), 'utf8')
  expect(shown(brokerLog)).toEqual([])
})

test('what is logged by mistake under the name of a secret is not shown', () => {
  const written: string[] = []
  const log = pino(logOptions('info'), { write: (line) => void written.push(line) })
  const token = 'secret-4711'
  log.info({ token, details: { password: token, key: { sharedKey: token } } }, 'Something.')
  log.warn({ headers: { authorization: token, cookie: token } }, 'Something.')
  expect(written.join('')).not.toContain(token)
  expect(written[0]).toContain('"token":"[secret]"')
})
