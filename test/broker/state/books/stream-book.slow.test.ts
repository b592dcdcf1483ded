import { jetstream, type JetStreamManager, jetstreamManager } from '@nats-io/jetstream'
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Type } from 'typebox'
import { expect, test } from 'vitest'
import { Collection } from '../../../../broker/state/collection.ts'
import type { NatsConnection } from '../../../../broker/rpc/connection.ts'
import { createIdentity } from '../../../../broker/identity/create-identity.ts'
import { fileStorage } from '../../../../broker/state/jetstream.ts'
import { Ledger } from '../../../../broker/state/ledger.ts'
import { RecordJournals } from '../../../../broker/state/books/record-journal.ts'
import { removing, StreamBook } from '../../../../broker/state/books/stream-book.ts'
import { ValueStore } from '../../../../broker/state/value-store.ts'
import { messagingIn, smallLimits, startTestBroker, type TestBroker } from '../../../support/broker.ts'
import { blocksOf, crash, cutTail, damageAtRandom, flipBit } from '../../../support/damage.ts'
import { natsServerPath, testLog } from '../../../support/platform.ts'
import { oneOf, seededRandom } from '../../../support/random.ts'
import { until } from '../../../support/until.ts'

const Thing = Type.Object({ n: Type.Integer(), text: Type.String() })
const text = 'x'.repeat(300)
const forever = new AbortController().signal

interface Run {
  readonly broker: TestBroker
  readonly connection: NatsConnection
  readonly manager: JetStreamManager
  readonly book: StreamBook
  readonly journals: RecordJournals
  /** What was found since the last call, as `<store> <kind> <messages>`. */
  readonly told: () => string[]
}

/** A folder with a store and what is known of it, which is used in several runs. */
async function createStore() {
  const home = mkdtempSync(join(tmpdir(), 'gantry-streams-'))
  const identity = await createIdentity(messagingIn(home))
  const run = async (
    work: (run: Run) => Promise<void>,
    { end = crash, binary }: { end?: (broker: TestBroker) => Promise<void>; binary?: string } = {},
  ) => {
    StreamBook.dropIndexes(home, messagingIn(home).storeDir)
    const broker = await startTestBroker({ home, identity, ...(binary === undefined ? {} : { binary }) })
    const connection = await broker.connect('PLATFORM')
    const journals = RecordJournals.open(home, testLog)
    const book = await StreamBook.open(connection, { journals, home, log: testLog })
    const told = () =>
      journals.losses.accept().map(({ store, kind, messages = '' }) => `${store} ${kind} ${messages}`.trim())
    await work({ broker, connection, manager: await jetstreamManager(connection), book, journals, told })
    if (end === clean) await book.close()
    await journals.close()
    await end(broker)
  }
  return {
    home,
    run,
    blocks: (stream: string) => blocksOf(home, stream),
    path: join(home, 'journal/streams'),
    [Symbol.dispose]: () => rmSync(home, { recursive: true }),
  }
}

const clean = async (broker: TestBroker) => broker[Symbol.asyncDispose]()
const ends = { 'after a kill': crash, 'after a stop in order': clean }

const openThings = (connection: NatsConnection) =>
  Collection.open(connection, { bucket: 'things', schema: Thing, version: 1 })
const openLedger = (connection: NatsConnection) =>
  Ledger.open<string>(connection, { name: 'LEDGER', root: 'ledger', ...smallLimits })

async function addStream(manager: JetStreamManager, limits: object = {}): Promise<void> {
  await manager.streams.add({ name: 'PLAIN', subjects: ['plain'], storage: fileStorage, ...limits })
}

async function publish(connection: NatsConnection, count: number): Promise<void> {
  const js = jetstream(connection)
  for (let one = 0; one < count; one++) await js.publish('plain', `${one} ${text}`)
}

