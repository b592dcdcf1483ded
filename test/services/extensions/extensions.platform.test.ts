import { headers } from 'nats'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { keys } from '../../../subjects/access/keys.ts'
import { rawRequest } from '../../support/http.ts'
import { createClient, createKey, everything, issueInside } from '../../support/keys.ts'
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { until } from '../../support/until.ts'
import {
  bareExtension,
  type BareExtension,
  capabilitiesOf,
  endpoints,
  registration,
} from '../../support/example-extension.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await startTestPlatform()
})
afterAll(() => platform[Symbol.asyncDispose]())

const get = (path: string, token?: string) =>
  platform.rest(
    'platform',
    'GET',
    path,
    token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } },
  )
const post = (path: string, body: unknown, token?: string) =>
  platform.rest('platform', 'POST', path, {
    body,
    ...(token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } }),
  })
const forecast = (prefix: string) => `/api/v1/extensions/${prefix}/forecast`
const prefixes = async () =>
  ((await get('/api/v1/extensions/all')).body as { prefix: string }[]).map((one) => one.prefix)
const logOf = async (prefix: string) =>
  ((await get(`/api/v1/extension-logs/${prefix}`)).body as { message: string }[]).map(
    ({ message }) => message,
  )

const notFound = () => {
  const head = headers()
  head.set('Nats-Service-Error', 'there is none')
  head.set('Nats-Service-Error-Code', '404')
  return head
}

const homeOfWeather = 'extension-resources/weather?uri=ui://weather/home'

