import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { Worker } from 'node:worker_threads'
import { Kvm } from '@nats-io/kv'
import { type Static, Type } from 'typebox'
import { expect, test } from 'vitest'
import { Collection, type CollectionOptions } from '../../../broker/state/collection.ts'
import type { NatsConnection } from '../../../broker/rpc/connection.ts'
import { type Emission, emission, Events } from '../../../broker/state/events.ts'
import { namesSetAside } from '../../../broker/state/quarantine.ts'
import { events as eventContracts } from '../../../subjects/kit/contract.ts'
import { commonCodes, errors } from '../../../subjects/kit/errors.ts'
import { smallLimits, startTestBroker } from '../../support/broker.ts'
import { followFacts } from '../../support/facts.ts'
import { until } from '../../support/until.ts'

const Thing = Type.Object({
  id: Type.String(),
  n: Type.Integer(),
  by: Type.Optional(Type.Array(Type.String())),
})
const { counted } = eventContracts('things', {
  counted: { summary: 'A thing was counted', payload: Type.Object({ id: Type.String(), n: Type.Integer() }) },
})

const open = (connection: NatsConnection, options: Partial<CollectionOptions<typeof Thing>> = {}) =>
  Collection.open(connection, { bucket: 'things', schema: Thing, version: 1, ...options })
type Things = Awaited<ReturnType<typeof open>>

const upTo = (count: number) => Array.from({ length: count }, (_, n) => n)
const everything = { limit: 1_000_000 }
const idsIn = async (things: Things) => (await things.list(everything)).map(({ id }) => id)
const factOf = (id: string, n: number): Emission => emission(counted, id, { id, n })
const code = (expected: string) => expect.objectContaining({ code: expected })

/** Without events a collection stores facts and publishes none: what a writer leaves that dies in between. */
const openDying = (connection: NatsConnection) => open(connection)

/** Tries until it is acknowledged. */
const retryUntilDone = (attempt: () => Promise<unknown>) =>
  until('it is acknowledged', () =>
    attempt().then(
      () => true,
      () => false,
    ),
  )

async function reconnected(connection: NatsConnection): Promise<void> {
  for await (const { type } of connection.status()) if (type === 'reconnect') return
}

const endOfFacts = -1

/** All facts that are stored, up to one that is published now. */
async function storedFacts(connection: NatsConnection, events: Events): Promise<string[]> {
  const end = factOf(randomUUID(), endOfFacts)
  await retryUntilDone(() => events.publish({ ...end, messageId: end.subject }))
  const told: string[] = []
  for await (const { subject, payload } of followFacts(connection, { from: 1 })) {
    if (subject === end.subject) break
    const { id, n } = payload as { id: string; n: number }
    if (n !== endOfFacts) told.push(`${id} ${n}`)
  }
  return told
}

/** Workers that do one write after the other, however they end, until `stop`. */
function writers(count: number, write: (name: string) => Promise<unknown>) {
  const acknowledged: string[] = []
  const rejected: string[] = []
  const end = new AbortController()
  const work = async (_: unknown, worker: number) => {
    for (let n = 0; !end.signal.aborted; n++) {
      const name = `${worker}-${n}`
      await write(name).then(
        () => acknowledged.push(name),
        () => rejected.push(name),
      )
    }
  }
  const ended = Promise.all(upTo(count).map(work))
  return {
    acknowledged,
    rejected,
    stop: async () => {
      end.abort()
      await ended
    },
  }
}

test('what was created is there once, until it is deleted; then its id is free again', async () => {
  await using broker = await startTestBroker()
  const things = await open(await broker.connect('PLATFORM'))
  await things.create('a/ü *', { id: 'a/ü *', n: 1 })
  await expect(things.create('a/ü *', { id: 'a/ü *', n: 2 })).rejects.toEqual(code('ALREADY_EXISTS'))
  expect(await things.get('a/ü *')).toEqual({ id: 'a/ü *', n: 1 })
  expect(await things.delete('a/ü *')).toEqual({ id: 'a/ü *', n: 1 })
  expect(await things.get('a/ü *')).toBeUndefined()
  expect(await things.list()).toEqual([])
  await expect(things.delete('a/ü *')).rejects.toEqual(code('NOT_FOUND'))
  await things.create('a/ü *', { id: 'a/ü *', n: 3 })
  expect(await things.get('a/ü *')).toEqual({ id: 'a/ü *', n: 3 })
  await things.erase('a/ü *')
  expect(await things.get('a/ü *')).toBeUndefined()
})

