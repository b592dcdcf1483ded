import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import type { NatsConnection } from '../../../../broker/rpc/connection.ts'
import type { DirtyFolder, Renamed } from '../../../../services/drivers/feeds/dirty-folders.ts'
import { ReportedChanges } from '../../../../services/filesystems/reported-changes.ts'
import { ReportedFeed } from '../../../../services/migrations/live/reported-feed.ts'
import { filesystemsInternal } from '../../../../subjects/filesystems/internal.ts'
import { ephemeralSubject, subjectToken } from '../../../../subjects/kit/names.ts'
import { startTestBroker, type TestBroker } from '../../../support/broker.ts'
import { memoryPositions } from '../../../support/feeds.ts'
import { until } from '../../../support/until.ts'

/** Small enough for the stream to be filled by a test. */
const maxFileBytes = 20 * 64 * 1024

let broker: TestBroker
let connection: NatsConnection
let reported: ReportedChanges
beforeAll(async () => {
  broker = await startTestBroker()
  connection = await broker.connect('PLATFORM')
  reported = await ReportedChanges.open(connection, maxFileBytes)
  // As the service of filesystems answers it.
  connection.subscribe(filesystemsInternal['reported-changes'].subject, {
    callback: (_error, message) => {
      const { fileSystemId, after } = message.json<{ fileSystemId: string; after?: string }>()
      void reported.after(fileSystemId, after).then((reply) => message.respond(JSON.stringify(reply)))
    },
  })
})
afterAll(() => broker[Symbol.asyncDispose]())

let fileSystemId: string
let positions: ReturnType<typeof memoryPositions>
beforeEach(() => {
  fileSystemId = `source ${crypto.randomUUID()}`
  positions = memoryPositions()
})

const untold = (...paths: string[]) =>
  reported.add(fileSystemId, { changes: paths.map((path) => ({ path, tree: path.endsWith('/') })) })
const tell = () =>
  connection.publish(ephemeralSubject('filesystems', 'changes-reported', subjectToken(fileSystemId)))
const add = (...paths: string[]) => untold(...paths).then(tell)

/** A feed of the source, and what it tells. */
async function listen() {
  const told: {
    readonly folders: readonly DirtyFolder[]
    readonly done: () => void
    readonly renamed: readonly Renamed[] | undefined
  }[] = []
  const behind = new Set<number>()
  const feed = new ReportedFeed({ connection, fileSystemId, root: 'data' })
  const missedNothing = await feed.open(
    {
      changed: (folders, done, renamed) =>
        void told.push({ folders, done: done ?? (() => undefined), renamed }),
      behind: (sinceMs) => {
        behind.add(sinceMs)
        return () => void behind.delete(sinceMs)
      },
      ended: () => undefined,
      positions: positions.of('reader'),
    },
    new AbortController().signal,
  )
  return {
    missedNothing,
    told,
    behind,
    names: () => told.flatMap(({ folders }) => folders.flatMap(({ names, trees }) => [...names, ...trees])),
    close: () => feed.close(),
  }
}

test('what is reported is told once it is, below its folder, and told again until it is done', async () => {
  const first = await listen()
  expect(first.missedNothing).toBe(false)
  await add('/data/a', '/other/b')
  await add('/data/c')
  await until('both are told', () => first.told.length === 2)
  // Without an event it is found by the next look.
  await untold('/data/d')
  await until('it is told', () => first.told.length === 3)
  expect(first.names()).toEqual(['a', 'c', 'd'])
  first.told[0]!.done()
  first.told[2]!.done()
  await first.close()

  const second = await listen()
  expect(second.missedNothing).toBe(true)
  expect(second.names()).toEqual(['c', 'd'])
  for (const { done } of second.told) done()
  await second.close()
  const third = await listen()
  expect([third.missedNothing, third.told]).toEqual([true, []])
  await third.close()
})

test('a root that was reported is everything, a folder above is looked at by content', async () => {
  const feed = await listen()
  await add('/')
  await add('/data/')
  await until('both are told', () => feed.told.length === 2)
  expect(feed.told.map(({ folders }) => folders.map(({ folder, scope }) => [folder, scope]))).toEqual([
    [['', 'tree']],
    [['', 'content']],
  ])
  await feed.close()
})

test('what was renamed below the folder is told as such, with both paths', async () => {
  const feed = await listen()
  const changes = [
    { path: '/data/a/new', from: '/data/old' },
    { path: '/data/in', from: '/elsewhere' },
  ]
  await reported.add(fileSystemId, { changes })
  tell()
  await until('it is told', () => feed.told.length === 1)
  expect(feed.told[0]?.renamed).toEqual([{ from: 'old', to: 'a/new' }])
  expect(feed.told[0]?.folders.map(({ folder, names, trees }) => [folder, names, trees])).toEqual([
    ['', ['a'], ['old', 'in']],
    ['a', [], ['new']],
  ])
  await feed.close()
})

test('what nobody had read before it went is everything, and so is another stream', async () => {
  const first = await listen()
  await first.close()
  const again = await listen()
  expect(again.missedNothing).toBe(true)
  await again.close()
  await add('/data/lost')
  // The reports of others fill it.
  const large = Array.from({ length: 100 }, (_, index) => ({ path: `/${'x'.repeat(100)}${index}` }))
  for (let count = 0; count < 10; count++) await reported.add('another', { changes: large })
  const second = await listen()
  expect(second.missedNothing).toBe(false)
  await second.close()
  await positions
    .of('reader')
    .keep(`reported ${fileSystemId} reader`, JSON.stringify({ at: '12345-1', keptMs: Date.now() }))
  const third = await listen()
  expect(third.missedNothing).toBe(false)
  await third.close()
})

test('where nobody reports any more the lag grows, until somebody does, if only that nothing changed', async () => {
  const feed = await listen()
  expect(feed.behind.size).toBe(0)
  const { hrtime } = process
  const ahead = (time?: [number, number]): [number, number] => {
    const [seconds, nanoseconds] = hrtime(time)
    return [seconds + 61, nanoseconds]
  }
  const faked = vi
    .spyOn(process, 'hrtime')
    .mockImplementation(Object.assign(ahead, { bigint: () => hrtime.bigint() }))
  try {
    tell()
    await until('it is behind', () => feed.behind.size === 1)
    await add()
    await until('it is not', () => feed.behind.size === 0)
  } finally {
    faked.mockRestore()
  }
  expect(feed.told).toEqual([])
  await feed.close()
})
