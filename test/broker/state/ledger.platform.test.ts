import { expect, test } from 'vitest'
import type { NatsConnection } from '../../../broker/rpc/connection.ts'
import { Ledger } from '../../../broker/state/ledger.ts'
import { smallLimits, startTestBroker } from '../../support/broker.ts'
import { until } from '../../support/until.ts'

const forever = new AbortController().signal
const upTo = (count: number) => Array.from({ length: count }, (_, n) => n)
const open = (connection: NatsConnection, maxFileBytes = smallLimits.maxFileBytes) =>
  Ledger.open<number>(connection, { name: 'NOTES', root: 'notes', maxFileBytes })
const append = (ledger: Ledger<number>, book: string, n: number) =>
  ledger.append(book, n, `${book} ${n}`, forever)
const numbersIn = async (ledger: Ledger<number>, book: string) =>
  (await ledger.page(book, { limit: 1_000 })).map(({ entry }) => entry)

test('books are apart, come in pages, and one of them can be forgotten', async () => {
  await using broker = await startTestBroker()
  const connection = await broker.connect('PLATFORM')
  const ledger = await open(connection)
  for (const n of upTo(5)) {
    await append(ledger, 'a', n)
    await append(ledger, 'a', n)
    await append(ledger, 'b', n)
  }
  const first = await ledger.page('a', { limit: 2 })
  const after = first.at(-1)!.sequence
  expect(first.map(({ entry }) => entry)).toEqual([0, 1])
  expect((await ledger.page('a', { after, limit: 9 })).map(({ entry }) => entry)).toEqual([2, 3, 4])
  expect(await ledger.page('c', { limit: 9 })).toEqual([])
  expect(await ledger.counts()).toEqual(
    new Map([
      ['a', 5],
      ['b', 5],
    ]),
  )
  await ledger.remove('a')
  expect([await ledger.count('a'), await ledger.count('b')]).toEqual([0, 5])
  expect(await numbersIn(await open(connection, smallLimits.maxFileBytes / 2), 'b')).toEqual(upTo(5))
})

test('past the last entry a page is empty', async () => {
  await using broker = await startTestBroker()
  const ledger = await open(await broker.connect('PLATFORM'))
  await append(ledger, 'a', 1)
  const [{ sequence } = { sequence: 0 }] = await ledger.page('a', { limit: 1 })
  expect(await ledger.page('a', { after: sequence, limit: 1 })).toEqual([])
})

test('who does not wait is told that there is no room, and the same entry is one', async () => {
  await using broker = await startTestBroker()
  // Room for a few entries: a tenth is the ledger's.
  const ledger = await open(await broker.connect('PLATFORM'), 10_000)
  const first = await ledger.tryAppend('a', 1, 'one')
  expect(await ledger.tryAppend('a', 1, 'one')).toBe(first)
  await expect(
    (async () => {
      for (const n of upTo(100)) await ledger.tryAppend('a', n, String(n))
    })(),
  ).rejects.toMatchObject({ code: 'STORAGE_FULL' })
  expect((await numbersIn(ledger, 'a')).length).toBeGreaterThan(1)
})

test('a page can begin at a moment, and be of all books', async () => {
  await using broker = await startTestBroker()
  const ledger = await open(await broker.connect('PLATFORM'))
  await append(ledger, 'a', 1)
  await append(ledger, 'b', 2)
  const pageSince = async (since: Date) =>
    (await ledger.page('*', { since, limit: 9 })).map(({ entry }) => entry)
  expect(await pageSince(new Date(0))).toEqual([1, 2])
  // Entries of the same millisecond would be of that moment too.
  const readMs = Date.now()
  await until('it is later', () => Date.now() > readMs + 1)
  const since = new Date()
  await append(ledger, 'b', 3)
  expect(await pageSince(since)).toEqual([3])
})

// Side by side: what was asked of a broker that dies waits for its answer for five seconds.
test.concurrent.each([1, 50, 150])(
  'kill -9 after %i of 200 entries: every caller is answered, and each entry is there once',
  async (killAfter) => {
    await using broker = await startTestBroker()
    const ledger = await open(await broker.connect('PLATFORM'))
    let acknowledged = 0
    let next = 0
    const writer = async () => {
      for (let n = next++; n < 200; n = next++) {
        await append(ledger, 'a', n)
        acknowledged += 1
      }
    }
    const writers = Promise.all(upTo(4).map(writer))
    await until('it is time', () => acknowledged >= killAfter)
    await broker.kill()
    await writers
    expect((await numbersIn(ledger, 'a')).toSorted((a, b) => a - b)).toEqual(upTo(200))
  },
)
