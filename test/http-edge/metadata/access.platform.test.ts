import { hash } from 'bcryptjs'
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { keys } from '../../../subjects/access/keys.ts'
import { httpServers } from '../../../subjects/kit/names.ts'
import { createKey, everything } from '../../support/keys.ts'
import { rawRequest } from '../../support/http.ts'
import { authenticate, basicHeader, startGuarded } from '../../support/passwords.ts'
import { createHome, startTestPlatform, type TestPlatform } from '../../support/platform.ts'

/** A platform whose metadata service has access control: who is let through where. */
let home: string
let path: string
let platform: TestPlatform
const password = 'of ann'
const ann = basicHeader('ann', password)
const callers = new Map<string, string | undefined>()
const map = (index: number, pattern: string, access: readonly string[], method?: string): string =>
  [
    `pattern=${pattern}`,
    ...(method === undefined ? [] : [`http-method=${method}`]),
    ...access.map((one, place) => `access[${place}]=${one}`),
  ]
    .map((line) => `fastify.security.intercept-url-map[${index}].${line}\n`)
    .join('')
const passwordLine = async (text: string) => `fastify.security.basic.password=${await hash(text, 4)}\n`

beforeAll(async () => {
  home = await createHome()
  path = join(home, httpServers.metadata.propertiesFile)
  appendFileSync(
    path,
    [
      'fastify.security.enabled=true\n',
      map(0, '/docs/**', ['isAnonymous()']),
      map(1, '/agents/*', ['admin'], 'DELETE'),
      map(2, '/agents/for-viewers-?', ['nobody-has-it', 'viewer']),
      map(3, '/agents/open', ['isAnonymous()']),
      map(4, '/agents/guarded/**', ['nobody-has-it']),
      map(5, '/agents/**', ['isAuthenticated()']),
      // What an address has for whoever takes all of it for a path.
      map(6, '/*/elsewhere.example/**', ['isAuthenticated()']),
      'fastify.security.basic.user=ann\nfastify.security.basic.role=viewer\n',
      await passwordLine(password),
    ].join(''),
  )
  platform = await startTestPlatform({ home })
  const narrow = { pub: { allow: [] }, sub: { allow: [] } }
  callers.set('nobody', undefined)
  callers.set('a wrong password', basicHeader('ann', 'wrong'))
  callers.set('a wrong token', 'Bearer garbage')
  callers.set('ann, a viewer', ann)
  callers.set('the operator', `Bearer ${platform.operatorToken}`)
  callers.set('a key of the operator', `Bearer ${(await createKey(platform, everything)).token}`)
  callers.set('a key that may do nothing', `Bearer ${(await createKey(platform, narrow)).token}`)
})
afterAll(async () => {
  await platform[Symbol.asyncDispose]()
  rmSync(home, { recursive: true, force: true })
})

const ask = (method: string, url: string, authorization?: string, headers: Record<string, string> = {}) =>
  rawRequest(platform, 'metadata', {
    method,
    path: url,
    headers: { ...headers, ...(authorization === undefined ? {} : { authorization }) },
  })

test.each([
  ['nobody', 'GET', '/docs', 200],
  ['nobody', 'GET', '/docs-assets/start.js', 200],
  ['nobody', 'GET', '/openapi.json', 200],
  ['a wrong token', 'GET', '/docs', 200],
  ['nobody', 'GET', '/', 401],
  ['nobody', 'GET', '/nothing', 401],
  ['nobody', 'GET', '/agents', 401],
  ['nobody', 'POST', '/agents/a', 401],
  ['nobody', 'POST', '/agents/a/certificates/upload', 401],
  ['a wrong token', 'GET', '/agents', 401],
  ['a wrong password', 'GET', '/agents', 401],
  ['ann, a viewer', 'GET', '/agents', 200],
  ['ann, a viewer', 'GET', '/agents/a', 404],
  // No entry has it.
  ['ann, a viewer', 'GET', '/', 403],
  ['the operator', 'GET', '/nothing', 403],
  // The entry before is for another method or role.
  ['ann, a viewer', 'DELETE', '/agents/a', 403],
  ['ann, a viewer', 'DELETE', '/agents/a/', 403],
  ['ann, a viewer', 'DELETE', '/%61gents/a', 403],
  ['the operator', 'DELETE', '/agents/a', 404],
  ['a key of the operator', 'DELETE', '/agents/a', 404],
  ['ann, a viewer', 'GET', '/agents/for-viewers-1', 404],
  ['the operator', 'GET', '/agents/for-viewers-1', 403],
  // The map narrows, and never widens.
  ['nobody', 'GET', '/agents/open', 401],
  ['ann, a viewer', 'GET', '/agents/open', 404],
  ['ann, a viewer', 'PUT', '/agents/a', 400],
  ['ann, a viewer', 'GET', '/agents/a/tables?database=default', 403],
  ['a key that may do nothing', 'GET', '/agents', 403],
  ['the operator', 'POST', '/agents/a/certificates/upload', 409],
])('%s: %s %s: %i', async (who, method, url, status) => {
  const answer = await ask(method, url, callers.get(who))
  expect([answer.status, answer.text]).toEqual([status, expect.anything()])
})

