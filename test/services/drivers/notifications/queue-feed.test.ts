import fc from 'fast-check'
import { expect, test } from 'vitest'
import { monotonicMs } from '../../../../broker/common/monotonic.ts'
import { StoreError } from '../../../../services/drivers/contract/driver.ts'
import type { DirtyFolder } from '../../../../services/drivers/feeds/dirty-folders.ts'
import { type FeedPositions, WatchError } from '../../../../services/drivers/feeds/feed.ts'
import { deliveryMs, type Notice } from '../../../../services/drivers/notifications/message-queue.ts'
import { QueueFeed } from '../../../../services/drivers/notifications/queue-feed.ts'
import { memoryPositions } from '../../../support/feeds.ts'
import { QueueDouble } from '../../../support/queue-double.ts'
import { until } from '../../../support/until.ts'

const told = (...keys: string[]): string =>
  JSON.stringify(keys.map((key): Notice => ({ bucket: 'data', key, timeMs: Date.now() })))
const parse = (body: string) => (body === '?' ? undefined : (JSON.parse(body) as Notice[]))
const never = new AbortController().signal

let readers = 0

/** A migration that follows; what it is told is done when `finish` says so. */
class Follower {
  readonly names = new Set<string>()
  everything = 0
  behind = 0
  readonly ends: Error[] = []
  readonly waiting: (() => void)[] = []
  finishes = true
  #feed: QueueFeed | undefined

  readonly positions: FeedPositions
  constructor(positions: FeedPositions) {
    this.positions = positions
  }

  async open(queue: QueueDouble, { root = '', gatherMs = 0, key = queue.stream } = {}): Promise<boolean> {
    const feed = new QueueFeed(
      { key, queue: () => queue.open(), parse, bucket: 'data', root, gatherMs },
      'the queue',
    )
    this.#feed = feed
    return feed.open(
      {
        positions: this.positions,
        behind: () => {
          this.behind++
          return () => void this.behind--
        },
        changed: (folders, done) => this.#changed(folders, done),
        ended: (error) => this.ends.push(error),
      },
      never,
    )
  }

  #changed(folders: readonly DirtyFolder[], done?: () => void): void {
    for (const { folder, names, scope } of folders) {
      if (folder === '' && scope === 'tree') this.everything++
      for (const name of names) this.names.add(folder === '' ? name : `${folder}/${name}`)
    }
    if (done === undefined) return
    if (this.finishes) done()
    else this.waiting.push(done)
  }

  get toldUntilMs(): number | undefined {
    return this.#feed?.toldUntilMs
  }

  finish(): void {
    for (const done of this.waiting.splice(0)) done()
  }

  async close(): Promise<void> {
    await this.#feed?.close()
  }
}

const setUp = () => {
  const memory = memoryPositions()
  const queue = new QueueDouble({ stream: `queue ${readers++}` })
  return { queue, memory, follower: (reader = 'one') => new Follower(memory.of(reader)) }
}

test('what was sent lately, or waits in the queue, does not count as told', async () => {
  const { queue, follower } = setUp()
  const one = follower()
  await one.open(queue)
  queue.failure = new StoreError('unreachable', 'away')
  queue.wake()
  const sentMs = monotonicMs()
  queue.send(told('a'))
  expect(one.toldUntilMs).toBeLessThanOrEqual(sentMs - deliveryMs)
  queue.failure = undefined
  await until('it is told', () => {
    queue.wake()
    return one.names.has('a')
  })
  // An empty queue says that nothing waits.
  await until('time goes on', () => {
    queue.wake()
    return (one.toldUntilMs ?? 0) > sentMs - deliveryMs
  })
  await one.close()
  expect(one.toldUntilMs).toBeUndefined()
})

test('what a message tells of is told with the folders that it is in, and removed once all of it is done', async () => {
  const { queue, follower } = setUp()
  const one = follower()
  one.finishes = false
  expect(await one.open(queue, { root: 'root' })).toBe(false)
  queue.send(told('root/a/b', 'elsewhere/c'))
  queue.send(told('elsewhere/d'))
  await until('it is told', () => one.names.size === 2)
  expect(one.names).toEqual(new Set(['a', 'a/b']))
  await until('what concerns nobody is gone', () => queue.left === 1)
  one.finish()
  await until('it is removed', () => queue.left === 0)
  await one.close()
})

test('what was not done comes again after a kill, and nothing more is compared', async () => {
  const { queue, memory, follower } = setUp()
  const one = follower()
  await one.open(queue)
  queue.send(told('a'))
  await until('it is done', () => queue.left === 0)
  one.finishes = false
  queue.send(told('b'))
  await until('it is told', () => one.names.has('b'))
  await one.close()
  expect(memory.kept.get(queue.stream)?.readers).toEqual(['one'])
  queue.expire()
  const again = follower()
  expect(await again.open(queue)).toBe(true)
  await until('it is told again', () => again.names.has('b') && queue.left === 0)
  await again.close()
})

