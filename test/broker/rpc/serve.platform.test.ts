import { type NatsConnection, headers } from '@nats-io/transport-node'
import { Type } from 'typebox'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { call as callContract } from '../../../broker/rpc/client.ts'
import { serve, type Service } from '../../../broker/rpc/serve.ts'
import { type Handlers, resource } from '../../../subjects/kit/contract.ts'
import { GantryError } from '../../../subjects/kit/errors.ts'
import { strict } from '../../../subjects/kit/schemas.ts'
import { startTestBroker, type TestBroker } from '../../support/broker.ts'
import { recordingLog } from '../../support/log.ts'
import { until } from '../../support/until.ts'

const trial = resource('trial', {
  run: {
    summary: 'Does what the test says',
    input: strict({
      text: Type.Optional(Type.String({ maxLength: 10 })),
      list: Type.Optional(Type.Array(Type.Integer(), { maxItems: 3 })),
    }),
    output: strict({ text: Type.String() }),
    errors: ['NOT_FOUND'],
    http: [],
    // Long enough for a busy machine to answer in, short enough for a test to wait for its end.
    deadlineMs: 1_500,
  },
})
type Handler = Handlers<typeof trial>['run']

let broker: TestBroker
let inside: NatsConnection
let user: NatsConnection
let services: Service[] = []
const logged = recordingLog()
beforeAll(async () => {
  broker = await startTestBroker()
  inside = await broker.connect('PLATFORM')
  const capabilities = { pub: { allow: ['gantry.>'] }, sub: { allow: [] } }
  user = await broker.connect('GANTRY', 'k1', capabilities)
})
afterEach(async () => {
  await Promise.all(services.map((service) => service.stop()))
  services = []
  logged.lines.length = 0
})
afterAll(() => broker[Symbol.asyncDispose]())

const options = (more: object = {}) => ({
  identity: broker.identity,
  version: '1.2.3',
  log: logged.log,
  ...more,
})
async function start(run: Handler, more?: object, connection = inside): Promise<Service> {
  const service = serve(connection, trial, { run }, options(more))
  services.push(service)
  // Others' requests come on other connections.
  await connection.flush()
  return service
}

/** The replies to one request, until nothing more comes: those that came before the answer to a later question. */
async function repliesTo(body: string, requestId?: string) {
  const subject = `_INBOX.k1.${crypto.randomUUID()}`
  const replies: { code: string; header: string; body: unknown }[] = []
  const subscription = user.subscribe(subject, {
    callback: (_, message) => {
      const [code = '', header = ''] = ['Nats-Service-Error-Code', 'Nats-Service-Error'].map((name) =>
        message.headers?.get(name),
      )
      replies.push({ code, header, body: message.data.length === 0 ? undefined : message.json() })
    },
  })
  const head = headers()
  if (requestId !== undefined) head.set('Gantry-Request-Id', requestId)
  user.publish(trial.run.subject, body, { reply: subject, headers: head })
  await until('a reply', () => replies.length > 0)
  await inside.flush()
  await user.flush()
  subscription.unsubscribe()
  expect(replies).toHaveLength(1)
  return replies[0]!
}

