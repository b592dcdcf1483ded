import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { call } from '../../../broker/rpc/client.ts'
import { formatToken, parseToken } from '../../../broker/identity/token.ts'
import { filesystems } from '../../../subjects/filesystems/filesystems.ts'
import { keys } from '../../../subjects/access/keys.ts'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import { alerts } from '../../../subjects/observability/alerts.ts'
import { noteStart } from '../../../cli/up/last-start.ts'
import { files, httpServers } from '../../../subjects/kit/names.ts'
import { platform as platformContracts } from '../../../subjects/platform/platform.ts'
import { makeCertificates, noCertificates } from '../../support/certificates.ts'
import { createClient, createKey, everything, issueInside, overAlready } from '../../support/keys.ts'
import { addLocal, createFolder } from '../../support/migrations.ts'
import { until } from '../../support/until.ts'
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { testUnless } from '../../support/unless.ts'
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
  ['right', 0, /^the token belongs to key k\w+ \(a key\); it does not expire$/],
  ['narrow', 0, /^the token belongs to key k\w+ \(a key\); it does not expire$/],
  [
    'elsewhere',
    4,
    /^a token of instance ANOTHER; use a key of this platform, or the address of the other platform$/,
  ],
  ['unknown', 4, /^unknown key k0+; create another key$/],
  ['wrong', 4, /^wrong secret for key k\w+, or storage.salt has changed; use the token of the last rotation/],
  ['expired', 4, /^key k\w+ expired at .*; create another key$/],
  ['revoked', 4, /^key k\w+ was revoked at .*; create another key$/],
])('of a token that is %s the doctor says why', async (name, code, explanation) => {
  const env = { GANTRY_TOKEN: tokens[name]!, GANTRY_HOME: platform.home }
  const ran = await gantry(['doctor', '--json'], { env })
  const finding = JSON.parse(ran.out) as {
    explanation: string
    valid: boolean
    checks: { check: string; result: string }[]
  }
  expect(finding.explanation).toMatch(explanation)
  // What makes it fail is among the findings.
  expect(finding.checks.filter(({ check }) => check === 'token').map(({ result }) => result)).toEqual(
    code === 0 ? [] : ['fail'],
  )
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
  expect(elsewhere.out).toContain(`its owner can run "gantry keys get ${id}`)
})

test('of an operator key that may do nothing it says how to get another', async () => {
  const home = mkdtempSync(join(tmpdir(), 'gantry-doctor-'))
  writeFileSync(join(home, files.credentials), `${tokens['narrow']!}\n`)
  const { code, out } = await gantry(['doctor', '--json'], { env: { GANTRY_HOME: home } })
  rmSync(home, { recursive: true })
  expect(code).toBe(0)
  expect((JSON.parse(out) as { explanation: string }).explanation).toContain(
    'for the operator key of this host, run "gantry credential recover"',
  )
})

test('elsewhere than on the platform’s host it says who can say why', async () => {
  const { code, out } = await gantry(['doctor'], { env: { GANTRY_TOKEN: tokens['revoked']! } })
  expect(code).toBe(4)
  expect(out.replaceAll(/\s+/g, ' ')).toContain('an administrator of that platform can find the cause')
})

test('a platform that is away', async () => {
  const { instance, http } = parseToken(tokens['right']!)!.location
  const away = formatToken({ instance, http, nats: 'nats://127.0.0.1:1' }, 'k1', 'x')
  const { code, out } = await gantry(['doctor', '--json'], { env: { GANTRY_TOKEN: away } })
  expect(code).toBe(3)
  const { checks, ...finding } = JSON.parse(out) as { checks: { check: string }[] }
  // Nobody knows whether the token is valid.
  expect(finding).not.toHaveProperty('valid')
  expect((await gantry(['doctor'], { env: { GANTRY_TOKEN: away } })).out).toMatch(/^valid +unknown$/m)
  expect(checks.find(({ check }) => check === 'platform')).toEqual({
    check: 'platform',
    result: 'fail',
    detail: expect.stringMatching(/^nats:.* does not respond$/) as string,
    fix: 'start the platform with "gantry up", or set another address with --server',
  })
})

