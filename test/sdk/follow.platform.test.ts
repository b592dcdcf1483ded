import { headers } from '@nats-io/nats-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { follow, maxWaitingEvents } from '../../sdk/follow.ts'
import { messageHeaders, roots } from '../../subjects/kit/names.ts'
import { startTestBroker, type TestBroker } from '../support/broker.ts'

let broker: TestBroker
beforeAll(async () => {
  broker = await startTestBroker()
})
afterAll(() => broker[Symbol.asyncDispose]())

const subject = `${roots.events}.migrations.created.first`

async function publisher() {
  const connection = await broker.connect('PLATFORM')
  const marked = headers()
  marked.set(messageHeaders.event, subject)
  return {
    connection,
    publish: async (count: number) => {
      for (let index = 0; index < count; index++)
        connection.publish(subject, JSON.stringify(index), { headers: marked })
      await connection.flush()
    },
  }
}

test('events come in order; what only looks like one does not; leaving the loop ends the subscription', async () => {
  const { connection, publish } = await publisher()
  const events = await follow(connection, subject, undefined)
  connection.publish(subject, '"no event"')
  await publish(3)
  const bodies: unknown[] = []
  for await (const { body } of events) if (bodies.push(body) === 3) break
  expect(bodies).toEqual([0, 1, 2])
  expect(await events.next()).toMatchObject({ done: true })
})

test('a signal ends the loop that waits', async () => {
  const { connection } = await publisher()
  const ending = new AbortController()
  const next = (await follow(connection, subject, ending.signal)).next()
  ending.abort()
  expect(await next).toMatchObject({ done: true })
})

test('a closed connection ends the loop that waits', async () => {
  const { connection } = await publisher()
  const next = (await follow(connection, subject, undefined)).next()
  await connection.close()
  expect(await next).toMatchObject({ done: true })
})

test('a loop that is too slow gets what waited, then OVERLOADED', async () => {
  const { connection, publish } = await publisher()
  const events = await follow(connection, subject, undefined)
  await publish(maxWaitingEvents + 5)
  let count = 0
  const all = (async () => {
    for await (const _ of events) count++
  })()
  await expect(all).rejects.toMatchObject({ code: 'OVERLOADED', retryable: true })
  expect(count).toBe(maxWaitingEvents)
})
