import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseToken } from '../../../broker/identity/token.ts'
import { startPlatform } from '../../../cli/assembly/platform.ts'
import { keys } from '../../../subjects/access/keys.ts'
import { files } from '../../../subjects/kit/names.ts'
import {
  createHome,
  natsServerPath,
  startTestPlatform,
  testLog,
  type TestPlatform,
} from '../../support/platform.ts'
import { gantry } from '../support.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await startTestPlatform()
})
afterAll(() => platform[Symbol.asyncDispose]())

const operator = (...args: string[]) => gantry(args, { env: { GANTRY_HOME: platform.home } })
const tokenIn = (home: string) => readFileSync(join(home, files.credentials), 'utf8').trim()
const ownKey = () => parseToken(tokenIn(platform.home))!.keyId
const narrow = JSON.stringify({ pub: { allow: [keys.self.subject] }, sub: { allow: [] } })
/** Without a token, as programs on the host ask the migrator. */
const asLocalProgram = () => platform.rest('migrator', 'GET', '/migrations', { headers: {} })

async function expectAllRights(): Promise<void> {
  const made = await operator('--json', 'keys', 'create', 'x', '--capabilities', narrow)
  expect(made.err).toBe('')
  const { id } = JSON.parse(made.out) as { id: string }
  // Another key than the one in use needs no confirmation.
  expect((await operator('keys', 'revoke', id)).code).toBe(0)
  expect((await asLocalProgram()).status).toBe(200)
}

test('narrowing or revoking the key in use asks for confirmation; nothing is changed without', async () => {
  for (const args of [
    ['keys', 'update', ownKey(), '--capabilities', narrow],
    ['keys', 'revoke', ownKey()],
  ]) {
    const { code, err } = await operator(...args)
    expect(code).toBe(2)
    expect(err).toContain('This is the key that you are using')
    expect(err).toContain('--yes')
  }
  expect((await operator('keys', 'update', ownKey(), '--notes', 'renamed alone')).code).toBe(0)
  await expectAllRights()
})

test('an operator key that was narrowed gets its rights back at once, and keeps its token', async () => {
  const token = tokenIn(platform.home)
  expect((await operator('keys', 'update', ownKey(), '--capabilities', narrow, '--yes')).code).toBe(0)
  expect((await operator('keys', 'list')).code).toBe(4)
  const asked = await operator('credential', 'recover')
  expect(asked.code).toBe(2)
  expect(asked.err).toContain('Add --yes')
  expect((await operator('keys', 'list')).code).toBe(4)
  const { code, out } = await operator('credential', 'recover', '--yes')
  expect(code).toBe(0)
  expect(out).toContain('has all permissions again')
  expect(tokenIn(platform.home)).toBe(token)
  await expectAllRights()
})

test('instead of a token that was replaced another is made, which may do everything', async () => {
  const before = ownKey()
  expect((await operator('keys', 'rotate', before)).code).toBe(0)
  expect((await operator('keys', 'list')).code).toBe(0)
  expect((await operator('keys', 'create', 'made', '--capabilities', narrow)).err).toContain(
    'use the new one',
  )
  expect((await operator('credential', 'recover', '--yes')).code).toBe(0)
  expect(ownKey()).not.toBe(before)
  await expectAllRights()
})

test('instead of one that was revoked another is made', async () => {
  const before = ownKey()
  expect((await operator('keys', 'revoke', before, '--yes')).code).toBe(0)
  expect((await operator('keys', 'list')).code).toBe(4)
  const { code, out } = await operator('credential', 'recover', '--yes')
  expect(code).toBe(0)
  expect(ownKey()).not.toBe(before)
  expect(out).toContain(ownKey())
  await expectAllRights()
  const { out: log } = await operator('--json', 'audit', 'list', '--object', ownKey())
  expect(JSON.parse(log)).toMatchObject({ records: [{ kind: 'platform', what: keys.create.subject }] })
  expect((await operator('audit', 'verify')).code).toBe(0)
})

test('while the platform is not running, the next start makes a key', async () => {
  const home = await createHome()
  const start = async () => startPlatform({ home, natsServer: await natsServerPath(), log: testLog })
  const first = await start()
  await first.stop()
  const { code, out } = await gantry(['credential', 'recover', '--yes'], { env: { GANTRY_HOME: home } })
  expect(code).toBe(0)
  expect(out).toContain('The platform is not running.')
  expect(existsSync(join(home, files.credentials))).toBe(false)
  const second = await start()
  expect(second.operatorToken).not.toBe(first.operatorToken)
  expect(tokenIn(home)).toBe(second.operatorToken)
  expect((await gantry(['keys', 'list'], { env: { GANTRY_HOME: home } })).code).toBe(0)
  await second.stop()
  rmSync(home, { recursive: true })
})

test('a folder that is none of a platform is left as it is', async () => {
  const home = mkdtempSync(join(tmpdir(), 'gantry-test-'))
  const { code, err } = await gantry(['credential', 'recover', '--yes'], { env: { GANTRY_HOME: home } })
  expect(code).toBe(1)
  expect(err).toContain('GANTRY_HOME')
  expect(existsSync(join(home, files.config))).toBe(false)
  rmSync(home, { recursive: true })
})
