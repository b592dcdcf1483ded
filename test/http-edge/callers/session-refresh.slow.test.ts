import { rmSync } from 'node:fs'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { keyIdOf } from '../../../broker/identity/token.ts'
import { audit } from '../../../subjects/access/audit.ts'
import { signIn } from '../../../subjects/access/sign-in.ts'
import { CookieBrowser, signInAt } from '../../support/cookie-browser.ts'
import { createHome, startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { TestProvider } from '../../support/provider.ts'
import { changeSession } from '../../support/sessions.ts'

let home: string
let provider: TestProvider
let platform: TestPlatform
let browser: CookieBrowser
beforeAll(async () => {
  home = await createHome()
  provider = await TestProvider.forHome(home)
  platform = await startTestPlatform({ home })
})
afterAll(async () => {
  await platform[Symbol.asyncDispose]()
  await provider[Symbol.asyncDispose]()
  rmSync(home, { recursive: true, force: true })
})
beforeEach(async () => {
  browser = new CookieBrowser()
  const credentials = { name: 'viewer', password: provider.passwords['viewer'] }
  await signInAt(browser, `${platform.httpUrls.platform}/login`, credentials)
})

const self = () => browser.open(`${platform.httpUrls.platform}/api/v1/apikey`)
const sessionId = () => keyIdOf(browser.cookies.get('gantry-session')!)!
const refreshes = async () => {
  const { records } = await platform.call(audit.list, { what: signIn.refresh.subject })
  return records.filter(({ key }) => key === sessionId())
}
const minutesUntil = (time = '') => (Date.parse(time) - Date.now()) / 60_000
/** As if two thirds of the session were over. */
const letTimePass = () => browser.cookies.set('gantry-refresh', new Date().toISOString())

test('a page refreshes its session once, when that is due', async () => {
  expect(minutesUntil(browser.cookies.get('gantry-refresh'))).toBeCloseTo(8 * 60, -1)
  await self()
  expect(await refreshes()).toEqual([])
  const soon = new Date(Date.now() + 3_600_000).toISOString()
  await changeSession(platform, sessionId(), (session) => ({ ...session, expires: soon }))
  letTimePass()
  browser.setCookies.length = 0
  const replies = await Promise.all(Array.from({ length: 6 }, self))
  expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200])
  expect(await refreshes()).toMatchObject([{ result: 'ok', from: '127.0.0.1' }])
  const kept = browser.setCookies.find((line) => line.startsWith('gantry-session='))!
  expect(minutesUntil(/Expires=([^;]+)/.exec(kept)![1])).toBeCloseTo(12 * 60, -1)
  expect(minutesUntil(browser.cookies.get('gantry-refresh'))).toBeCloseTo(8 * 60, -1)
  await self()
  expect(await refreshes()).toHaveLength(1)
})

test('while the provider is away the session is used as it is, and asked for again later', async () => {
  await provider.stop()
  letTimePass()
  expect((await self()).status).toBe(200)
  expect(minutesUntil(browser.cookies.get('gantry-refresh'))).toBeCloseTo(1, 0)
  await provider.start()
})

test('when the provider has ended the sign-in, the page is signed out', async () => {
  await provider.forgetEverybody()
  letTimePass()
  expect((await self()).status).toBe(401)
  expect([...browser.cookies.keys()].filter((name) => name.startsWith('gantry-'))).toEqual([])
})

test('a session that cannot be refreshed is asked for once', async () => {
  await changeSession(platform, sessionId(), ({ refresh: _taken, ...session }) => session)
  letTimePass()
  expect((await self()).status).toBe(200)
  expect(browser.cookies.has('gantry-refresh')).toBe(false)
})
