import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { keys } from '../../../subjects/access/keys.ts'
import { createKey } from '../../support/keys.ts'
import { rawRequest, type RawRequest } from '../../support/http.ts'
import { createFolder } from '../../support/migrations.ts'
import { recordingLog } from '../../support/log.ts'
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { until } from '../../support/until.ts'

const logged = recordingLog()
const folder = createFolder()
let platform: TestPlatform
beforeAll(async () => {
  platform = await startTestPlatform({ log: logged.log })
})
afterAll(async () => {
  await platform[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

const bearer = () => ({ authorization: `Bearer ${platform.operatorToken}` })
const json = { 'content-type': 'application/json' }
/** One request of the operator, its headers added to. */
const ask = (request: RawRequest) =>
  rawRequest(platform, 'platform', { ...request, headers: { ...bearer(), ...request.headers } })
const post = (body: string | Buffer, headers: Record<string, string> = json) =>
  ask({ method: 'POST', path: '/api/v1/keys', headers, body })
const key = { name: 'x', capabilities: { pub: { allow: [] }, sub: { allow: [] } } }

const invalid = (body: Record<string, unknown>) => {
  expect(body).toMatchObject({ code: 'INVALID_INPUT', requestId: expect.any(String) })
  return body['message'] as string
}

describe('a body', () => {
  test.each([
    ['{', 'not valid JSON'],
    ['{"name":"x",}', 'not valid JSON'],
    ["{'name':'x'}", 'not valid JSON'],
    ['x', 'not valid JSON'],
    ['[]', 'must be a JSON object'],
    ['"x"', 'must be a JSON object'],
    ['7', 'must be a JSON object'],
    ['null', 'must be a JSON object'],
    [JSON.stringify({ ...key, name: 'a\0b' }), 'name must be a name without'],
    ['{"name":"a\\ud800","capabilities":{"pub":{"allow":[]},"sub":{"allow":[]}}}', 'unpaired surrogate'],
    ['{"__proto__":{"admin":true},"name":"x"}', '__proto__'],
    ['{"constructor":{"prototype":{"admin":true}},"name":"x"}', 'constructor'],
    [JSON.stringify({ ...key, admin: true }), 'admin is not a field here'],
    [JSON.stringify({ ...key, Name: 'x' }), 'did you mean name'],
    [JSON.stringify({ ...key, name: 7 }), 'name'],
    [JSON.stringify({ ...key, capabilities: [] }), 'capabilities'],
    ['{}', 'name is required'],
    ['', 'name is required'],
  ])('%.60s is a 400 that says: %s', async (body, named) => {
    const before = (await platform.call(keys.list, {})).length
    const reply = await post(body)
    expect(reply.status).toBe(400)
    expect(invalid(reply.body)).toContain(named)
    expect((await platform.call(keys.list, {})).length).toBe(before)
  })

  test.each(['9007199254740993', '1e400', '-2', '1.5', '"1"'])(
    'with the number %s where an integer that is exact is wanted is refused by its field',
    async (number) => {
      const reply = await ask({
        method: 'PUT',
        path: '/api/v1/bandwidth/global',
        headers: json,
        body: `{"limit":1,"requests":${number}}`,
      })
      expect(reply.status).toBe(400)
      expect(invalid(reply.body)).toContain('requests')
    },
  )

  test.each([
    ['lists', '[', ']'],
    ['objects', '{"a":', '}'],
  ])('with 10,000 %s in each other is refused, wherever they are', async (_, open, close) => {
    const deep = `${open.repeat(10_000)}1${close.repeat(10_000)}`
    for (const body of [deep, `{"name":${deep}}`, `{"unknown":${deep}}`]) {
      const reply = await post(body)
      expect(reply.status).toBe(400)
      invalid(reply.body)
    }
  })

  test('with a pair of surrogates, or a text of backslashes that looks like one, is taken as it is', async () => {
    const { capabilities } = key
    const reply = await post(
      `{"name":"\\ud83d\\ude00","notes":"\\\\ud800","capabilities":${JSON.stringify(capabilities)}}`,
    )
    expect(reply).toMatchObject({ status: 201, body: { name: '😀', notes: '\\ud800' } })
  })

  test('of another type is refused with the type to send', async () => {
    for (const type of ['text/plain', 'application/xml', 'application/x-www-form-urlencoded', 'nonsense']) {
      const reply = await post(JSON.stringify(key), { 'content-type': type })
      expect(reply.status, type).toBe(400)
      expect(invalid(reply.body)).toContain('Content-Type: application/json')
    }
    expect((await post(JSON.stringify(key), {})).status).toBe(400)
    expect(
      (await post(JSON.stringify(key), { 'content-type': 'application/json; charset=utf-8' })).status,
    ).toBe(201)
  })

  test('that is not UTF-8 is refused, not changed', async () => {
    const bytes = Buffer.concat([
      Buffer.from('{"name":"'),
      Buffer.of(0xff, 0xfe),
      Buffer.from(JSON.stringify(key).slice(9)),
    ])
    const reply = await post(bytes)
    expect(reply.status).toBe(400)
    expect(invalid(reply.body)).toContain('UTF-8')
  })

  test('that is too large is a 413, whether it says so before or not', async () => {
    const large = JSON.stringify({ ...key, notes: 'x'.repeat(2 ** 20) })
    for (const headers of [json, { ...json, 'transfer-encoding': 'chunked' }]) {
      const reply = await post(large, headers)
      expect(reply.status).toBe(413)
      expect(reply.body).toMatchObject({ code: 'TOO_LARGE', requestId: expect.any(String) })
    }
  })

  test('compressed is not taken', async () => {
    const reply = await post(Buffer.of(0x1f, 0x8b, 0x08), { ...json, 'content-encoding': 'gzip' })
    expect(reply.status).toBe(400)
  })

  test('where none is taken: an empty one is nothing, another is refused', async () => {
    const path = '/api/v1/migrations/nothing/start'
    for (const body of ['', '{}']) {
      const reply = await ask({ method: 'POST', path, headers: json, body })
      expect(reply.status, JSON.stringify(body)).toBe(404)
      expect(reply.body['code']).toBe('NOT_FOUND')
    }
    const reply = await ask({ method: 'POST', path, headers: json, body: '{"force":true}' })
    expect(reply.status).toBe(400)
    expect(invalid(reply.body)).toContain('force')
    const deletion = await ask({ method: 'DELETE', path: '/api/v1/keys/k0', headers: json })
    expect(deletion.status).toBe(404)
  })

  test('a field that belongs into the path or the query is refused there', async () => {
    const inPath = await ask({
      method: 'PUT',
      path: '/api/v1/admin/roles/one',
      headers: json,
      body: JSON.stringify({ name: 'other', description: '', ...key.capabilities, visible_extensions: [] }),
    })
    expect(inPath.status).toBe(400)
    expect(invalid(inPath.body)).toContain('name is not a body field of this operation')
  })
})

describe('many unknown fields', () => {
  const fields = (count: number) =>
    JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, index) => [`field${index}`, index])))

  test.each([
    ['/api/v1/sign-in/device', 'is not allowed: this operation has no body fields'],
    ['/api/v1/sign-in', 'is not a field here'],
  ])('on %s, which anybody may call: twenty are told', async (path, problem) => {
    const answer = await rawRequest(platform, 'platform', {
      method: 'POST',
      path,
      headers: json,
      body: fields(900),
    })
    expect(answer.status).toBe(400)
    expect(invalid(answer.body)).toContain(problem)
    expect(answer.body['details']).toHaveLength(20)
  })

  test('in a body of more than 16 KiB are not read where anybody may call', async () => {
    for (const path of ['/api/v1/sign-in/device', '/api/v1/sign-in', '/api/v1/sign-in/complete']) {
      const answer = await rawRequest(platform, 'platform', {
        method: 'POST',
        path,
        headers: json,
        body: fields(90_000).slice(0, 2 ** 20),
      })
      expect(answer.status, path).toBe(413)
      expect(answer.body['message']).toContain('16384 bytes')
    }
  })

  test('of somebody who is known: twenty are told', async () => {
    for (const path of ['/api/v1/keys', '/api/v1/migrations/nothing/start']) {
      const answer = await ask({ method: 'POST', path, headers: json, body: fields(50_000) })
      expect(answer.status, path).toBe(400)
      expect(answer.body['details']).toHaveLength(20)
      expect(answer.text.length).toBeLessThan(16_384)
    }
  })

  test('in a query: twenty are told', async () => {
    const query = Array.from({ length: 1_000 }, (_, index) => `field${index}=1`).join('&')
    const answer = await rawRequest(platform, 'platform', { path: `/api/v1/ping?${query}` })
    expect(answer.status).toBe(400)
    expect(answer.body['details']).toHaveLength(20)
  })
})

