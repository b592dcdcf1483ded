import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { expect, test } from 'vitest'
import { decodeLink, encodeLink } from '../../../broker/audit/chain.ts'
import { auditStream, auditSubject } from '../../../broker/audit/stream.ts'
import { AuditTrail } from '../../../broker/audit/trail.ts'
import type { NatsConnection } from '../../../broker/rpc/connection.ts'
import { openStream } from '../../../broker/state/jetstream.ts'
import { smallLimits, startTestBroker, type TestBroker } from '../../support/broker.ts'
import { testLog } from '../../support/platform.ts'
import { until } from '../../support/until.ts'

interface Note {
  readonly n: number
  readonly by?: string
}

const retentionMs = 90 * 24 * 3_600_000
const open = (connection: NatsConnection, more: { maxFileBytes?: number; retentionMs?: number } = {}) =>
  AuditTrail.open<Note>(connection, {
    instance: 'TEST',
    maxFileBytes: smallLimits.maxFileBytes,
    retentionMs,
    log: testLog,
    ...more,
  })
const upTo = (count: number) => Array.from({ length: count }, (_, n) => n)
const everything = { fits: () => true, sinceMs: 0, limit: 10_000 }

/** All records, oldest first. */
async function notesOf({ reader }: AuditTrail<Note>): Promise<Note[]> {
  const { records, next } = await reader.page({ ...everything, order: 'oldest' })
  expect(next).toBeUndefined()
  return records.map(({ record }) => record)
}

/** The messages of the stream as they are stored. */
async function bodiesOf(connection: NatsConnection): Promise<string[]> {
  const manager = await jetstreamManager(connection)
  const { state } = await manager.streams.info(auditStream)
  const bodies: string[] = []
  for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
    bodies.push((await manager.streams.getMessage(auditStream, { seq }))!.string())
  }
  return bodies
}

/** What somebody with the platform's identity can do: the stream anew, with other messages. */
async function rewrite(
  broker: TestBroker,
  connection: NatsConnection,
  bodies: readonly string[],
): Promise<void> {
  const manager = await jetstreamManager(connection)
  const { config } = await manager.streams.info(auditStream)
  const asked = () => manager.direct.getMessage(auditStream, { seq: 1 })
  const answers = () => Promise.all(Array.from({ length: 16 }, asked))
  for (;;) {
    await manager.streams.delete(auditStream)
    await openStream(manager, config)
    if (!(await answers()).some((found) => found !== null)) break
    // Now and then the broker goes on to answer some readers with what the stream had before, until it is restarted.
    await broker.kill()
  }
  for (const body of bodies) await jetstream(connection).publish(auditSubject, body)
}

test('records come in pages from either end, and the chain is whole', async () => {
  await using broker = await startTestBroker()
  const trail = await open(await broker.connect('PLATFORM'))
  expect(await trail.reader.verify()).toMatchObject({ records: 0, fromFirst: true, broken: undefined })
  for (const n of upTo(3)) await trail.append({ n })
  // These are stored together.
  await Promise.all(upTo(1_200).map((n) => trail.append({ n: 3 + n })))
  const whole = upTo(1_203)
  expect((await notesOf(trail)).map(({ n }) => n)).toEqual(whole)
  for (const order of ['oldest', 'newest'] as const) {
    const seen: number[] = []
    let after: number | undefined
    do {
      const page = await trail.reader.page({ ...everything, order, after, limit: 100 })
      seen.push(...page.records.map(({ record }) => record.n))
      after = page.next
    } while (after !== undefined)
    expect(seen).toEqual(order === 'oldest' ? whole : whole.toReversed())
  }
  const even = { ...everything, fits: ({ n }: Note) => n % 2 === 0, limit: 2 }
  const { records } = await trail.reader.page({ ...even, order: 'newest' })
  expect(records.map(({ record }) => record.n)).toEqual([1_202, 1_200])
  expect(await trail.reader.verify()).toMatchObject({
    records: 1_203,
    fromFirst: true,
    oldest: { n: 0 },
    newest: { n: 1_202 },
    broken: undefined,
    next: undefined,
  })
})

test('what was changed, removed, moved or added is named', async () => {
  await using broker = await startTestBroker()
  const connection = await broker.connect('PLATFORM')
  const trail = await open(connection)
  for (const n of upTo(5)) await trail.append({ n })
  await Promise.all(upTo(5).map((n) => trail.append({ n: 5 + n })))
  const bodies = await bodiesOf(connection)
  const last = bodies.length
  const first = bodies.map((_, index) => (index + 1) * 1_000 + 1)
  const brokenAt = async (changed: readonly string[]) => {
    await rewrite(broker, connection, changed)
    return (await trail.reader.verify()).broken?.at
  }
  const changedIn = (index: number, from: string, to: string) =>
    bodies.with(index, bodies[index]!.replace(from, to))

  expect(await brokenAt(bodies)).toBeUndefined()
  expect(await brokenAt(changedIn(1, '{"n":1}', '{"n":7}'))).toBe(first[1])
  // The third of those that were stored together.
  expect(await brokenAt(changedIn(last - 1, '{"n":7}', '{"n":8}'))).toBe(first[last - 1]! + 2)
  expect(await brokenAt(bodies.toSpliced(2, 1))).toBe(first[2])
  expect(await brokenAt(bodies.slice(1))).toBe(first[0])
  expect(await brokenAt(bodies.with(2, bodies[3]!).with(3, bodies[2]!))).toBe(first[2])
  expect(await brokenAt(bodies.toSpliced(2, 0, bodies[2]!))).toBe(first[3])
  expect(await brokenAt(bodies.with(3, 'nothing'))).toBe(first[3])
  // What is no record is not listed, and hides no other.
  expect(await brokenAt(changedIn(3, '{"n":3}', '{"n":}'))).toBe(first[3])
  expect((await notesOf(trail)).map(({ n }) => n)).toEqual(upTo(10).toSpliced(3, 1))
  // A record that is made well, in the place of another.
  const { previous } = decodeLink(bodies[2]!)!
  expect(await brokenAt(bodies.with(2, encodeLink(previous, ['{"n":9}']).body))).toBe(first[3])
})

