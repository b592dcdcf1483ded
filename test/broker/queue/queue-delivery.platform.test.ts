import { jetstreamManager } from '@nats-io/jetstream'
import { expect, test } from 'vitest'
import type { NatsConnection } from '../../../broker/rpc/connection.ts'
import { Queue, type QueueItem } from '../../../broker/queue/queue.ts'
import { startTestBroker } from '../../support/broker.ts'
import { testLog } from '../../support/platform.ts'
import { until } from '../../support/until.ts'

const forever = new AbortController().signal

async function filled(connection: NatsConnection, count: number): Promise<Queue> {
  const queue = await Queue.open(connection, 'one', ['lane'], testLog)
  for (let index = 0; index < count; index++) {
    await queue.publish('lane', Buffer.from(`${index}`), `id ${index}`, forever)
  }
  return queue
}

const outstanding = async (connection: NatsConnection) =>
  (await (await jetstreamManager(connection)).consumers.info('WORK_one', 'lane')).num_ack_pending

test.concurrent(
  'only as many items are handed out as there are slots: one that waits in a buffer would come twice',
  async () => {
    await using broker = await startTestBroker()
    const connection = await broker.connect('PLATFORM')
    const queue = await filled(connection, 20)
    const stop = new AbortController()
    const held: QueueItem[] = []
    const gate = Promise.withResolvers<void>()
    const hold = async (item: QueueItem) => {
      held.push(item)
      await gate.promise
    }
    const ended = queue.consume('lane', 3, hold, stop.signal)
    await until('the slots are full', () => held.length === 3)
    expect(await outstanding(connection)).toBe(3)
    stop.abort()
    gate.resolve()
    await ended
  },
)

test.concurrent('what was handed out when the work was stopped is there for the next at once', async () => {
  await using broker = await startTestBroker()
  const connection = await broker.connect('PLATFORM')
  const queue = await filled(connection, 20)
  const stop = new AbortController()
  const first = queue.consume('lane', 4, async () => stop.abort(), stop.signal)
  await first
  const done = new Set<string>()
  const again = new AbortController()
  const second = queue.consume(
    'lane',
    4,
    async (item) => {
      await item.done()
      done.add(Buffer.from(item.data).toString())
    },
    again.signal,
  )
  await until('all are done', () => done.size === 20)
  again.abort()
  await second
})

test.concurrent(
  'after a kill of the broker, items in hand are done once and the others come at once',
  async () => {
    await using broker = await startTestBroker()
    const connection = await broker.connect('PLATFORM')
    const queue = await filled(connection, 20)
    const stop = new AbortController()
    const deliveries: string[] = []
    const gate = Promise.withResolvers<void>()
    const ended = queue.consume(
      'lane',
      4,
      async (item) => {
        deliveries.push(Buffer.from(item.data).toString())
        await gate.promise
        await item.done()
      },
      stop.signal,
    )
    await until('the slots are full', () => deliveries.length === 4)
    await broker.kill()
    gate.resolve()
    await until('all are done', async () => (await queue.pending().catch(() => 1)) === 0)
    expect(deliveries.toSorted()).toEqual(Array.from({ length: 20 }, (_, index) => `${index}`).toSorted())
    stop.abort()
    await ended
  },
)

test.concurrent(
  'a worker that died had items: who takes the queue back gets them at once, marked',
  async () => {
    await using broker = await startTestBroker()
    const dead = await broker.connect('PLATFORM')
    const queue = await filled(dead, 10)
    let taken = 0
    void queue.consume('lane', 4, () => new Promise(() => void (taken += 1)), forever)
    await until('some are taken', () => taken === 4)
    await dead.close()
    const connection = await broker.connect('PLATFORM')
    const mine = await Queue.open(connection, 'one', ['lane'], testLog, { takeBack: true })
    const stop = new AbortController()
    const marked: boolean[] = []
    const ended = mine.consume(
      'lane',
      1,
      async (item) => {
        marked.push(item.redelivered)
        await item.done()
      },
      stop.signal,
    )
    await until('all are done', () => marked.length === 10)
    expect(marked.slice(0, 4)).toEqual([true, true, true, true])
    stop.abort()
    await ended
  },
)

test.concurrent('the work ends when the queue is deleted', async () => {
  await using broker = await startTestBroker()
  const connection = await broker.connect('PLATFORM')
  const queue = await filled(connection, 0)
  const ended = queue.consume('lane', 2, (item) => item.done(), forever)
  await queue.delete()
  await ended
})
