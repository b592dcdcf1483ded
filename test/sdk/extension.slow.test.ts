import { Type } from 'typebox'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect as connectInBrowser } from '../../sdk/browser.ts'
import { connect, type ConnectOptions, type Extension, openStorage } from '../../sdk/index.ts'
import { call } from '../../broker/rpc/client.ts'
import { keyIdOf } from '../../broker/identity/token.ts'
import { audit } from '../../subjects/access/audit.ts'
import { extensions } from '../../subjects/extensions/extensions.ts'
import { keys } from '../../subjects/access/keys.ts'
import type { Aggregate } from '../../subjects/observability/metric-model.ts'
import { MetricRegistry } from '../../subjects/observability/metric-registry.ts'
import { observability } from '../../subjects/observability/observability.ts'
import { killServer } from '../support/broker.ts'
import { createKey } from '../support/keys.ts'
import { startTestPlatform, type TestPlatform } from '../support/platform.ts'
import { until } from '../support/until.ts'
import { capabilitiesOf } from '../support/example-extension.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await startTestPlatform()
})
afterAll(() => platform[Symbol.asyncDispose]())

const open: Extension[] = []
afterAll(() => Promise.all(open.map((extension) => extension.stop())))

/** Connects with a key of its own; what the author would see on the console is in `errors`. */
async function start(prefix: string, more: Partial<ConnectOptions> & { pub?: string[]; sub?: string } = {}) {
  const { pub, sub = prefix, ...options } = more
  const { token } = await createKey(platform, capabilitiesOf(sub, pub))
  const errors: string[] = []
  const onError = (error: unknown) => void errors.push((error as Error).message)
  const extension = await connect({ prefix, version: '1.0.0', token, onError, ...options })
  open.push(extension)
  return { extension, errors, token }
}

const post = (prefix: string, name: string, body: unknown = {}) =>
  platform.rest('platform', 'POST', `/api/v1/extensions/${prefix}/${name}`, { body })
const logOf = async (prefix: string) => {
  const { body } = await platform.rest('platform', 'GET', `/api/v1/extension-logs/${prefix}`)
  return (body as { level: string; message: string }[]).map(({ level, message }) => `${level} ${message}`)
}
const isThere = async (prefix: string) =>
  (await platform.rest('platform', 'GET', `/api/v1/extensions/${prefix}`)).status === 200

