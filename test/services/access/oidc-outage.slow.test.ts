import { rmSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { recordingLog } from '../../support/log.ts'
import { createHome, startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { TestProvider } from '../../support/provider.ts'
import { until } from '../../support/until.ts'

const logged = recordingLog()
let home: string
let provider: TestProvider
let platform: TestPlatform
beforeAll(async () => {
  home = await createHome()
  provider = await TestProvider.forHome(home)
})
afterAll(async () => {
  await platform?.[Symbol.asyncDispose]()
  await provider[Symbol.asyncDispose]()
  rmSync(home, { recursive: true, force: true })
})

const get = (path: string, headers = {}) => platform.rest('platform', 'GET', path, { headers })
const begin = () =>
  platform.rest('platform', 'POST', '/api/v1/sign-in', {
    body: { client: 'cli', redirectUri: 'http://127.0.0.1:1/callback' },
    headers: {},
  })

/** What `/health` says of the provider. */
async function health(): Promise<{ healthy: boolean; message?: string }> {
  const { body } = await get('/api/v1/health')
  const { components } = ((body as { details?: object }).details ?? body) as {
    components: { name: string; healthy: boolean; message?: string }[]
  }
  return components.find(({ name }) => name === 'identity provider')!
}

// Health is waited for: of those who begin a sign-in only so many are heard.
const isAway = async () => {
  const seen = await until('health shows it', async () => {
    const component = await health()
    return !component.healthy && component
  })
  expect(seen.message).toContain('nobody can sign in')
  expect((await get('/api/v1/health')).status).toBe(503)
  const reply = await begin()
  expect(reply).toMatchObject({ status: 503, body: { code: 'UNAVAILABLE' } })
  const { message } = reply.body as { message: string }
  expect(message).toMatch(/nobody can sign in: the identity provider http:\S+ does not respond.*ECONNREFUSED/)
  // Work goes on.
  expect(await get('/api/v1/ready')).toMatchObject({ status: 200, body: { ready: true } })
}

const isBack = async () => {
  await until('health shows it', async () => (await health()).healthy)
  expect((await get('/api/v1/health')).status).toBe(200)
  expect((await begin()).status).toBe(200)
}

test('a provider that is down at the start, comes, goes and comes back', { timeout: 90_000 }, async () => {
  const token = await provider.token()
  await provider.stop()
  platform = await startTestPlatform({ home, log: logged.log })
  await isAway()
  const headers = { authorization: `Bearer ${token}` }
  expect(await get('/api/v1/usertoken', headers)).toMatchObject({ status: 503 })
  const page = await fetch(`${platform.httpUrls.platform}/login`, { redirect: 'manual' })
  expect(page.status).toBe(503)
  expect(await page.text()).toContain('nobody can sign in')

  await provider.start()
  await isBack()
  const session = await until('a session', async () => {
    const reply = await get('/api/v1/usertoken', headers)
    return reply.status === 200 && (reply.body as { token: string }).token
  })

  await provider.stop()
  await isAway()
  const own = { authorization: `Bearer ${session}` }
  expect((await get('/api/v1/userinfo', own)).status).toBe(200)
  const key = { name: 'made meanwhile', capabilities: { pub: { allow: [] }, sub: { allow: [] } } }
  expect((await platform.rest('platform', 'POST', '/api/v1/keys', { body: key, headers: own })).status).toBe(
    201,
  )

  await provider.start()
  await isBack()
  const told = logged.lines.map(({ message }) => message)
  expect(told.filter((text) => text.includes('identity provider does not respond'))).toHaveLength(2)
  expect(told.filter((text) => text.includes('responds again'))).toHaveLength(2)
})
