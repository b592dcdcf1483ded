import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, beforeAll, expect } from 'vitest'
import { monotonicMs } from '../../../broker/common/monotonic.ts'
import type { DirtyFolder } from '../../../services/drivers/feeds/dirty-folders.ts'
import type { FeedPositions } from '../../../services/drivers/feeds/feed.ts'
import { WatchError } from '../../../services/drivers/feeds/feed.ts'
import { KafkaFeed, type KafkaFeedOptions } from '../../../services/drivers/notifications/kafka-feed.ts'
import { deliveryMs, type Notice } from '../../../services/drivers/notifications/message-queue.ts'
import { memoryPositions } from '../../support/feeds.ts'
import { type KafkaBroker, kafkaTest, kafkaUser, startKafka } from '../../support/kafka.ts'
import { whyMissing } from '../../support/provide.ts'
import { until } from '../../support/until.ts'

let broker: KafkaBroker
beforeAll(async () => {
  if (whyMissing('KAFKA_CLASSES') === undefined) broker = await startKafka()
})
afterAll(() => broker?.[Symbol.asyncDispose]())

const parse = (body: string): Notice[] | undefined =>
  body === 'garbage' ? undefined : [{ bucket: 'lake', key: body, timeMs: Date.now() }]

/** A feed that notes what it is told. */
async function follow(
  topic: string,
  positions: FeedPositions,
  root = 'data',
  { brokers = [broker.address], tls = false, sasl }: Partial<KafkaFeedOptions> = {},
) {
  const told: { folders: readonly DirtyFolder[]; done: (() => void) | undefined }[] = []
  const errors: Error[] = []
  const feed = new KafkaFeed({ brokers, topic, tls, ...(sasl && { sasl }), parse, bucket: 'lake', root })
  const listener = {
    changed: (folders: readonly DirtyFolder[], done?: () => void) => void told.push({ folders, done }),
    ended: (error: Error) => void errors.push(error),
    positions,
  }
  const missedNothing = await feed.open(listener, new AbortController().signal)
  const paths = () =>
    told.flatMap(({ folders }) =>
      folders.flatMap(({ folder, names }) => names.map((name) => [folder, name].filter(Boolean).join('/'))),
    )
  return { feed, listener, told, errors, missedNothing, paths, [Symbol.asyncDispose]: () => feed.close() }
}

kafkaTest('what is told and not done is told again by the next feed, what is done is not', async () => {
  await broker.createTopic('again', 2)
  await broker.send('again', 'data/before')
  const { of } = memoryPositions()
  {
    await using first = await follow('again', of('reader'))
    expect(first.missedNothing).toBe(false)
    await broker.send('again', 'data/a/1', 'data/a/2', 'elsewhere/3')
    await until('both are told', () => first.paths().length >= 4)
    // Names of the folders too: they may have come with them.
    expect(new Set(first.paths())).toEqual(new Set(['a', 'a/1', 'a/2']))
    first.told.find(({ folders }) => folders.some(({ names }) => names.includes('1')))?.done?.()
  }
  await broker.send('again', 'data/meanwhile')
  await using next = await follow('again', of('reader'))
  expect(next.missedNothing).toBe(true)
  await until('what came meanwhile is told', () => next.paths().includes('meanwhile'))
  await until('what was not done is told again', () => next.paths().includes('a/2'))
  expect(next.paths()).not.toContain('before')
  await using other = await follow('again', of('other'))
  expect(other.missedNothing).toBe(false)
})

kafkaTest('what nobody understands has everything compared, once', async () => {
  await broker.createTopic('garbage', 1)
  await using feed = await follow('garbage', memoryPositions().of('reader'))
  await broker.send('garbage', 'garbage', 'garbage', 'data/1')
  await until('the last is told', () => feed.paths().includes('1'))
  expect(feed.told.map(({ folders }) => folders[0]?.scope)).toEqual(['tree', 'names'])
})

kafkaTest('what nobody understands soon after is told to the next feed, if it waits', async () => {
  await broker.createTopic('rubbish', 1)
  const { of } = memoryPositions()
  {
    await using first = await follow('rubbish', of('reader'))
    await broker.send('rubbish', 'garbage')
    await until('everything is compared', () => first.told.length === 1)
    first.told[0]?.done?.()
    await broker.send('rubbish', 'garbage', 'data/1')
    await until('what came later is told', () => first.paths().includes('1'))
    first.told.at(-1)?.done?.()
  }
  await using next = await follow('rubbish', of('reader'))
  expect(next.missedNothing).toBe(true)
  await until('everything is compared', () => next.told.some(({ folders }) => folders[0]?.scope === 'tree'))
})