test.each(['{"a":', '['])('a body of %s without end is a 400', async (open) => {
  const levels = 100_000
  const close = open === '[' ? ']' : '}'
  const inner = `${open.repeat(levels)}1${close.repeat(levels)}`
  const { status, body } = await rawRequest(platform, 'platform', {
    method: 'POST',
    path: '/api/v1/keys',
    headers: { ...json, authorization: `Bearer ${platform.operatorToken}` },
    body: `{"name":"x","capabilities":${inner}}`,
  })
  expect(status).toBe(400)
  expect(invalid(body)).toContain('nested')
})

describe('a query', () => {
  test.each([
    ['?limit=1&limit=2', 'limit'],
    ['?limit=x', 'limit'],
    ['?limit=0', 'limit'],
    ['?limit=1001', 'limit'],
    ['?limit=1.5', 'limit'],
    ['?limit=', 'limit'],
    ['?limit=1e2', 'limit'],
    ['?unknown=1', 'unknown is not a query field of this operation'],
    ['?Limit=1', 'Limit'],
    ['?__proto__=1', '__proto__'],
    ['?__proto__[x]=1', '__proto__'],
    ['?after=' + 'x'.repeat(401), 'after'],
  ])('%.40s is a 400 that names the field', async (query, named) => {
    const reply = await ask({ path: `/api/v1/keys${query}` })
    expect(reply.status).toBe(400)
    expect(invalid(reply.body)).toContain(named)
  })

  test('on a call with a body names what belongs into the body', async () => {
    const reply = await ask({
      method: 'POST',
      path: '/api/v1/keys?name=x',
      headers: json,
      body: JSON.stringify(key),
    })
    expect(reply.status).toBe(400)
    expect(invalid(reply.body)).toContain('this operation has no query fields')
  })
})