test('a position is worth nothing shortly before the queue drops messages, in another queue, and where others read on', async () => {
  const { queue, memory, follower } = setUp()
  const { keepsMs, stream } = queue
  const hourMs = 3_600_000
  const openedAt = async (at: number | string, reader = 'one') => {
    await memory.of(reader).keep(stream, String(at))
    const one = follower()
    const isComplete = await one.open(queue, { gatherMs: hourMs })
    await one.close()
    return isComplete
  }
  expect(await openedAt(Date.now() - keepsMs + 2 * hourMs)).toBe(true)
  expect(await openedAt(Date.now() - keepsMs + hourMs / 2)).toBe(false)
  expect(await openedAt('')).toBe(false)
  expect(await openedAt(Date.now(), 'other')).toBe(false)
})

test('a queue that is never empty has a position all the same', async () => {
  const { queue, memory, follower } = setUp()
  const one = follower()
  const timer = setInterval(() => {
    for (let n = 0; n < 50; n++) queue.send(told(`${n}`))
  }, 1)
  await one.open(queue)
  await until('much has come', () => queue.received > 500)
  clearInterval(timer)
  await one.close()
  expect(Date.now() - Number(memory.kept.get(queue.stream)?.at)).toBeLessThan(60_000)
})

test('migrations that read one queue together go on where they were, all of them, whichever is opened first', async () => {
  const { queue, follower, memory } = setUp()
  await memory.of('one').keep(queue.stream, String(Date.now()), ['one', 'two'])
  queue.send(told('one/b', 'two/b'))
  const [first, second] = [follower('one'), follower('two')]
  const gatherMs = 60_000
  expect(await first.open(queue, { root: 'one', gatherMs })).toBe(true)
  await until('the first is told', () => first.names.has('b'))
  expect(queue.left).toBe(1)
  expect(await second.open(queue, { root: 'two', gatherMs })).toBe(true)
  await until('the second is told too', () => second.names.has('b'))
  await until('it is removed', () => queue.left === 0)
  await first.close()
  await second.close()
})

test('it is behind until what another process may have received has come too', async () => {
  const { memory, follower } = setUp()
  const queue = new QueueDouble({ stream: `queue ${readers++}`, hiddenMs: 400 })
  queue.send(told('a'))
  // Hidden by a process that was killed.
  expect(await queue.open().receive(never)).toHaveLength(1)
  await memory.of('one').keep(queue.stream, String(Date.now() - 5_000))
  const one = follower()
  expect(await one.open(queue)).toBe(true)
  expect(one.behind).toBe(1)
  await until('it is not behind any more', () => one.behind === 0)
  expect(one.names).toContain('a')
  await one.close()
})

test('what is worked on for long is hidden again, and told once', async () => {
  const { follower } = setUp()
  const queue = new QueueDouble({ stream: `queue ${readers++}`, hiddenMs: 200 })
  const one = follower()
  one.finishes = false
  await one.open(queue)
  queue.send(told('a'))
  await until('it was hidden a few times', () => queue.hidden >= 3)
  expect(queue.received).toBe(1)
  one.finish()
  await until('it is removed by its latest receipt', () => queue.left === 0)
  await one.close()
})

test('who is not there when the others begin to remove compares everything', async () => {
  const { queue, follower, memory } = setUp()
  await memory.of('one').keep(queue.stream, String(Date.now()), ['one', 'two'])
  const [one, two] = [follower('one'), follower('two')]
  expect(await one.open(queue)).toBe(true)
  queue.send(told('two/a'))
  await until('it is removed', () => queue.left === 0)
  expect(await two.open(queue, { root: 'two' })).toBe(false)
  await one.close()
  await two.close()
})

test('who still has to find what it missed has no position', async () => {
  const { queue, memory } = setUp()
  const own = memory.of('one')
  const one = new Follower({ ...own, isComplete: false })
  await one.open(queue)
  queue.send(told('a'))
  await until('it is removed', () => queue.left === 0)
  await one.close()
  expect(memory.kept.get(queue.stream)?.readers).toEqual([])
  const again = new Follower(own)
  expect(await again.open(queue)).toBe(false)
  await again.close()
})

test('what a migration that left had not done holds up no other', async () => {
  const { queue, follower } = setUp()
  const [one, two] = [follower('one'), follower('two')]
  await one.open(queue)
  await two.open(queue)
  one.finishes = false
  queue.send(told('a'))
  await until('both are told', () => one.names.has('a') && two.names.has('a'))
  await one.close()
  await until('it is removed', () => queue.left === 0)
  await two.close()
})

test('who is killed before everything was compared for what nobody understands compares it after the start', async () => {
  const { queue, memory, follower } = setUp()
  const one = follower()
  await one.open(queue)
  await until('it is known where it is', () => memory.kept.get(queue.stream)?.readers.length === 1)
  one.finishes = false
  queue.send('?')
  await until('everything is compared, and it is removed', () => one.everything === 1 && queue.left === 0)
  expect(memory.kept.get(queue.stream)?.readers).toEqual([])
  one.finish()
  queue.send('?')
  await until('what comes within the hour is removed', () => queue.left === 0)
  await one.close()
  const again = follower()
  expect(await again.open(queue)).toBe(false)
  await again.close()
})

