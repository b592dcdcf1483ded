import { jetstreamManager } from '@nats-io/jetstream'
import { Type } from 'typebox'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Collection } from '../../../broker/state/collection.ts'
import { seededRandom } from '../../support/random.ts'
import { startTestBroker, type TestBroker } from '../../support/broker.ts'

let broker: TestBroker
beforeAll(async () => {
  broker = await startTestBroker()
})
afterAll(() => broker?.[Symbol.asyncDispose]())

const schema = Type.Object({ n: Type.Integer(), tags: Type.Array(Type.String()) })
/** One that keeps what it has read, and one of another process. */
async function openBoth(bucket: string) {
  const connection = await broker.connect('PLATFORM')
  const open = async (isKeptInMemory: boolean) =>
    Collection.open(await broker.connect('PLATFORM'), {
      bucket,
      schema,
      version: 1,
      isKeptInMemory,
      groupOf: ({ tags: [group] }) => group,
    })
  return { connection, kept: await open(true), other: await open(false) }
}
const value = (n: number) => ({ n, tags: ['all', `tag ${n}`] })

test('what others write, replace and delete is in the next reading', async () => {
  const { kept, other } = await openBoth('known')
  expect(await kept.all()).toEqual([])
  for (let n = 0; n < 150; n++) await other.create(`v ${n}`, value(n))
  expect(await kept.all()).toEqual(await other.all())
  await other.update('v 7', () => value(700))
  await other.delete('v 8')
  await other.delete('v 9')
  await other.create('v 9', value(900))
  const all = await kept.all()
  expect(all).toEqual(await other.all())
  expect(all.map(({ n }) => n)).toContain(700)
  expect(all).toHaveLength(149)
})

test('what was written before a reading is in it, while others write at the same moment', async () => {
  const { kept, other } = await openBoth('busy')
  const random = seededRandom(1)
  for (let n = 0; n < 120; n++) await other.create(`v${n}`, value(0))
  /** What is acknowledged of each. */
  const written = new Map<string, number>()
  const over = new AbortController()
  const writing = Array.from({ length: 4 }, async (_, writer) => {
    for (let n = 1; !over.signal.aborted; n++) {
      const id = `v${4 * Math.floor(random() * 30) + writer}`
      await other.put(id, value(n))
      written.set(id, n)
    }
  })
  for (let round = 0; round < 100; round++) {
    const before = new Map(written)
    const all = await kept.all()
    expect(all).toHaveLength(120)
    const ids = [...Array.from({ length: 120 }, (_, n) => `v${n}`)].toSorted()
    for (const [id, n] of before) expect(all[ids.indexOf(id)]!.n).toBeGreaterThanOrEqual(n)
  }
  over.abort()
  await Promise.all(writing)
  expect(await kept.all()).toEqual(await other.all())
})

test('a bucket that was made anew is read anew, and what is unreadable is left out', async () => {
  const { connection, kept, other } = await openBoth('anew')
  for (let n = 0; n < 5; n++) await kept.create(`v${n}`, value(n))
  expect(await kept.all()).toHaveLength(5)
  const manager = await jetstreamManager(connection)
  const { config } = await manager.streams.info('KV_anew')
  await manager.streams.delete('KV_anew')
  await manager.streams.add(config)
  await other.create('v1', value(10))
  expect(await kept.all()).toEqual([value(10)])
  connection.publish('$KV.anew.v2', 'no record')
  await connection.flush()
  expect(await kept.all()).toEqual([value(10)])
  expect(await kept.all()).toEqual([value(10)])
})

test('what a broker has after it died is read anew', async () => {
  const { kept, other } = await openBoth('died')
  for (let n = 0; n < 5; n++) await kept.create(`v${n}`, value(n))
  const [before] = await kept.all()
  await broker.kill()
  const after = await kept.all()
  expect(after).toEqual(await other.all())
  expect(after[0]).not.toBe(before)
})

test('nobody can change what others share, or erase what would stay', async () => {
  const { kept } = await openBoth('shared')
  await kept.create('v', value(1))
  const [one] = await kept.all()
  expect(() => one!.tags.push('more')).toThrow(TypeError)
  await expect(kept.erase('v')).rejects.toThrow('kept in memory')
})