test.each([
  ['GET', '/agents/guarded'],
  ['GET', '/agents/guarded/'],
  ['GET', '/agents/guarde%64'],
  ['GET', '/agents/guarded?like=x'],
  ['HEAD', '/agents/guarded'],
  ['GET', '/agents/guarded/databases'],
  // The router ends a path there.
  ['GET', '/agents/guarded#x'],
  ['GET', '/agents/guarded#/x'],
  // The router takes the path of an address.
  ['GET', 'http://elsewhere.example/agents/guarded'],
  ['GET', 'https://elsewhere.example/agents/guarded/databases'],
  ['GET', 'http://elsewhere.example/%61gents/guarded'],
])('nobody gets around the map: %s %s', async (method, url) => {
  const answer = await ask(method, url, callers.get('a key of the operator'))
  expect(answer.status).toBe(403)
})

test.each([
  ['GET', '/agents/guarded;x'],
  ['GET', '/agents//guarded'],
  ['GET', '/AGENTS/guarded'],
  ['GET', '/agents%2Fguarded'],
  ['GET', '/agents/./guarded'],
  ['GET', '/agents/x/../guarded'],
  ['OPTIONS', '/agents/guarded'],
])('what is written otherwise is another path: %s %s', async (method, url) => {
  const override = { 'x-http-method-override': 'DELETE' }
  const answer = await ask(method, url, callers.get('a key of the operator'), override)
  expect(answer.status).toBeOneOf([400, 403, 404, 405])
  expect(answer.text).not.toContain('there is no catalog guarded')
})

test('a refusal says what would help', async () => {
  const denied = await ask('DELETE', '/agents/a', ann)
  expect(denied.body).toMatchObject({
    code: 'DENIED',
    message: expect.stringContaining('metadata/application.properties'),
  })
  const unknown = await ask('GET', '/agents')
  expect(unknown.body).toMatchObject({ code: 'UNAUTHENTICATED', message: expect.stringContaining('Basic') })
  expect(unknown.headers['www-authenticate']).toContain('Basic realm="Gantry metadata"')
})

test('what a viewer may not do the broker refuses, wherever the map lets it through', async () => {
  const answer = await rawRequest(platform, 'metadata', {
    method: 'PUT',
    path: '/agents/a',
    headers: { authorization: ann, 'content-type': 'application/json' },
    body: JSON.stringify({ agentType: 'HIVE' }),
  })
  expect([answer.status, answer.body['code']]).toEqual([403, 'DENIED'])
})

test('a page of another site cannot use a password that the browser knows', async () => {
  expect((await ask('GET', '/agents', ann, { origin: 'https://elsewhere.example' })).status).toBe(401)
})

test('the user is another than one of that name on the migrator, and has the role of the file', async () => {
  const answer = await rawRequest(platform, 'platform', {
    path: '/api/v1/admin/users',
    headers: { authorization: `Bearer ${platform.operatorToken}` },
  })
  expect(JSON.parse(answer.text)).toContainEqual(
    expect.objectContaining({ subject: 'metadata:ann', roles: ['viewer'] }),
  )
})

test('a changed hash, and a changed role, work without a restart', async () => {
  const before = readFileSync(path, 'utf8')
  const line = /^fastify\.security\.basic\.password=.*\n/m
  writeFileSync(path, before.replace(line, await passwordLine('another')))
  expect((await ask('GET', '/agents', basicHeader('ann', 'another'))).status).toBe(200)
  writeFileSync(
    path,
    readFileSync(path, 'utf8')
      .replace('role=viewer', 'role=admin')
      .replace(line, await passwordLine('a third')),
  )
  expect((await ask('DELETE', '/agents/a', basicHeader('ann', 'a third'))).status).toBe(404)
  // Nobody is locked out by a file that is being changed.
  writeFileSync(path, 'fastify.security.enabled')
  expect((await ask('GET', '/agents', basicHeader('ann', 'a third'))).status).toBe(200)
  writeFileSync(path, before)
})

test('the session behind a password ends as others do', async () => {
  expect((await ask('GET', '/agents', ann)).status).toBe(200)
  const all = await platform.call(keys.list, {})
  const sessions = all.filter(({ owner, kind }) => owner === 'metadata:ann' && kind === 'session')
  for (const { id } of sessions) await platform.call(keys.revoke, { id })
  expect((await ask('GET', '/agents', ann)).status).toBe(200)
})

test('where the migrator asks everybody, so does the metadata service, be its own access control disabled', async () => {
  await using guarded = await startGuarded({
    type: 'basic',
    'basic.user': 'ann',
    'basic.password': await hash(password, 4),
  })
  const agents = (authorization: string | undefined) =>
    guarded.rest('metadata', 'GET', '/agents', {
      headers: authorization === undefined ? {} : { authorization },
    })
  expect((await agents(undefined)).status).toBe(401)
  expect((await agents(ann)).status).toBe(401)
  expect((await agents(`Bearer ${guarded.operatorToken}`)).status).toBe(200)
  const { body } = await authenticate(guarded, 'ann', password)
  expect((await agents(`Bearer ${String(body['token'])}`)).status).toBe(200)
})