describe('one reply, whatever the handler does', () => {
  test('it answers', async () => {
    await start(({ text = '' }) => ({ text }))
    expect(await repliesTo('{"text":"hello"}')).toEqual({ code: '', header: '', body: { text: 'hello' } })
  })

  test('it answers later', async () => {
    await start(async ({ text = '' }) => {
      await inside.flush()
      return { text }
    })
    expect(await repliesTo('{"text":"hello"}')).toMatchObject({ body: { text: 'hello' } })
  })

  test('an empty body is an empty input', async () => {
    await start((input) => ({ text: JSON.stringify(input) }))
    expect(await repliesTo('')).toMatchObject({ body: { text: '{}' } })
  })

  const internal = { code: 'INTERNAL', message: 'internal error: find the request id in the log' }
  const boom = new Error('the password is hunter2')
  test.each<[string, Handler]>([
    [
      'throws',
      () => {
        throw boom
      },
    ],
    ['rejects', () => Promise.reject(boom)],
    // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- what careless code does
    ['rejects with no error', () => Promise.reject('hunter2')],
    ['rejects with nothing', () => Promise.reject()],
    ['answers nothing', () => undefined as never],
    ['answers something else', () => ({ wrong: 'hunter2' }) as never],
    ['answers too much', () => ({ text: 'x', more: 'hunter2' }) as never],
    ['answers what is not JSON', () => ({ text: 1n }) as never],
    ['answers another thing later', () => Promise.resolve({ text: 1 } as never)],
    [
      'throws an error that it did not declare',
      () => {
        throw new GantryError('IN_USE', 'hunter2')
      },
    ],
  ])('it %s: INTERNAL, the reason in our log alone', async (_, run) => {
    await start(run)
    const reply = await repliesTo('{}', 'id-of-the-caller')
    expect(reply).toEqual({
      code: '500',
      header: internal.message,
      body: { ...internal, requestId: 'id-of-the-caller' },
    })
    const failure = logged.lines.find(({ message }) => message === 'A handler failed.')
    expect(failure?.details).toMatchObject({ requestId: 'id-of-the-caller', subject: trial.run.subject })
  })

  test('it throws an error that it declared: that, with its details', async () => {
    await start((_, call) => {
      throw call.fail('NOT_FOUND', 'there is\nno such thing', { wanted: 'x' })
    })
    expect(await repliesTo('{}', 'abc')).toEqual({
      code: '404',
      header: 'there is no such thing',
      body: {
        code: 'NOT_FOUND',
        message: 'there is\nno such thing',
        details: { wanted: 'x' },
        requestId: 'abc',
      },
    })
    expect(logged.lines).toEqual([])
  })

  test.each<[string, unknown]>([
    ['no JSON', { count: 1n }],
    ['circular', (() => ({ self: {} as unknown }))()],
    ['larger than a message', 'x'.repeat(9 * 2 ** 20)],
  ])('its error has details that are %s: they are left out', async (name, details) => {
    if (name === 'circular') (details as { self: unknown }).self = details
    await start((_, call) => {
      throw call.fail('NOT_FOUND', 'gone', details)
    })
    expect(await repliesTo('{}', 'abc')).toMatchObject({
      code: '404',
      body: { code: 'NOT_FOUND', message: 'gone', requestId: 'abc' },
    })
  })

  test.each<[string, () => { text: string }]>([
    ['an answer', () => ({ text: 'done' })],
    [
      'a refusal',
      () => {
        throw new GantryError('NOT_FOUND', 'gone')
      },
    ],
  ])('what is to follow its reply follows %s', async (_, answer) => {
    const order: string[] = []
    await start((_input, call) => {
      call.afterReply(() => Promise.resolve(void order.push('followed')))
      return answer()
    })
    await user.request(trial.run.subject)
    await until('it followed', () => order.length === 1)
  })

  test('its error has a message larger than a message: it is cut', async () => {
    await start((_, call) => {
      throw call.fail('NOT_FOUND', 'ж'.repeat(8 * 2 ** 20))
    })
    const { body } = await repliesTo('{}')
    expect((body as { message: string }).message).toMatch(/^ж{9999}…$/)
  })

  test('its answer is larger than a message: TOO_LARGE', async () => {
    await start(() => ({ text: 'ж'.repeat(5 * 2 ** 20) }))
    expect(await repliesTo('{}')).toMatchObject({ code: '413', body: { code: 'TOO_LARGE' } })
    await start(() => ({ text: 'x'.repeat(8 * 2 ** 20) }))
    expect(await repliesTo('{}')).toMatchObject({ code: '413', body: { code: 'TOO_LARGE' } })
  })

  test('it takes too long: TIMEOUT, and its signal is aborted', async () => {
    const aborted = Promise.withResolvers<void>()
    await start((_, { signal }) => {
      signal.addEventListener('abort', () => aborted.resolve())
      return new Promise<never>(() => undefined)
    })
    expect(await repliesTo('{}')).toMatchObject({ code: '504', body: { code: 'TIMEOUT' } })
    await aborted.promise
  })

  test('it fails after its time: nothing more is said', async () => {
    const late = Promise.withResolvers<never>()
    await start(() => late.promise)
    expect(await repliesTo('{}')).toMatchObject({ body: { code: 'TIMEOUT' } })
    late.reject(new Error('too late'))
    await inside.flush()
    expect(logged.lines).toEqual([])
  })
})