test.each([
  '/api/v1/admin/audit/verify?after=0',
  '/api/v1/admin/audit?after=0',
  '/api/v1/admin/audit?after=0&order=oldest',
  `/api/v1/admin/audit/verify?after=${Number.MAX_SAFE_INTEGER}`,
])('%s: any place to go on at is one', async (path) => {
  expect((await ask({ path })).status).toBe(200)
})

test.each([
  ['host:0', 400],
  ['host:65536', 400],
  ['host:99999', 400],
  ['host:080', 400],
  ['host:65535', 'as a host that nobody has'],
])('an endpoint %s: %s', async (endpoint, expected) => {
  const reply = await ask({
    method: 'POST',
    path: '/api/v1/filesystems/adls2/shared-key',
    headers: json,
    body: JSON.stringify({
      fileSystemId: 'port',
      role: 'target',
      accountName: 'account',
      containerName: 'container',
      sharedKey: Buffer.alloc(64).toString('base64'),
      endpoint,
    }),
  })
  if (expected === 400) {
    expect(reply.status).toBe(400)
    expect(invalid(reply.body)).toContain('a port from 1 to 65535')
  } else expect(reply).toMatchObject({ status: 409, body: { code: 'STORE_UNREACHABLE' } })
})

describe('a path', () => {
  test.each([
    '/nowhere',
    '/api/v1/nowhere',
    '/api/v2/keys',
    '/API/v1/keys',
    '/api/v1/keys/k1/more',
    '//api/v1/keys',
  ])('%s: 404 with an envelope', async (path) => {
    const reply = await ask({ path })
    expect(reply.status).toBe(404)
    expect(reply.body).toMatchObject({
      code: 'NOT_FOUND',
      message: `GET ${path} does not exist on this server`,
      requestId: reply.headers['x-request-id'],
    })
  })

  test.each(['/api/v1/keys/%', '/api/v1/keys/%zz', '/api/v1/keys/%ff', '/api/v1/keys/%c3%28'])(
    '%s: 400',
    async (path) => {
      const reply = await ask({ path })
      expect(reply.status).toBe(400)
      expect(invalid(reply.body)).toContain('percent-encoding')
    },
  )

  test.each([
    ['PATCH', '/api/v1/gantryinfo', 'GET, HEAD'],
    ['DELETE', '/api/v1/keys', 'GET, HEAD, POST'],
    ['DELETE', '/api/v1/keys/', 'GET, HEAD, POST'],
    ['POST', '/api/v1/keys/k0', 'DELETE, GET, HEAD, PUT'],
    ['TRACE', '/api/v1/ping', 'GET, HEAD'],
    ['PROPFIND', '/api/v1/ping?x=1', 'GET, HEAD'],
    ['POST', '/docs', 'GET, HEAD'],
    // A name in its place could be deleted.
    ['OPTIONS', '/api/v1/migrations/stop', 'POST'],
    ['OPTIONS', '/api/v1/migrations/m/exclusions/test', 'GET, HEAD'],
  ])('with another method, %s %s, is a 405 that says which there are', async (method, path, allow) => {
    const reply = await ask({ method, path })
    expect(reply.status).toBe(405)
    expect(reply.headers['allow']).toBe(allow)
    expect(reply.body).toMatchObject({ code: 'METHOD_NOT_ALLOWED', requestId: expect.any(String) })
  })

  test.each(['..%2f..', 'a%2fb', 'a%5cb', '%00', 'a%0ab', '%2e%2e%2f', 'x'.repeat(129)])(
    'a name that cannot be one: %s',
    async (name) => {
      const reply = await ask({ path: `/api/v1/filesystems/${name}` })
      expect([400, 404]).toContain(reply.status)
      if (reply.status === 400) expect(invalid(reply.body)).toContain('fileSystemId')
    },
  )

  test.each([
    'ä ö',
    '100 percent',
    'a+b',
    'a&b=c?d#e',
    '日本語',
    '🚀'.repeat(128),
    "o'clock",
    '*',
    '>',
    '$x.y',
  ])('a name that can be one, percent-encoded: %s', async (name) => {
    const path = `/api/v1/filesystems/${encodeURIComponent(name).replaceAll('.', '%2E')}`
    const made = await ask({
      method: 'POST',
      path: '/api/v1/filesystems/local',
      headers: json,
      body: JSON.stringify({ fileSystemId: name, role: 'target', fsRoot: folder.root }),
    })
    expect(made.status).toBe(201)
    expect((await ask({ path })).body).toMatchObject({ fileSystemId: name })
    expect((await ask({ method: 'DELETE', path })).status).toBe(200)
    expect((await ask({ path })).status).toBe(404)
  })
})

