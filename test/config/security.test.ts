import { hashSync } from 'bcryptjs'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ConfigError } from '../../config/config-error.ts'
import { loadListenOptions, loadSecurity } from '../../http-edge/properties.ts'

let home: string
let path: string
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'gantry-security-'))
  path = join(home, 'migrator/application.properties')
  mkdirSync(join(home, 'migrator'))
  writeFileSync(join(home, 'password'), 'of the manager\nsecond line\n')
  writeFileSync(join(home, 'ca.pem'), '-----BEGIN CERTIFICATE-----\n')
  writeFileSync(join(home, 'empty'), '')
})
afterAll(() => rmSync(home, { recursive: true, force: true }))

/** Lines without their common beginning; HOME stands for the folder. */
function load(...lines: string[]) {
  const text = lines.map((line) => `security.${line.replaceAll('HOME', home)}\n`).join('')
  writeFileSync(path, `server.port=1\n${text}`)
  return loadSecurity(home)
}

const hash = hashSync('password', 4)
const basic = ['type=basic', 'basic.user=ann', `basic.password=${hash}`]
const url = 'ldap.url=ldaps://directory.example'
const byPattern = ['type=ldap', url, 'ldap.user-dn-pattern=uid={0},dc=example']
const bySearch = [
  'type=ldap',
  url,
  'ldap.user-search-base=dc=example',
  'ldap.manager-dn=cn=manager',
  'ldap.manager-password=of the manager',
]