test('the broker lets nobody remove or purge what is in the stream, the platform included', async () => {
  await using broker = await startTestBroker()
  const connection = await broker.connect('PLATFORM')
  await (await open(connection)).append({ n: 0 })
  const { streams } = await jetstreamManager(connection)
  await expect(streams.deleteMessage(auditStream, 1)).rejects.toThrow()
  await expect(streams.purge(auditStream)).rejects.toThrow()
  const { config } = await streams.info(auditStream)
  const undo = streams.update(auditStream, { ...config, deny_delete: false, deny_purge: false })
  await expect(undo).rejects.toThrow()
})

test('writers in several processes take turns, and make one chain', async () => {
  await using broker = await startTestBroker()
  const writers = await Promise.all(['a', 'b', 'c'].map((name) => broker.connect('PLATFORM', name)))
  const trails = await Promise.all(writers.map((connection) => open(connection)))
  await Promise.all(
    trails.flatMap((trail, index) =>
      upTo(100).map(async (n) => {
        for (let round = 0; round < 3; round++) await trail.append({ n: 3 * n + round, by: `${index}` })
      }),
    ),
  )
  const notes = await notesOf(trails[0]!)
  expect(notes).toHaveLength(900)
  expect(new Set(notes.map(({ n, by }) => `${by} ${n}`)).size).toBe(900)
  expect(await trails[1]!.reader.verify()).toMatchObject({ records: 900, broken: undefined })
})

test('a reader whose question was lost with the broker, or is not answered for a while, asks again', async () => {
  await using broker = await startTestBroker()
  const trail = await open(await broker.connect('PLATFORM'))
  await trail.append({ n: 0 })
  for (const read of [() => notesOf(trail), () => trail.reader.verify()]) {
    process.kill(broker.server.pid()!, 'SIGSTOP')
    const reading = read()
    await broker.kill()
    await reading
  }
  expect(await notesOf(trail)).toEqual([{ n: 0 }])
})

// Side by side: what was asked of a broker that dies waits for its answer for seconds.
test.concurrent.each([1, 100, 300])(
  'kill -9 after %i of 400 records: none that was acknowledged is lost, each is there once, and the chain is whole',
  async (killAfter) => {
    await using broker = await startTestBroker()
    const trails = await Promise.all(
      ['a', 'b'].map(async (name) => open(await broker.connect('PLATFORM', name))),
    )
    let acknowledged = 0
    let next = 0
    const writer = async (trail: AuditTrail<Note>) => {
      for (let n = next++; n < 400; n = next++) {
        await trail.append({ n })
        acknowledged += 1
      }
    }
    const writing = Promise.all(trails.flatMap((trail) => upTo(4).map(() => writer(trail))))
    await until('it is time', () => acknowledged >= killAfter)
    await broker.kill()
    await writing
    const notes = await notesOf(trails[0]!)
    expect(notes.map(({ n }) => n).toSorted((a, b) => a - b)).toEqual(upTo(400))
    expect(await trails[1]!.reader.verify()).toMatchObject({ records: 400, broken: undefined })
  },
)

test('a shorter retention holds from the next start on, and verification begins at what is left', async () => {
  await using broker = await startTestBroker()
  const connection = await broker.connect('PLATFORM')
  const trail = await open(connection)
  for (const n of upTo(4)) await trail.append({ n })
  const shorter = await open(connection, { retentionMs: 200 })
  await until('the old are gone', async () => (await notesOf(shorter)).length === 0)
  expect(await shorter.reader.verify()).toMatchObject({ records: 0, fromFirst: false, broken: undefined })
  // The writer that knows the last hash goes on from there; one that starts now begins anew.
  await (await open(connection)).append({ n: 4 })
  await trail.append({ n: 5 })
  const after = await open(connection)
  expect(await after.reader.verify()).toMatchObject({ records: 2, fromFirst: false, broken: undefined })
  expect((await notesOf(after)).map(({ n }) => n)).toEqual([4, 5])
})

test('a full log refuses what would have to be recorded, and loses nothing that was done', async () => {
  await using broker = await startTestBroker()
  const connection = await broker.connect('PLATFORM')
  const small = 64 * 2 ** 20
  const trail = await open(connection, { maxFileBytes: small })
  const by = 'x'.repeat(2_000)
  let written = 0
  const fill = async () => {
    for (;;) {
      trail.requireRoom()
      await Promise.all(upTo(200).map(() => trail.append({ n: written++, by })))
    }
  }
  await expect(fill()).rejects.toMatchObject({ code: 'STORAGE_FULL' })
  // There is a reserve for what was in hand when it was found out.
  await trail.append({ n: written++ })
  // Whatever is done in spite of it waits for room.
  const beyond = async () => {
    for (;;) await trail.append({ n: written++, by })
  }
  await expect(beyond()).rejects.toMatchObject({ code: 'STORAGE_FULL' })
  const larger = await open(connection)
  await until('there is room', () => {
    try {
      trail.requireRoom()
      return true
    } catch {
      return false
    }
  })
  const { records, broken } = await larger.reader.verify()
  expect({ records, broken }).toEqual({ records: written, broken: undefined })
})
