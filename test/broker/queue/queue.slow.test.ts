import { jetstreamManager } from '@nats-io/jetstream'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { queueStream } from '../../../broker/common/queue-stream.ts'
import type { NatsConnection } from '../../../broker/rpc/connection.ts'
import { Queue, QueueGoneError, type QueueItem } from '../../../broker/queue/queue.ts'
import { givenTwice } from '../../../broker/queue/work.ts'
import { removalOf, startTestBroker } from '../../support/broker.ts'
import { testLog } from '../../support/platform.ts'
import { until } from '../../support/until.ts'

const forever = new AbortController().signal
const upTo = (count: number) => Array.from({ length: count }, (_, n) => n)
const open = (connection: NatsConnection, options: { takeBack?: boolean } = {}) =>
  Queue.open(connection, 'jobs', ['small', 'large'], testLog, options)
const put = (queue: Queue, name: string, lane = 'small', messageId = `id ${name}`) =>
  queue.publish(lane, Buffer.from(name), messageId, forever)
const nameOf = (item: QueueItem) => Buffer.from(item.data).toString()

/** Works on a lane in the background until it is stopped; `work` finishes the item unless it is given. */
function working(
  queue: Queue,
  { lane = 'small', slots = 4, work = (item: QueueItem) => item.done() } = {},
): { names: string[]; done: string[]; stop(): Promise<void> } {
  const names: string[] = []
  const done: string[] = []
  const end = new AbortController()
  const ended = queue.consume(
    lane,
    slots,
    async (item) => {
      const name = nameOf(item)
      names.push(name)
      await work(item)
      done.push(name)
    },
    end.signal,
  )
  return {
    names,
    done,
    stop: async () => {
      end.abort()
      await ended
    },
  }
}

const isEmpty = (queue: Queue) => async () => (await queue.pending().catch(() => 1)) === 0

test('an item is there until it is done, and is told apart by lane', async () => {
  await using broker = await startTestBroker()
  const connection = await broker.connect('PLATFORM')
  const queue = await open(connection)
  expect(queue.isNew).toBe(true)
  await put(queue, 'a')
  await put(queue, 'b', 'large')
  expect([await queue.pending(), await queue.pendingByLane()]).toEqual([
    2,
    new Map([
      ['small', 1],
      ['large', 1],
    ]),
  ])
  expect((await open(connection)).isNew).toBe(false)
  let sequence = 0
  const small = working(queue, {
    work: async (item) => {
      sequence = item.sequence
      expect([item.messageId, item.redelivered, await queue.has(sequence)]).toEqual(['id a', false, true])
      await item.done()
    },
  })
  await until('it is done', () => small.done.length === 1)
  expect([small.names, await queue.pendingByLane(), await queue.pending()]).toEqual([
    ['a'],
    new Map([['large', 1]]),
    1,
  ])
  expect(await queue.has(sequence)).toBe(false)
  await small.stop()
  expect(await Queue.names(connection)).toEqual(['jobs'])
})

test('a message id is put into the queue once, even when its item is done', async () => {
  await using broker = await startTestBroker()
  const queue = await open(await broker.connect('PLATFORM'))
  await put(queue, 'a')
  await put(queue, 'a')
  const worker = working(queue)
  await until('it is done', () => worker.done.length === 1)
  await put(queue, 'a')
  await put(queue, 'b')
  await until('the other is done', () => worker.done.includes('b'))
  expect(worker.names).toEqual(['a', 'b'])
  await worker.stop()
})

test('work that fails, or puts it off, gets its item again, marked', async () => {
  await using broker = await startTestBroker()
  const queue = await open(await broker.connect('PLATFORM'))
  const marks: boolean[] = []
  const worker = working(queue, {
    work: async (item) => {
      marks.push(item.redelivered)
      if (marks.length === 1) throw new Error('not today')
      if (marks.length === 2) return item.later(20)
      await item.done()
    },
  })
  await put(queue, 'a')
  await until('it is done', isEmpty(queue))
  expect(marks).toEqual([false, true, true])
  await worker.stop()
})