describe('an extension that registers', () => {
  const whole = {
    instance: 'one',
    resources: [{ uri: 'ui://weather/home', mediaType: 'text/html', content: '<h1>Weather</h1>' }],
  }
  let weather: BareExtension
  beforeAll(async () => {
    weather = await bareExtension(platform, 'weather')
    const { status, body } = await weather.register(whole)
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        instance: 'one',
        heartbeatEveryMs: 10_000,
        lostAfterMs: 30_000,
        queue: 'gantry',
        endpoints: [{ name: 'forecast', subject: 'gantry.extensions.weather.forecast' }],
      },
    })
  })
  afterAll(() => weather[Symbol.asyncDispose]())

  test('is in the lists at once', async () => {
    expect((await get('/api/v1/extensions/all')).body).toEqual([
      {
        prefix: 'weather',
        name: 'Weather',
        version: '1.0.0',
        owner: 'local:operator',
        instances: 1,
        since: expect.any(String),
      },
    ])
    expect((await get('/api/v1/extensions/features')).body).toMatchObject([
      { prefix: 'weather', menus: [{ label: 'Weather' }], endpoints: [{ name: 'forecast' }] },
    ])
    expect((await get('/api/v1/extensions/weather')).body).toMatchObject({
      instances: [{ id: 'one', key: weather.keyId }],
    })
    expect(await logOf('weather')).toEqual(['registered, version 1.0.0, 1 endpoint'])
  })

  test('answers over REST, with its fields in the body or the query', async () => {
    expect(await post(forecast('weather'), { city: 'Oslo', days: 2 })).toMatchObject({
      status: 200,
      body: { city: 'Oslo', days: 2 },
    })
    expect(await get(`${forecast('weather')}?city=Oslo&days=2`)).toMatchObject({
      status: 200,
      body: { city: 'Oslo', days: 2 },
    })
  })

  test('is not asked what does not fit its schema', async () => {
    const { status, body } = await post(forecast('weather'), { days: 99, town: 'Oslo' })
    expect(status).toBe(400)
    expect(body).toMatchObject({ code: 'INVALID_INPUT' })
    expect((body as { message: string }).message).toMatch(/city is required/)
  })

  test('passes on the errors that it declares', async () => {
    const { status, body } = await post(forecast('weather'), { city: 'Atlantis', how: 'unknown' })
    expect({ status, body }).toMatchObject({
      status: 404,
      body: { code: 'NOT_FOUND', message: 'there is no such city', requestId: expect.any(String) },
    })
  })

  test('cannot answer what its schema does not say', async () => {
    const { status, body } = await post(forecast('weather'), { city: 'Oslo', how: 'wrong' })
    expect({ status, body }).toMatchObject({ status: 500, body: { code: 'INTERNAL' } })
    await until('it is in its log', async () =>
      (await logOf('weather')).some((message) =>
        message.startsWith('forecast: the reply does not match the output schema: city is required'),
      ),
    )
  })

  test('is heard whatever it answers: details without end are left out, and text is UTF-8', async () => {
    await using odd = await bareExtension(platform, 'odd')
    const error = (more: string) => `{"code":"NOT_FOUND","message":"there is none",${more}}`
    const endless = '['.repeat(60_000) + ']'.repeat(60_000)
    const deep = error(`"details":${endless}`)
    const strange = `{"code":"NOT_FOUND","message":${endless}}`
    const answers: Record<string, string | Buffer> = {
      deep,
      strange,
      latin: Buffer.from('{"city":"K\u00f6ln"}', 'latin1'),
    }
    for (const [name, answer] of Object.entries(answers))
      odd.connection.subscribe(`gantry.extensions.odd.${name}`, {
        callback: (_, message) => message.respond(answer, name === 'latin' ? {} : { headers: notFound() }),
      })
    const endpoint = { summary: 'X', errors: ['NOT_FOUND'] }
    await odd.register({ endpoints: Object.keys(answers).map((name) => ({ ...endpoint, name })) })
    const { status, body } = await post('/api/v1/extensions/odd/deep', {})
    expect({ status, body }).toEqual({
      status: 404,
      body: { code: 'NOT_FOUND', message: 'there is none', requestId: expect.any(String) },
    })
    expect(await post('/api/v1/extensions/odd/strange', {})).toMatchObject({
      status: 404,
      body: { code: 'NOT_FOUND', message: 'The object does not exist.' },
    })
    expect(await post('/api/v1/extensions/odd/latin', {})).toMatchObject({
      status: 500,
      body: { code: 'INTERNAL', message: 'odd has failed: the answer is not UTF-8 JSON' },
    })
  })

  test('is not waited for longer than its endpoint says', async () => {
    const began = performance.now()
    const { status, body } = await post(forecast('weather'), { city: 'Oslo', how: 'silent' })
    expect({ status, body }).toMatchObject({ status: 504, body: { code: 'TIMEOUT' } })
    expect(performance.now() - began).toBeLessThan(3_000)
    await until('it is in its log', async () =>
      (await logOf('weather')).includes('forecast: no answer within 300 ms'),
    )
  })

  test('has no other endpoints', async () => {
    for (const path of ['weather/Forecast', 'Weather/forecast', 'nothing/forecast', 'we ther/x%20y'])
      expect((await get(`/api/v1/extensions/${encodeURI(path)}`)).status, path).toBe(404)
  })

  test('can be on a WebSocket, with nats.ws', async () => {
    await using page = await bareExtension(platform, 'page', { webSocket: true })
    expect((await page.register()).status).toBe(200)
    expect(await post(forecast('page'), { city: 'Oslo' })).toMatchObject({
      status: 200,
      body: { city: 'Oslo' },
    })
    expect(await post(forecast('page'), { city: 'Atlantis', how: 'unknown' })).toMatchObject({ status: 404 })
    await page.connection.close()
    await until('it is gone', async () => !(await prefixes()).includes('page'))
  })

  test('is called with a token alone', async () => {
    const path = forecast('weather')
    expect((await rawRequest(platform, 'platform', { path })).status).toBe(401)
  })

  test('is in the documents as they are at the moment', async () => {
    const openApi = (await get('/api/v1/openapi.json')).body as { paths: Record<string, object> }
    expect(openApi.paths[forecast('weather')]).toMatchObject({
      post: { operationId: 'weather.forecast', summary: 'The weather of a day' },
    })
    expect(openApi.paths).toHaveProperty(['/api/v1/ping'])
    const asyncApi = (await get('/api/v1/asyncapi.json')).body as { channels: Record<string, object> }
    expect(asyncApi.channels['weather.forecast']).toMatchObject({
      address: 'gantry.extensions.weather.forecast',
    })
    expect((await rawRequest(platform, 'platform', { path: '/api/v1/openapi.json' })).status).toBe(401)
  })

  test('is asked by its new schema as soon as it has registered another', async () => {
    const ask = async () => (await post(forecast('weather'), { city: 'Oslo' })).status
    expect(await ask()).toBe(200)
    const town = { type: 'object', properties: { town: { type: 'string' } }, additionalProperties: false }
    const endpoints = [{ name: 'forecast', summary: 'Of a town', input: town }]
    expect((await weather.register({ instance: 'one', endpoints })).status).toBe(200)
    expect(await ask()).toBe(400)
    expect((await weather.register(whole)).status).toBe(200)
    expect(await ask()).toBe(200)
  })

  test('is not there any more for a key that was narrowed', async () => {
    const pub = { allow: ['gantry.extensions.>'] }
    const { id, token } = await createKey(platform, { pub, sub: { allow: ['gantry.extensions.>'] } })
    expect((await post(forecast('weather'), { city: 'Oslo' }, token)).status).toBe(200)
    await platform.call(keys.update, { id, capabilities: { pub, sub: { allow: [] } } })
    expect((await post(forecast('weather'), { city: 'Oslo' }, token)).status).toBe(404)
  })

  test('lives by its heartbeats, which only its own key can send', async () => {
    const beat = { prefix: 'weather', instance: 'one' }
    expect((await weather.ask('extensions.heartbeat', beat)).status).toBe(200)
    const other = await bareExtension(platform, 'weather')
    expect(await other.ask('extensions.heartbeat', beat)).toMatchObject({
      status: 404,
      body: { code: 'NOT_FOUND' },
    })
    expect((await other.ask('extensions.deregister', beat)).status).toBe(404)
    await other.connection.close()
  })

  test('is seen only under both rules, and calls to what is not seen end as if it were not there', async () => {
    const cases: [sub: string[], visible: string[], seen: boolean][] = [
      [['gantry.extensions.weather.>'], ['weather'], true],
      [['gantry.extensions.>'], ['*'], true],
      [['gantry.extensions.weather.>'], ['other'], false],
      [['gantry.extensions.weather.>'], [], false],
      [['gantry.extensions.weather.forecast'], ['weather'], false],
      [['gantry.extensions.Weather.>'], ['weather'], false],
      [[], ['*'], false],
    ]
    for (const [sub, visible_extensions, isSeen] of cases) {
      const { token } = await issueInside(platform, {
        capabilities: { pub: everything.pub, sub: { allow: sub } },
        visible_extensions,
      })
      const what = `${sub.join()} ${visible_extensions.join()}`
      expect((await post(forecast('weather'), { city: 'Oslo' }, token)).status, what).toBe(isSeen ? 200 : 404)
      expect((await get('/api/v1/extensions/all', token)).body, what).toHaveLength(isSeen ? 1 : 0)
      expect((await get('/api/v1/extensions/features', token)).body, what).toHaveLength(isSeen ? 1 : 0)
      for (const path of ['extensions/weather', 'extension-logs/weather', homeOfWeather])
        expect((await get(`/api/v1/${path}`, token)).status, what).toBe(isSeen ? 200 : 404)
      const { paths } = (await get('/api/v1/openapi.json', token)).body as { paths: object }
      expect(Object.keys(paths).includes(forecast('weather')), what).toBe(isSeen)
    }
  })

  test('is called only by who may publish to it', async () => {
    const { token } = await createKey(platform, {
      pub: { allow: [] },
      sub: { allow: ['gantry.extensions.>'] },
    })
    expect(await post(forecast('weather'), { city: 'Oslo' }, token)).toMatchObject({
      status: 403,
      body: { code: 'DENIED' },
    })
  })
})