test('a list is ordered by id and comes in pages', async () => {
  await using broker = await startTestBroker()
  const things = await open(await broker.connect('PLATFORM'))
  for (const id of ['c', 'a', 'd', 'b']) await things.put(id, { id, n: 0 })
  expect(await idsIn(things)).toEqual(['a', 'b', 'c', 'd'])
  expect((await things.list({ after: 'a', limit: 2 })).map(({ id }) => id)).toEqual(['b', 'c'])
})

test('a page of many values, or of a large group, is read without the others', async () => {
  await using broker = await startTestBroker()
  const connection = await broker.connect('PLATFORM')
  const things = await open(connection, { groupOf: ({ n }) => (n % 2 === 0 ? 'even' : 'odd') })
  const by = ['x'.repeat(4_000)]
  const ids = upTo(1_500).map((n) => `thing ${n}`)
  await Promise.all(ids.map((id, n) => things.create(id, { id, n, by })))
  await things.delete('thing 1')
  const isThere = (id: string) => id !== 'thing 1'
  const sorted = ids.filter(isThere).toSorted()
  const bytesFor = async (read: () => Promise<readonly { id: string }[]>, expected: readonly string[]) => {
    const before = connection.stats().inBytes
    expect((await read()).map(({ id }) => id)).toEqual(expected)
    return connection.stats().inBytes - before
  }
  const page = { after: 'thing 1', limit: 10 }
  const after = (list: readonly string[]) => list.filter((id) => id > 'thing 1').slice(0, 10)
  const odd = ids.filter((id, n) => n % 2 === 1 && isThere(id)).toSorted()
  // All of them together have six megabytes.
  expect(await bytesFor(() => things.list(page), after(sorted))).toBeLessThan(1_500_000)
  expect(await bytesFor(() => things.listGroup('odd', page), after(odd))).toBeLessThan(1_500_000)
  expect((await things.list({ limit: 5_000 })).map(({ id }) => id)).toEqual(sorted)
  const where = ({ n }: { n: number }) => n >= 1_490
  const last = upTo(10).map((n) => `thing ${1_490 + n}`)
  expect((await things.list({ where, limit: 20 })).map(({ id }) => id)).toEqual(last)
  expect((await things.list({ where, limit: 3 })).map(({ id }) => id)).toEqual(last.slice(0, 3))
  expect(await idsIn(things)).toEqual(sorted)
})

test('there are no more values than there may be; what is deleted makes room, and what is there can be changed', async () => {
  await using broker = await startTestBroker()
  let count = 3
  const most = { count: () => Promise.resolve(count), what: 'things', fix: 'delete some' }
  const things = await open(await broker.connect('PLATFORM'), { most })
  const limited = expect.objectContaining({
    code: 'LIMIT_REACHED',
    message: 'there are already 3 things, which is the limit: delete some',
  })
  for (const id of ['a', 'b', 'c']) await things.create(id, { id, n: 0 })
  for (let n = 0; n < 5; n++) {
    await expect(things.create('d', { id: 'd', n })).rejects.toEqual(limited)
    await expect(things.put('d', { id: 'd', n })).rejects.toEqual(limited)
    await things.put('a', { id: 'a', n })
    await things.update('b', (current) => ({ ...current, n }))
    await things.delete('c')
    await things.create('c', { id: 'c', n })
  }
  count = 4
  await things.create('d', { id: 'd', n: 0 })
  expect(await idsIn(things)).toEqual(['a', 'b', 'c', 'd'])
})