test('a queue that is deleted is not an empty one, takes nothing, and can be deleted again', async () => {
  await using broker = await startTestBroker()
  const connection = await broker.connect('PLATFORM')
  const queue = await open(connection)
  await put(queue, 'a')
  await queue.delete()
  await queue.delete()
  await Queue.deleteByName(connection, 'jobs')
  await expect(queue.pending()).rejects.toThrow(QueueGoneError)
  await expect(queue.pendingByLane()).rejects.toThrow(QueueGoneError)
  expect(await queue.has(1)).toBe(false)
  await expect(put(queue, 'b')).rejects.toThrow(QueueGoneError)
  expect(await Queue.names(connection)).toEqual([])
})

// Side by side: what was asked of a broker that dies waits for its answer for five seconds.
test.concurrent.each([1, 50, 150])(
  'kill -9 after %i of 200 publications: every caller is answered, and each item is there once',
  async (killAfter) => {
    await using broker = await startTestBroker()
    const queue = await open(await broker.connect('PLATFORM'))
    let acknowledged = 0
    let next = 0
    const publisher = async () => {
      for (let n = next++; n < 200; n = next++) {
        await put(queue, `${n}`)
        acknowledged += 1
      }
    }
    const publishers = Promise.all(upTo(8).map(publisher))
    await until('it is time', () => acknowledged >= killAfter)
    await broker.kill()
    await publishers
    // What was stored before the kill is still known by its id.
    for (const n of upTo(200)) await put(queue, `${n}`)
    expect(await queue.pending()).toBe(200)
    const worker = working(queue)
    await until('all are done', isEmpty(queue))
    expect(worker.names.map(Number).toSorted((a, b) => a - b)).toEqual(upTo(200))
    await worker.stop()
  },
)

test.concurrent(
  'a publication that a broker did not answer before it was killed is not made again when it is done',
  async () => {
    await using broker = await startTestBroker()
    const queue = await open(await broker.connect('PLATFORM'))
    process.kill(broker.server.pid()!, 'SIGSTOP')
    let asked = 0
    const isDone = () => Promise.resolve(++asked > 0)
    const published = queue.publish('small', Buffer.from('a'), 'a', forever, isDone)
    await broker.kill()
    await published
    expect(asked).toBe(1)
    expect(await queue.pending()).toBe(0)
  },
)

test.concurrent(
  'what was there when a queue was opened, or its broker killed, somebody may have had',
  async () => {
    await using broker = await startTestBroker()
    const connection = await broker.connect('PLATFORM')
    await put(await open(connection), 'a')
    const queue = await open(connection)
    await put(queue, 'b')
    expect([await queue.wasOut(1), await queue.wasOut(2)]).toEqual([true, false])
    await broker.kill()
    expect([await queue.wasOut(1), await queue.wasOut(2), await queue.wasOut(3)]).toEqual([true, true, false])
  },
)

test('a queue is empty when the broker could not remove the one before as it was still removing another', async () => {
  await using broker = await startTestBroker()
  const connection = await broker.connect('PLATFORM')
  await put(await open(connection), 'a')
  const removed = removalOf(broker, 'WORK_jobs')
  await Queue.deleteByName(connection, 'jobs')
  const opening = open(connection)
  rmSync(removed, { recursive: true })
  const queue = await opening
  expect([queue.isNew, await queue.pending()]).toEqual([true, 0])
})

test.concurrent(
  'workers go on by themselves over three kills, and what was done is not handed out again',
  async () => {
    await using broker = await startTestBroker()
    const queue = await open(await broker.connect('PLATFORM'))
    await Promise.all(upTo(1_000).map((n) => put(queue, `${n}`)))
    const worker = working(queue)
    for (const killAfter of [1, 300, 600]) {
      await until('it is time', () => worker.done.length >= killAfter)
      await broker.kill()
    }
    await until('all are done', isEmpty(queue))
    await until('all workers know', () => worker.done.length >= 1_000)
    expect(worker.done.map(Number).toSorted((a, b) => a - b)).toEqual(upTo(1_000))
    expect(worker.names).toHaveLength(1_000)
    await worker.stop()
  },
)

test('a worker and the broker die with items in hand: who takes the queue back gets all of them, and once', async () => {
  await using broker = await startTestBroker()
  const dead = await broker.connect('PLATFORM')
  const queue = await open(dead)
  for (const n of upTo(30)) await put(queue, `${n}`)
  const { names } = working(queue, { work: () => new Promise(() => undefined) })
  await until('some are taken', () => names.length === 4)
  await dead.close()
  await broker.kill()
  const mine = await until('the broker is ready', () =>
    broker
      .connect('PLATFORM')
      .then((connection) => open(connection, { takeBack: true }))
      .catch(() => undefined),
  )
  const marked = new Set<string>()
  const worker = working(mine, {
    work: async (item) => {
      if (item.redelivered) marked.add(nameOf(item))
      await item.done()
    },
  })
  await until('all are done', isEmpty(mine))
  expect(worker.names.map(Number).toSorted((a, b) => a - b)).toEqual(upTo(30))
  expect(marked).toEqual(new Set([...marked, ...names]))
  await worker.stop()
})

