import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { root } from './cli/support.ts'
import { chromiumTest, openChromium } from './support/chromium.ts'
import { callExample, startExample, stopExample } from './support/example.ts'
import { checkFollower } from './support/follower.ts'
import { createKey } from './support/keys.ts'
import { createHome, freePort, startTestPlatform, type TestPlatform } from './support/platform.ts'
import { until } from './support/until.ts'
import { post, secretOf } from '../services/alerts/webhooks/post.ts'
import { capabilitiesOf } from './support/example-extension.ts'

// The one in Python needs a package of PyPI: `npm run test:peers`.

let platform: TestPlatform
let home: string
let pagePort: number
beforeAll(async () => {
  pagePort = await freePort()
  home = await createHome({ allowed_origins: [`http://127.0.0.1:${pagePort}`] })
  platform = await startTestPlatform({ home })
})
afterAll(async () => {
  await platform[Symbol.asyncDispose]()
  rmSync(home, { recursive: true, force: true })
})

test('examples/weather.ts, with the SDK', async () => {
  const child = await startExample(platform, { file: 'weather.ts', prefix: 'weather' })
  expect(await callExample(platform, 'weather/forecast', { city: 'Oslo' })).toEqual({
    status: 200,
    body: { sunny: true, asked: 1 },
  })
  const many = await Promise.all(
    Array.from({ length: 5 }, () => callExample(platform, 'weather/forecast', { city: 'Oslo' })),
  )
  const asked = many.map(({ body }) => (body as { asked: number }).asked)
  expect(asked.toSorted((a, b) => a - b)).toEqual([2, 3, 4, 5, 6])
  expect(await callExample(platform, 'weather/forecast', { city: 'Atlantis' })).toMatchObject({ status: 404 })
  await stopExample(platform, child)
})

test('examples/follower.ts, with the SDK', () =>
  checkFollower(platform, { program: process.execPath, args: [join(root, 'examples/follower.ts')] }))

test('examples/webhook-receiver.mjs takes what is signed with its secret, and nothing else', async () => {
  const port = await freePort()
  const [own, other] = [secretOf(Buffer.alloc(32, 1)), secretOf(Buffer.alloc(32, 2))]
  const child = spawn(process.execPath, [join(root, 'examples/webhook-receiver.mjs'), String(port)], {
    env: { ...process.env, WEBHOOK_SECRET: own },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  try {
    expect(await lines.next()).toMatchObject({ value: `webhook-receiver listens on port ${port}` })
    const data = { severity: 'warning', rule: 'storage-file', summary: '82 % of max_file is in use' }
    const send = (secret: string) =>
      post(
        {
          id: 'one',
          url: `http://127.0.0.1:${port}/`,
          secret,
          body: JSON.stringify({ type: 'alert.fired', timestamp: new Date().toISOString(), data }),
        },
        { innerHosts: new Set(['127.0.0.1']) },
      )
    await expect(send(other)).rejects.toThrow('status 401')
    await send(own)
    const told = 'alert.fired warning storage-file: 82 % of max_file is in use'
    expect(await lines.next()).toMatchObject({ value: told })
  } finally {
    child.kill('SIGTERM')
    await ended
  }
})

test('examples/greeter.mjs, with nats 2 alone', async () => {
  const child = await startExample(platform, { file: 'greeter.mjs', prefix: 'greeter' })
  expect(await callExample(platform, 'greeter/hello', { name: 'Ada' })).toEqual({
    status: 200,
    body: { text: 'Hello Ada' },
  })
  expect(await callExample(platform, 'greeter/hello', { name: 'nobody' })).toMatchObject({
    status: 404,
    body: { code: 'NOT_FOUND' },
  })
  expect(await callExample(platform, 'greeter/hello', {})).toMatchObject({ status: 400 })
  await stopExample(platform, child)
})

test('an example that is killed is gone at once', async () => {
  const child = await startExample(platform, { file: 'greeter.mjs', prefix: 'greeter' })
  const killedMs = performance.now()
  child.kill('SIGKILL')
  await until('it is gone', async () => {
    const { body } = await platform.rest('platform', 'GET', '/api/v1/extensions/all')
    return (body as unknown[]).length === 0
  })
  expect(performance.now() - killedMs).toBeLessThan(2_000)
})

chromiumTest(
  'examples/page.mjs: a page answers while it is open, over WebSocket, with nats.ws alone',
  async () => {
    const server = spawn(process.execPath, [join(root, 'examples/page.mjs')], {
      env: { ...process.env, PORT: String(pagePort) },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [url] = (await once(createInterface(server.stdout), 'line')) as [string]
    const { token } = await createKey(platform, capabilitiesOf('page'))
    await using browser = await openChromium()
    const page = await browser.context.newPage()
    await page.goto(url)
    await page.fill('[name=servers]', platform.websocketUrl)
    await page.fill('[name=token]', 'not a token')
    await page.click('button')
    await page.waitForFunction("document.getElementById('state').textContent !== 'not connected'")
    await page.fill('[name=token]', token)
    await page.click('button')
    await page.waitForFunction("document.getElementById('state').textContent === 'registered'")
    await page.fill('#text', 'from the page')
    expect(await callExample(platform, 'page/read', {})).toEqual({
      status: 200,
      body: { text: 'from the page', asked: 1 },
    })
    expect(await page.textContent('#asked')).toBe('1')
    await page.close()
    await until('it is gone', async () => (await callExample(platform, 'page/read', {})).status === 503)
    const ended = once(server, 'exit')
    server.kill()
    await ended
  },
)
