import { createServer as createHttpServer, type RequestListener, request } from 'node:http'
import { createServer } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { call } from '../../broker/rpc/client.ts'
import { isGantryError } from '../../subjects/kit/errors.ts'
import { filesystems } from '../../subjects/filesystems/filesystems.ts'
import { settings } from '../../subjects/access/settings.ts'
import { type Azurite, startAzurite } from '../support/azurite.ts'
import { type Client, createClient } from '../support/keys.ts'
import { recordingLog } from '../support/log.ts'
import { listenOnLoopback } from '../support/loopback.ts'
import { freePort, startTestPlatform, type TestPlatform } from '../support/platform.ts'

const logged = recordingLog()
let platform: TestPlatform
let azurite: Azurite
/** Of somebody who may make filesystems, and nothing else. */
let client: Client
beforeAll(async () => {
  ;[azurite, platform] = await Promise.all([startAzurite(), startTestPlatform({ log: logged.log })])
  await azurite.createContainer('container')
  client = await createClient(platform, {
    pub: { allow: ['gantry.services.v1.filesystems.>'] },
    sub: { allow: [] },
  })
}, 60_000)
afterAll(async () => {
  await client[Symbol.asyncDispose]()
  await platform[Symbol.asyncDispose]()
  await azurite[Symbol.asyncDispose]()
})
beforeEach(async () => {
  await platform.call(filesystems.clear, { role: 'target' })
  await platform.call(settings.put, { storeHosts: [] })
})

const create = (endpoint: string, more: object = {}) =>
  call(client.connection, filesystems['create-adls2-shared-key'], {
    fileSystemId: 'store',
    role: 'target',
    accountName: azurite.account,
    sharedKey: azurite.key,
    containerName: 'container',
    endpoint,
    insecure: true,
    ...more,
  })
const health = () => call(client.connection, filesystems.health, { fileSystemId: 'store' })
const allow = (...storeHosts: string[]) => platform.call(settings.put, { storeHosts })

test('an endpoint on this host or in an inner network is refused, until the setting storeHosts has it', async () => {
  const { endpoint } = azurite
  const port = endpoint.split(':')[1]!
  for (const inner of [endpoint, `localhost:${port}`, `store.localhost:${port}`, '10.0.0.1']) {
    await expect(create(inner), inner).rejects.toMatchObject({
      code: 'NOT_ACCEPTED',
      details: [{ field: 'endpoint', problem: expect.stringContaining('storeHosts') }],
    })
  }
  await expect(create('169.254.169.254')).rejects.toMatchObject({
    code: 'NOT_ACCEPTED',
    details: [{ field: 'endpoint', problem: expect.stringContaining('credentials of machines') }],
  })
  // The system takes these for 127.0.0.1 as well.
  for (const name of [`127.1:${port}`, `2130706433:${port}`]) {
    await expect(create(name), name).rejects.toMatchObject({
      code: 'STORE_UNREACHABLE',
      message: expect.stringContaining('storeHosts'),
    })
  }
  await allow('127.0.0.1:1')
  await expect(create(endpoint)).rejects.toMatchObject({ code: 'NOT_ACCEPTED' })
  for (const host of [endpoint, '127.0.0.1', '127.0.0.0/8']) {
    await allow(host)
    expect(await create(endpoint), host).toMatchObject({ fileSystemId: 'store' })
    await platform.call(filesystems.clear, { role: 'target' })
  }
  await allow(endpoint)
  await expect(create(`localhost:${port}`)).rejects.toMatchObject({ code: 'NOT_ACCEPTED' })
  // It is reached by any name for the address now; Azurite looks for the account elsewhere in the path then.
  await expect(create(`127.1:${port}`)).rejects.toMatchObject({ code: 'STORE_REFUSED' })
})

test('a change of the setting holds for filesystems that are there', async () => {
  await allow(azurite.endpoint)
  await create(azurite.endpoint)
  expect(await health()).toMatchObject({ healthy: true })
  await allow()
  expect(await health()).toMatchObject({ healthy: false, cause: expect.stringContaining('storeHosts') })
  const listing = { fileSystemId: 'store', path: '/' }
  await expect(call(client.connection, filesystems['list-paths'], listing)).rejects.toMatchObject({
    code: 'NOT_ACCEPTED',
  })
})