describe('headers', () => {
  test('every reply has a request id, and carries on one that is given', async () => {
    const made = await ask({ path: '/api/v1/ping' })
    expect(made.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
    const given = await ask({ path: '/api/v1/keys?limit=x', headers: { 'x-request-id': 'my:id-1.2_3' } })
    expect(given.headers['x-request-id']).toBe('my:id-1.2_3')
    expect(given.body['requestId']).toBe('my:id-1.2_3')
    for (const id of ['x'.repeat(65), 'a b', '<script>', 'é', '{}']) {
      const reply = await ask({ path: '/api/v1/keys?limit=x', headers: { 'x-request-id': id } })
      expect(reply.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
      expect(reply.body['requestId']).toBe(reply.headers['x-request-id'])
    }
  })

  test.each(['Host', 'Authorization'])('two of %s are a 400', async (name) => {
    const { hostname, port, host } = new URL(platform.httpUrls.platform)
    const own = { Host: host, Authorization: bearer().authorization }
    const lines = [...Object.entries(own), [name.toUpperCase(), own[name as keyof typeof own]]]
    const head = ['GET /api/v1/keys HTTP/1.1', ...lines.map(([key, value]) => `${key}: ${value}`)]
    const socket = connect(Number(port), hostname)
    socket.end(`${[...head, 'Connection: close'].join('\r\n')}\r\n\r\n`)
    const answer = await text(socket)
    expect(answer).toMatch(/^HTTP\/1.1 400 /)
    expect(answer).toContain(`the header ${name.toLowerCase()} was sent twice`)
  })

  test('the id reaches the service', async () => {
    const reply = await ask({ path: '/api/v1/keys/k0', headers: { 'x-request-id': 'through' } })
    expect(reply.body).toMatchObject({ code: 'NOT_FOUND', requestId: 'through' })
  })

  test('nothing is kept by caches or guessed by browsers, and nobody else’s page may read', async () => {
    const { headers } = await ask({ path: '/api/v1/ping', headers: { origin: 'http://evil.example' } })
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
    expect(headers['content-type']).toBe('application/json; charset=utf-8')
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([])
  })

  test('HEAD is GET without the body; OPTIONS grants nothing', async () => {
    const head = await ask({ method: 'HEAD', path: '/api/v1/ping' })
    expect(head).toMatchObject({ status: 200, text: '' })
    const options = await ask({
      method: 'OPTIONS',
      path: '/api/v1/keys',
      headers: { origin: 'http://evil.example', 'access-control-request-method': 'POST' },
    })
    expect(options.status).toBe(405)
    expect(Object.keys(options.headers).filter((name) => name.startsWith('access-control'))).toEqual([])
  })

  test('another media type asked for gets JSON all the same', async () => {
    const { status, headers } = await ask({ path: '/api/v1/ping', headers: { accept: 'text/html' } })
    expect([status, headers['content-type']]).toEqual([200, 'application/json; charset=utf-8'])
  })
})

test('answers without a token are those of the public routes alone', async () => {
  for (const path of ['/api/v1/ping', '/api/v1/health', '/api/v1/ready', '/api/v1/gantryinfo'])
    expect((await rawRequest(platform, 'platform', { path })).status).toBe(200)
  for (const path of [
    '/api/v1/keys',
    '/api/v1/apikey',
    '/api/v1/roles',
    '/api/v1/migrations',
    '/api/v1/stats',
  ])
    expect((await rawRequest(platform, 'platform', { path })).status).toBe(401)
})

test('a key with few rights gets through what it may, and 403 for the rest', async () => {
  const { token } = await createKey(platform, { pub: { allow: [keys.self.subject] }, sub: { allow: [] } })
  const headers = { authorization: `Bearer ${token}` }
  expect((await rawRequest(platform, 'platform', { path: '/api/v1/apikey', headers })).status).toBe(200)
  const denied = await rawRequest(platform, 'platform', { path: '/api/v1/keys', headers })
  expect(denied.status).toBe(403)
  expect(denied.body).toMatchObject({ code: 'DENIED', requestId: denied.headers['x-request-id'] })
})

test('none of this was an error of ours', () => {
  expect(logged.lines.filter(({ level }) => level === 'error')).toEqual([])
})

describe('what never becomes a request has the same error', () => {
  test.each([
    [
      'a URL that is not encoded',
      'GET /api/v1/日本 HTTP/1.1\r\nHost: x\r\n\r\n',
      400,
      'INVALID_INPUT',
      'percent-encode',
    ],
    ['no HTTP at all', 'hello\r\n\r\n', 400, 'INVALID_INPUT', 'not an HTTP request'],
    [
      'headers without end',
      `GET / HTTP/1.1\r\nX: ${'x'.repeat(70_000)}\r\n\r\n`,
      400,
      'INVALID_INPUT',
      '65536 bytes',
    ],
    [
      'a URL without end',
      `GET /?x=${'x'.repeat(70_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
      400,
      'INVALID_INPUT',
      'the URL and headers are larger than 65536 bytes',
    ],
  ])('%s', async (_, sent, status, code, message) => {
    const { hostname, port } = new URL(platform.httpUrls.platform)
    const socket = connect(Number(port), hostname)
    socket.end(sent)
    const answer = await text(socket)
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    const body: unknown = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))
    expect(body).toEqual({ code, message: expect.stringContaining(message), requestId: expect.any(String) })
  })
})

test('while the broker is frozen, callers are told so instead of waiting, and served when it goes on', async () => {
  const pid = Number(readFileSync(join(platform.home, 'run/nats-server.pid'), 'utf8'))
  const silent = {
    status: 503,
    body: { code: 'UNAVAILABLE', message: expect.stringContaining('the broker (nats-server)') },
  }
  process.kill(pid, 'SIGSTOP')
  try {
    const begun = performance.now()
    for (const path of ['/api/v1/health', '/api/v1/ready']) {
      // The signal arrives when it does.
      const said = await until('it is said', async () => {
        const answer = await rawRequest(platform, 'platform', { path })
        return answer.status === 200 ? undefined : answer
      })
      expect(said).toMatchObject(silent)
    }
    // Well before the deadline of any call.
    expect(performance.now() - begun).toBeLessThan(4_500)
    const known = performance.now()
    expect(await post(JSON.stringify(key))).toMatchObject(silent)
    expect(await rawRequest(platform, 'platform', { path: '/api/v1/ping' })).toMatchObject(silent)
    expect(await rawRequest(platform, 'migrator', { path: '/migrations' })).toMatchObject(silent)
    expect(performance.now() - known).toBeLessThan(1_000)
  } finally {
    process.kill(pid, 'SIGCONT')
  }
  await until('it is there again', async () => (await ask({ path: '/api/v1/health' })).status === 200)
  expect((await ask({ path: '/api/v1/keys' })).status).toBe(200)
})