/** What fills the streams of each kind that the platform has, and their names. */
const fillings: Record<string, (run: Run) => Promise<string>> = {
  'a stream that loses messages by age alone': async ({ connection, manager }) => {
    await addStream(manager, { max_age: 3_600e9, max_bytes: 1e8 })
    await publish(connection, 100)
    return 'PLAIN'
  },
  'a ledger, some of which was taken out': async ({ connection }) => {
    const ledger = await openLedger(connection)
    for (let n = 0; n < 50; n++) await ledger.append('one', `${n} ${text}`, `${n}`, forever)
    for (let n = 0; n < 50; n++) await ledger.append('two', `${n} ${text}`, `two ${n}`, forever)
    for (const sequence of [1, 20, 80]) await ledger.forget(sequence)
    return 'LEDGER'
  },
  'a bucket without a journal': async ({ connection }) => {
    const things = await openThings(connection)
    for (let n = 0; n < 120; n++) await things.put(`${n % 20}`, { n, text })
    await things.erase('3')
    return 'KV_things'
  },
  'what an extension stores': async ({ connection }) => {
    const values = await ValueStore.open(connection, 'values')
    for (let n = 0; n < 60; n++) await values.put(`${n % 30}`, `${n} ${text}`)
    await values.delete('29')
    return 'KV_values'
  },
}

/** After a stop in order nats-server takes the messages of a bucket for intact until it reads one, unless they are cut off. */
const cuts = ['the last kilobyte cut off', 'all of it cut off']
const damages: Record<string, (blocks: string[]) => void> = {
  'a bit flipped near the beginning': (blocks) => flipBit(blocks.at(-1)!, 0.02),
  'a bit flipped in the middle': (blocks) => flipBit(blocks.at(-1)!, 0.5),
  'a bit flipped near the end': (blocks) => flipBit(blocks.at(-1)!, 0.95),
  'the last kilobyte cut off': (blocks) => cutTail(blocks.at(-1)!, 1_024),
  'all of it cut off': (blocks) => cutTail(blocks.at(-1)!, 1e9),
}

const isBucket = new Set(['a bucket without a journal', 'what an extension stores'])

for (const [what, fill] of Object.entries(fillings)) {
  for (const [how, end] of Object.entries(ends)) {
    for (const [damage, make] of Object.entries(damages)) {
      if (end === clean && isBucket.has(what) && !cuts.includes(damage)) continue
      test(`${what}, ${how}, ${damage}: the loss is told once`, async () => {
        using store = await createStore()
        let stream = ''
        await store.run(
          async (run) => {
            stream = await fill(run)
            await run.book.look()
            expect(run.told()).toEqual([])
          },
          { end },
        )
        make(store.blocks(stream))
        await store.run(async ({ told }) => {
          expect(told()).toEqual([expect.stringMatching(`^${stream.replace('KV_', '')} MESSAGES_`)])
        })
        await store.run(async ({ told }) => {
          expect(told()).toEqual([])
        })
      })
    }
  }
}

for (const [damage, make] of Object.entries(damages)) {
  test(`after a run with an index and one that was killed, ${damage}: the loss is told`, async () => {
    using store = await createStore()
    await store.run(
      async ({ connection, manager }) => {
        await addStream(manager)
        await publish(connection, 100)
      },
      { end: clean },
    )
    await store.run(async ({ connection, book }) => {
      await publish(connection, 30)
      await book.look()
    })
    make(store.blocks('PLAIN'))
    await store.run(async ({ told }) => {
      expect(told()).toEqual([expect.stringMatching(/^PLAIN MESSAGES_LOST \d+$/)])
    })
  })
}

test('any damage to any block of a stream with several is told, at 24 random places', async () => {
  const random = seededRandom(7)
  for (let round = 0; round < 24; round++) {
    using store = await createStore()
    await store.run(async ({ connection, manager, book }) => {
      // Blocks follow from this limit.
      await addStream(manager, { max_age: 3_600e9, max_bytes: 200_000 })
      await publish(connection, 400)
      await book.look()
    })
    const done = damageAtRandom(oneOf(random, store.blocks('PLAIN')), random)
    await store.run(async ({ told }) => {
      expect(told(), done).toEqual([expect.stringMatching(/^PLAIN MESSAGES_LOST \d+$/)])
    })
  }
}, 120_000)