describe('an input that does not fit is refused by the name of its field, and the handler never sees it', () => {
  test.each([
    ['{"text":"far too long a text"}', 'text', 400],
    ['{"text":7}', 'text', 400],
    ['{"text":null}', 'text', 400],
    ['{"list":[1,"2"]}', 'list[1]', 400],
    ['{"list":[1,2,3,4]}', 'list', 400],
    ['{"unknown":1}', 'unknown', 400],
    ['{"Text":"x"}', 'did you mean text', 400],
    ['{"__proto__":{"text":"x"}}', '__proto__', 400],
    ['{"constructor":{}}', 'constructor', 400],
    ['[]', 'must be object', 400],
    ['null', 'must be object', 400],
    ['"x"', 'must be object', 400],
    ['{', 'not valid JSON', 400],
    ['{"text":"x"} trailing', 'not valid JSON', 400],
    [`{"text":"${'x'.repeat(2 ** 20)}"}`, 'larger than', 413],
    [`{${Array.from({ length: 50_000 }, (_, n) => `"unknown${n}":0`).join(',')}}`, 'unknown0', 400],
  ])('%.40s', async (body, named, status) => {
    await start(() => {
      throw new Error('it was called')
    })
    const reply = await repliesTo(body)
    expect(reply.code).toBe(String(status))
    expect(reply.body).toMatchObject({ code: status === 413 ? 'TOO_LARGE' : 'INVALID_INPUT' })
    expect((reply.body as { message: string }).message).toContain(named)
    expect(logged.lines).toEqual([])
  })
})

test('more requests at once than it works on are told to come again', async () => {
  const go = Promise.withResolvers<{ text: string }>()
  await start(() => go.promise, { concurrency: 3 })
  const outcomes = Array.from({ length: 5 }, () =>
    callContract(user, trial.run, {}).then(
      () => 'done',
      (error: { code: string }) => error.code,
    ),
  )
  await Promise.all(outcomes.slice(3))
  go.resolve({ text: '' })
  expect(await Promise.all(outcomes)).toEqual(['done', 'done', 'done', 'OVERLOADED', 'OVERLOADED'])
  expect(await callContract(user, trial.run, {})).toEqual({ text: '' })
})

test('a caller that fills a service does not keep others out of it', async () => {
  const go = Promise.withResolvers<{ text: string }>()
  let begun = 0
  const patient = resource('patient', { run: { ...trial.run, deadlineMs: 60_000 } })
  const run = () => {
    begun += 1
    return go.promise
  }
  services.push(serve(inside, patient, { run }, options({ concurrency: 3 })))
  await inside.flush()
  const capabilities = { pub: { allow: ['gantry.>'] }, sub: { allow: [] } }
  const other = await broker.connect('GANTRY', 'k2', capabilities)
  const ask = (connection: NatsConnection) =>
    callContract(connection, patient.run, {}).then(
      ({ text }) => text,
      (error: GantryError) => error.code,
    )
  const filling = [ask(user), ask(user), ask(user)]
  await until('the service is full', () => begun === 3)
  const others = [ask(other), ask(inside)]
  await until('the others are let in', () => begun === 5)
  expect(await ask(other)).toBe('OVERLOADED')
  expect(await ask(user)).toBe('OVERLOADED')
  go.resolve({ text: 'done' })
  expect(await Promise.all([...filling, ...others])).toEqual(Array.from({ length: 5 }, () => 'done'))
})

