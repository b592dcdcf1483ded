import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createIdentity } from '../../../broker/identity/create-identity.ts'
import { isRoot } from '../../support/ordinary-user.ts'
import { testUnless } from '../../support/unless.ts'
import { gantry } from '../support.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'gantry-config-'))
  mkdirSync(join(home, 'migrator'))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

const config = (...args: string[]) => gantry(['config', ...args], { env: { GANTRY_HOME: home } })
const write = (file: string, text: string) => writeFileSync(join(home, file), text)

test('mistakes of all files are told at once, and nothing is made or changed', async () => {
  write('messaging.config', '{\n  "max_flie": "1GiB"\n}\n')
  write('migrator/application.properties', 'server.port=none\nsecurity.typ=basic\n')
  const { code, out, err } = await config('check')
  expect(err).toBe('')
  expect(code).toBe(2)
  const lines = out.trimEnd().split('\n')
  expect(lines).toHaveLength(3)
  expect(lines[0]).toMatch(/^messaging\.config, line 2, column \d+: max_flie .* did you mean max_file\?$/)
  expect(lines[1]).toMatch(/migrator\/application\.properties, line 1: server\.port must be a port number/)
  expect(lines[2]).toMatch(/migrator\/application\.properties, line 2: .* did you mean security\.type\?$/)
  expect(readdirSync(home)).toEqual(['messaging.config', 'migrator'])
  const { problems } = JSON.parse((await config('check', '--json')).out) as { problems: string[] }
  expect(problems).toEqual(lines)
})

test('values are judged beside fields that are wrong; an identity that the next start would replace is told', async () => {
  write('messaging.config', '{"max_flie": "1GiB", "port": "x", "max_mem": "12QB"}')
  const limits = { maxMemBytes: 64 * 2 ** 20, maxFileBytes: 2 ** 30 }
  const { fields } = await createIdentity(limits)
  const file = {
    ...fields,
    'oidc.scopes': 7,
    'oidc.issuer': 'ht tp:/x',
    'oidc.clientid': 'id',
    'audit.retention': '1d',
  }
  write('gantry.config', JSON.stringify(file))
  const { out } = await config('check')
  for (const told of ['max_flie', 'port', 'max_mem', 'oidc.scopes', 'oidc.issuer', 'audit.retention'])
    expect(out, told).toContain(told)
  write('gantry.config', '{"portoffset": 5}')
  expect((await config('check')).out).toMatch(/gantry\.config: .+; the next start puts this file aside/)
})

testUnless(
  isRoot ? 'root reads every file' : undefined,
  'a file that may not be read is a problem like the others, and ends no command with a stack',
  async () => {
    write('messaging.config', '{"max_mem": "64MiB"}')
    chmodSync(join(home, 'messaging.config'), 0)
    const told = /messaging\.config cannot be used \(open: EACCES\): give it to the user that runs Gantry/
    const checked = await config('check')
    expect(checked).toMatchObject({ code: 2, err: '' })
    expect(checked.out).toMatch(told)
    const printed = await config('print')
    expect(printed.err).toMatch(told)
    expect(printed.err).not.toContain('    at ')
  },
)

test('a configuration without mistakes is said to be so; one that is not there is an error', async () => {
  const none = await config('check')
  expect(none.code).toBe(1)
  expect(none.err).toMatch(/has no configuration yet: create it with "gantry up"/)
  write('messaging.config', '{"max_mem": "64MiB"}')
  expect(await config('check')).toMatchObject({ code: 0, out: `${home}: no errors found\n` })
  expect(existsSync(join(home, 'gantry.config'))).toBe(false)
})

test('what is set is shown, with secrets masked; all that can be set with its defaults when asked', async () => {
  write('messaging.config', '{"max_mem": "64MiB"}')
  write('migrator/application.properties', 'security.type=ldap\nsecurity.ldap.manager-password=swordfish\n')
  const rows = async (...args: string[]) =>
    JSON.parse((await config('print', '--json', ...args)).out) as Record<string, string>[]
  const set = await rows()
  expect(set.map(({ name, value }) => [name, value])).toEqual([
    ['max_mem', '64MiB'],
    ['security.type', 'ldap'],
    ['security.ldap.manager-password', '(secret)'],
  ])
  const all = await rows('--defaults')
  expect(all.find(({ name }) => name === 'max_mem')).toMatchObject({ value: '64MiB', default: '256MiB' })
  expect(all.find(({ name }) => name === 'audit.retention')).toMatchObject({ default: '365d' })
  expect(all.filter(({ description = '' }) => description === '')).toEqual([])
  expect(all.map(({ name }) => name)).not.toContain('gantry.seed')
  expect((await config('print', '--defaults')).out).not.toContain('swordfish')
})

test('what variables set is shown too, as it counts for more than the files', async () => {
  write('messaging.config', '{"port": 5000}')
  const env = { GANTRY_HOME: home, GANTRY_BROKER_PORT: '5001', GANTRY_LISTEN_ADDRESS: '0.0.0.0' }
  const { out } = await gantry(['config', 'print', '--json'], { env })
  expect(JSON.parse(out)).toMatchObject([
    { file: 'GANTRY_BROKER_PORT', name: 'broker.port', value: '5001' },
    { file: 'GANTRY_LISTEN_ADDRESS', value: '0.0.0.0' },
    { file: 'messaging.config', name: 'port', value: '5000' },
  ])
})
