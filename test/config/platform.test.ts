import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ConfigError } from '../../config/config-error.ts'
import { createKey } from '../../broker/identity/ed25519.ts'
import { createIdentity } from '../../broker/identity/create-identity.ts'
import { type IdentityFields, identityFieldNames } from '../../broker/identity/identity.ts'
import { verifyClaims } from '../../broker/identity/jwt.ts'
import { developmentAdmin, loadPlatformConfig } from '../../config/platform.ts'
import { recordingLog } from '../support/log.ts'

const limits = { maxMemBytes: 64 * 2 ** 20, maxFileBytes: 2 ** 30 }
/** Another identity, for fields that are valid by themselves. */
const other = (await createIdentity(limits)).fields

let home: string
let path: string
let logged: ReturnType<typeof recordingLog>
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'gantry-config-'))
  path = join(home, 'gantry.config')
  logged = recordingLog()
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

type File = Record<string, unknown>
const load = (at = limits) => loadPlatformConfig(home, at, logged.log)
const read = (file = path): File => JSON.parse(readFileSync(file, 'utf8')) as File
const write = (file: File, to = path) => writeFileSync(to, JSON.stringify(file))
const without = (file: File, name: string): File =>
  Object.fromEntries(Object.entries(file).filter(([key]) => key !== name))
/** The one line with which the start is refused. */
async function refusal(): Promise<string> {
  const error: unknown = await load().then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(error).toBeInstanceOf(ConfigError)
  const { message } = error as ConfigError
  expect(message).not.toContain('\n')
  return message
}

describe('a first start', () => {
  test('makes the file with specified fields alone, for its owner alone, and its backup', async () => {
    const { identity, salt } = await load()
    // Not in bootstrap mode: the administrator is the one of the development provider.
    expect(read()).toEqual({ ...identity.fields, admin_subject: developmentAdmin, 'storage.salt': salt })
    expect(Object.keys(identity.fields)).toEqual(identityFieldNames)
    for (const file of readdirSync(home)) expect(statSync(join(home, file)).mode & 0o777).toBe(0o600)
    expect(readdirSync(home).toSorted()).toEqual(['gantry.config', 'gantry.config.backup'])
    expect(read(`${path}.backup`)).toEqual(read())
    expect(Buffer.from(salt, 'base64url')).toHaveLength(32)
  })

  test('makes another identity and salt each time', async () => {
    const first = await load()
    rmSync(path)
    rmSync(`${path}.backup`)
    const second = await load()
    expect(second.identity.instance).not.toBe(first.identity.instance)
    expect(second.salt).not.toBe(first.salt)
  })
})

test('a second start reads the same and changes nothing', async () => {
  const first = await load()
  const text = readFileSync(path, 'utf8')
  const second = await load()
  expect(second.identity.fields).toEqual(first.identity.fields)
  expect(second.identity.derive('seal')).toEqual(first.identity.derive('seal'))
  expect(readFileSync(path, 'utf8')).toBe(text)
  expect(logged.lines.filter(({ level }) => level !== 'info')).toEqual([])
})

const flip = (text: string, at: number) =>
  `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`

/** What can be wrong with an identity field: name of the fault, and the value with it; undefined leaves the field out. */
const faults: Record<string, (name: keyof IdentityFields, right: string) => unknown> = {
  missing: () => undefined,
  empty: () => '',
  'no text': () => 42,
  garbage: () => 'garbage',
  'the seed of another kind of key': (name) =>
    createKey(name.endsWith('jwt') ? 'U' : name.startsWith('operator') ? 'A' : 'O').seed,
  'the seed of a user': () => createKey('U').seed,
  'of another identity': (name) => other[name],
  'a JWT of the other account': (name) => other[name.startsWith('gantry') ? 'operator.jwt' : 'gantry.jwt'],
  'cut off': (_, right) => right.slice(0, -1),
  'lengthened by one character': (_, right) => `${right}A`,
  'with a line break': (_, right) => `${right}\n`,
  'flipped in the first byte': (_, right) => flip(right, 0),
  'flipped in the middle': (_, right) => flip(right, right.length >> 1),
  'flipped in the last byte': (_, right) => flip(right, right.length - 1),
}

