import { jetstreamManager } from '@nats-io/jetstream'
import { Type } from 'typebox'
import { expect, test } from 'vitest'
import type { NatsConnection } from '../../../broker/rpc/connection.ts'
import { type Emission, emission, Events } from '../../../broker/state/events.ts'
import { storageUse } from '../../../broker/state/storage.ts'
import { events as eventContracts } from '../../../subjects/kit/contract.ts'
import { eventSubject } from '../../../subjects/kit/names.ts'
import { smallLimits, startTestBroker } from '../../support/broker.ts'
import { followFacts } from '../../support/facts.ts'
import { until } from '../../support/until.ts'

const shape = { payload: Type.Object({ n: Type.Integer() }) }
const { counted, forgotten } = eventContracts('numbers', {
  counted: { summary: 'A number was counted', ...shape },
  forgotten: { summary: 'A number was forgotten', ...shape },
})

const open = (connection: NatsConnection) => Events.open(connection, smallLimits)
const fact = (n: number): Emission => emission(counted, 'one', { n })
const upTo = (count: number) => Array.from({ length: count }, (_, n) => n)

/** Follows until the broker's connections close; what was heard grows by itself. */
function listen(connection: NatsConnection, options: { from?: number; filter?: string } = {}) {
  const sequences: number[] = []
  const numbers: number[] = []
  const following = async () => {
    for await (const { sequence, payload } of followFacts(connection, options)) {
      sequences.push(sequence)
      numbers.push((payload as { n: number }).n)
    }
  }
  following().catch(() => undefined)
  return { sequences, numbers }
}

/** Publishes as a writer does that must tell: the same fact with the same id, until it is acknowledged. */
async function tell(events: Events, n: number): Promise<void> {
  const emitted = { ...fact(n), messageId: `fact ${n}` }
  await until(`fact ${n} is stored`, () =>
    events.publish(emitted).then(
      () => true,
      () => false,
    ),
  )
}

test('a fact names its object, and one that does not fit its contract is refused', () => {
  expect(emission(counted, 'a/b', { n: 1 })).toEqual({
    subject: eventSubject('numbers', 'counted', 'a=2Fb'),
    payload: { n: 1 },
  })
  const wrong = { n: 'one' } as unknown as { n: number }
  expect(() => emission(counted, 'a', wrong)).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }))
})

test('facts are followed in order, from the first on, from any, and only those that were asked for', async () => {
  await using broker = await startTestBroker()
  const connection = await broker.connect('PLATFORM')
  const events = await open(connection)
  for (const n of upTo(5)) await events.publish(fact(n))
  await events.publish(emission(forgotten, 'one', { n: 5 }))
  const all = listen(connection, { from: 1 })
  const some = listen(connection, { from: 4 })
  const filtered = listen(connection, { from: 1, filter: eventSubject('numbers', 'forgotten', '*') })
  await until('all are heard', () => all.numbers.length === 6)
  expect(all).toEqual({ sequences: [1, 2, 3, 4, 5, 6], numbers: upTo(6) })
  await until('some are heard', () => some.numbers.length === 3)
  expect(some.numbers).toEqual([3, 4, 5])
  await until('the other is heard', () => filtered.numbers.length === 1)
  expect(filtered.numbers).toEqual([5])
})

test('a follower that leaves goes on after the sequence it had', async () => {
  await using broker = await startTestBroker()
  const connection = await broker.connect('PLATFORM')
  const events = await open(connection)
  for (const n of upTo(4)) await events.publish(fact(n))
  let last = 0
  for await (const { sequence } of followFacts(connection, { from: 1 })) {
    last = sequence
    if (sequence === 2) break
  }
  const { numbers } = listen(connection, { from: last + 1 })
  await until('the others are heard', () => numbers.length === 2)
  expect(numbers).toEqual([2, 3])
})

test('the same fact published twice is one, also when the broker was killed in between', async () => {
  await using broker = await startTestBroker()
  const connection = await broker.connect('PLATFORM')
  const events = await open(connection)
  await tell(events, 0)
  await tell(events, 0)
  await broker.kill()
  await tell(events, 0)
  await tell(events, 1)
  const { numbers } = listen(connection, { from: 1 })
  await until('the last is heard', () => numbers.includes(1))
  expect(numbers).toEqual([0, 1])
})

test('other limits at the next start keep the facts', async () => {
  await using broker = await startTestBroker()
  const connection = await broker.connect('PLATFORM')
  await (await open(connection)).publish(fact(0))
  await Events.open(connection, { maxFileBytes: smallLimits.maxFileBytes / 2 })
  const { numbers } = listen(connection, { from: 1 })
  await until('it is heard', () => numbers.length === 1)
  expect((await storageUse(connection)).fileBytes).toBeGreaterThan(0)
})

// Side by side: what was asked of a broker that dies waits for its answer for five seconds.
test.concurrent.each([1, 50, 150])(
  'kill -9 after %i of 200 facts: all are there once, and a follower hears each once, in order',
  async (killAfter) => {
    await using broker = await startTestBroker()
    const connection = await broker.connect('PLATFORM')
    const events = await open(connection)
    const follower = listen(await broker.connect('PLATFORM', 'follower'), { from: 1 })
    let acknowledged = 0
    let next = 0
    const publisher = async () => {
      for (let n = next++; n < 200; n = next++) {
        await tell(events, n)
        acknowledged += 1
      }
    }
    const publishers = Promise.all(upTo(4).map(publisher))
    await until('it is time', () => acknowledged >= killAfter)
    await broker.kill()
    await publishers
    await until('all are heard', () => follower.numbers.length >= 200)
    const stored = listen(connection, { from: 1 })
    await until('all are read', () => stored.numbers.length >= 200)
    expect(stored.numbers.toSorted((a, b) => a - b)).toEqual(upTo(200))
    expect(follower).toEqual(stored)
    expect(follower.sequences).toEqual(upTo(200).map((index) => index + 1))
  },
)

test('a follower of new facts alone hears no old ones after a kill, though it had heard none yet', async () => {
  await using broker = await startTestBroker()
  const connection = await broker.connect('PLATFORM')
  const events = await open(connection)
  for (const n of upTo(5)) await tell(events, n)
  const { numbers } = listen(connection)
  const manager = await jetstreamManager(connection)
  await until('it listens', async () => (await manager.streams.info('EVENTS')).state.consumer_count === 1)
  await broker.kill()
  await tell(events, 5)
  await until('the new one is heard', () => numbers.includes(5))
  await broker.kill()
  await tell(events, 6)
  await until('the next is heard', () => numbers.includes(6))
  expect(numbers).toEqual([5, 6])
})