test('a stream that is gone, and one that was made anew, are told', async () => {
  using store = await createStore()
  await store.run(async ({ connection, manager, book }) => {
    await addStream(manager)
    await publish(connection, 3)
    await openThings(connection).then((things) => things.put('one', { n: 1, text }))
    await book.look()
  })
  await store.run(async ({ connection, manager, book, told }) => {
    expect(told()).toEqual([])
    await manager.streams.delete('PLAIN')
    await manager.streams.delete('KV_things')
    await addStream(manager)
    await publish(connection, 5)
    await book.look()
    expect(told().toSorted()).toEqual(['PLAIN STREAM_LOST 3', 'things STREAM_LOST 1'])
    await book.look()
    expect(told()).toEqual([])
  })
})

for (const [how, end] of Object.entries(ends)) {
  test(`${how}, nothing is told of what the platform removed, and of what came after the last look`, async () => {
    using store = await createStore()
    await store.run(
      async (run) => {
        for (const fill of Object.values(fillings)) await fill(run)
        await run.book.look()
        const { connection } = run
        const things = await openThings(connection)
        const ledger = await openLedger(connection)
        const values = await ValueStore.open(connection, 'values')
        for (let n = 0; n < 30; n++) {
          await things.put(`${n}`, { n, text })
          await ledger.append('three', `${n} ${text}`, `three ${n}`, forever)
        }
        await publish(connection, 10)
        // After the last look.
        for (let n = 0; n < 10; n++) await things.erase(`${n}`)
        for (const sequence of [2, 30, 99]) await ledger.forget(sequence)
        await ledger.remove('one')
        for (let n = 0; n < 5; n++) await values.delete(`${n}`)
        await (await ValueStore.open(connection, 'dropped')).put('one', text)
        await run.book.look()
        await (await ValueStore.open(connection, 'dropped')).destroy()
      },
      { end },
    )
    for (let again = 0; again < 2; again++)
      await store.run(
        async ({ told, book }) => {
          expect(told()).toEqual([])
          await book.look()
          expect(told()).toEqual([])
        },
        { end },
      )
  })

  test(`${how}, nothing is told of what has expired or made room`, async () => {
    using store = await createStore()
    const firstOf = async (manager: JetStreamManager) => (await manager.streams.info('PLAIN')).state.first_seq
    await store.run(
      async ({ connection, manager, book }) => {
        await addStream(manager, { max_bytes: 20_000, discard: 'old' })
        await manager.streams.add({
          name: 'SHORT',
          subjects: ['short'],
          storage: fileStorage,
          max_age: 100e6,
          duplicate_window: 100e6,
        })
        await publish(connection, 10)
        await jetstream(connection).publish('short', text)
        await book.look()
        await publish(connection, 200)
        await until('the oldest have gone', async () => (await firstOf(manager)) > 10)
        await until('it has expired', async () => (await manager.streams.info('SHORT')).state.messages === 0)
      },
      { end },
    )
    await store.run(async ({ told }) => {
      expect(told()).toEqual([])
    })
  })
}

test('messages that are too young to expire are missed where others may have expired', async () => {
  using store = await createStore()
  await store.run(async ({ connection, manager, book }) => {
    await addStream(manager, { max_age: 3_600e9 })
    await publish(connection, 20)
    await book.look()
    // What a limit of an hour would do if the first ten were older.
    await manager.streams.purge('PLAIN', { seq: 11 })
    await book.look()
  })
  await store.run(async ({ told }) => {
    expect(told()).toEqual(['PLAIN MESSAGES_LOST 10'])
  })
})