test('it is off until somebody switches it on, and the file says how', () => {
  expect(load()).toEqual({ type: 'off' })
  expect(load('type=off', 'basic.user=ann')).toEqual({ type: 'off' })
  rmSync(path)
  expect(loadSecurity(home)).toEqual({ type: 'off' })
  const made = readFileSync(path, 'utf8')
  expect(made).toMatch(/^#security\.type=basic$/m)
  expect(made).toMatch(/^#security\.type=ldap$/m)
  rmSync(path)
  loadListenOptions(home, 'platform')
  expect(readFileSync(join(home, 'platform/application.properties'), 'utf8')).not.toContain('security')
})

test('basic: one user, a hash, a role', () => {
  const config = { type: 'basic', user: 'ann', passwordHash: hash, role: 'admin' }
  expect(load(...basic)).toEqual(config)
  expect(load(...basic, 'basic.role=viewer')).toEqual({ ...config, role: 'viewer' })
  const prefixed = [...basic.slice(0, 2), `basic.password={bcrypt}${hash.replace('$2b$', '$2a$')}`]
  expect(load(...prefixed)).toMatchObject({ passwordHash: hash.replace('$2b$', '$2a$') })
  expect(loadListenOptions(home, 'migrator').port).toBe(1)
})

test('ldap: people by a pattern or a search, with what is usual where nothing is said', () => {
  const common = {
    type: 'ldap',
    url: 'ldaps://directory.example',
    startTls: false,
    nameAttribute: 'uid',
    files: {},
    connectTimeoutMs: 2_000,
    timeoutMs: 3_000,
  }
  expect(load(...byPattern)).toEqual({ ...common, user: { dnPattern: 'uid={0},dc=example' } })
  const user = {
    base: 'dc=example',
    filter: '(uid={0})',
    managerDn: 'cn=manager',
    managerPassword: 'of the manager',
  }
  expect(load(...bySearch)).toEqual({ ...common, user })
  const fromFile = [...bySearch.slice(0, -1), 'ldap.manager-password-file=HOME/password']
  const groups = ['ldap.group-search-base=ou=groups', 'ldap.user-search-filter=(&(a=b)(cn={0}))']
  expect(load(...fromFile, ...groups, 'ldap.ca-file=HOME/ca.pem')).toEqual({
    ...common,
    user: { ...user, filter: '(&(a=b)(cn={0}))' },
    groups: { base: 'ou=groups', filter: '(member={0})' },
    ca: '-----BEGIN CERTIFICATE-----\n',
    files: {
      'security.ldap.manager-password-file': join(home, 'password'),
      'security.ldap.ca-file': join(home, 'ca.pem'),
    },
  })
  const local = ['type=ldap', 'ldap.url=ldap://127.0.0.1:389', 'ldap.user-dn-pattern=uid={0}']
  expect(load(...local)).toMatchObject({ startTls: false })
  expect(load(...local, 'ldap.start-tls=true', 'ldap.timeout-ms=5000')).toMatchObject({
    startTls: true,
    timeoutMs: 5_000,
  })
  const plain = ['type=ldap', 'ldap.url=ldap://directory.example', 'ldap.user-dn-pattern=uid={0}']
  expect(load(...plain, 'ldap.insecure=true')).toMatchObject({ url: 'ldap://directory.example' })
})

test.each<[lines: string[], key: string, line?: number]>([
  [['type=kerberos'], 'security.type must be off or basic or ldap', 2],
  [['tpye=basic'], 'unknown key security.tpye', 2],
  [['basic.user=ann'], 'security.basic.user has no effect without security.type', 2],
  [['type=basic'], 'security.basic.user is missing'],
  [basic.slice(0, 2), 'security.basic.password is missing'],
  [[...basic, 'basic.user=bob'], 'security.basic.user is set twice', 5],
  [[...basic, 'ldap.url=ldaps://x'], 'security.ldap.url has no effect with security.type=basic', 5],
  [['type=basic', 'basic.user=a:b'], 'security.basic.user must be', 3],
  [['type=basic', 'basic.user=ann', 'basic.password=secret'], 'gantry credential hash', 4],
  [['type=basic', 'basic.user=ann', `basic.password=${hash}x`], 'security.basic.password must be', 4],
  [['type=basic', `basic.password=${hash.replace('$04$', '$31$')}`], 'security.basic.password must be', 3],
  [[...basic, 'basic.role='], 'security.basic.role must be', 5],
  [['type=ldap'], 'security.ldap.url is missing'],
  [['type=ldap', 'ldap.url=http://x'], 'security.ldap.url must be', 3],
  [['type=ldap', 'ldap.url=ldap://x y'], 'security.ldap.url must be', 3],
  [['type=ldap', 'ldap.url=ldap://user:secret@x'], 'security.ldap.url must be', 3],
  [['type=ldap', 'ldap.url=ldap://x/dc=example'], 'security.ldap.url must be', 3],
  [['type=ldap', 'ldap.url=ldap://x'], 'security.ldap.url would send passwords over the network', 3],
  [['type=ldap', url, 'ldap.start-tls=true'], 'security.ldap.start-tls applies only to ldap://', 4],
  [['type=ldap', url, 'ldap.start-tls=yes'], 'security.ldap.start-tls must be true or false', 4],
  [['type=ldap', url, 'ldap.insecure=true'], 'security.ldap.insecure conflicts', 4],
  [
    ['type=ldap', 'ldap.url=ldap://localhost', 'ldap.ca-file=HOME/ca.pem'],
    'security.ldap.ca-file requires',
    4,
  ],
  [['type=ldap', url, 'ldap.ca-file=HOME/missing'], 'security.ldap.ca-file must be', 4],
  [['type=ldap', url, 'ldap.ca-file=HOME/empty'], 'security.ldap.ca-file must be', 4],
  [['type=ldap', url], 'security.ldap.user-dn-pattern is missing'],
  [['type=ldap', url, 'ldap.user-dn-pattern=uid=x'], 'security.ldap.user-dn-pattern must be', 4],
  [[...byPattern, 'ldap.manager-dn=cn=x'], 'security.ldap.manager-dn conflicts', 5],
  [bySearch.slice(0, 3), 'security.ldap.manager-dn is missing'],
  [bySearch.slice(0, 4), 'security.ldap.manager-password-file is missing'],
  [
    [...bySearch, 'ldap.manager-password-file=HOME/password'],
    'security.ldap.manager-password-file conflicts',
    7,
  ],
  [[...bySearch.slice(0, 4), 'ldap.manager-password-file=HOME/empty'], 'manager-password-file must be', 6],
  [[...bySearch.slice(0, 4), 'ldap.manager-password-file=password'], 'manager-password-file must be', 6],
  [[...bySearch, 'ldap.user-search-filter=uid={0}'], 'security.ldap.user-search-filter must be', 7],
  [[...bySearch, 'ldap.group-search-filter=(member={0})'], 'security.ldap.group-search-filter requires', 7],
  [[...byPattern, 'ldap.timeout-ms=60000'], 'security.ldap.timeout-ms must be', 5],
])('%j is refused: %s', (lines, problem, line) => {
  let error: unknown
  try {
    load(...lines)
  } catch (thrown) {
    error = thrown
  }
  expect(error).toBeInstanceOf(ConfigError)
  const { message } = error as ConfigError
  expect(message).toContain(problem)
  expect(message).toContain(line === undefined ? `${path}: ` : `${path}, line ${line}: `)
  expect(message).not.toContain('\n')
  for (const secret of ['secret', hash, 'of the manager']) expect(message).not.toContain(secret)
})

test('a file with a password in it is made private', () => {
  load(...basic)
  chmodSync(path, 0o644)
  loadSecurity(home)
  expect(statSync(path).mode & 0o777).toBe(0o600)
})