describe('leaving', () => {
  test('a clean stop takes the extension away', async () => {
    await using brief = await bareExtension(platform, 'brief')
    await brief.register({ instance: 'one' })
    expect((await post(forecast('brief'), { city: 'Oslo' })).status).toBe(200)
    expect((await brief.ask('extensions.deregister', { prefix: 'brief', instance: 'one' })).status).toBe(200)
    expect((await post(forecast('brief'), { city: 'Oslo' })).status).toBe(404)
    expect(await prefixes()).not.toContain('brief')
    expect(await logOf('brief')).toContain('deregistered')
    expect(await brief.ask('extensions.heartbeat', { prefix: 'brief', instance: 'one' })).toMatchObject({
      status: 404,
      body: { message: 'there is no instance one of brief: register again' },
    })
  })

  test('what a key was denied on its subjects is in its log if it is its owner’s, and not of others', async () => {
    await using own = await bareExtension(platform, 'denied')
    await own.register()
    const { token } = await issueInside(platform, { capabilities: capabilitiesOf('elsewhere') })
    await using stranger = await bareExtension(platform, 'elsewhere', { token })
    stranger.connection.publish('gantry.extensions.denied.foreign')
    await stranger.connection.flush()
    await using second = await createClient(platform, capabilitiesOf('elsewhere'))
    second.connection.publish('gantry.extensions.denied.mine')
    const denials = async () => (await logOf('denied')).filter((message) => message.includes('denied: key'))
    await until('it is in its log', async () => (await denials()).length > 0)
    expect(await denials()).toEqual([expect.stringContaining('publish to gantry.extensions.denied.mine')])
  })

  test('a connection that closes takes it away at once', async () => {
    const sudden = await bareExtension(platform, 'sudden')
    await sudden.register()
    await sudden.connection.close()
    const closedMs = performance.now()
    await until('it is gone', async () => !(await prefixes()).includes('sudden'))
    expect(performance.now() - closedMs).toBeLessThan(1_000)
    expect(await logOf('sudden')).toContain('lost: its connection has closed')
  })

  test('callers under way are told when nobody is left to answer, and those who come later, who may see it', async () => {
    const first = await bareExtension(platform, 'brittle')
    const second = await bareExtension(platform, 'brittle', { token: first.token })
    let hanging = 0
    for (const { connection } of [first, second])
      connection.subscribe('gantry.extensions.brittle.hang', {
        queue: 'gantry',
        callback: () => (hanging += 1),
      })
    const hang = { name: 'hang', summary: 'Answers nothing', limitMs: 20_000 }
    for (const one of [first, second]) await one.register({ endpoints: [...endpoints, hang] })
    const isAnswered: boolean[] = []
    const calls = Array.from({ length: 4 }, async (_, index) => {
      const answer = await post('/api/v1/extensions/brittle/hang', {})
      isAnswered[index] = true
      return answer
    })
    await until('all have arrived', () => hanging === 4)
    await second.connection.close()
    await until('one is left', async () => {
      const { instances } = (await get('/api/v1/extensions/brittle')).body as { instances: unknown[] }
      return instances.length === 1
    })
    expect((await post(forecast('brittle'), { city: 'Oslo' })).status).toBe(200)
    expect(isAnswered).toEqual([])
    const closedMs = performance.now()
    await first.connection.close()
    for (const answer of await Promise.all(calls))
      expect(answer).toMatchObject({
        status: 503,
        body: {
          code: 'UNAVAILABLE',
          message: 'the extension brittle disconnected before it answered; try again',
        },
      })
    expect(performance.now() - closedMs).toBeLessThan(5_000)
    const { status, body } = await post(forecast('brittle'), { city: 'Oslo' })
    expect({ status, body }).toMatchObject({ status: 503, body: { code: 'UNAVAILABLE' } })
    expect((body as { message: string }).message).toMatch(
      /^the extension brittle disconnected at \d{4}-[\d:.TZ-]+ and has not reconnected; try again later$/,
    )
    const { token } = await createKey(platform, { pub: { allow: ['gantry.>'] }, sub: { allow: [] } })
    expect((await post(forecast('brittle'), { city: 'Oslo' }, token)).status).toBe(404)
    await using back = await bareExtension(platform, 'brittle', { token: first.token })
    await back.register({ instance: 'back' })
    expect((await post(forecast('brittle'), { city: 'Oslo' })).status).toBe(200)
    await back.ask('extensions.deregister', { prefix: 'brittle', instance: 'back' })
    expect((await post(forecast('brittle'), { city: 'Oslo' })).status).toBe(404)
  })

  test('revoking its key takes it away', async () => {
    const revoked = await bareExtension(platform, 'revoked')
    await revoked.register()
    await platform.rest('platform', 'DELETE', `/api/v1/keys/${revoked.keyId}`)
    await until('it is gone', async () => !(await prefixes()).includes('revoked'))
    await revoked.connection.close()
  })

  test('the calls of several instances go to one of them, and the rest goes on when one leaves', async () => {
    const first = await bareExtension(platform, 'shared', { by: 'first' })
    const second = await bareExtension(platform, 'shared', { token: first.token, by: 'second' })
    await first.register()
    await second.register()
    const by = async () => ((await post(forecast('shared'), { city: 'Oslo' })).body as { by: string }).by
    const seen = new Set<string>()
    await until('both have answered', async () => seen.add(await by()).size === 2)
    expect((await get('/api/v1/extensions/shared')).body).toMatchObject({ instances: [{}, {}] })
    await second.connection.close()
    await until('one is left', async () => {
      const { instances } = (await get('/api/v1/extensions/shared')).body as { instances: unknown[] }
      return instances.length === 1
    })
    expect(await by()).toBe('first')
    await first.connection.close()
  })
})