describe('an extension', () => {
  let weather: Extension
  let errors: string[]
  beforeAll(async () => {
    ;({ extension: weather, errors } = await start('weather', {
      name: 'Weather',
      pub: ['gantry.extensions.news.>', 'gantry.extensions.weather.events.>'],
    }))
    weather
      .resource({ uri: 'ui://weather/home', mediaType: 'text/markdown', content: '# Weather' })
      .route({ path: '/', title: 'Weather', uri: 'ui://weather/home' })
      .menu({ label: 'Weather', route: '/' })
      .widget({ name: 'today', title: 'Today', uri: 'ui://weather/home' })
      .endpoint(
        {
          name: 'forecast',
          summary: 'The weather of a day',
          input: Type.Object({ city: Type.String({ maxLength: 60 }) }, { additionalProperties: false }),
          output: Type.Object({ sunny: Type.Boolean() }),
          errors: ['NOT_FOUND'],
        },
        ({ city }, call) =>
          city === 'Atlantis'
            ? call.error('NOT_FOUND', 'there is no such city', { city })
            : call.respond({ sunny: city === 'Oslo' }),
      )
      .endpoint({ name: 'throws', summary: 'Fails' }, () => {
        throw new Error('the secret reason')
      })
      .endpoint({ name: 'forgets', summary: 'Does not answer', limitMs: 100 }, () => undefined)
      .endpoint(
        {
          name: 'lies',
          summary: 'Does not answer as it says',
          output: Type.Object({ sunny: Type.Boolean() }),
        },
        (_, call) => call.respond({ sunny: 'yes' } as never),
      )
      .endpoint({ name: 'twice', summary: 'Answers twice' }, (_, call) => {
        call.respond(1)
        call.respond(2)
      })
    await weather.ready()
  })

  test('brings what it declares', async () => {
    const { body } = await platform.rest('platform', 'GET', '/api/v1/extensions/features?prefix=weather')
    expect(body).toMatchObject([
      {
        menus: [{ label: 'Weather' }],
        routes: [{ uri: 'ui://weather/home' }],
        widgets: [{ name: 'today', uri: 'ui://weather/home' }],
        resources: [{ uri: 'ui://weather/home' }],
        endpoints: [
          { name: 'forecast' },
          { name: 'throws' },
          { name: 'forgets' },
          { name: 'lies' },
          { name: 'twice' },
        ],
      },
    ])
    const page = await platform.rest(
      'platform',
      'GET',
      '/api/v1/extension-resources/weather?uri=ui://weather/home',
    )
    expect(page.body).toMatchObject({ mediaType: 'text/markdown', content: '# Weather' })
  })

  test('answers, or says what is wrong', async () => {
    expect(await post('weather', 'forecast', { city: 'Oslo' })).toMatchObject({
      status: 200,
      body: { sunny: true },
    })
    expect(await post('weather', 'forecast', { city: 'Atlantis' })).toMatchObject({
      status: 404,
      body: { code: 'NOT_FOUND', details: { city: 'Atlantis' } },
    })
  })

  test('checks what it is asked by programs that come past the edge', async () => {
    await expect(weather.request('gantry.extensions.weather.forecast', { town: 1 })).rejects.toMatchObject({
      code: 'DENIED',
    })
    const reply = await platform.operator.request('gantry.extensions.weather.forecast', '{"town":1}')
    expect(reply.json()).toMatchObject({ code: 'INVALID_INPUT' })
  })

  test('that throws has failed, and only its author is told why', async () => {
    expect(await post('weather', 'throws')).toMatchObject({
      status: 500,
      body: { code: 'INTERNAL', message: 'the extension failed' },
    })
    expect(errors).toContain('the secret reason')
  })

  test('that forgets to answer is answered for', async () => {
    const { status, body } = await post('weather', 'forgets')
    expect({ status, body }).toMatchObject({
      status: 504,
      body: { code: 'TIMEOUT', details: { reason: 'no_answer' } },
    })
    expect(errors).toContain('the handler has called neither respond() nor error() within 100 ms')
    await until('it is in its log', async () =>
      (await logOf('weather')).some((line) => line.includes('no_answer')),
    )
  })

  test('that answers something else has failed', async () => {
    expect(await post('weather', 'lies')).toMatchObject({ status: 500, body: { code: 'INTERNAL' } })
  })

  test('that answers twice is told so; the first answer holds', async () => {
    expect(await post('weather', 'twice')).toMatchObject({ status: 200, body: 1 })
    await until('it is told', () => errors.some((message) => message.includes('is answered already')))
  })

  test('publishes where its key may, is told where not, and so are those who read its log', async () => {
    const heard: unknown[] = []
    platform.operator.subscribe('gantry.extensions.weather.events.*', {
      callback: (_, message) => void heard.push(message.json()),
    })
    await platform.operator.flush()
    await weather.publish('gantry.extensions.weather.events.changed', { sunny: true })
    await until('it is heard', () => heard.length > 0)
    expect(heard).toEqual([{ sunny: true }])
    await weather.publish('gantry.extensions.news.today', { sunny: true })
    await expect(weather.publish('gantry.extensions.other.x', {})).rejects.toMatchObject({
      code: 'DENIED',
      message: 'this key may not publish to gantry.extensions.other.x: it needs a rule for it in pub.allow',
    })
    await weather.publish('gantry.extensions.news.today', { sunny: true })
    await until('it is in its log', async () =>
      (await logOf('weather')).some(
        (line) =>
          line.startsWith('error permission denied') && line.includes('publish to gantry.extensions.other.x'),
      ),
    )
  })

  test('keeps values of its own', async () => {
    const storage = openStorage(weather)
    const revision = await storage.put('last', { city: 'Oslo' }, 0)
    expect(await storage.get('last')).toEqual({ value: { city: 'Oslo' }, revision })
    await expect(storage.put('last', 1, 0)).rejects.toMatchObject({ code: 'CONFLICT', details: { revision } })
    const stop = new AbortController()
    const seen: unknown[] = []
    const watching = (async () => {
      for await (const change of storage.watch({ signal: stop.signal })) seen.push(change.value)
    })()
    await storage.put('last', [1])
    await until('the change is told', () => seen.length === 2)
    await storage.delete('last')
    await until('the deletion is told', () => seen.length === 3)
    expect(seen).toEqual([{ city: 'Oslo' }, [1], undefined])
    expect(await storage.list()).toEqual([])
    expect(await storage.get('last')).toBeUndefined()
    stop.abort()
    await watching
  })
})