describe.each(identityFieldNames)('%s', (name) => {
  test.each(Object.entries(faults))('%s: restored from the backup', async (_, fault) => {
    const { identity } = await load()
    const right = read()
    const value = fault(name, identity.fields[name])
    const wrong = value === undefined ? without(right, name) : { ...right, [name]: value }
    write(wrong)
    logged.lines.length = 0

    const restored = await load()
    expect(restored.identity.fields).toEqual(identity.fields)
    expect(read()).toEqual(right)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(read(`${path}.corrupt`)).toEqual(wrong)
    const warning = logged.lines.find(({ level }) => level === 'warn')
    expect(warning?.message).toContain('Restored gantry.config from its backup')
    expect(warning?.details['reason']).toMatch(/(?:gantry|operator)\.(?:jwt|seed|signingseed) /)
    for (const secret of Object.values(identity.fields)) expect(logged.text()).not.toContain(secret)
  })

  test('corrupt in the backup too: refuses to start and says what to do', async () => {
    await load()
    const wrong = { ...read(), [name]: 'garbage' }
    write(wrong)
    write(wrong, `${path}.backup`)
    const message = await refusal()
    expect(message).toContain(name)
    expect(message).toContain(`Restore ${path} from your own backup, or remove both files`)
    expect(read()).toEqual(wrong)
    expect(read(`${path}.backup`)).toEqual(wrong)
  })
})

test('the file is gone: restored from the backup', async () => {
  const { identity } = await load()
  rmSync(path)
  expect((await load()).identity.fields).toEqual(identity.fields)
  expect(read()).toMatchObject(identity.fields)
})

test.each(['', 'not JSON', '[]', 'null', '{"gantry.jwt":'])('the file is %j: restored', async (text) => {
  const { identity } = await load()
  writeFileSync(path, text)
  expect((await load()).identity.fields).toEqual(identity.fields)
  expect(readFileSync(`${path}.corrupt`, 'utf8')).toBe(text)
})

test('an earlier corrupt file is kept when the file is corrupt again', async () => {
  await load()
  for (const text of ['first', 'second']) {
    writeFileSync(path, text)
    await load()
  }
  const aside = readdirSync(home).filter((name) => name.includes('.corrupt'))
  expect(aside.map((name) => readFileSync(join(home, name), 'utf8')).toSorted()).toEqual(['first', 'second'])
})

test('a file that is right repairs a backup that is missing or wrong', async () => {
  const { identity } = await load()
  for (const spoil of [() => rmSync(`${path}.backup`), () => write({}, `${path}.backup`)]) {
    spoil()
    await load()
    expect(read(`${path}.backup`)).toMatchObject(identity.fields)
  }
})

test('no backup and a corrupt file: refuses to start', async () => {
  await load()
  rmSync(`${path}.backup`)
  write({ ...read(), 'gantry.seed': '' })
  expect(await refusal()).toMatch(/gantry\.seed.*there is no .*backup/)
})

test('what is known beside the identity is kept', async () => {
  await load()
  const more = {
    'oidc.issuer': 'https://login.example',
    'oidc.clientid': 'gantry',
    'oidc.uiclientid': 'gantry-ui',
    admin_subject: 'ada',
    admin_group: 'admins',
    'rbac.bootstrap': true,
  }
  write({ ...read(), ...more })
  await load()
  expect(read()).toMatchObject(more)
  await load({ ...limits, maxFileBytes: 2 ** 31 })
  expect(read()).toMatchObject(more)
  expect(read(`${path}.backup`)).toMatchObject(more)
})

