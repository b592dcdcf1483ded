import { rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { keys } from '../../../subjects/access/keys.ts'
import { platform as platformContracts } from '../../../subjects/platform/platform.ts'
import { CookieBrowser, signInAt } from '../../support/cookie-browser.ts'
import { type RawRequest, rawRequest } from '../../support/http.ts'
import { recordingLog } from '../../support/log.ts'
import { createHome, startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { configure, TestProvider } from '../../support/provider.ts'
import { until } from '../../support/until.ts'

const logged = recordingLog()
let platform: TestPlatform
let origin: string
beforeAll(async () => {
  platform = await startTestPlatform({ log: logged.log })
  origin = platform.httpUrls.platform
})
afterAll(() => platform[Symbol.asyncDispose]())

const credentials = (name: string) => ({ name, password: platform.developmentPasswords![name]! })

/** A browser in which somebody has signed in. */
async function signedIn(name = 'administrator') {
  const browser = new CookieBrowser()
  const arrived = await signInAt(browser, `${origin}/login`, credentials(name))
  return { browser, arrived }
}

const ask = (browser: CookieBrowser, request: RawRequest) =>
  rawRequest(platform, 'platform', {
    ...request,
    headers: { cookie: browser.cookieHeader, ...request.headers },
  })

/** Where a page goes on to by itself when somebody has signed out. */
function endOf(text: string) {
  const [, end] = /http-equiv="refresh" content="0; url=([^"]*\/session\/end\?[^"]*)"/.exec(text)!
  const url = new URL(end!.replaceAll('&#38;', '&'))
  return { url, parameters: url.searchParams }
}

const own = () => ({ origin, 'sec-fetch-site': 'same-origin' })
const json = { 'content-type': 'application/json' }
const body = JSON.stringify({ name: 'x', capabilities: { pub: { allow: [] }, sub: { allow: [] } } })
const keyCount = async () => (await platform.call(keys.list, {})).filter(({ kind }) => kind === 'key').length

test('a browser signs in, is greeted, and signs out', async () => {
  const { browser, arrived } = await signedIn()
  expect(arrived.url.pathname).toBe('/login/callback')
  expect(arrived.status).toBe(200)
  // The cookie goes along only with what a page of our own asks for, and this one does.
  expect(arrived.text).toContain('<meta http-equiv="refresh" content="0; url=/">')
  const first = await browser.open(`${origin}/`)
  expect(first.text).toContain('Signed in as <strong id="who">Development administrator</strong> (admin)')
  const token = browser.cookies.get('gantry-session')!

  const out = await browser.open(`${origin}/logout`, { form: {}, headers: { origin } })
  expect(out.status).toBe(200)
  expect(Object.fromEntries(endOf(out.text).parameters)).toEqual({
    client_id: 'gantry-ui',
    post_logout_redirect_uri: `${origin}/`,
  })
  expect(browser.cookies.has('gantry-session')).toBe(false)
  expect((await browser.open(`${origin}/`)).text).toContain('You are not signed in.')
  // It is over for whoever has kept the cookie, too.
  const headers = { authorization: `Bearer ${token}` }
  // A call on a connection that is being taken away has no answer: 503.
  await until('the token is refused', async () => {
    const { status } = await platform.rest('platform', 'GET', '/api/v1/userinfo', { headers })
    return status === 401
  })
  const again = await ask(browser, { path: '/', headers: { cookie: `gantry-session=${token}` } })
  expect(again.text).toContain('You are not signed in.')
})

test('the cookies: no script reads them, no other site sends them, and they hold one thing each', async () => {
  const { browser } = await signedIn()
  const [flow, session] = ['gantry-sign-in', 'gantry-session'].map((name) =>
    browser.setCookies.find((line) => line.startsWith(`${name}=`) && !line.startsWith(`${name}=;`))!,
  )
  expect(flow).toMatch(
    /^gantry-sign-in=[A-Za-z0-9+/=]+; Path=\/login; SameSite=Lax; Expires=[^;]+; HttpOnly$/,
  )
  expect(session).toMatch(
    /^gantry-session=gantry\.[\w.-]+; Path=\/; SameSite=Strict; Expires=[^;]+; HttpOnly$/,
  )
  const minutes = (Date.parse(/Expires=([^;]+)/.exec(flow!)![1]!) - Date.now()) / 60_000
  expect(minutes).toBeGreaterThan(8)
  expect(minutes).toBeLessThanOrEqual(10)
  expect([...browser.cookies.keys()]).not.toContain('gantry-sign-in')
})

describe('the session in the cookie is taken', () => {
  test('from pages of the platform, to read and to change', async () => {
    const { browser } = await signedIn()
    const read = await ask(browser, { path: '/api/v1/userinfo', headers: own() })
    expect(read.body).toMatchObject({ subject: 'development-administrator' })
    const made = await ask(browser, {
      method: 'POST',
      path: '/api/v1/keys',
      headers: { ...own(), ...json },
      body,
    })
    expect(made.status).toBe(201)
  })

  test('to read, from a browser that says nothing of where a request comes from', async () => {
    const { browser } = await signedIn()
    expect((await ask(browser, { path: '/api/v1/userinfo' })).status).toBe(200)
  })
})

describe('the session in the cookie is refused', () => {
  test.each<[string, (origin: string) => Record<string, string>]>([
    ['without an origin', () => ({})],
    ['of another site', () => ({ origin: 'http://evil.example' })],
    ['of another server of this host', () => ({ origin: 'http://127.0.0.1:1' })],
    ['of the same host over https', (origin) => ({ origin: origin.replace('http:', 'https:') })],
    ['of nowhere', () => ({ origin: 'null' })],
    ['of an address that begins as ours', (origin) => ({ origin: `${origin}.evil.example` })],
    ['of another site, as its browser says', (origin) => ({ origin, 'sec-fetch-site': 'cross-site' })],
    ['of the same site, another origin', (origin) => ({ origin, 'sec-fetch-site': 'same-site' })],
    ['of nobody but the user', (origin) => ({ origin, 'sec-fetch-site': 'none' })],
  ])('for a change %s', async (_, headersOf) => {
    const { browser } = await signedIn()
    const headers = { ...headersOf(origin), ...json }
    const before = await keyCount()
    const reply = await ask(browser, { method: 'POST', path: '/api/v1/keys', headers, body })
    expect(reply.status).toBe(401)
    expect(reply.body).toMatchObject({ code: 'UNAUTHENTICATED' })
    expect(await keyCount()).toBe(before)
    const out = await ask(browser, { method: 'POST', path: '/logout', headers: headersOf(origin) })
    expect(out.status).toBe(401)
    // As a form of another site sends it: without the cookie, which its answer could still take away.
    const bare = await rawRequest(platform, 'platform', {
      method: 'POST',
      path: '/logout',
      headers: headersOf(origin),
    })
    expect([bare.status, bare.headers['set-cookie']]).toEqual([401, undefined])
    expect((await ask(browser, { path: '/api/v1/userinfo', headers: own() })).status).toBe(200)
  })

  test.each<Record<string, string>>([
    { origin: 'http://evil.example' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ])('to read, from %o', async (headers) => {
    const { browser } = await signedIn()
    for (const path of ['/api/v1/userinfo', '/api/v1/session'])
      expect((await ask(browser, { path, headers })).status).toBe(401)
  })

  test('on the migrator, which knows no sessions', async () => {
    const { browser } = await signedIn()
    const headers = { cookie: browser.cookieHeader, 'x-forwarded-for': '10.0.0.1' }
    expect((await rawRequest(platform, 'migrator', { path: '/fs/targets', headers })).status).toBe(401)
  })

  test('when an Authorization header says something else', async () => {
    const { browser } = await signedIn()
    const headers = { ...own(), authorization: 'Bearer x' }
    expect((await ask(browser, { path: '/api/v1/userinfo', headers })).status).toBe(401)
  })
})

test('a page gets the token of its session, for the WebSocket', async () => {
  const { browser } = await signedIn('viewer')
  const reply = await ask(browser, { path: '/api/v1/session', headers: own() })
  expect(reply.body).toEqual({ token: browser.cookies.get('gantry-session') })
  expect(reply.headers['cache-control']).toBe('no-store')
  const nobody = await rawRequest(platform, 'platform', { path: '/api/v1/session', headers: own() })
  expect(nobody.status).toBe(401)
  const made = await rawRequest(platform, 'platform', {
    path: '/api/v1/session',
    headers: { ...own(), cookie: 'gantry-session=made-up' },
  })
  expect(made.status).toBe(401)
})

describe('the callback', () => {
  test('without a flow, or with one of somebody else, lets nobody in', async () => {
    const bare = await rawRequest(platform, 'platform', { path: '/login/callback?code=x&state=y' })
    expect(bare.status).toBe(400)
    expect(bare.text).toContain('start again')
    const [one, other] = [new CookieBrowser(), new CookieBrowser()]
    const callback = `${origin}/login/callback`
    const { url } = await signInAt(one, `${origin}/login`, credentials('viewer'), callback)
    await other.open(`${origin}/login`)
    const crossed = await other.open(url)
    expect(crossed.status).toBe(401)
    expect(other.cookies.has('gantry-session')).toBe(false)
  })

  test('shows what the provider says as text, not as HTML', async () => {
    const browser = new CookieBrowser()
    await browser.open(`${origin}/login`)
    const path = '/login/callback?error=%3Cscript%3E&error_description=%3Cscript%3Ealert(1)%3C/script%3E'
    const reply = await ask(browser, { path })
    expect(reply.status).toBe(401)
    expect(reply.text).not.toMatch(/<script/i)
  })
})

test.each<[string, RawRequest]>([
  ['a page', { path: '/login' }],
  [
    'a program',
    {
      method: 'POST',
      path: '/api/v1/sign-in',
      headers: json,
      body: '{"client":"cli","redirectUri":"http://127.0.0.1:1/callback"}',
    },
  ],
  ['a device', { method: 'POST', path: '/api/v1/sign-in/device' }],
])('whoever begins without end by %s has to wait, and nobody elsewhere', async (kind, request) => {
  const localAddress = `127.0.0.${10 + kind.length}`
  const statuses: number[] = []
  for (let count = 0; count < 120; count++)
    statuses.push((await rawRequest(platform, 'platform', { ...request, localAddress })).status)
  expect(statuses.slice(0, 100).every((status) => status < 400)).toBe(true)
  expect(statuses).toContain(429)
  expect((await rawRequest(platform, 'platform', request)).status).toBeLessThan(400)
})

test('another name of this host is sent to the one whose cookies count', async () => {
  const { port } = new URL(origin)
  const reply = await rawRequest(platform, 'platform', {
    path: '/login',
    headers: { host: `localhost:${port}` },
  })
  expect(reply.status).toBe(302)
  expect(reply.headers['location']).toBe(`${origin}/login`)
})

test('all replies have the headers that keep pages apart', async () => {
  const { browser } = await signedIn()
  for (const path of ['/', '/docs', '/login', '/login/callback', '/api/v1/userinfo', '/nowhere']) {
    const { headers } = await ask(browser, { path })
    expect(headers['content-security-policy'], path).toMatch(/^default-src 'none'.*frame-ancestors 'none'/)
    expect(headers['x-frame-options'], path).toBe('DENY')
    expect(headers['referrer-policy'], path).toBe('same-origin')
    expect(headers['x-content-type-options'], path).toBe('nosniff')
    expect(headers['access-control-allow-origin'], path).toBeUndefined()
  }
})

test('behind https the cookies are for https alone, and of this host alone', async () => {
  const home = await createHome()
  // The address is that of a proxy, which the test stands in for: it takes the browser's requests to the platform.
  const proxy = 'https://gantry.example'
  await using provider = await TestProvider.forHome(home, { 'platform.url': proxy })
  const events = 'wss://events.gantry.example'
  await configure(home, { 'platform.url': proxy, 'websocket.url': events })
  await using platform = await startTestPlatform({ home })
  expect((await platform.call(platformContracts.info, {})).broker.websocket).toBe(events)
  const reply = await rawRequest(platform, 'platform', { path: '/login' })
  expect(reply.status).toBe(302)
  const location = new URL(reply.headers['location'] as string)
  expect(location.origin).toBe(provider.config.issuer)
  expect(location.searchParams.get('redirect_uri')).toBe(`${proxy}/login/callback`)
  expect(reply.headers['set-cookie']).toMatchObject([expect.stringMatching(/; HttpOnly; Secure$/)])
  const out = await rawRequest(platform, 'platform', {
    method: 'POST',
    path: '/logout',
    headers: { origin: proxy },
  })
  expect(out.headers['set-cookie']).toMatchObject([
    expect.stringMatching(/^__Host-gantry-session=; Path=\/;.*; Secure$/),
    expect.stringMatching(/^__Host-gantry-refresh=; Path=\/;.*; Secure$/),
  ])
  rmSync(home, { recursive: true, force: true })
})

test('whoever signs out goes on to the configured provider, with the ID token that says whose session ends there', async () => {
  const home = await createHome()
  await using provider = await TestProvider.forHome(home)
  await using platform = await startTestPlatform({ home })
  const { platform: origin } = platform.httpUrls
  const browser = new CookieBrowser()
  const administrator = { name: 'administrator', password: provider.passwords.administrator }
  await signInAt(browser, `${origin}/login`, administrator)
  // No caller sees it.
  expect(JSON.stringify(await platform.call(keys.list, {}))).not.toContain('sealed')
  const out = await browser.open(`${origin}/logout`, { form: {}, headers: { origin } })
  const { url, parameters } = endOf(out.text)
  expect([...parameters.keys()].toSorted()).toEqual(['client_id', 'id_token_hint'])
  const asked = await browser.open(url)
  expect(asked.status).toBe(200)
  expect(asked.text).toContain('name="logout"')
  rmSync(home, { recursive: true, force: true })
})

test('no log has a session', async () => {
  const { browser } = await signedIn()
  await ask(browser, { path: '/api/v1/userinfo', headers: { origin: 'http://evil.example' } })
  expect(logged.text()).not.toContain(browser.cookies.get('gantry-session'))
})