test('what cannot be sent is answered for at once, with the reason in its log', async () => {
  const { extension, errors } = await start('unsendable')
  const circle: Record<string, unknown> = {}
  circle['self'] = circle
  const values: Record<string, unknown> = {
    circle,
    bigint: { n: 1n },
    nothing: undefined,
    large: 'x'.repeat(8 * 2 ** 20),
    secret: {
      toJSON: () => {
        throw new Error('the secret reason')
      },
    },
  }
  const input = Type.Object({ what: Type.String({ maxLength: 9 }) })
  extension
    .endpoint({ name: 'answer', summary: 'Answers', input }, ({ what }, call) => call.respond(values[what]))
    .endpoint({ name: 'refuse', summary: 'Refuses', input, errors: ['NOT_FOUND'] }, ({ what }, call) =>
      call.error('NOT_FOUND', 'there is none', { of: values[what] }),
    )
  await extension.ready()
  const began = performance.now()
  const size = /^the (answer|error) cannot be sent: it has \d+ bytes, and the most are \d+$/
  const unwritten = 'the answer cannot be sent: it cannot be written as JSON'
  for (const what of Object.keys(values)) {
    const message = what === 'large' ? expect.stringMatching(size) : unwritten
    expect({ what, ...(await post('unsendable', 'answer', { what })) }).toMatchObject({
      what,
      status: 500,
      body: { code: 'INTERNAL', message },
    })
    expect({ what, ...(await post('unsendable', 'refuse', { what })) }).toMatchObject(
      what === 'large'
        ? { what, status: 500, body: { code: 'INTERNAL', message } }
        : { what, status: 404, body: { code: 'NOT_FOUND', message: 'there is none' } },
    )
  }
  expect(performance.now() - began).toBeLessThan(5_000)
  expect(errors).toHaveLength(6)
  await until('the reasons are in its log', async () => {
    const log = (await logOf('unsendable')).join('\n')
    return log.includes('the answer cannot be sent') && log.includes('the error cannot be sent')
  })
  expect(await logOf('unsendable')).not.toContain('the secret reason')
})

test('it asks the platform and other extensions with its own rights, and is known by its key', async () => {
  const { extension: answering } = await start('answering')
  answering.endpoint(
    { name: 'double', summary: 'Doubles', input: Type.Object({ n: Type.Integer() }) },
    ({ n }, call) => call.respond({ n: 2 * n }),
  )
  await answering.ready()
  const { extension: asking, token } = await start('asking', {
    pub: ['gantry.extensions.answering.double', keys.self.subject],
  })
  await asking.ready()
  expect(await asking.request('gantry.extensions.answering.double', { n: 2 })).toEqual({ n: 4 })
  for (const subject of ['gantry.extensions.answering.other', keys.list.subject])
    await expect(asking.request(subject, {})).rejects.toMatchObject({ code: 'DENIED' })
  const key = keyIdOf(token)!
  expect(await asking.request(keys.self.subject, {})).toMatchObject({ id: key, owner: 'local:operator' })
  await until('what it did is in the audit log under its key', async () => {
    const { records } = await platform.call(audit.list, { key, what: extensions.register.subject })
    return records.some(({ object, user }) => object === 'asking' && user === 'local:operator')
  })
})

test('a key that lacks a rule is told which', async () => {
  const { extension } = await start('lacking', { sub: 'other' })
  await expect(extension.ready()).rejects.toMatchObject({
    code: 'DENIED',
    message: expect.stringContaining('use a key with the rule "gantry.extensions.lacking.>" in sub.allow'),
  })
  await extension.stop()
})

test('without a token it says what to do, and of a wrong one that it is wrong', async () => {
  const refused = (token: string) => expect(connect({ prefix: 'none', version: '1', token })).rejects
  await refused('').toThrow('set GANTRY_TOKEN')
  await refused('x').toThrow('the token passed as an option or in GANTRY_TOKEN is not an API token')
})

