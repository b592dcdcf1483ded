import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { call } from '../../../broker/rpc/client.ts'
import { formatToken, parseToken } from '../../../broker/identity/token.ts'
import { keys } from '../../../subjects/access/keys.ts'
import { files } from '../../../subjects/kit/names.ts'
import { createClient, createKey, everything, issueInside, overAlready } from '../../support/keys.ts'
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { gantry } from '../support.ts'

let platform: TestPlatform
const tokens: Record<string, string> = {}
beforeAll(async () => {
  platform = await startTestPlatform()
  const { location, keyId, secret } = parseToken(platform.operatorToken)!
  const expired = await issueInside(platform, { expires: overAlready() })
  const revoked = await createKey(platform, everything)
  await platform.call(keys.revoke, { id: revoked.id })
  Object.assign(tokens, {
    right: (await createKey(platform, everything)).token,
    narrow: (await createKey(platform, { pub: { allow: [] }, sub: { allow: [] } })).token,
    elsewhere: formatToken({ ...location, instance: 'ANOTHER' }, keyId, secret),
    unknown: formatToken(location, 'k00000000000000', secret),
    wrong: formatToken(location, keyId, 'x'.repeat(secret.length)),
    expired: expired.token,
    revoked: revoked.token,
  })
})
afterAll(() => platform[Symbol.asyncDispose]())

test.each([
  ['right', 0, /^the token of key k\w+ \(a key\); it does not expire$/],
  ['narrow', 0, /^the token of key k\w+ \(a key\); it does not expire$/],
  ['elsewhere', 4, /^a token of instance ANOTHER; use a key of this platform, or the address of the other$/],
  ['unknown', 4, /^unknown key k0+; make another key$/],
  ['wrong', 4, /^wrong secret for key k\w+, or storage.salt has changed; use the token of the last rotation/],
  ['expired', 4, /^key k\w+ expired at .*; make another key$/],
  ['revoked', 4, /^key k\w+ was revoked at .*; make another key$/],
])('of a token that is %s the doctor says why', async (name, code, explanation) => {
  const env = { GANTRY_TOKEN: tokens[name]!, GANTRY_HOME: platform.home }
  const ran = await gantry(['doctor', '--json'], { env })
  const finding = JSON.parse(ran.out) as { explanation: string; valid: boolean }
  expect(finding.explanation).toMatch(explanation)
  expect({ code: ran.code, valid: finding.valid }).toEqual({ code, valid: code === 0 })
})

test('of a narrow key it says what that may do, to whom may know it', async () => {
  const narrow = { pub: { allow: ['gantry.services.v1.migrations.list'] }, sub: { allow: [] } }
  const { id, token } = await createKey(platform, narrow)
  const env = { GANTRY_TOKEN: token, GANTRY_HOME: platform.home }
  expect(JSON.parse((await gantry(['doctor', '--json'], { env })).out)).toMatchObject({ may: narrow })
  const { out } = await gantry(['doctor'], { env })
  expect(out).toMatch(/may publish +gantry\.services\.v1\.migrations\.list\n/)
  expect(out).toMatch(/may subscribe +nothing\n/)
  const elsewhere = await gantry(['doctor'], { env: { GANTRY_TOKEN: token } })
  expect(elsewhere.code).toBe(0)
  expect(elsewhere.out).toContain(`its owner sees it with gantry keys get ${id}`)
})

test('of an operator key that may do nothing it says how to get another', async () => {
  const home = mkdtempSync(join(tmpdir(), 'gantry-doctor-'))
  writeFileSync(join(home, files.credentials), `${tokens['narrow']!}\n`)
  const { code, out } = await gantry(['doctor', '--json'], { env: { GANTRY_HOME: home } })
  rmSync(home, { recursive: true })
  expect(code).toBe(0)
  expect((JSON.parse(out) as { explanation: string }).explanation).toContain(
    'if it is the operator key of this host, make it an administrator again with gantry credential recover',
  )
})

test('elsewhere than on the platform’s host it says who can say why', async () => {
  const { code, out } = await gantry(['doctor'], { env: { GANTRY_TOKEN: tokens['revoked']! } })
  expect(code).toBe(4)
  expect(out.replaceAll(/\s+/g, ' ')).toContain('an administrator of that platform learns why')
})

test('a platform that is away, and a text that is no token', async () => {
  const { instance, http } = parseToken(tokens['right']!)!.location
  const away = formatToken({ instance, http, nats: 'nats://127.0.0.1:1' }, 'k1', 'x')
  expect((await gantry(['doctor'], { env: { GANTRY_TOKEN: away } })).code).toBe(3)
  const { code, err } = await gantry(['doctor'], { env: { GANTRY_TOKEN: 'letmein' } })
  expect(code).toBe(4)
  expect(err).toContain('no API token')
})

test('only an administrator is told, and the token of a key is judged without being used', async () => {
  const rules = { pub: { allow: ['gantry.services.v1.keys.*'] }, sub: { allow: [] } }
  await using client = await createClient(platform, rules)
  const asked = call(client.connection, keys.examine, { token: tokens['revoked']! })
  await expect(asked).rejects.toMatchObject({ code: 'DENIED' })
  const { id, token } = await createKey(platform, everything)
  expect(await platform.call(keys.examine, { token })).toMatchObject({ valid: true })
  expect(await platform.call(keys.get, { id })).not.toHaveProperty('lastUsed')
})