describe('a key of the same owner that is for another extension', () => {
  const everyVerb = ['gantry.services.v1.extensions.*']

  test('does nothing to one that is away, nor sees it', async () => {
    await using mine = await bareExtension(platform, 'treasure')
    await mine.register({ instance: 'one' })
    const stored = { prefix: 'treasure', key: 'gold', value: 'much' }
    expect((await mine.ask('extension-storage.put', stored)).status).toBe(200)
    await using other = await bareExtension(platform, 'jealous', { pub: everyVerb })
    await other.register()
    const refused = async (verb: string, status: number, code: string) => {
      const instance = verb === 'heartbeat' || verb === 'deregister' ? { instance: 'one' } : {}
      expect(await other.ask(`extensions.${verb}`, { prefix: 'treasure', ...instance }), verb).toMatchObject({
        status,
        body: { code },
      })
    }
    for (const isAway of [false, true]) {
      for (const verb of ['release', 'heartbeat', 'deregister']) await refused(verb, 403, 'DENIED')
      for (const verb of ['show', 'logs']) await refused(verb, 404, 'NOT_FOUND')
      if (!isAway) await mine.ask('extensions.deregister', { prefix: 'treasure', instance: 'one' })
    }
    expect((await mine.ask('extension-storage.get', { prefix: 'treasure', key: 'gold' })).status).toBe(200)
    expect(await logOf('treasure')).toContain('deregistered')
  })

  test('that may be this one looks after it as well', async () => {
    await using mine = await bareExtension(platform, 'heirloom', { pub: everyVerb })
    await mine.register({ instance: 'one' })
    await mine.ask('extensions.deregister', { prefix: 'heirloom', instance: 'one' })
    await using heir = await bareExtension(platform, 'heirloom', { pub: everyVerb })
    const about = { prefix: 'heirloom' }
    expect((await heir.ask('extensions.logs', about)).status).toBe(200)
    expect((await heir.ask('extensions.release', about)).status).toBe(200)
    expect((await heir.ask('extensions.logs', about)).status).toBe(404)
  })
})