test('a clean stop answers what is under way', async () => {
  const { extension } = await start('slow')
  const asked = Promise.withResolvers<void>()
  const go = Promise.withResolvers<void>()
  extension.endpoint({ name: 'wait', summary: 'Waits' }, async (_, call) => {
    asked.resolve()
    await go.promise
    call.respond('done')
  })
  await extension.ready()
  const answer = post('slow', 'wait')
  await asked.promise
  const stopped = extension.stop()
  await until('it is gone', async () => !(await isThere('slow')))
  go.resolve()
  expect(await answer).toMatchObject({ status: 200, body: 'done' })
  await stopped
  expect(extension.connection.isClosed()).toBe(true)
  expect((await logOf('slow')).at(-1)).toBe('info deregistered')
})

test('a page in a browser can be one, over WebSocket', async () => {
  const { token } = await createKey(platform, capabilitiesOf('page'))
  const extension = await connectInBrowser({
    prefix: 'page',
    version: '1.0.0',
    token,
    servers: platform.websocketUrl,
  })
  extension.endpoint({ name: 'hello', summary: 'Greets' }, (_, call) => call.respond({ hello: 'world' }))
  await extension.ready()
  expect((await post('page', 'hello')).body).toEqual({ hello: 'world' })
  await extension.stop()
})

test('after the broker was lost it is there again by itself, within five seconds', async () => {
  const { extension } = await start('steady')
  extension.endpoint({ name: 'hello', summary: 'Greets' }, (_, call) => call.respond(1))
  await extension.ready()
  const registered = async () => {
    const { body } = await platform.rest('platform', 'GET', '/api/v1/extensions/steady')
    return (body as { instances?: { registered: string }[] }).instances?.[0]?.registered
  }
  const before = await registered()
  expect(before).toBeDefined()
  await killServer({ pid: () => platform.brokerPid() })
  const backMs = performance.now()
  await until('it is registered anew', async () => {
    const now = await registered()
    return now !== undefined && now !== before
  })
  await until('it answers', async () => (await post('steady', 'hello')).status === 200)
  expect(performance.now() - backMs).toBeLessThan(5_000)
  // What the other tests ask with: it may take longer than the extension.
  const isAnswered = () => call(platform.operator, keys.list, {}, { timeoutMs: 500 })
  await until('the operator is answered', () => isAnswered().catch(() => undefined))
})

test('an extension measures, and what it could not report it reports later', async () => {
  const pub = ['gantry.services.v1.observability.report']
  const { extension, errors } = await start('measured', { pub })
  await extension.ready()
  const { metrics } = extension
  metrics.counter('jobs.total', { labels: { kind: 'a' }, help: 'Jobs done' }).add(2)
  metrics.counter('jobs.total', { labels: { kind: 'a' } }).add()
  metrics.gauge('depth').set(5)
  for (const seconds of [0.2, 0.4, 30_000]) metrics.histogram('seconds').observe(seconds)
  await extension.stop()
  expect(errors).toEqual([])
  const valueOf = async (name: string, aggregate: Aggregate) => {
    const reply = await platform.call(observability.query_scalar_metrics, {
      name,
      source: 'measured',
      aggregate,
    })
    return reply.series.map(({ value }) => value)
  }
  expect(await valueOf('jobs.total', 'sum')).toEqual([3])
  expect(await valueOf('depth', 'last')).toEqual([5])
  expect(await valueOf('seconds', 'max')).toEqual([30_000])

  const registry = new MetricRegistry()
  registry.counter('jobs.total').add(2)
  registry.histogram('seconds').observe(1)
  const drained = registry.drain()
  expect(registry.drain()).toEqual([])
  registry.putBack(drained)
  registry.counter('jobs.total').add(1)
  expect(registry.drain()).toMatchObject([{ value: 3 }, { distribution: { count: 1, min: 1, max: 1 } }])
})

test('an extension that may not report says so once', async () => {
  const { extension, errors } = await start('silent')
  await extension.ready()
  extension.metrics.counter('jobs.total').add()
  await extension.stop()
  expect(errors).toEqual([
    expect.stringMatching(
      /may not report metrics of an extension: it needs a rule for gantry\.services\.v1\.observability\.report/,
    ),
  ])
})