test('for what nobody understands all of them compare everything, once an hour', async () => {
  const { queue, follower } = setUp()
  const [one, two] = [follower('one'), follower('two')]
  await one.open(queue)
  await two.open(queue)
  queue.send('?')
  queue.send('?')
  await until('it is gone', () => queue.left === 0)
  expect([one.everything, two.everything]).toEqual([1, 1])
  await one.close()
  await two.close()
})

test.each([
  ['gone', true],
  ['refused', true],
])('a queue that is %s ends the feed once, in words', async (failure, isLimit) => {
  const { queue, follower } = setUp()
  const one = follower()
  await one.open(queue)
  queue.failure = new StoreError(failure as 'gone', 'receive of the queue: what is wrong')
  queue.wake()
  await until('it ends', () => one.ends.length > 0)
  await one.close()
  expect(one.ends).toHaveLength(1)
  expect(one.ends[0]).toBeInstanceOf(WatchError)
  expect(one.ends[0]).toMatchObject({ isLimit, message: 'receive of the queue: what is wrong' })
  await expect(follower().open(queue)).rejects.toMatchObject({ isLimit: true })
})

test('a queue that is read for a source of other credentials is read for no other', async () => {
  const { queue, follower } = setUp()
  const [one, two] = [follower('one'), follower('two')]
  await one.open(queue, { key: 'these credentials' })
  await expect(two.open(queue, { key: 'other credentials' })).rejects.toMatchObject({
    isLimit: true,
    message: expect.stringMatching(/^the queue double is read already.*give both the same$/),
  })
  await one.close()
  await two.open(queue, { key: 'other credentials' })
  await two.close()
})

test('messages that may not be removed end the feed, as they would come for ever', async () => {
  const { queue, follower } = setUp()
  const one = follower()
  await one.open(queue)
  queue.removeFailure = new StoreError('refused', 'remove is refused')
  queue.send(told('a'))
  await until('it ends', () => one.ends.length > 0)
  expect(one.ends.map(({ message }) => message)).toEqual(['remove is refused'])
  await one.close()
})

test('a queue that is away for a while is asked again', async () => {
  const { queue, follower } = setUp()
  const one = follower()
  await one.open(queue)
  queue.failure = new StoreError('unreachable', 'away')
  queue.send(told('a'))
  await expect.poll(() => one.names.size, { timeout: 500, interval: 100 }).toBe(0)
  queue.failure = undefined
  await until('it is told', () => one.names.has('a'))
  expect(one.ends).toEqual([])
  await one.close()
})

test('whatever is repeated, reordered or killed, all is told, and nothing is removed before it is done', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom('send', 'twice', 'kill', 'expire', 'finish'), { minLength: 5, maxLength: 25 }),
      async (steps) => {
        const { queue, follower } = setUp()
        const done = new Set<string>()
        let sent = 0
        let one = follower()
        await one.open(queue)
        for (const step of steps) {
          if (step === 'send' || step === 'twice')
            for (let n = step === 'twice' ? 2 : 1; n > 0; n--) queue.send(told(`f/${sent}`))
          if (step === 'send' || step === 'twice') sent++
          if (step === 'expire') queue.expire()
          one.finishes = step === 'finish'
          if (step === 'finish') one.finish()
          if (step === 'kill') {
            for (const name of one.names) done.add(name)
            await one.close()
            queue.expire()
            one = follower()
            expect(await one.open(queue)).toBeDefined()
          }
        }
        one.finishes = true
        await until('nothing is left', () => {
          one.finish()
          return queue.left === 0
        })
        for (const name of one.names) done.add(name)
        for (let n = 0; n < sent; n++) expect(done).toContain(`f/${n}`)
        await one.close()
      },
    ),
    { numRuns: 30 },
  )
})

test('nothing is removed of which one that has left was not told, as long as its position counts', async () => {
  const queue = new QueueDouble()
  const { of } = memoryPositions()
  const stored = Promise.withResolvers<void>()
  let isSlow = false
  const positions = of('other')
  const other = new Follower({
    ...positions,
    keep: async (...kept) => {
      if (isSlow) await stored.promise
      await positions.keep(...kept)
    },
  })
  const one = new Follower(of('one'))
  await other.open(queue)
  await one.open(queue)
  isSlow = true
  const left = one.close()
  queue.send(told('late'))
  await until('the other is told', () => other.names.has('late'))
  await new Promise((resolve) => setImmediate(resolve))
  expect(queue.left).toBe(1)
  stored.resolve()
  await left
  expect(await of('one').recall(queue.stream)).toBeUndefined()
  await until('it is removed', () => queue.left === 0)
  await other.close()
})