test.each([
  ['', 'INVALID_INPUT'],
  ['a b', 'INVALID_INPUT'],
  ['http://x', 'NOT_ACCEPTED'],
  ['x/y', 'NOT_ACCEPTED'],
  ['10.0.0.0/33', 'NOT_ACCEPTED'],
  ['[::1', 'NOT_ACCEPTED'],
])('the setting does not take %j: %s', async (host, code) => {
  await expect(allow(host)).rejects.toMatchObject({
    code,
    message: expect.stringContaining('storeHosts'),
  })
})

/** What may be behind an endpoint that is no store. */
const others: Record<string, RequestListener> = {
  'a page': (_, response) => response.end('<html>'),
  'an empty answer': (_, response) => response.end(),
  'nothing at its path': (_, response) => response.writeHead(404).end('no such page'),
  'a service that asks for a password': (_, response) => response.writeHead(401).end(),
  'a service that refuses': (_, response) => response.writeHead(403).end(),
  'a service that fails': (_, response) => response.writeHead(500).end(),
  'a redirection': (incoming, response) => {
    const location = `http://${azurite.endpoint}${incoming.url}`
    response.writeHead(307, { location }).end()
  },
}

test('what is behind an endpoint that is no store, or whether anything is, callers cannot tell', async () => {
  await allow('127.0.0.0/8', 'nowhere.invalid')
  const answers = new Map<string, unknown>()
  const ask = async (what: string, endpoint: string, more: object = {}) => {
    const error: unknown = await create(endpoint, more).catch((error: unknown) => error)
    if (!isGantryError(error)) return answers.set(what, error)
    const { code, message, details } = error
    return answers.set(what, { code, message: message.replaceAll(endpoint, 'ENDPOINT'), details })
  }
  for (const [what, listener] of Object.entries(others)) {
    await using server = await listenOnLoopback(createHttpServer(listener))
    await ask(what, `127.0.0.1:${server.port}`)
  }
  await using ssh = await listenOnLoopback(createServer((socket) => socket.end('SSH-2.0-OpenSSH\r\n')))
  await ask('another protocol', `127.0.0.1:${ssh.port}`)
  await ask('another protocol, with TLS', `127.0.0.1:${ssh.port}`, { insecure: false })
  await using silent = await listenOnLoopback(createServer(() => undefined))
  const impatient = { additionalProperties: { 'fs.azure.http.read.timeout': '100' } }
  await ask('silence', `127.0.0.1:${silent.port}`, impatient)
  await ask('nobody', `127.0.0.1:${await freePort()}`)
  await ask('no such host', 'nowhere.invalid')
  const areSame = () => {
    const [first] = answers.values()
    expect(first).toMatchObject({ code: 'STORE_UNREACHABLE', details: { failure: 'unreachable' } })
    for (const [what, answer] of answers) expect(answer, what).toEqual(first)
    return JSON.stringify(first)
  }
  // An administrator has allowed all of these: the setting is not to blame.
  expect(areSame()).not.toContain('storeHosts')
  answers.clear()
  await allow()
  await ask('an inner network, by a name', '127.1')
  await ask('no such host that anybody has named', 'nowhere.invalid')
  expect(areSame()).toContain('storeHosts')
  // Whoever runs the platform can.
  const reasons = logged.lines.map(({ details }) => String(details['reason'])).join('\n')
  for (const seen of ['ECONNREFUSED', '200 without', '403']) expect(reasons).toContain(seen)
  // The second where the machine has no name server.
  expect(reasons).toMatch(/ENOTFOUND|EAI_AGAIN/)
})

test('a store that answers as anything but a store is ill, and what it says is not believed', async () => {
  let listener: RequestListener | undefined
  await using gateway = await listenOnLoopback(
    createHttpServer((incoming, outgoing) => {
      if (listener !== undefined) return listener(incoming, outgoing)
      const [hostname, port] = azurite.endpoint.split(':')
      const { method, url: path, headers } = incoming
      const onward = request({ hostname, port, method, path, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 0, answer.headers)
        answer.pipe(outgoing)
      })
      return incoming.pipe(onward)
    }),
  )
  await allow('127.0.0.1')
  await create(`127.0.0.1:${gateway.port}`, {
    additionalProperties: { 'fs.azure.io.retry.max.retries': '0' },
  })
  expect(await health()).toMatchObject({ healthy: true })
  const list = (path: string) =>
    call(client.connection, filesystems['list-paths'], { fileSystemId: 'store', path })
  expect(await list('/')).toEqual([])
  for (const [what, other] of Object.entries(others)) {
    listener = other
    expect(await health(), what).toMatchObject({ healthy: false, healthReason: 'FS_ERROR' })
    await expect(list('/'), what).rejects.toMatchObject({ code: expect.stringMatching(/^STORE_/) })
  }
})
