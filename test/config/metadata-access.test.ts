import { hashSync } from 'bcryptjs'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ConfigError } from '../../config/config-error.ts'
import { usualMap } from '../../config/metadata-access.ts'
import { liveMetadataUser, loadListenOptions, loadMetadataAccess } from '../../http-edge/properties.ts'
import { testLog } from '../support/platform.ts'

let home: string
let path: string
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'gantry-metadata-access-'))
  path = join(home, 'metadata/application.properties')
  mkdirSync(join(home, 'metadata'))
})
afterAll(() => rmSync(home, { recursive: true, force: true }))

/** Lines without their common beginning; `map` stands for that of the map. */
const textOf = (lines: readonly string[]): string =>
  lines.map((line) => `fastify.security.${line.replace('map', 'intercept-url-map')}\n`).join('')
function load(...lines: string[]) {
  writeFileSync(path, textOf(lines))
  return loadMetadataAccess(home)
}
const entry = (index: number, pattern: string, ...access: string[]): string[] => [
  `map[${index}].pattern=${pattern}`,
  ...access.map((one, place) => `map[${index}].access[${place}]=${one}`),
]

const hash = hashSync('password', 4)
const usual = [...entry(0, '/docs/**', 'isAnonymous()'), ...entry(1, '/**', 'isAuthenticated()')]
const closed = { enabled: true, maps: [usualMap] }

test('a new file is on loopback, without access control, with the map as it is since 2.6', () => {
  rmSync(path, { force: true })
  expect(loadMetadataAccess(home)).toEqual({ access: { enabled: false }, user: undefined, advice: undefined })
  expect(loadListenOptions(home, 'metadata')).toEqual({ host: '127.0.0.1', port: 6780 })
  const text = readFileSync(path, 'utf8')
  expect(text).toMatch(/^fastify\.server\.host=127\.0\.0\.1$/m)
  expect(text).toContain(textOf(['enabled=false', ...usual]))
  writeFileSync(path, text.replace('fastify.server.host', '#').replace('enabled=false', 'enabled=true'))
  expect(loadMetadataAccess(home)).toEqual({ access: closed, user: undefined, advice: undefined })
  expect(loadListenOptions(home, 'metadata').host).toBe('::')
})

test('without a map that of 2.6 holds', () => {
  expect(load('enabled=true')).toEqual({ access: closed, user: undefined, advice: undefined })
})

test('entries are in the order of their places, wherever they stand', () => {
  const lines = [
    ...entry(1, '/**', 'isAuthenticated()', 'admin'),
    'map[0].http-method=GET',
    ...entry(0, '/docs/**', 'viewer'),
  ]
  expect(load('enabled=true', ...lines).access).toEqual({
    enabled: true,
    maps: [
      [
        { pattern: '/docs/**', method: 'GET', access: ['viewer'] },
        { pattern: '/**', method: undefined, access: ['isAuthenticated()', 'admin'] },
      ],
    ],
  })
})

test.each([
  ['no entry for the reference', entry(0, '/**', 'isAuthenticated()')],
  ['open to everybody', entry(0, '/**', 'isAnonymous()')],
  [
    'open to everybody beside the reference',
    [...entry(0, '/docs/**', 'admin'), ...entry(1, '/**', 'admin', 'isAnonymous()')],
  ],
  [
    'open to everybody in other words',
    [...entry(0, '/docs/**', 'admin'), ...entry(1, '/**/*', 'isAnonymous()')],
  ],
])('a map of before 2.6 (%s) is told, with the lines to put in, and the stricter holds', (_, lines) => {
  const { access, advice } = load('enabled=true', ...lines)
  expect(access).toMatchObject({ enabled: true, maps: [expect.anything(), usualMap] })
  expect(advice).toContain(textOf(usual))
  expect(load('enabled=false', ...lines)).toMatchObject({ access: { enabled: false }, advice })
})

test('a user with a password makes the file private', () => {
  const lines = ['enabled=true', 'basic.user=ann', `basic.password={bcrypt}${hash}`]
  const user = { type: 'basic', user: 'ann', passwordHash: hash, role: 'admin' }
  expect(load(...lines)).toMatchObject({ user })
  expect(statSync(path).mode & 0o077).toBe(0)
  expect(load(...lines, 'basic.role=viewer')).toMatchObject({ user: { ...user, role: 'viewer' } })
  expect(load('enabled=false', ...lines.slice(1))).toMatchObject({ user: undefined })
})

test.each([
  [['enabled=yes'], 1, 'fastify.security.enabled must be true or false'],
  [['map[0].pattern=docs'], 1, 'intercept-url-map[0].pattern must be a path'],
  [['map[0].pattern=/docs/{name}'], 1, 'intercept-url-map[0].pattern must be'],
  [['map[0].http-method=get'], 1, 'intercept-url-map[0].http-method must be GET, HEAD'],
  [['map[0].access[0]=denyAll()'], 1, 'access[0] must be isAnonymous(), isAuthenticated() or a role name'],
  [['map[0].pattern=/**'], 1, 'requires fastify.security.intercept-url-map[0].access[0], which is missing'],
  [[...usual, 'map[2].access[0]=admin'], 5, 'requires fastify.security.intercept-url-map[2].pattern'],
  [entry(1, '/**', 'admin'), 1, 'requires fastify.security.intercept-url-map[0].pattern'],
  [['map[0].pattern=/a', 'map[0].pattern=/b'], 2, 'is set twice'],
  [['map[00].pattern=/a'], 1, '; did you mean fastify.security.intercept-url-map[n].pattern?'],
  [['map[0].patern=/a'], 1, '; did you mean fastify.security.intercept-url-map[n].pattern?'],
  [['map.pattern=/a'], 1, 'unknown key'],
  [['basic.user=ann', `basic.password=${hash}`], 1, 'has no effect without fastify.security.enabled'],
  [['enabled=true', 'basic.user=ann'], undefined, 'fastify.security.basic.password is missing'],
  [['enabled=true', `basic.password=${hash}`], undefined, 'fastify.security.basic.user is missing'],
  [['enabled=true', 'basic.user=a:b'], 2, 'fastify.security.basic.user must be'],
  [['enabled=true', 'basic.password=plain'], 2, 'must be a bcrypt hash from "gantry credential hash"'],
])('%j is refused, with its place', (lines, line, problem) => {
  const failure = (() => {
    try {
      return load(...lines)
    } catch (error) {
      return error
    }
  })()
  expect(failure).toBeInstanceOf(ConfigError)
  const { message } = failure as ConfigError
  expect(message).toContain(line === undefined ? `${path}: ` : `${path}, line ${line}: `)
  expect(message).toContain(problem)
})

test('the user is that of the file at the moment, and as it was while that is wrong or away', () => {
  const lines = ['enabled=true', 'basic.user=ann', `basic.password=${hash}`]
  const current = liveMetadataUser(home, load(...lines).user, testLog)
  expect(current()?.user).toBe('ann')
  writeFileSync(path, textOf(['enabled=true', 'basic.user=bob', `basic.password=${hash}`]))
  expect(current()?.user).toBe('bob')
  writeFileSync(path, 'fastify.security.basic.user')
  expect(current()?.user).toBe('bob')
  rmSync(path)
  expect(current()?.user).toBe('bob')
  writeFileSync(path, textOf(['enabled=true']))
  expect(current()).toBeUndefined()
})