describe('a registration that is refused', () => {
  const refusal = async (prefix: string, more: object, sub = prefix) => {
    const { token } = await createKey(platform, capabilitiesOf(sub))
    await using extension = await bareExtension(platform, sub, { token })
    return await extension.ask('extensions.register', registration(prefix, more))
  }
  const withEndpoint = (endpoint: object) => ({ endpoints: [{ name: 'x', summary: 'X', ...endpoint }] })
  const deep = (levels: number): object => (levels === 0 ? {} : { type: 'array', items: deep(levels - 1) })
  const menu = { label: 'Bad', route: '/other' }
  const page = { uri: 'ui://bad/home', mediaType: 'text/markdown', content: '# Bad' }

  test.each<[string, object, RegExp]>([
    ['no name', { name: '' }, /name/],
    [
      'a subject outside',
      withEndpoint({ subject: 'gantry.extensions.other.x' }),
      /endpoints\[0\]\.subject must be a single subject below gantry\.extensions\.bad\.>/,
    ],
    [
      'a subject in another case',
      withEndpoint({ subject: 'gantry.extensions.Bad.x' }),
      /must be a single subject below/,
    ],
    [
      'a subject with a wildcard',
      withEndpoint({ subject: 'gantry.extensions.bad.*' }),
      /must be a single subject below/,
    ],
    [
      'an input that is no object',
      withEndpoint({ input: { type: 'string' } }),
      /endpoints\[0\]\.input\.type must be object/,
    ],
    [
      'an unknown keyword',
      withEndpoint({ output: { type: 'string', maxLenght: 3 } }),
      /output\.maxLenght is not a supported JSON Schema keyword/,
    ],
    ['a reference', withEndpoint({ output: { $ref: '#/$defs/x' } }), /output\.\$ref is not supported/],
    ['an unknown type', withEndpoint({ output: { type: 'text' } }), /output\.type must be one of/],
    ['a deep schema', withEndpoint({ output: deep(20) }), /is nested too deeply/],
    [
      'a wide schema',
      withEndpoint({ output: { anyOf: Array.from({ length: 500 }, () => ({ type: 'null' })) } }),
      /at most 400 schemas/,
    ],
    ['a large schema', withEndpoint({ output: { description: 'x'.repeat(70_000) } }), /at most 65536 bytes/],
    [
      'a pattern that takes for ever',
      withEndpoint({ output: { type: 'string', pattern: '^(a+)+$' } }),
      /pattern can take too long/,
    ],
    [
      'two endpoints of a name',
      { endpoints: [1, 2].map(() => ({ name: 'x', summary: 'X' })) },
      /endpoints\[1\]\.name x is used twice/,
    ],
    [
      'a widget without its page',
      { widgets: [{ name: 'w', title: 'W', uri: 'ui://bad/w' }] },
      /widgets\[0\]\.uri ui:\/\/bad\/w is not in resources/,
    ],
    [
      'a menu without its route',
      {
        menus: [menu],
        routes: [{ path: '/', title: 'Bad', uri: page.uri }],
        resources: [page],
      },
      /menus\[0\]\.route \/other is not one of the routes/,
    ],
    [
      'an error that it cannot know',
      withEndpoint({ errors: ['UNAUTHENTICATED'] }),
      /errors\[0\] must be one of/,
    ],
  ])('%s', async (_, more, message) => {
    const { status, body } = await refusal('bad', more)
    expect({ status, code: body['code'] }).toEqual({ status: 400, code: 'INVALID_INPUT' })
    expect(body['message']).toMatch(message)
  })

  test.each(['keys', 'gantry-access', 'Migrations', 'login', 'features', 'extension-storage'])(
    'the prefix %s',
    async (prefix) => {
      const { status, body } = await refusal(prefix, {})
      expect(status).toBe(400)
      expect(body['message']).toContain(`prefix must not be ${prefix}`)
    },
  )

  test('a key that may not subscribe is told which rule it needs', async () => {
    const { status, body } = await refusal('lacking', {}, 'other')
    expect({ status, body }).toMatchObject({
      status: 403,
      body: { code: 'DENIED', details: { rule: 'gantry.extensions.lacking.>' } },
    })
    expect(body['message']).toBe(
      'this key may not subscribe to gantry.extensions.lacking.>: use a key with the rule "gantry.extensions.lacking.>" in sub.allow',
    )
  })

  test('upper and lower case are different, and it says so', async () => {
    const { status, body } = await refusal('Weather2', {}, 'weather2')
    expect(status).toBe(403)
    expect(body['message']).toContain('it has gantry.extensions.weather2.>, but subjects are case-sensitive')
  })

  test('the prefix of somebody else, also when its owner is away', async () => {
    await using mine = await bareExtension(platform, 'mine')
    await mine.register({ instance: 'one' })
    const { token } = await issueInside(platform, { capabilities: capabilitiesOf('mine') })
    await using theirs = await bareExtension(platform, 'mine', { token })
    expect(await theirs.register()).toMatchObject({ status: 409, body: { code: 'NOT_ALLOWED_IN_STATE' } })
    await mine.ask('extensions.deregister', { prefix: 'mine', instance: 'one' })
    expect((await theirs.register()).status).toBe(409)
    expect((await platform.rest('platform', 'DELETE', '/api/v1/extensions/mine')).status).toBe(200)
    expect((await theirs.register()).status).toBe(200)
  })
})