test('writers of one value lose no update of each other', async () => {
  await using broker = await startTestBroker()
  const both = await Promise.all([1, 2].map(async () => open(await broker.connect('PLATFORM'))))
  await both[0]!.create('a', { id: 'a', n: 0 })
  const increments = both.map(async (things) => {
    for (const _ of upTo(50)) await things.update('a', (thing) => ({ ...thing, n: thing.n + 1 }))
  })
  await Promise.all(increments)
  expect(await both[0]!.get('a')).toEqual({ id: 'a', n: 100 })
})

test('many changes of one value at the same time are all made', async () => {
  await using broker = await startTestBroker()
  const things = await open(await broker.connect('PLATFORM'))
  await things.create('a', { id: 'a', n: 0 })
  const increment = () => things.update('a', (thing) => ({ ...thing, n: thing.n + 1 }))
  await Promise.all(upTo(300).map(increment))
  expect(await things.get('a')).toEqual({ id: 'a', n: 300 })
})

test('a change that is refused, is none, or does not fit leaves the value as it is', async () => {
  await using broker = await startTestBroker()
  const things = await open(await broker.connect('PLATFORM'))
  await things.create('a', { id: 'a', n: 1 })
  const refuse = () => {
    throw new Error('no')
  }
  await expect(things.update('a', refuse)).rejects.toThrow('no')
  await expect(things.delete('a', refuse)).rejects.toThrow('no')
  expect(await things.update('a', () => undefined)).toEqual({ id: 'a', n: 1 })
  await expect(things.update('a', (thing) => ({ ...thing, n: 1.5 }))).rejects.toEqual(code('INVALID_INPUT'))
  await expect(things.put('a', { id: 'a', n: 1.5 })).rejects.toEqual(code('INVALID_INPUT'))
  await expect(things.update('b', () => undefined)).rejects.toEqual(code('NOT_FOUND'))
  expect(await things.list()).toEqual([{ id: 'a', n: 1 }])
})

test('documents of older versions are brought up; those of a newer release are refused', async () => {
  await using broker = await startTestBroker()
  const connection = await broker.connect('PLATFORM')
  const old = { bucket: 'things', schema: Type.Object({ count: Type.Integer() }), version: 1 }
  const oldThings = await Collection.open(connection, old)
  await oldThings.create('a', { count: 5 })
  const upcasters = { 1: (document: unknown) => ({ id: 'a', n: (document as { count: number }).count }) }
  const things = await open(connection, { version: 2, upcasters })
  expect(await things.list()).toEqual([{ id: 'a', n: 5 }])
  await things.update('a', (thing) => ({ ...thing, n: 6 }))
  await expect(oldThings.get('a')).rejects.toThrow('newer release')
})

test('a watcher is told of what is there and of each change, until it stops', async () => {
  await using broker = await startTestBroker()
  const things = await open(await broker.connect('PLATFORM'))
  await things.put('a', { id: 'a', n: 1 })
  const told: string[] = []
  const watch = await things.watch((token, thing) => told.push(`${token} ${thing?.n}`))
  await things.put('b', { id: 'b', n: 2 })
  await things.update('a', (thing) => ({ ...thing, n: 3 }))
  await things.delete('b')
  await until('all is told', () => told.length === 4)
  expect(told).toEqual(['a 1', 'b 2', 'a 3', 'b undefined'])
  await watch.stop()
  const other: string[] = []
  await things.put('c', { id: 'c', n: 4 })
  await things.watch((token) => other.push(token))
  await until('another is told', () => other.includes('c'))
  expect(told).toHaveLength(4)
})