test.each([
  ['an unknown field', { 'storage.sat': 'x' }, 'storage.sat'],
  ['a misspelt field', { Admin_Subject: 'x' }, 'did you mean admin_subject'],
  ['no salt', { 'storage.salt': undefined }, 'storage.salt'],
  ['a short salt', { 'storage.salt': 'short' }, 'storage.salt'],
  ['a salt that is no text', { 'storage.salt': 1 }, 'storage.salt'],
  ['a wrong type', { 'rbac.bootstrap': 'yes' }, 'rbac.bootstrap'],
  [
    'an issuer elsewhere without https',
    { 'oidc.issuer': 'http://x.example', 'oidc.clientid': 'x' },
    'oidc.issuer',
  ],
  ['an issuer that is no URL', { 'oidc.issuer': 'https://', 'oidc.clientid': 'x' }, 'oidc.issuer'],
  ['an issuer without a client', { 'oidc.issuer': 'x.example' }, 'oidc.clientid'],
  ['an address with a path', { 'platform.url': 'https://x.example/gantry' }, 'platform.url'],
  ['an address that is none', { 'platform.url': 'x.example' }, 'platform.url'],
  ['an address of another kind', { 'platform.url': 'javascript:alert(1)' }, 'platform.url'],
  ['a WebSocket address of another kind', { 'websocket.url': 'https://x.example' }, 'websocket.url'],
  ['a WebSocket address with a path', { 'websocket.url': 'wss://x.example/ws' }, 'websocket.url'],
])('%s is refused by name, and nothing is changed', async (_, change, named) => {
  await load()
  const good = readFileSync(`${path}.backup`, 'utf8')
  write({ ...read(), ...change })
  const wrong = readFileSync(path, 'utf8')
  const message = await refusal()
  expect(message).toContain('gantry.config')
  expect(message).toContain(named)
  expect(readFileSync(path, 'utf8')).toBe(wrong)
  expect(readFileSync(`${path}.backup`, 'utf8')).toBe(good)
})

test.each([
  ['login.example/realms/main', 'https://login.example/realms/main'],
  ['https://login.example', 'https://login.example'],
  ['http://127.0.0.1:8081', 'http://127.0.0.1:8081'],
  ['http://localhost:8081', 'http://localhost:8081'],
  ['http://[::1]:8081', 'http://[::1]:8081'],
])('the issuer %s is taken as %s', async (written, issuer) => {
  await load()
  write({ ...read(), 'oidc.issuer': written, 'oidc.clientid': 'x', 'platform.url': 'https://x.example/' })
  expect(await load()).toMatchObject({ oidc: { issuer }, publicUrl: 'https://x.example' })
})

test('new limits: the account is signed again with them, by the same keys', async () => {
  const { identity } = await load()
  const changed = await load({ maxMemBytes: 128 * 2 ** 20, maxFileBytes: 2 ** 31 })
  const { nats } = verifyClaims<{ limits: object }>(changed.identity.fields['gantry.jwt'])
  expect(nats.limits).toMatchObject({ mem_storage: 128 * 2 ** 20, disk_storage: 2 ** 31 })
  const seeds = identityFieldNames.filter((name) => !name.endsWith('jwt'))
  for (const name of seeds) expect(changed.identity.fields[name]).toBe(identity.fields[name])
  expect(read()).toEqual(read(`${path}.backup`))
  expect((await load()).identity.instance).toBe(identity.instance)
})

test('a folder or file that cannot be written is one clear line', async () => {
  writeFileSync(join(home, 'file'), '')
  for (const folder of [join(home, 'file'), join(home, 'file', 'below')]) {
    const error: unknown = await loadPlatformConfig(folder, limits, logged.log).catch(
      (error: unknown) => error,
    )
    expect(error).toBeInstanceOf(ConfigError)
    expect((error as Error).message).toMatch(/cannot be created \((?:EEXIST|ENOTDIR)\): set GANTRY_HOME/)
  }
})

test('a file that others can read is made private again', async () => {
  await load()
  chmodSync(path, 0o644)
  await load()
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(logged.text()).toContain('was readable by other users')
})

test('audit.retention is a year unless it is said otherwise, and no shorter than a weekend', async () => {
  const dayMs = 24 * 3_600_000
  expect((await load()).auditRetentionMs).toBe(365 * dayMs)
  const given = read()
  write({ ...given, 'audit.retention': '90d' })
  expect((await load()).auditRetentionMs).toBe(90 * dayMs)
  for (const wrong of ['2d', '101y', 'for ever', '90']) {
    write({ ...given, 'audit.retention': wrong })
    expect(await refusal()).toContain('audit.retention')
  }
})