test('a publication that waits for the broker ends when its caller gives up', async () => {
  await using broker = await startTestBroker()
  const queue = await open(await broker.connect('PLATFORM'))
  await queue.delete()
  const end = new AbortController()
  end.abort(new Error('enough'))
  await expect(queue.publish('small', Buffer.from('a'), 'id', end.signal)).rejects.toThrow('enough')
})

test('a queue knows its highest sequence, and that the broker gives one out a second time', async () => {
  await using broker = await startTestBroker()
  const connection = await broker.connect('PLATFORM')
  const queue = await open(connection)
  await Promise.all(upTo(3).map((n) => put(queue, `${n}`)))
  await put(queue, '0')
  expect([queue.published, await queue.state()]).toMatchObject([3, { messages: 3, lastSequence: 3 }])
  // What a store does that has lost the end of its last block.
  await queue.delete()
  const other = await open(connection)
  await put(queue, 'another')
  expect(queue.published).toBe(givenTwice)
  await put(other, 'one more')
  expect(other.published).toBe(2)
})

/** A broker in the folder of another that has ended in order, and whose store was damaged since: a file of the queue's stream. */
async function damagedBroker(file: RegExp, from: string, to: string) {
  const home = mkdtempSync(join(tmpdir(), 'gantry-queue-'))
  const before = await startTestBroker({ home })
  const { identity } = before
  const queue = await open(await before.connect('PLATFORM'))
  for (const name of ['first', 'damaged', 'last']) await put(queue, name)
  // A lane counts an item a moment after the stream has it.
  await until('each lane has its items', async () => (await queue.unreadable()) === 0)
  await before[Symbol.asyncDispose]()
  const path = readdirSync(home, { recursive: true, encoding: 'utf8' }).find((one) => file.test(one))!
  const content = readFileSync(join(home, path), 'latin1')
  writeFileSync(join(home, path), content.replace(from, to), 'latin1')
  const broker = await startTestBroker({ home, identity })
  return {
    connect: () => broker.connect('PLATFORM'),
    [Symbol.asyncDispose]: async () => {
      await broker[Symbol.asyncDispose]()
      rmSync(home, { recursive: true, force: true })
    },
  }
}

test('an item that the broker cannot read any more is known to be handed out to nobody', async () => {
  await using broker = await damagedBroker(/WORK_jobs\/msgs\/1\.blk$/, 'id damaged', 'id damagee')
  const queue = await open(await broker.connect())
  const small = working(queue)
  await until('the others are done', () => small.done.length === 2)
  expect([small.names, await queue.pending()]).toEqual([['first', 'last'], 1])
  await until('the broker has passed it over', async () => (await queue.unreadable()) === 1)
  await small.stop()
})

test('items of a lane that the broker has dropped are known to be handed out to nobody', async () => {
  await using broker = await startTestBroker()
  const connection = await broker.connect('PLATFORM')
  const queue = await open(connection)
  for (const name of ['first', 'last']) await put(queue, name)
  const manager = await jetstreamManager(connection)
  await manager.consumers.delete(queueStream('jobs'), 'small')
  expect(await queue.unreadable()).toBe(2)
})

test.each([
  ['the configuration of a lane', /WORK_jobs\/obs\/small\/meta\.inf$/, '"filter_subject', '"bilter_subject'],
  ['how far a lane is', /WORK_jobs\/obs\/small\/o\.dat$/, '\x16\x02', '\x17\x02'],
])(
  'a queue that the broker cannot read any more is gone, and a new one the next time: %s',
  async (_, ...damage) => {
    await using broker = await damagedBroker(...damage)
    const connection = await broker.connect()
    await expect(open(connection)).rejects.toThrow(QueueGoneError)
    const queue = await until('it can be made', () => open(connection).catch(() => undefined))
    expect([queue.isNew, await queue.pending()]).toEqual([true, 0])
    await put(queue, 'again')
    expect(await queue.pending()).toBe(1)
  },
)