// Side by side: what was asked of a broker that dies waits for its answer for five seconds.
test.concurrent.each([1, 50, 200])(
  'kill -9 after %i acknowledged values: those are all there, and a fact of each that is there is told once',
  async (killAfter) => {
    await using broker = await startTestBroker()
    const connection = await broker.connect('PLATFORM')
    const events = await Events.open(connection, smallLimits)
    const things = await open(connection, { events })
    const writing = writers(8, (id) => things.create(id, { id, n: 0 }, [factOf(id, 0)]))
    await until('it is time', () => writing.acknowledged.length >= killAfter)
    await broker.kill()
    const before = writing.acknowledged.length
    await until('the writers go on', () => writing.acknowledged.length > before + 50)
    await writing.stop()

    const stored = await idsIn(things)
    expect(stored).toEqual(expect.arrayContaining(writing.acknowledged))
    expect([...writing.acknowledged, ...writing.rejected]).toEqual(expect.arrayContaining(stored))
    // Also of changes whose writer heard no answer, or a late one.
    const facts = stored.map((id) => `${id} 0`).toSorted()
    await until('all is told', async () =>
      isDeepStrictEqual((await storedFacts(connection, events)).toSorted(), facts),
    )
  },
)

test.concurrent.each([1, 25, 75])(
  'kill -9 after %i updates of one value by many: each that was acknowledged is in it, and none twice',
  async (killAfter) => {
    await using broker = await startTestBroker()
    const things = await open(await broker.connect('PLATFORM'))
    await things.create('a', { id: 'a', n: 0, by: [] })
    const writing = writers(4, (name) =>
      things.update('a', ({ id, n, by = [] }) => ({ id, n: n + 1, by: [...by, name] })),
    )
    await until('it is time', () => writing.acknowledged.length >= killAfter)
    await broker.kill()
    const before = writing.acknowledged.length
    await until('the writers go on', () => writing.acknowledged.length > before + 20)
    await writing.stop()
    const { n, by = [] } = (await things.get('a'))!
    expect(by).toEqual(expect.arrayContaining(writing.acknowledged))
    expect([...writing.acknowledged, ...writing.rejected]).toEqual(expect.arrayContaining(by))
    expect([new Set(by).size, n]).toEqual([by.length, by.length])
  },
)

test.concurrent(
  'a watcher hears over three kills what others change meanwhile, and in the order of the changes',
  async () => {
    await using broker = await startTestBroker()
    const connection = await broker.connect('PLATFORM')
    const things = await open(connection)
    const watched = await open(await broker.connect('PLATFORM', 'watcher'))
    const now = new Map<string, number | undefined>()
    const told: number[] = []
    await watched.watch((token, thing) => {
      now.set(token, thing?.n)
      if (thing !== undefined) told.push(thing.n)
    })
    let n = 0
    const put = (id: string) => retryUntilDone(() => things.put(id, { id, n: ++n }))
    for (const id of ['a', 'b', 'c']) {
      await put('often')
      const back = reconnected(connection)
      const allBack = broker.kill()
      await back
      // The watcher may be back already, or not yet.
      await put('often')
      await put(id)
      await allBack
    }
    await retryUntilDone(() => things.delete('a'))
    await put('end')
    await until('the end is told', () => now.has('end'))
    const stored = await things.list()
    expect(now).toEqual(new Map([['a', undefined], ...stored.map(({ id, n }) => [id, n] as const)]))
    // Nothing comes twice, and nothing old after something new.
    expect(told).toEqual([...new Set(told)].toSorted((a, b) => a - b))
  },
)

test.concurrent(
  'a writer dies before it could tell, and the broker too: the next start tells, and once',
  async () => {
    await using broker = await startTestBroker()
    const connection = await broker.connect('PLATFORM')
    const events = await Events.open(connection, smallLimits)
    const dying = await openDying(connection)
    await dying.create('a', { id: 'a', n: 1 }, [factOf('a', 1)])
    await dying.update(
      'a',
      (thing) => ({ ...thing, n: 2 }),
      ({ n }) => [factOf('a', n)],
    )
    await broker.kill()
    await retryUntilDone(() => open(connection, { events }))
    expect(await storedFacts(connection, events)).toEqual(['a 1', 'a 2'])
    await broker.kill()
    await retryUntilDone(() => open(connection, { events }))
    expect(await storedFacts(connection, events)).toEqual(['a 1', 'a 2'])
  },
)

