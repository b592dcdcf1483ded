import { rmSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CookieBrowser } from '../../support/cookie-browser.ts'
import { enterCode, submit } from '../../support/device.ts'
import { startOtherProvider } from '../../support/other-provider.ts'
import { createHome, startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { configure } from '../../support/provider.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await startTestPlatform()
})
afterAll(() => platform[Symbol.asyncDispose]())

const post = (path: string, body: object, at = platform) =>
  at.rest('platform', 'POST', path, { body, headers: {} })

interface Begun {
  readonly verificationUri: string
  readonly userCode: string
  readonly flow: string
  readonly expires: string
}
const begin = async () => (await post('/api/v1/sign-in/device', {})).body as Begun
const poll = (flow: string) => post('/api/v1/sign-in/device/poll', { flow })
const viewer = () => ({ name: 'viewer', password: platform.developmentPasswords!['viewer']! })

test('a code that is entered at another machine gives a session, once', async () => {
  const begun = await begin()
  expect(begun).toMatchObject({ waitSeconds: 5, userCode: expect.stringMatching(/^\w{4}-\w{4}$/) })
  expect(Date.parse(begun.expires)).toBeGreaterThan(Date.now())
  expect(await poll(begun.flow)).toMatchObject({ status: 200, body: { waitSeconds: 5 } })
  const done = await enterCode(new CookieBrowser(), begun, viewer())
  expect(done.text).toContain('Continue on the other machine.')
  expect(await poll(begun.flow)).toMatchObject({
    status: 200,
    body: { session: { user: { subject: 'development-viewer', roles: ['viewer'] } } },
  })
  expect(await poll(begun.flow)).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } })
})

test('a code that nobody has given out is refused by the page', async () => {
  const { verificationUri } = await begin()
  const browser = new CookieBrowser()
  const page = await submit(browser, await browser.open(verificationUri), { user_code: 'AAAA-AAAA' })
  expect(page.text).toContain('This code is not valid')
})

test('a flow of the other kind, or a made-up one, is refused', async () => {
  const redirectUri = 'http://127.0.0.1:1/callback'
  const { flow } = (await post('/api/v1/sign-in', { client: 'cli', redirectUri })).body as Begun
  for (const wrong of [flow, 'e30=']) expect((await poll(wrong)).status).toBe(401)
  const { flow: own } = await begin()
  const reply = await post('/api/v1/sign-in/complete', { flow: own, callback: 'code=x' })
  expect(reply.status).toBe(401)
})

test('a provider without device codes: UNSUPPORTED', async () => {
  const home = await createHome()
  const habits = { authentication: 'client_secret_basic', groupsIn: 'userinfo' } as const
  await using provider = await startOtherProvider(['http://127.0.0.1/callback'], habits)
  await configure(home, { 'oidc.issuer': provider.issuer, 'oidc.clientid': 'x' })
  await using platform = await startTestPlatform({ home })
  expect(await post('/api/v1/sign-in/device', {}, platform)).toMatchObject({
    status: 409,
    body: { code: 'UNSUPPORTED' },
  })
  rmSync(home, { recursive: true, force: true })
})
