import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { files, httpServers } from '../../../subjects/kit/names.ts'
import { audit, auditedActions } from '../../../subjects/access/audit.ts'
import { platform as platformContracts } from '../../../subjects/platform/platform.ts'
import { assignments } from '../../../subjects/access/assignments.ts'
import { CookieBrowser, signInAt } from '../../support/cookie-browser.ts'
import { recordingLog } from '../../support/log.ts'
import { startPlatform } from '../../../cli/assembly/platform.ts'
import { gantry } from '../../cli/support.ts'
import {
  createHome,
  freePort,
  natsServerPath,
  startTestPlatform,
  testLog,
  type TestPlatform,
} from '../../support/platform.ts'
import { configure } from '../../support/provider.ts'
import { until } from '../../support/until.ts'
import { testUnless } from '../../support/unless.ts'

let home: string
beforeEach(async () => {
  home = await createHome()
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

const issuerOf = async (platform: TestPlatform) =>
  (await platform.call(platformContracts.info, {})).identityProvider?.issuer

test('a second start has the same passwords, which it does not show, and leaves assignments alone', async () => {
  let passwords: Readonly<Record<string, string>> | undefined
  {
    await using platform = await startTestPlatform({ home })
    passwords = platform.developmentPasswords
    await platform.call(assignments.delete, { group: 'viewers' })
  }
  // The one that it took may be any other platform's by now: each takes the same first.
  const port = await freePort()
  const path = join(home, files.developmentProvider)
  writeFileSync(path, JSON.stringify({ ...(JSON.parse(readFileSync(path, 'utf8')) as object), port }))
  await using platform = await startTestPlatform({ home })
  expect(platform.developmentPasswords).toBeUndefined()
  expect(await issuerOf(platform)).toBe(`http://127.0.0.1:${port}`)
  expect(await platform.call(assignments.list, {})).toEqual([])
  const reply = await signInAt(new CookieBrowser(), platform.signInUrl!, {
    name: 'viewer',
    password: passwords!['viewer']!,
  })
  expect(reply.text).toContain('Signed in')
})

test('a wrong password is recorded in the audit log, and the user name stays', async () => {
  await using platform = await startTestPlatform({ home })
  const wrong = { name: 'viewer', password: 'wrong' }
  const refused = await signInAt(new CookieBrowser(), platform.signInUrl!, wrong)
  expect(refused.status).toBe(401)
  // The name is not typed again.
  expect(refused.text).toContain('value="viewer"')
  expect(refused.text).not.toContain('value="wrong"')
  await until('the record of the refusal', async () => {
    const { records } = await platform.call(audit.list, { result: 'UNAUTHENTICATED' })
    return records.some(
      ({ what, reason }) => what === auditedActions.signIn && reason === 'wrong user name or password',
    )
  })
})

test('passwords of a start that showed them to nobody are made anew; one that is reset works at once', async () => {
  const start = async () => startPlatform({ home, natsServer: await natsServerPath(), log: testLog })
  const first = await start()
  await first.stop()
  const platform = await start()
  try {
    const passwords = platform.developmentPasswords!
    expect(Object.keys(passwords)).toEqual(['administrator', 'viewer'])
    const signIn = (name: string, password: string) =>
      signInAt(new CookieBrowser(), platform.signInUrl!, { name, password })
    expect((await signIn('viewer', first.developmentPasswords!['viewer']!)).status).toBe(401)
    expect((await signIn('viewer', passwords['viewer']!)).text).toContain('Signed in')
    platform.markPasswordsSeen()
    const env = { GANTRY_HOME: home }
    const browser = new CookieBrowser()
    const signInAgain = () => browser.open(platform.signInUrl!)
    await signInAt(browser, platform.signInUrl!, { name: 'viewer', password: passwords['viewer']! })
    // The page knows who has signed in at this browser.
    expect((await signInAgain()).text).toContain('Signed in')
    const { out } = await gantry(['credential', 'reset-password', 'viewer', '--json'], { env })
    const { password, sessionsEnded } = JSON.parse(out) as { password: string; sessionsEnded: number }
    expect(sessionsEnded).toBe(3)
    expect((await signInAgain()).text).not.toContain('Signed in')
    expect((await gantry(['keys', 'list', '--json'], { env })).out).toContain('"revoked"')
    expect((await signIn('viewer', passwords['viewer']!)).status).toBe(401)
    expect((await signIn('viewer', password)).text).toContain('Signed in')
    expect((await signIn('administrator', passwords['administrator']!)).text).toContain('Signed in')
    expect((await gantry(['credential', 'reset-password', 'root'], { env })).code).toBe(2)
  } finally {
    await platform.stop()
  }
  const third = await start()
  expect(third.developmentPasswords).toBeUndefined()
  await third.stop()
})

test('it takes another port when its own is taken, and keeps that', async () => {
  const path = join(home, files.developmentProvider)
  const port = () => (JSON.parse(readFileSync(path, 'utf8')) as { port: number }).port
  {
    await using _ = await startTestPlatform({ home })
  }
  const first = port()
  await using other = createServer().listen(first, '127.0.0.1')
  await using platform = await startTestPlatform({ home })
  expect(port()).not.toBe(first)
  expect(await issuerOf(platform)).toBe(`http://127.0.0.1:${port()}`)
  expect(other.listening).toBe(true)
})

test.each<[string, () => Promise<void>]>([
  [
    'whose server is open to the network',
    () => {
      const path = join(home, httpServers.platform.propertiesFile)
      writeFileSync(path, readFileSync(path, 'utf8').replace('server.address=127.0.0.1', '#'))
      return Promise.resolve()
    },
  ],
  ['behind a proxy', () => configure(home, { 'platform.url': 'https://gantry.example' })],
])('it does not run for a platform %s: sign-in is off, and the log says why', async (_, prepare) => {
  await prepare()
  const { log, lines } = recordingLog()
  await using platform = await startTestPlatform({ home, log })
  expect(platform.developmentPasswords).toBeUndefined()
  expect(platform.signInUrl).toBeUndefined()
  expect(await issuerOf(platform)).toBeUndefined()
  expect(lines.filter(({ level }) => level === 'warn').map(({ message }) => message)).toEqual([
    expect.stringContaining('the development sign-in page is not available'),
  ])
  for (const [path, method] of [
    ['/login', 'GET'],
    ['/api/v1/sign-in', 'POST'],
  ] as const) {
    const reply = await fetch(`${platform.httpUrls.platform}${path}`, {
      method,
      redirect: 'manual',
      ...(method === 'GET'
        ? {}
        : {
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ client: 'cli', redirectUri: 'http://127.0.0.1:1/callback' }),
          }),
    })
    expect(reply.status).toBe(503)
    expect(await reply.text()).toContain('no identity provider is configured')
  }
  expect((await platform.rest('platform', 'GET', '/api/v1/health')).status).toBe(200)
})

const hasIpv6 = Object.values(networkInterfaces()).some((list) =>
  list?.some(({ address }) => address === '::1'),
)

testUnless(
  hasIpv6 ? undefined : 'this host has no IPv6',
  'a platform on the loopback address of IPv6 has sign-in there',
  async () => {
    const path = join(home, httpServers.platform.propertiesFile)
    writeFileSync(path, readFileSync(path, 'utf8').replace('=127.0.0.1', '=::1'))
    await using platform = await startTestPlatform({ home })
    expect(platform.signInUrl).toBe(`${platform.httpUrls.platform}/login`)
    const browser = new CookieBrowser()
    const reply = await signInAt(browser, platform.signInUrl!, {
      name: 'viewer',
      password: platform.developmentPasswords!['viewer']!,
    })
    expect(reply.url.hostname).toBe('[::1]')
    expect((await browser.open(`${platform.httpUrls.platform}/`)).text).toContain('(viewer)')
  },
)

test('a file of accounts that is not as we wrote it is one clear line', async () => {
  {
    await using _ = await startTestPlatform({ home })
  }
  appendFileSync(join(home, files.developmentProvider), 'x')
  await expect(startTestPlatform({ home })).rejects.toThrow(/development-provider\.json is not valid JSON/)
})