test.each(['update', 'delete'] as const)(
  'what the last writer did not live to tell is told by who does the next %s',
  async (how) => {
    await using broker = await startTestBroker()
    const connection = await broker.connect('PLATFORM')
    const events = await Events.open(connection, smallLimits)
    const things = await open(connection, { events })
    const dying = await openDying(connection)
    await dying.create('a', { id: 'a', n: 1 }, [factOf('a', 1)])
    if (how === 'update') await things.update('a', (thing) => ({ ...thing, n: 2 }))
    else await things.delete('a')
    expect(await storedFacts(connection, events)).toEqual(['a 1'])
  },
)

test('the values of a group are found, also those that were stored before there were groups', async () => {
  await using broker = await startTestBroker()
  const connection = await broker.connect('PLATFORM')
  const before = await open(connection)
  await before.create('old', { id: 'old', n: 1 })
  await before.create('lonely', { id: 'lonely', n: -1 })
  const groupOf = ({ n }: { n: number }) => (n < 0 ? undefined : `group ${n}.*`)
  const things = await open(connection, { groupOf })
  for (const [id, n] of [
    ['a', 1],
    ['b', 1],
    ['c', 2],
    ['d', -1],
  ] as const)
    await things.create(id, { id, n })
  const found = async (group: string, by = things) => (await by.listGroup(group)).map(({ id }) => id)
  expect(await found('group 1.*')).toEqual(['a', 'b', 'old'])
  expect(await found('group 2.*')).toEqual(['c'])
  expect(await found('group 3.*')).toEqual([])
  expect(await found('>')).toEqual([])
  await things.delete('b')
  await things.erase('old')
  expect(await found('group 1.*', await open(connection, { groupOf }))).toEqual(['a'])
  // The groups are no values.
  expect(await idsIn(things)).toEqual(['a', 'c', 'd', 'lonely'])
  const watched: string[] = []
  const watching = await things.watch((token) => watched.push(token))
  await until('all are told of', () => watched.length >= 4)
  await things.create('e', { id: 'e', n: 2 })
  await until('the new one is told of', () => watched.includes('e'))
  await watching.stop()
  expect(watched.filter((token) => token.includes('.'))).toEqual([])
})

test('what is deleted is told, also by the next start when whoever deleted it died, and can be made again', async () => {
  await using broker = await startTestBroker()
  const connection = await broker.connect('PLATFORM')
  const events = await Events.open(connection, smallLimits)
  const things = await open(connection, { events })
  const gone = ({ id, n }: { id: string; n: number }) => [factOf(id, n)]
  for (const id of ['a', 'b']) await things.create(id, { id, n: 1 })
  await things.delete('a', undefined, gone)
  expect(await storedFacts(connection, events)).toEqual(['a 1'])

  const dying = await open(connection, { events: { publish: () => new Promise(() => undefined) } as never })
  void dying.delete('b', undefined, gone)
  await until('it is deleted', async () => (await things.get('b')) === undefined)
  expect(await idsIn(things)).toEqual([])
  expect(await storedFacts(connection, events)).toEqual(['a 1'])
  await things.create('b', { id: 'b', n: 2 }, [factOf('b', 2)])
  expect(await storedFacts(connection, events)).toEqual(['a 1', 'b 1', 'b 2'])

  void dying.delete('b', undefined, () => [factOf('b', 3)])
  await until('it is deleted', async () => (await things.get('b')) === undefined)
  await open(connection, { events })
  expect(await storedFacts(connection, events)).toEqual(['a 1', 'b 1', 'b 2', 'b 3'])
})

