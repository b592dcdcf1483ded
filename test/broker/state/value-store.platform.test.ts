import { rmSync } from 'node:fs'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { NatsConnection } from '../../../broker/rpc/connection.ts'
import { ValueStore } from '../../../broker/state/value-store.ts'
import { removalOf, startTestBroker, type TestBroker } from '../../support/broker.ts'

const upTo = (count: number) => Array.from({ length: count }, (_, n) => n)

let broker: TestBroker
let connection: NatsConnection
beforeAll(async () => {
  broker = await startTestBroker()
  connection = await broker.connect('PLATFORM')
})
afterAll(() => broker[Symbol.asyncDispose]())

test('changes come in pages of so many bytes, which a single value may exceed', async () => {
  const store = await ValueStore.open(connection, 'pages')
  const maxBytes = 10_000
  for (const n of upTo(30)) await store.put(`small/${n}`, 'x'.repeat(1_000))
  for (const n of upTo(3)) await store.put(`large/${n}`, 'x'.repeat(2 * maxBytes))
  await store.put('last', '')
  const pages: string[][] = []
  for (let revision = 0; ;) {
    const page = await store.changesAfter(revision, 100, maxBytes)
    if (page.length === 0) break
    pages.push(page.map(({ key }) => key))
    const before = page.slice(0, -1)
    expect(before.reduce((sum, { value = '' }) => sum + value.length, 0)).toBeLessThan(maxBytes)
    revision = page.at(-1)!.revision
  }
  expect(pages.length).toBeGreaterThan(4)
  expect(pages.flat()).toEqual([
    ...upTo(30).map((n) => `small/${n}`),
    ...upTo(3).map((n) => `large/${n}`),
    'last',
  ])
})

test('who looks for changes leaves nothing behind on the connection', async () => {
  const store = await ValueStore.open(connection, 'looks')
  await store.put('a', '1')
  const subscribing = vi.spyOn(connection, 'subscribe')
  for (const revision of [0, 500]) await store.changesAfter(revision, 10, 1_000)
  const open = subscribing.mock.results.filter(({ value }) => !value.isClosed())
  expect([subscribing.mock.calls.length, open.length]).toEqual([2, 0])
})

test('of a storage that was dropped nothing comes back, also when the broker cannot remove its files yet', async () => {
  const store = await ValueStore.open(connection, 'dropped')
  await store.put('secret', 'x')
  const removed = removalOf(broker, 'KV_dropped')
  await store.destroy()
  rmSync(removed, { recursive: true })
  expect(await (await ValueStore.open(connection, 'dropped')).keys()).toEqual([])
})