test('a token with the address of an earlier start is told where the platform listens now', async () => {
  const { location, keyId, secret } = parseToken(platform.operatorToken)!
  noteStart(platform.home, { broker: platform.tcpUrl, flags: [] })
  const before = formatToken({ ...location, nats: 'nats://127.0.0.1:1' }, keyId, secret)
  const env = { GANTRY_HOME: platform.home, GANTRY_TOKEN: before }
  const { code, err } = await gantry(['info'], { env })
  expect(code).toBe(3)
  expect(err).toBe(
    `error: nats://127.0.0.1:1 does not respond: the platform of this configuration folder listens at ${platform.tcpUrl} now, so add --server ${platform.tcpUrl} (UNAVAILABLE)\n`,
  )
  expect((await gantry(['info', '--server', platform.tcpUrl], { env })).code).toBe(0)
})

test('a token that is missing or none is one finding with its fix; the rest is looked at', async () => {
  const none = await checksOf({ GANTRY_HOME: platform.home, GANTRY_TOKEN: 'letmein' })
  expect(none.code).toBe(4)
  expect(none.of('token')).toEqual({
    check: 'token',
    result: 'fail',
    detail: 'GANTRY_TOKEN does not contain a valid API token for this platform',
    fix: 'use a complete token, as "gantry keys create" prints it, or leave it out to use that of the configuration folder',
  })
  for (const name of ['Node.js', 'configuration', 'disk', 'version', 'clock'])
    expect(none.of(name), name).toMatchObject({ result: expect.stringMatching(/^(ok|warn)$/) as string })
  // Without the operator's token of the folder, nobody may ask the platform; that it runs can be seen.
  const credentials = join(platform.home, files.credentials)
  renameSync(credentials, `${credentials}.away`)
  try {
    const missing = await checksOf({ GANTRY_HOME: platform.home })
    expect(missing.code).toBe(4)
    expect(missing.of('token')).toMatchObject({
      detail: `no API token found: ${credentials} does not exist`,
      fix: expect.stringMatching(/^Start the platform with "gantry up", sign in/) as string,
    })
    expect(missing.of('ports')?.detail).toBe('in use by the platform')
  } finally {
    renameSync(`${credentials}.away`, credentials)
  }
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

interface Told {
  readonly valid: boolean
  readonly checks: readonly { check: string; result: string; detail: string; fix?: string }[]
}

const checksOf = async (env: NodeJS.ProcessEnv) => {
  const { code, out } = await gantry(['doctor', '--json'], { env })
  const { checks } = JSON.parse(out) as Told
  return { code, checks, of: (name: string) => checks.find(({ check }) => check === name) }
}

test('it looks at the platform, its stores and its host', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-doctor-'))
  const env = { GANTRY_HOME: platform.home }
  const well = await checksOf(env)
  expect(well.checks.filter(({ result }) => result === 'fail')).toEqual([])
  expect(well.code).toBe(0)
  const { components } = await platform.call(platformContracts.health, {})
  expect(well.checks.map(({ check }) => check)).toEqual(
    expect.arrayContaining(components.map(({ name }) => name)),
  )
  for (const name of ['Node.js', 'configuration', 'ports', 'disk', 'version', 'clock'])
    expect(well.of(name), name).toMatchObject({ result: expect.stringMatching(/^(ok|warn)$/) as string })
  await platform.call(filesystems['create-local'], { fileSystemId: 'gone', role: 'source', fsRoot: folder })
  rmSync(folder, { recursive: true })
  const ill = await checksOf(env)
  expect(ill.code).toBe(1)
  expect(ill.of('store gone')).toMatchObject({
    result: 'fail',
    fix: 'run "gantry filesystems check-stored gone" for details',
  })
  await platform.call(filesystems.delete, { fileSystemId: 'gone' })
})

test('migrations that are blocked and alerts that fire are told with the commands that show them', async () => {
  const env = { GANTRY_HOME: platform.home }
  using folder = createFolder('from', 'to')
  await addLocal(platform, 'from', 'source', folder.from)
  await addLocal(platform, 'to', 'target', folder.to)
  const migrationId = 'my files'
  await platform.call(migrations.create, {
    migrationId,
    path: '/',
    source: 'from',
    target: 'to',
    scanOnlyMigration: false,
    autoStart: true,
  })
  const get = () => platform.call(migrations.get, { migrationId })
  await until('it follows', async () => (await get()).state === 'LIVE')
  const well = await checksOf(env)
  expect(well.of('migrations')).toEqual({ check: 'migrations', result: 'ok', detail: 'none is blocked' })
  expect(well.of('alerts')).toEqual({ check: 'alerts', result: 'ok', detail: 'none is firing' })
  const infoOf = async (more: object = {}) => {
    const { out } = await gantry(['info'], { env: { ...env, ...more } })
    return out
  }
  expect(await infoOf()).not.toContain('alerts')
  // Another folder stands where the target was.
  rmSync(folder.to, { recursive: true })
  mkdirSync(folder.to)
  await until('it is blocked', async () => (await get()).conditions.length > 0)
  const rule = { name: 'any', kind: 'storage-file', threshold: 0, severity: 'critical' } as const
  await platform.call(alerts['put-rule'], rule)
  await until('it fires', async () => (await platform.call(alerts.list, { rule: 'any' })).length > 0)
  const ill = await checksOf(env)
  expect(ill.code).toBe(1)
  expect(ill.of(`migration ${migrationId}`)).toEqual({
    check: `migration ${migrationId}`,
    result: 'fail',
    detail: (await get()).conditions[0]?.message,
    fix: `run "gantry migrations get '${migrationId}'" for details`,
  })
  expect(ill.of('alerts')).toMatchObject({
    result: 'fail',
    fix: 'run "gantry alerts list --state firing" for all',
  })
  const [alert] = await platform.call(alerts.list, { rule: 'any' })
  expect(await infoOf()).toContain(`${alert!.summary}; run "gantry alerts list --state firing" for all\n`)
  const { firingAlerts } = JSON.parse((await gantry(['info', '--json'], { env })).out) as {
    firingAlerts: number
  }
  expect(firingAlerts).toBe((await platform.call(alerts.list, { state: 'firing' })).length)
  // Who may not ask for alerts is told of none.
  const pub = { allow: ['gantry.services.v1.platform.*'] }
  const { token } = await createKey(platform, { pub, sub: { allow: [] } })
  const narrow = await gantry(['info'], { env: { GANTRY_TOKEN: token } })
  expect(narrow).toMatchObject({ code: 0, out: expect.not.stringContaining('alerts'), err: '' })
  await platform.call(alerts['delete-rule'], { name: 'any' })
})

test('of a platform that is away it looks at the host: what is wrong in its files, or who holds its ports', async () => {
  const home = mkdtempSync(join(tmpdir(), 'gantry-doctor-'))
  const taken = createServer().listen(0, '127.0.0.1')
  try {
    await once(taken, 'listening')
    const { port } = taken.address() as AddressInfo
    const { instance, http } = parseToken(platform.operatorToken)!.location
    const token = formatToken({ instance, http, nats: 'nats://127.0.0.1:1' }, 'k1', 'x')
    writeFileSync(join(home, files.config), readFileSync(join(platform.home, files.config)))
    writeFileSync(join(home, files.messaging), JSON.stringify({ port }))
    const env = { GANTRY_HOME: home, GANTRY_TOKEN: token, GANTRY_PORT_OFFSET: '' }
    const held = await checksOf(env)
    expect(held.code).toBe(3)
    expect(held.of('ports')).toMatchObject({ result: 'fail' })
    expect(held.of('ports')?.detail).toContain(`port ${port} on 127.0.0.1 is in use by node`)
    writeFileSync(join(home, files.messaging), JSON.stringify({ prot: port }))
    const wrong = await checksOf(env)
    expect(wrong.of('configuration')?.detail).toContain(
      'messaging.config, line 1, column 9: prot is not a field',
    )
    expect(wrong.of('ports')).toBeUndefined()
  } finally {
    taken.close()
    rmSync(home, { recursive: true })
  }
})

testUnless(noCertificates, 'a certificate that expires soon is told before it does', async () => {
  const home = mkdtempSync(join(tmpdir(), 'gantry-doctor-'))
  try {
    for (const file of [files.config, files.messaging])
      writeFileSync(join(home, file), readFileSync(join(platform.home, file)))
    const lines = [
      'security.type=ldap',
      'security.ldap.url=ldaps://directory.example:636',
      'security.ldap.user-dn-pattern=uid={0},ou=people,dc=example,dc=org',
      `security.ldap.ca-file=${makeCertificates(home).ca}`,
    ]
    const properties = join(home, httpServers.migrator.propertiesFile)
    mkdirSync(dirname(properties))
    writeFileSync(properties, `${lines.join('\n')}\n`)
    const { of } = await checksOf({ GANTRY_HOME: home, GANTRY_TOKEN: tokens['right']! })
    expect(of('certificate of CN=test CA')).toMatchObject({
      result: 'warn',
      detail: expect.stringMatching(/^valid until \d{4}-/) as string,
      fix: 'put the new certificate into the file set in security.ldap.ca-file',
    })
  } finally {
    rmSync(home, { recursive: true })
  }
})
