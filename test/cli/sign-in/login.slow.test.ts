import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { keys } from '../../../subjects/access/keys.ts'
import { CookieBrowser, signInAt } from '../../support/cookie-browser.ts'
import { enterCode } from '../../support/device.ts'
import { freePort, startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { until } from '../../support/until.ts'
import { begin, gantry } from '../support.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await startTestPlatform()
})
afterAll(() => platform[Symbol.asyncDispose]())

let user: string
beforeEach(() => {
  user = mkdtempSync(join(tmpdir(), 'gantry-user-'))
})
afterEach(() => rmSync(user, { recursive: true, force: true }))

const env = () => ({ HOME: user })
const sessionPath = () => join(user, '.config', 'gantry', 'session')
const url = () => platform.httpUrls.platform

/** Somebody types the command, and signs in at the address that it prints. */
async function loginAs(name: string, args: readonly string[] = []) {
  const running = begin(['login', url(), '--no-browser', ...args], { env: env() })
  const [address] = await until('the address', () => /http:\S+/.exec(running.written.err))
  const password = platform.developmentPasswords![name]!
  const arrived = await signInAt(new CookieBrowser(), address, { name, password })
  return { ...(await running.ended), address, arrived }
}

test('login keeps a session that commands use, and logout ends it', async () => {
  const { code, out, arrived } = await loginAs('viewer')
  expect(arrived.text).toContain('Continue in the terminal')
  expect(out).toMatch(
    /^Signed in as Development viewer \(viewer\) until \S+; the session is in .+session\.\n$/,
  )
  expect(code).toBe(0)
  expect(statSync(sessionPath()).mode & 0o777).toBe(0o600)
  const token = readFileSync(sessionPath(), 'utf8').trim()
  expect(out).not.toContain(token)

  const self = await gantry(['users', 'self', '--json'], { env: env() })
  expect(JSON.parse(self.out)).toMatchObject({ subject: 'development-viewer' })
  expect((await gantry(['users', 'list'], { env: env() })).code).toBe(4)
  const source = await gantry(['credential', 'token', '--json'], { env: env() })
  expect(JSON.parse(source.out)).toMatchObject({ source: expect.stringContaining('of "gantry login"') })
  // What is said for one command goes first.
  const operator = { ...env(), GANTRY_TOKEN: platform.operatorToken }
  expect((await gantry(['users', 'list'], { env: operator })).code).toBe(0)

  const ended = await gantry(['logout'], { env: env() })
  expect(ended).toMatchObject({ code: 0, out: 'Signed out.\n' })
  expect(ended.err).toContain('/session/end')
  expect(existsSync(sessionPath())).toBe(false)
  const all = await platform.call(keys.list, {})
  expect(all.filter(({ kind }) => kind === 'session').map(({ revoked }) => typeof revoked)).toEqual([
    'string',
  ])
  expect(await gantry(['logout'], { env: env() })).toMatchObject({
    code: 0,
    err: 'Not signed in.\n',
  })
})

test('login by a code, with a browser on another machine', async () => {
  const running = begin(['login', url(), '--device'], { env: env() })
  const [, verificationUri, userCode] = await until('the code', () =>
    /(http:\S+)\n {2}code (\S+)/.exec(running.written.err),
  )
  const credentials = { name: 'viewer', password: platform.developmentPasswords!['viewer']! }
  const code = { verificationUri: verificationUri!, userCode: userCode! }
  await enterCode(new CookieBrowser(), code, credentials)
  // The provider is asked every five seconds.
  expect(await running.ended).toMatchObject({ code: 0, out: expect.stringContaining('Signed in as') })
  expect(readFileSync(sessionPath(), 'utf8')).toMatch(/^gantry\./)
})

test('--json says who, and not the token', async () => {
  const { out } = await loginAs('administrator', ['--json'])
  const shown = JSON.parse(out) as object
  expect(shown).toMatchObject({ user: { roles: ['admin'] }, narrowed: [] })
  expect(shown).not.toHaveProperty('token')
})

test('logout forgets a session that is over', async () => {
  await loginAs('viewer')
  const { id } = JSON.parse((await gantry(['keys', 'self', '--json'], { env: env() })).out) as { id: string }
  await platform.call(keys.revoke, { id })
  const refused = await gantry(['users', 'self'], { env: env() })
  expect(refused).toMatchObject({ code: 4 })
  expect(refused.err).toContain('of "gantry login"')
  expect(await gantry(['logout'], { env: env() })).toMatchObject({
    code: 0,
    out: 'Signed out; the session had already ended.\n',
  })
  expect(existsSync(sessionPath())).toBe(false)
})

test('while it waits, only the browser that it sent away is heard', async () => {
  const running = begin(['login', url(), '--no-browser'], { env: env() })
  const [address] = await until('the address', () => /http:\S+/.exec(running.written.err))
  const redirectUri = new URL(address).searchParams.get('redirect_uri')!
  for (const query of ['', '?code=x', '?code=x&state=y', '?state=']) {
    const reply = await fetch(`${redirectUri}${query}`)
    expect(reply.status).toBe(404)
  }
  expect((await fetch(new URL('/', redirectUri))).status).toBe(404)
  const password = platform.developmentPasswords!['viewer']!
  await signInAt(new CookieBrowser(), address, { name: 'viewer', password })
  expect((await running.ended).code).toBe(0)
})

test('who refuses at the provider is not signed in', async () => {
  const running = begin(['login', url(), '--no-browser'], { env: env() })
  const [address] = await until('the address', () => /http:\S+/.exec(running.written.err))
  const { searchParams } = new URL(address)
  const query = new URLSearchParams({ error: 'access_denied', state: searchParams.get('state')! })
  await fetch(`${searchParams.get('redirect_uri')}?${query.toString()}`)
  const { code, err } = await running.ended
  expect(code).toBe(4)
  expect(err).toContain('UNAUTHENTICATED')
  expect(existsSync(sessionPath())).toBe(false)
})

test.each([
  ['where nobody is', async () => `http://127.0.0.1:${await freePort()}`, 3, 'does not respond'],
  ['that is no address', () => Promise.resolve('ftp://x'), 2, 'is not the address of a platform'],
])('a platform %s', async (_, address, code, text) => {
  const ran = await gantry(['login', await address(), '--no-browser'], { env: env() })
  expect(ran.code).toBe(code)
  expect(ran.err).toContain(text)
})