test('a removal that has come to nothing excuses no loss of the next run', async () => {
  using store = await createStore()
  await store.run(async ({ connection, manager, book }) => {
    await addStream(manager)
    await publish(connection, 50)
    await book.look()
    await removing(connection, { stream: 'PLAIN', messages: 40 }, async () => undefined)
    await book.look()
    // As a loss would: the book does not know of it.
    await manager.streams.purge('PLAIN', { seq: 31 })
  })
  await store.run(async ({ told }) => {
    expect(told()).toEqual(['PLAIN MESSAGES_LOST 30'])
  })
})

test('while nothing is stored, streams are not asked, and the book is not written', async () => {
  using store = await createStore()
  const version = () => statSync(store.path).ino
  await store.run(async ({ connection, manager, book }) => {
    let asked = 0
    connection.subscribe('$JS.API.STREAM.LIST', { callback: () => void asked++ })
    const looks = async (look: () => Promise<void>) => {
      const before = { asked, version: version() }
      await look()
      await connection.flush()
      return { asked: asked - before.asked, isWritten: version() !== before.version }
    }
    await addStream(manager)
    await publish(connection, 5)
    expect(await looks(() => book.lookIfUsed())).toEqual({ asked: 1, isWritten: true })
    expect(await looks(() => book.lookIfUsed())).toEqual({ asked: 0, isWritten: false })
    expect(await looks(() => book.look())).toEqual({ asked: 1, isWritten: false })
    await publish(connection, 1)
    expect(await looks(() => book.lookIfUsed())).toEqual({ asked: 1, isWritten: true })
    await manager.streams.purge('PLAIN')
    expect(await looks(() => book.lookIfUsed())).toEqual({ asked: 1, isWritten: true })
  })
})

test('what a broker loses when it is killed under a platform that lives is told as soon as it is back', async () => {
  using store = await createStore()
  // nats-server starts again when this file is gone.
  const gate = join(store.home, 'gate')
  const binary = join(store.home, 'gated-nats-server')
  writeFileSync(
    binary,
    `#!/bin/sh\nwhile [ -e '${gate}' ]; do sleep 0.02; done\nexec '${await natsServerPath()}' "$@"\n`,
  )
  chmodSync(binary, 0o755)
  await store.run(
    async ({ broker, connection, manager, book, journals }) => {
      await addStream(manager)
      await publish(connection, 50)
      await book.look()
      writeFileSync(gate, '')
      process.kill(broker.server.pid()!, 'SIGKILL')
      await until('nats-server has ended', () => broker.server.pid() === undefined)
      flipBit(store.blocks('PLAIN')[0]!, 0.5)
      rmSync(gate)
      const lost = await until('it is told', () => journals.losses.of('PLAIN'))
      expect(lost).toMatchObject({ kind: 'MESSAGES_LOST' })
      expect(lost.messages).toBeGreaterThan(20)
    },
    { binary },
  )
})

test('a bucket with a journal is left to that at the start', async () => {
  using store = await createStore()
  const open = (connection: NatsConnection, journals: RecordJournals) =>
    Collection.open(connection, { bucket: 'things', schema: Thing, version: 1, journals })
  await store.run(async ({ connection, journals, book }) => {
    const things = await open(connection, journals)
    for (let n = 0; n < 20; n++) await things.put(`${n}`, { n, text })
    await book.look()
  })
  flipBit(store.blocks('KV_things')[0]!, 0.5)
  await store.run(async ({ connection, journals, book, told }) => {
    expect(told()).toEqual([])
    const things = await open(connection, journals)
    expect(told().every((one) => one === 'things LOST')).toBe(true)
    await book.look()
    expect(told()).toEqual([])
    expect(await things.get('19')).toEqual({ n: 19, text })
  })
})

test('a damaged book is told, and does not keep the platform from starting', async () => {
  using store = await createStore()
  await store.run(async ({ connection, manager, book }) => {
    await addStream(manager)
    await publish(connection, 3)
    await book.look()
  })
  flipBit(store.path, 0.5)
  await store.run(async ({ told }) => {
    expect(told()).toEqual(['streams BOOK_DAMAGED'])
    expect(readFileSync(store.path, 'utf8')).toContain('PLAIN')
  })
})
