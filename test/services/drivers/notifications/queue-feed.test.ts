import { afterEach, expect, test, vi } from 'vitest'
import type { DirtyFolder } from '../../../../services/drivers/feeds/dirty-folders.ts'
import type { FeedPositions } from '../../../../services/drivers/feeds/feed.ts'
import type { MessageQueue, QueueMessage } from '../../../../services/drivers/notifications/message-queue.ts'
import { QueueFeed } from '../../../../services/drivers/notifications/queue-feed.ts'
import { monotonicMs } from '../../../../broker/common/monotonic.ts'
import { memoryPositions } from '../../../support/feeds.ts'

/** In place of the queue of a cloud: gives what is sent to whoever waits first, and keeps nothing. */
class QueueDouble implements MessageQueue {
  readonly name = 'the queue (double)'
  readonly hiddenMs = 60_000
  readonly removed: string[] = []
  readonly #waiting: ((messages: readonly QueueMessage[]) => void)[] = []

  async identify() {
    return { stream: 'queue', keepsMs: 86_400_000 }
  }

  receive(signal: AbortSignal): Promise<readonly QueueMessage[]> {
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
      this.#waiting.push(resolve)
    })
  }

  send(body: string): void {
    this.#waiting.shift()?.([{ body, receipt: body, sentMs: Date.now() }])
  }

  async remove(messages: readonly QueueMessage[]): Promise<void> {
    this.removed.push(...messages.map(({ body }) => body))
  }

  async hide(messages: readonly QueueMessage[]): Promise<readonly QueueMessage[]> {
    return messages
  }

  close(): void {}
}

interface Told {
  readonly folders: readonly DirtyFolder[]
  readonly done: (() => void) | undefined
}

let count = 0
const ends: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

/** Feeds that follow one queue; a body is the time of a change to the object `file`. */
function followed() {
  const queue = new QueueDouble()
  const { of } = memoryPositions()
  const options = {
    key: `queue ${count++}`,
    queue: () => queue,
    parse: (body: string) => [{ bucket: 'data', key: 'file', timeMs: Number(body) }],
    bucket: 'data',
    root: '',
  }
  const follow = async (reader: string, positions: FeedPositions = of(reader)) => {
    const told: Told[] = []
    const feed = new QueueFeed(options, queue.name)
    const listener = {
      changed: (folders: readonly DirtyFolder[], done?: () => void) => void told.push({ folders, done }),
      ended: () => expect.unreachable('the queue is there'),
      positions,
    }
    await feed.open(listener, new AbortController().signal)
    ends.push(() => feed.close())
    return { feed, told }
  }
  return { queue, of, follow }
}

test('a message is removed when all are done with it, whoever has left meanwhile', async () => {
  const { queue, follow } = followed()
  const [one, other] = [await follow('one'), await follow('other')]
  queue.send('1')
  await vi.waitFor(() => expect([one.told.length, other.told.length]).toEqual([1, 1]))
  other.told[0]?.done?.()
  await one.feed.close()
  await vi.waitFor(() => expect(queue.removed).toEqual(['1']))
})

test('nothing is removed of which one that has left was not told, as long as its position counts', async () => {
  const { queue, of, follow } = followed()
  const stored = Promise.withResolvers<void>()
  let isSlow = false
  const positions = of('other')
  const other = await follow('other', {
    ...positions,
    keep: async (...kept) => {
      if (isSlow) await stored.promise
      await positions.keep(...kept)
    },
  })
  const one = await follow('one')
  isSlow = true
  const left = one.feed.close()
  queue.send('1')
  await vi.waitFor(() => expect(other.told.length).toBe(1))
  other.told[0]?.done?.()
  await new Promise((resolve) => setImmediate(resolve))
  expect(queue.removed).toEqual([])
  stored.resolve()
  await left
  expect(await of('one').recall('queue')).toBeUndefined()
  await vi.waitFor(() => expect(queue.removed).toEqual(['1']))
})

test('what comes without a time has changed now', async () => {
  const { queue, follow } = followed()
  const { told } = await follow('one')
  const beforeMs = monotonicMs()
  queue.send('yesterday')
  await vi.waitFor(() => expect(told.length).toBe(1))
  expect(told[0]?.folders[0]?.sinceMs).toBeGreaterThanOrEqual(beforeMs)
})
