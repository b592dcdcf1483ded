import { headers } from '@nats-io/transport-node'
import { beforeAll, expect, test } from 'vitest'
import { brokerError, call } from '../../../broker/rpc/client.ts'
import { connectWithToken } from '../../../broker/rpc/connection.ts'
import { resource } from '../../../subjects/kit/contract.ts'
import { keys } from '../../../subjects/access/keys.ts'
import { strict } from '../../../subjects/kit/schemas.ts'
import { createClient } from '../../support/keys.ts'
import { sharedPlatform, type TestPlatform } from '../../support/platform.ts'

const absent = resource('absent', {
  run: { summary: 'Nobody does it', input: strict({}), output: strict({}), errors: [], http: [] },
})

let platform: TestPlatform
beforeAll(async () => {
  platform = await sharedPlatform()
})

const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'it worked',
    (error: unknown) => error,
  )

test('nobody there: UNAVAILABLE at once, with the subject', async () => {
  const began = performance.now()
  const error = await failure(call(platform.operator, absent.run, {}))
  expect(error).toMatchObject({ code: 'UNAVAILABLE', status: 503, retryable: true })
  expect((error as Error).message).toContain(absent.run.subject)
  expect(performance.now() - began).toBeLessThan(1_000)
})

test('not allowed: DENIED at once, with the subject', async () => {
  await using narrow = await createClient(platform, { pub: { allow: [] }, sub: { allow: [] } })
  const error = await failure(call(narrow.connection, keys.self, {}))
  expect(error).toMatchObject({ code: 'DENIED', status: 403 })
  expect((error as Error).message).toContain(keys.self.subject)
  expect(narrow.connection.isClosed()).toBe(false)
})

test('no answer in time: TIMEOUT', async () => {
  const silent = platform.operator.subscribe('gantry.extensions.silent', { callback: () => undefined })
  const contract = { ...absent.run, subject: 'gantry.extensions.silent' }
  expect(await failure(call(platform.operator, contract, {}, { timeoutMs: 50 }))).toMatchObject({
    code: 'TIMEOUT',
  })
  silent.unsubscribe()
})

test('an error of the service comes with its code, details and request id', async () => {
  const error = await failure(call(platform.operator, keys.get, { id: 'k0' }, { requestId: 'my-id' }))
  expect(error).toMatchObject({
    code: 'NOT_FOUND',
    message: 'there is no key k0: use an id of "gantry keys list"; names are not unique',
    requestId: 'my-id',
  })
  const invalid = await failure(call(platform.operator, keys.get, { id: 7 } as never))
  expect(invalid).toMatchObject({ code: 'INVALID_INPUT', details: [{ field: 'id' }] })
})

test('an error reply that is none of ours becomes INTERNAL with its text', async () => {
  const answering = platform.operator.subscribe('gantry.extensions.odd', {
    callback: (_, message) => {
      const head = headers()
      head.set('Nats-Service-Error', 'out of order')
      head.set('Nats-Service-Error-Code', '500')
      message.respond('not JSON', { headers: head })
    },
  })
  const contract = { ...absent.run, subject: 'gantry.extensions.odd' }
  expect(await failure(call(platform.operator, contract, {}))).toMatchObject({
    code: 'INTERNAL',
    message: 'out of order',
  })
  answering.unsubscribe()
})

test('a reply that is not UTF-8 JSON: INTERNAL, with whose it is', async () => {
  const contract = { ...absent.run, subject: 'gantry.extensions.garbled' }
  for (const answer of ['not JSON', '', Buffer.from('{"city":"K\u00f6ln"}', 'latin1')]) {
    const answering = platform.operator.subscribe(contract.subject, {
      callback: (_, message) => void message.respond(answer),
    })
    expect(await failure(call(platform.operator, contract, {}))).toMatchObject({
      code: 'INTERNAL',
      message: 'absent has failed: the answer is not UTF-8 JSON',
    })
    answering.unsubscribe()
  }
})

test('a wrong token: UNAUTHENTICATED', async () => {
  const error = await failure(connectWithToken(platform.tcpUrl, 'wrong', { reconnect: false }))
  expect(brokerError(error, 'the broker')).toMatchObject({ code: 'UNAUTHENTICATED', status: 401 })
})

test('a broker that is not there: UNAVAILABLE', async () => {
  const error = await failure(connectWithToken('nats://127.0.0.1:1', 'x', { reconnect: false }))
  expect(brokerError(error, 'the broker')).toMatchObject({ code: 'UNAVAILABLE' })
  const closed = await connectWithToken(platform.tcpUrl, platform.operatorToken)
  await closed.close()
  expect(await failure(call(closed, keys.self, {}))).toMatchObject({ code: 'UNAVAILABLE' })
})

test('what was sent before a connection is closed arrives', async () => {
  const subject = 'gantry.extensions.last.words'
  const heard = Promise.withResolvers<string>()
  const listening = platform.operator.subscribe(subject, {
    callback: (_, message) => heard.resolve(message.string()),
  })
  await platform.operator.flush()
  const leaving = await connectWithToken(platform.tcpUrl, platform.operatorToken)
  leaving.publish(subject, 'farewell')
  // The client passes it on in a microtask, and the transport to the system when the turn ends.
  await Promise.resolve()
  await leaving.close()
  expect(await heard.promise).toBe('farewell')
  listening.unsubscribe()
})

test('a socket that breaks while the client connects is a broker that cannot be reached', () => {
  const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' })
  expect(brokerError(reset, 'the broker').code).toBe('UNAVAILABLE')
})
