import { headers, type Msg, type NatsConnection } from '@nats-io/transport-node'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addressMarks } from '../../../broker/messages/client-address.ts'
import { FloodGuard, freeReplyBytes } from '../../../broker/limits/flood-guard.ts'
import { requestInfoHeader } from '../../../broker/messages/headers.ts'
import { startTestBroker, type TestBroker } from '../../support/broker.ts'
import { recordingLog } from '../../support/log.ts'

const mib = 2 ** 20

let broker: TestBroker
let connection: NatsConnection
beforeAll(async () => {
  broker = await startTestBroker()
  connection = await broker.connect('PLATFORM')
})
afterAll(() => broker[Symbol.asyncDispose]())

/** A request as it comes from a key. */
async function requestOf(keyId: string): Promise<Msg> {
  const subscription = connection.subscribe('requests', { max: 1 })
  const info = headers()
  info.set(requestInfoHeader, JSON.stringify({ user: keyId, server: 's', id: 1, start: 't' }))
  connection.publish('requests', '{}', { headers: info })
  for await (const message of subscription) return message
  throw new Error('nothing came')
}

function createGuard() {
  const disconnected: unknown[] = []
  const guard = new FloodGuard({
    marks: addressMarks(broker.identity),
    disconnect: (one) => disconnected.push(one),
    onFlood: () => undefined,
    log: recordingLog().log,
  })
  return { guard, disconnected }
}

test('all keys of an owner together have a larger allowance, and those of others their own', async () => {
  const { guard } = createGuard()
  const [one, two, three, other] = await Promise.all(['k1', 'k2', 'k3', 'k4'].map(requestOf))
  for (const keyId of ['k1', 'k2', 'k3']) guard.belongs(keyId, 'ada')
  guard.belongs('k4', 'bob')
  guard.answered(one!, 4 * 60 * mib)
  guard.answered(two!, 4 * 60 * mib)
  expect([one, two, three].map((request) => guard.judge(request!))).toEqual(['answer', 'answer', 'answer'])
  guard.answered(three!, 4 * 38 * mib)
  expect([one, two, three].map((request) => guard.judge(request!))).toEqual(['refuse', 'refuse', 'refuse'])
  expect(guard.judge(other!)).toBe('answer')
})

test('a key that is refused costs the other keys of its owner nothing', async () => {
  const { guard, disconnected } = createGuard()
  const [flooding, other] = await Promise.all(['k1', 'k2'].map(requestOf))
  for (const keyId of ['k1', 'k2']) guard.belongs(keyId, 'ada')
  const verdicts = Array.from({ length: 500_000 }, () => guard.judge(flooding!))
  expect(verdicts.at(-1)).toBe('drop')
  expect(disconnected).toHaveLength(1)
  expect(guard.judge(other!)).toBe('answer')
})

test('of a large answer a part counts, and of others nothing', async () => {
  const { guard } = createGuard()
  const request = await requestOf('k1')
  for (let n = 0; n < 10_000; n++) guard.answered(request, freeReplyBytes)
  expect(guard.judge(request)).toBe('answer')
  guard.answered(request, 4 * 72 * mib)
  expect(guard.judge(request)).toBe('refuse')
})

test('processor time counts, but for what usual JSON takes', async () => {
  const { guard } = createGuard()
  const request = await requestOf('k1')
  for (let n = 0; n < 10_000; n++) guard.took(request, 1)
  expect(guard.judge(request)).toBe('answer')
  guard.took(request, 1_100)
  expect(guard.judge(request)).toBe('refuse')
})