test('a record that is none is set aside, whoever finds it, and the others are there', async () => {
  await using broker = await startTestBroker()
  const connection = await broker.connect('PLATFORM')
  const events = await Events.open(connection, smallLimits)
  const things = await open(connection, { events })
  const kv = await new Kvm(connection).open('things')
  await things.create('a', { id: 'a', n: 1 })
  const told: string[] = []
  const watch = await things.watch((token) => told.push(token))
  await kv.put('b', '{"v":1,"id":"b",')
  await kv.put('c', 'null')
  const again = await open(connection, { events })
  expect(await namesSetAside(connection)).toEqual(['things.b', 'things.c'])
  expect((await (await new Kvm(connection).open('set-aside')).get('things.b'))?.string()).toBe(
    '{"v":1,"id":"b",',
  )
  expect(await idsIn(again)).toEqual(['a'])
  await kv.put('d', '{}')
  expect(await again.get('d')).toBeUndefined()
  await again.create('d', { id: 'd', n: 1 })
  await until('the watcher goes on', () => told.includes('d'))
  expect(await namesSetAside(connection)).toEqual(['things.b', 'things.c', 'things.d'])
  await watch.stop()
})

test('all values are told, few and many, changed ones as they are, deleted ones not', async () => {
  await using broker = await startTestBroker({ messaging: smallLimits })
  const connection = await broker.connect('PLATFORM')
  for (const count of [0, 1, 100, 101, 250]) {
    const things = await open(connection, { bucket: `things-${count}` })
    const ids = upTo(count).map((n) => `${n}`.padStart(3, '0'))
    await Promise.all(ids.map((id) => things.create(id, { id, n: 0 })))
    await things.create('deleted', { id: 'deleted', n: 0 })
    await things.delete('deleted')
    if (count > 0) await things.update('000', (thing) => ({ ...thing, n: 1 }))
    expect(await things.all()).toEqual(ids.map((id, index) => ({ id, n: index === 0 ? 1 : 0 })))
  }
})

test('changes of one value right after each other are told once and in order, to subscribers as in the stream', async () => {
  await using broker = await startTestBroker()
  const connection = await broker.connect('PLATFORM')
  const events = await Events.open(connection, smallLimits)
  const things = await open(connection, { events })
  const [writerCount, changesOfEach] = [4, 40]
  const heard: number[] = []
  connection.subscribe(factOf('a', 0).subject, {
    callback: (_, message) => void heard.push(message.json<{ n: number }>().n),
  })
  await things.create('a', { id: 'a', n: 0 })
  // Most changes begin when another is stored, and its fact not told yet.
  const change = () =>
    things.update(
      'a',
      (thing) => ({ ...thing, n: thing.n + 1 }),
      ({ n }) => [factOf('a', n)],
    )
  const changed = upTo(writerCount).map(async () => {
    for (const _ of upTo(changesOfEach)) await change()
  })
  await Promise.all(changed)
  await connection.flush()
  const inOrder = upTo(writerCount * changesOfEach).map((n) => n + 1)
  expect(heard).toEqual(inOrder)
  expect(await storedFacts(connection, events)).toEqual(inOrder.map((n) => `a ${n}`))
})

test('a value that others change all the time is an error that any call may answer, and that can be tried again', async () => {
  await using broker = await startTestBroker()
  const things = await open(await broker.connect('PLATFORM'))
  await things.create('1', { id: '1', n: 0 })
  const turn = new Int32Array(new SharedArrayBuffer(4)).fill(1)
  const { fields } = broker.identity
  const writer = new Worker(new URL('../../support/colliding-writer.ts', import.meta.url), {
    workerData: { url: broker.server.tcpUrl, fields, bucket: 'things', turn },
  })
  try {
    await Atomics.waitAsync(turn, 0, 1).value
    let times = 0
    const change = (thing: Static<typeof Thing>) => {
      times++
      Atomics.store(turn, 0, 1)
      Atomics.notify(turn, 0)
      Atomics.wait(turn, 0, 1)
      return { ...thing, n: thing.n + 1 }
    }
    const failed = await things.update('1', change).catch((error: unknown) => error)
    expect(times).toBeGreaterThan(10)
    expect(failed).toMatchObject({ code: 'OVERLOADED', message: expect.stringContaining('try again') })
    expect(commonCodes).toContain('OVERLOADED')
    expect(errors.OVERLOADED.retryable).toBe(true)
    expect(await things.get('1')).toEqual({ id: '1', n: 0 })
  } finally {
    await writer.terminate()
  }
})