test('the id of a request is made where there is none, and is the same in reply and log', async () => {
  await start(() => Promise.reject(new Error('x')))
  const { body } = await repliesTo('{}')
  const { requestId } = body as { requestId: string }
  expect(requestId).toMatch(/^[a-z2-7]{26}$/)
  expect(logged.lines.at(-1)?.details['requestId']).toBe(requestId)
})

test('a stop lets the work in hand end, and takes no more', async () => {
  const go = Promise.withResolvers<{ text: string }>()
  const began = Promise.withResolvers<void>()
  let calls = 0
  const service = await start(() => {
    began.resolve()
    // Those that come before the broker knows of the stop are answered too, and hold up nobody.
    return calls++ === 0 ? go.promise : { text: 'more' }
  })
  const inFlight = callContract(user, trial.run, {})
  await began.promise
  const stopped = service.stop()
  await until('nobody answers any more', () =>
    callContract(user, trial.run, {}).then(
      () => false,
      (error: { code: string }) => error.code === 'UNAVAILABLE',
    ),
  )
  go.resolve({ text: 'done' })
  expect(await inFlight).toEqual({ text: 'done' })
  await stopped
  await service.stop()
})

test('a stop ends while the broker is away', async () => {
  await using own = await startTestBroker()
  const connection = await own.connect('PLATFORM')
  const service = serve(connection, trial, { run: () => ({ text: '' }) }, options())
  await own.server.stop()
  await until('the connection is lost', () => connection.stats().inBytes >= 0 && !own.server.pid())
  await service.stop()
})

test('instances share the requests, and one that stops leaves them to the other', async () => {
  const other = await broker.connect('PLATFORM', 'other instance')
  const counts = { one: 0, other: 0 }
  const count = (who: keyof typeof counts) => () => ({ text: String((counts[who] += 1)) })
  await start(count('one'))
  const second = await start(count('other'), {}, other)
  await Promise.all(Array.from({ length: 200 }, () => callContract(user, trial.run, {})))
  expect(counts.one + counts.other).toBe(200)
  expect(Math.min(counts.one, counts.other)).toBeGreaterThan(20)
  await second.stop()
  const before = counts.other
  await Promise.all(Array.from({ length: 20 }, () => callContract(user, trial.run, {})))
  expect(counts.other).toBe(before)
  expect(counts.one + counts.other).toBe(220)
})

test('it is there again after the broker was killed', async () => {
  await start(() => ({ text: 'here' }))
  await broker.kill()
  const answered = await until('it answers', () => callContract(user, trial.run, {}).catch(() => undefined))
  expect(answered).toEqual({ text: 'here' })
})

test('inside the platform the caller is the platform, from outside a key', async () => {
  await start((_, { caller }) => ({ text: caller.kind === 'key' ? caller.keyId : caller.kind }))
  expect(await callContract(inside, trial.run, {})).toEqual({ text: 'platform' })
  // The name of the user, by the broker's word; `connectAs` gave it its public key.
  expect((await callContract(user, trial.run, {})).text).toMatch(/^U[A-Z2-7]{55}$/)
})

test('who asks is charged for the bytes of each answer', async () => {
  const charged: number[] = []
  const floods = { judge: () => 'answer', answered: (_: unknown, bytes: number) => charged.push(bytes) }
  await start(() => ({ text: 'x'.repeat(1_000) }), { floods })
  const answer = await callContract(user, trial.run, {})
  expect(charged).toEqual([JSON.stringify(answer).length])
})

test('and for the processor time that a large input takes to be read and refused', async () => {
  const taken: number[] = []
  const floods = {
    judge: () => 'answer',
    answered: () => undefined,
    took: (_: unknown, ms: number) => taken.push(ms),
  }
  await start(() => ({ text: '' }), { floods })
  await repliesTo('{}')
  expect(taken).toEqual([])
  const fields = Array.from({ length: 20_000 }, (_, index) => [`unknown ${index}`, 0])
  expect(await repliesTo(JSON.stringify(Object.fromEntries(fields)))).toMatchObject({ code: '400' })
  expect(taken).toEqual([expect.any(Number)])
  expect(taken[0]).toBeGreaterThan(0)
})