kafkaTest(
  'another topic of the same name is read from its beginning on, and something was missed',
  async () => {
    const { of } = memoryPositions()
    await broker.createTopic('anew', 1)
    {
      await using first = await follow('anew', of('reader'))
      await broker.send('anew', 'data/1', 'data/2')
      await until('both are told', () => first.paths().length === 2)
      for (const { done } of first.told) done?.()
    }
    await broker.deleteTopic('anew')
    await broker.createTopic('anew', 1)
    await broker.send('anew', 'data/3', 'data/4', 'data/5')
    await using next = await follow('anew', of('reader'))
    expect(next.missedNothing).toBe(false)
  },
)

kafkaTest('partitions that a topic is given meanwhile are read from their beginning', async () => {
  await broker.createTopic('grows', 1)
  await using feed = await follow('grows', memoryPositions().of('reader'))
  await broker.send('grows', 'data/1')
  await until('the first is told', () => feed.paths().includes('1'))
  await broker.extendTopic('grows', 1, 2)
  await broker.sendTo('grows', 2, 'data/2')
  await until('the new partition is known', async () => {
    await feed.feed.tend(feed.listener)
    return feed.paths().includes('2')
  })
  await broker.sendTo('grows', 1, 'data/3')
  await broker.sendTo('grows', 0, 'data/4')
  await until('all partitions are read', () => ['3', '4'].every((name) => feed.paths().includes(name)))
  expect(feed.paths().filter((path) => path === '1')).toHaveLength(1)
  expect(feed.errors).toEqual([])
})

kafkaTest(
  'what is sent counts as told once it was read, and so does a topic in which nothing happens',
  async () => {
    await broker.createTopic('told', 2)
    await using one = await follow('told', memoryPositions().of('reader'))
    const sentMs = monotonicMs()
    await broker.send('told', 'data/1', 'data/2')
    expect(one.feed.toldUntilMs).toBeLessThanOrEqual(sentMs - deliveryMs)
    await until('all is read up to a moment after that', async () => {
      await one.feed.tend(one.listener)
      return one.feed.toldUntilMs > sentMs - deliveryMs
    })
    expect(one.paths()).toEqual(expect.arrayContaining(['1', '2']))
    const quietMs = monotonicMs()
    await until('time goes on', async () => {
      await one.feed.tend(one.listener)
      return one.feed.toldUntilMs > quietMs - deliveryMs
    })
  },
)

kafkaTest('a topic that is not there, and a broker that is not, are told apart', async () => {
  const { of } = memoryPositions()
  const missing = await follow('nothing', of('reader')).catch((error: unknown) => error)
  expect(missing).toBeInstanceOf(WatchError)
  expect(missing).toMatchObject({ isLimit: true, message: expect.stringContaining('nothing') as string })
  await broker.createTopic('outage', 1)
  await broker.kill()
  await expect(follow('outage', of('reader'))).rejects.toMatchObject({ failure: 'unreachable' })
  await broker.restart()
  await using feed = await follow('outage', of('reader'))
  await broker.send('outage', 'data/1')
  await until('it is told again', () => feed.paths().includes('1'))
})

/** Runs something while the authority of the broker is trusted. */
async function trusting(work: () => Promise<void>) {
  const before = getCACertificates('default')
  setDefaultCACertificates([...before, broker.secured.ca])
  try {
    await work()
  } finally {
    setDefaultCACertificates(before)
  }
}

kafkaTest('over TLS it is told by brokers that an authority vouches for, and by no other', async () => {
  await broker.createTopic('tls', 1)
  const { of } = memoryPositions()
  const over = { brokers: [broker.secured.tls], tls: true }
  await expect(follow('tls', of('reader'), 'data', over)).rejects.toThrow(
    'the topic tls cannot be read: unable to verify the first certificate',
  )
  await trusting(async () => {
    for (const brokers of [
      over.brokers,
      over.brokers.map((name) => name.replace('localhost', '127.0.0.1')),
    ]) {
      await using feed = await follow('tls', of('reader'), 'data', { ...over, brokers })
      await broker.send('tls', `data/${brokers.join()}`)
      await until('it is told', () => feed.paths().includes(brokers.join()))
    }
  })
})

kafkaTest('users are let in by each mechanism, others are not, and that lasts', async () => {
  await broker.createTopic('users', 1)
  const { of } = memoryPositions()
  await trusting(async () => {
    for (const mechanism of ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const) {
      const as = (user: typeof kafkaUser) =>
        follow('users', of(mechanism), 'data', {
          brokers: [broker.secured.sasl],
          tls: true,
          sasl: { mechanism, ...user },
        })
      await using feed = await as(kafkaUser)
      await broker.send('users', `data/${mechanism}`)
      await until('it is told', () => feed.paths().includes(mechanism))
      const refused = await as({ ...kafkaUser, password: 'other' }).catch((error: unknown) => error)
      expect(refused).toBeInstanceOf(WatchError)
      expect(refused).toMatchObject({
        isLimit: true,
        message: 'the topic users cannot be read: SASL_AUTHENTICATION_FAILED',
      })
      expect(String(refused)).not.toContain('other')
    }
  })
})
