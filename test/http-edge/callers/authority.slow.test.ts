import { appendFileSync, rmSync, writeFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RawRequest, rawRequest } from '../../support/http.ts'
import { createHome, freePort, startTestPlatform, type TestPlatform } from '../../support/platform.ts'

// The migrator without access control: programs on this host need no token, everybody else does.
let platform: TestPlatform
beforeAll(async () => {
  platform = await startTestPlatform()
})
afterAll(() => platform[Symbol.asyncDispose]())

const json = { 'content-type': 'application/json' }
const ask = (request: Partial<RawRequest> = {}, of = platform) =>
  rawRequest(of, 'migrator', { path: '/fs/targets', ...request })
const port = (of = platform) => new URL(of.httpUrls.migrator).port

test('a program on this host needs no token, to read and to change', async () => {
  expect(await ask()).toMatchObject({ status: 200, text: '[]' })
  const body = '{"fsRoot":"/usr/share"}'
  expect((await ask({ method: 'POST', path: '/fs/targets/local/here', headers: json, body })).status).toBe(
    201,
  )
  expect((await ask({ method: 'DELETE', path: '/fs/targets/here' })).status).toBe(200)
})

test.each<[string, Record<string, string>]>([
  ['a page of another site', { origin: 'http://evil.example' }],
  ['a page of another server of this host', { origin: 'http://127.0.0.1:1' }],
  ['a page without an origin', { origin: 'null' }],
  ['a page of another site, as its browser says', { 'sec-fetch-site': 'cross-site' }],
  ['a page of the same site, another origin', { 'sec-fetch-site': 'same-site' }],
  ['a name that was made to resolve to this host', { host: 'evil.example' }],
  ['such a name that looks like ours', { host: 'localhost.evil.example' }],
  ['such a name with our port', { host: '127.0.0.1.evil.example:18080' }],
  ['a name with a user in it', { host: 'localhost@evil.example' }],
  ['a proxy', { 'x-forwarded-for': '10.0.0.1' }],
  ['a proxy that claims to pass on from this host', { 'x-forwarded-for': '127.0.0.1' }],
  ['a proxy of the standard', { forwarded: 'for=10.0.0.1' }],
  ['a proxy of another kind', { 'x-real-ip': '127.0.0.1' }],
  ['a proxy that says its name', { via: '1.1 proxy' }],
  ['a proxy that says what it was asked', { 'x-forwarded-host': 'gantry.example' }],
])('through %s a token is needed', async (_, headers) => {
  const refused = await ask({ headers })
  expect(refused.status).toBe(401)
  expect(refused.body).toMatchObject({ code: 'UNAUTHENTICATED' })
  expect(refused.headers['www-authenticate']).toBe('Bearer')
  const write = await ask({ method: 'DELETE', path: '/fs/targets/x', headers })
  expect(write.status).toBe(401)
  const authorization = `Bearer ${platform.operatorToken}`
  expect((await ask({ headers: { ...headers, authorization } })).status).toBe(200)
})

test('where a variable says where to listen, as in a container, a token is needed from loopback too', async () => {
  const reach = { address: '127.0.0.1', signInPort: undefined }
  await using inContainer = await startTestPlatform({ reach })
  for (const server of ['migrator', 'metadata'] as const) {
    const path = server === 'migrator' ? '/fs/targets' : '/agents'
    const refused = await rawRequest(inContainer, server, { path })
    expect([server, refused.status]).toEqual([server, 401])
    const headers = { authorization: `Bearer ${inContainer.operatorToken}` }
    expect((await rawRequest(inContainer, server, { path, headers })).status).toBe(200)
  }
})

test('the pages of this server may call it', async () => {
  const own = { origin: `http://127.0.0.1:${port()}`, 'sec-fetch-site': 'same-origin' }
  expect((await ask({ headers: own })).status).toBe(200)
  const host = `localhost:${port()}`
  expect((await ask({ headers: { host, origin: `http://${host}` } })).status).toBe(200)
  expect((await ask({ headers: { 'sec-fetch-site': 'none' } })).status).toBe(200)
})

test('the platform’s own server asks everybody for a token', async () => {
  expect((await rawRequest(platform, 'platform', { path: '/api/v1/keys' })).status).toBe(401)
})

/** An address of this machine that others could reach it by. */
const outside = Object.values(networkInterfaces())
  .flat()
  .find((address) => address !== undefined && !address.internal && address.family === 'IPv4')?.address

describe.each([
  ['removed', (_: string, listenPort: number) => `server.port=${listenPort}\n`],
  [
    'commented out',
    (_: string, listenPort: number) => `#server.address=127.0.0.1\nserver.port=${listenPort}\n`,
  ],
])('with the address line %s', (_, content) => {
  test('it is open to the network after a restart, and asks others for a token', async () => {
    const home = await createHome()
    writeFileSync(join(home, 'migrator/application.properties'), content('', await freePort()))
    const open = await startTestPlatform({ home })
    expect((await ask({}, open)).status).toBe(200)
    expect((await ask({ host: '::1', headers: { host: `[::1]:${port(open)}` } }, open)).status).toBe(200)
    if (outside !== undefined) {
      const headers = { host: `${outside}:${port(open)}` }
      const from = { host: outside, headers }
      expect((await ask(from, open)).status).toBe(401)
      // Whatever it says of itself.
      for (const lie of [`127.0.0.1:${port(open)}`, 'localhost'])
        expect((await ask({ ...from, headers: { host: lie } }, open)).status).toBe(401)
      const authorization = `Bearer ${open.operatorToken}`
      expect((await ask({ ...from, headers: { ...headers, authorization } }, open)).status).toBe(200)
      const closed = ask({ host: outside, path: '/' }, platform)
      await expect(closed).rejects.toThrow('ECONNREFUSED')
    }
    await open[Symbol.asyncDispose]()

    appendFileSync(join(home, 'migrator/application.properties'), 'server.address=127.0.0.1\n')
    const restored = await startTestPlatform({ home })
    if (outside !== undefined) await expect(ask({ host: outside }, restored)).rejects.toThrow('ECONNREFUSED')
    await restored[Symbol.asyncDispose]()
    rmSync(home, { recursive: true, force: true })
  })
})
