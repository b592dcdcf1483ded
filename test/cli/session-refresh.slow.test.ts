import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { writeUserSession } from '../../cli/sign-in/user-session.ts'
import { createHome, startTestPlatform, type TestPlatform } from '../support/platform.ts'
import { TestProvider } from '../support/provider.ts'
import { changeSession, signInByCode } from '../support/sessions.ts'
import { keyIdOf } from '../../broker/identity/token.ts'
import { gantry } from './support.ts'

let home: string
let provider: TestProvider
let platform: TestPlatform
const user = mkdtempSync(join(tmpdir(), 'gantry-user-'))
const env = { HOME: user }
const refreshPath = join(user, '.config', 'gantry', 'session.refresh-after')
beforeAll(async () => {
  home = await createHome()
  provider = await TestProvider.forHome(home)
  platform = await startTestPlatform({ home })
})
afterAll(async () => {
  await platform[Symbol.asyncDispose]()
  await provider[Symbol.asyncDispose]()
  for (const folder of [home, user]) rmSync(folder, { recursive: true, force: true })
})

let session: { token: string; refreshAfter?: string }
beforeEach(async () => {
  session = await signInByCode(platform, provider)
  writeUserSession(env, session)
})

const letTimePass = () => writeFileSync(refreshPath, `${new Date().toISOString()}\n`)
const minutesUntilRefresh = () => (Date.parse(readFileSync(refreshPath, 'utf8').trim()) - Date.now()) / 60_000
const expires = async () => {
  const { out } = await gantry(['keys', 'self', '--json'], { env })
  return (JSON.parse(out) as { expires: string }).expires
}

test('a command refreshes the session when that is due, and not before', async () => {
  const soon = new Date(Date.now() + 3_600_000).toISOString()
  await changeSession(platform, keyIdOf(session.token)!, (key) => ({ ...key, expires: soon }))
  expect(await expires()).toBe(soon)
  letTimePass()
  expect((Date.parse(await expires()) - Date.now()) / 60_000).toBeCloseTo(12 * 60, -1)
  expect(minutesUntilRefresh()).toBeCloseTo(8 * 60, -1)
  expect(await gantry(['logout'], { env })).toMatchObject({ code: 0, out: 'Signed out.\n' })
  expect(existsSync(refreshPath)).toBe(false)
})

test('while the provider is away, commands use the session as it is', async () => {
  await provider.stop()
  letTimePass()
  expect(await gantry(['users', 'self'], { env })).toMatchObject({ code: 0, err: '' })
  expect(minutesUntilRefresh()).toBeCloseTo(1, 0)
  await provider.start()
})

test('when the provider has ended the sign-in, the command says so', async () => {
  await provider.forgetEverybody()
  letTimePass()
  const ran = await gantry(['users', 'self'], { env })
  expect(ran).toMatchObject({ code: 4, out: '' })
  expect(ran.err).toContain('the identity provider has ended this sign-in; sign in again')
})

test('another token, and a session that cannot be refreshed, are left alone', async () => {
  letTimePass()
  const operator = { ...env, GANTRY_TOKEN: platform.operatorToken }
  expect((await gantry(['users', 'self'], { env: operator })).code).not.toBe(4)
  expect(minutesUntilRefresh()).toBeLessThan(0)
  await changeSession(platform, keyIdOf(session.token)!, ({ refresh: _taken, ...key }) => key)
  expect((await gantry(['users', 'self'], { env })).code).toBe(0)
  expect(existsSync(refreshPath)).toBe(false)
})
