import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { Batches } from '../../../../services/migrations/live/batches.ts'
import { Changes } from '../../../../services/migrations/live/changes.ts'
import { Comparison } from '../../../../services/migrations/live/comparison.ts'
import { type ChangeFeed, type FeedListener, WatchError } from '../../../../services/drivers/feeds/feed.ts'
import type { ChangesOptions, ChangesPort } from '../../../../services/migrations/live/following.ts'
import { HeldNames } from '../../../../services/migrations/live/held-names.ts'
import { KnownFailures } from '../../../../services/migrations/live/known-failures.ts'
import { LocalWatch } from '../../../../services/drivers/local/watch/local-watch.ts'
import { RemovalsHeld } from '../../../../services/migrations/live/on-hold.ts'
import { OtherNames } from '../../../../services/migrations/live/other-names.ts'
import { monotonicMs } from '../../../../broker/common/monotonic.ts'
import { ChangedNames } from '../../../../services/engine/items/changed-folders.ts'
import { noCounts } from '../../../../services/engine/run/counts.ts'
import { decodeItem } from '../../../../services/engine/items/item-decode.ts'
import { type FailureLedger, openFailures } from '../../../../services/migrations/failures/failures.ts'
import { smallLimits, startTestBroker } from '../../../support/broker.ts'
import { createFolder } from '../../../support/migrations.ts'
import { noPositions } from '../../../support/feeds.ts'
import { testLog } from '../../../support/platform.ts'
import { until } from '../../../support/until.ts'

interface Published {
  readonly lane: string
  readonly messageId: string
  readonly sequence: number
  /** Paths to compare; of whole trees with a slash at the end. */
  readonly paths: string[]
}

let broker: Awaited<ReturnType<typeof startTestBroker>>
let ledger: FailureLedger
let known: KnownFailures
let workId: string
const { signal: end } = new AbortController()
beforeAll(async () => {
  broker = await startTestBroker()
  ledger = await openFailures(await broker.connect('PLATFORM'), smallLimits.maxFileBytes)
})
afterAll(() => broker[Symbol.asyncDispose]())
beforeEach(async () => {
  workId = crypto.randomUUID()
  known = await KnownFailures.open(ledger, workId, Buffer.alloc(0))
})

/** The changes of a real folder, and a queue that is a list. */
function follow(
  options: Partial<ChangesOptions> & { maxWatches?: number; rename?: ChangesPort['rename'] } = {},
) {
  const folder = createFolder('source', 'aside')
  mkdirSync(join(folder.source, 'a/b'), { recursive: true })
  const queue: Published[] = []
  const failures: unknown[] = []
  const end = new AbortController()
  const changes = new Changes({
    feed: new LocalWatch(Buffer.from(folder.source), options.maxWatches),
    reason: undefined,
    fallback: () => new Comparison(),
    gapSinceMs: undefined,
    positions: noPositions,
    endsWithScan: false,
    failures: known,
    migration: 'test',
    log: testLog,
    ...options,
  })
  const port = {
    publish: async (lane: string, item: Uint8Array, messageId: string) =>
      void queue.push({ lane, messageId, sequence: queue.length + 1, paths: pathsOf(item) }),
    rename: options.rename ?? (async () => []),
    fail: (error: unknown) => void failures.push(error),
  }
  return {
    changes,
    queue,
    failures,
    at: (path: string) => join(folder.source, path),
    /** A new file, with one event: a write is told with two, which a busy machine may keep apart. */
    moveIn: (path: string) => {
      const file = join(folder.aside, 'file')
      writeFileSync(file, 'x')
      renameSync(file, join(folder.source, path))
    },
    start: () => changes.start(port, end.signal),
    /** Something is in the queue beyond what was there. */
    next: async (count = 1) => {
      await until(`${count} items are in the queue`, () => queue.length >= count)
      return queue[count - 1]!
    },
    done: (item: Published, again: Uint8Array[] = [], busy: Uint8Array[] = []) => {
      changes.working(item)
      changes.done(item, { counts: noCounts(), failures: [], again, busy })
    },
    [Symbol.asyncDispose]: async () => {
      end.abort(new Error('the test is over'))
      await changes.close()
      folder[Symbol.dispose]()
    },
  }
}

/** The same with a feed that the test tells of changes, once what was there before it is in the queue to be compared. */
async function followTold(missedNothing = false, options: Parameters<typeof follow>[0] = {}) {
  const live = await startTold(missedNothing, { gapSinceMs: monotonicMs(), ...options })
  await live.changes.scanned()
  return live
}

/** The same before all that was there is scanned. */
async function startTold(missedNothing: boolean, options: Parameters<typeof follow>[0]) {
  let tell: FeedListener['changed'] = () => undefined
  let end: FeedListener['ended'] = () => undefined
  const feed: ChangeFeed = {
    detection: 'watching',
    open: async ({ changed, ended }) => {
      tell = changed
      end = ended
      return missedNothing
    },
    close: async () => undefined,
  }
  const live = follow({ feed, ...options })
  await live.start()
  return { ...live, tell, end }
}

function pathsOf(bytes: Uint8Array): string[] {
  const item = decodeItem(bytes)
  if (item.kind !== 'reconcile') throw new Error(`a ${item.kind}`)
  return item.groups.flatMap(({ folder, names, trees, scope }) => {
    const at = (name: Buffer) =>
      folder.length === 0 ? name.toString() : `${folder.toString()}/${name.toString()}`
    const whole = scope === 'names' ? [] : [`${folder.toString()}/`]
    return [...whole, ...names.map(at), ...trees.map((name) => `${at(name)}/`)]
  })
}

function named(folder: string, name: string): Uint8Array[] {
  const names = new ChangedNames()
  names.add(Buffer.from(folder), Buffer.from(name))
  return names.items()
}

test('a folder is in the queue once at a time; what changes meanwhile follows, and nothing is late when all is done', async () => {
  await using live = follow()
  await live.start()
  expect(await live.changes.scanned()).toBe(false)
  live.moveIn('a/1')
  const first = await live.next()
  expect(first).toMatchObject({ lane: 'change', paths: ['a/1'] })
  live.moveIn('a/2')
  live.moveIn('a/b/3')
  expect(await live.next(2)).toMatchObject({ paths: ['a/b/3'] })
  await until('the other waits', () => live.changes.view().unscheduled === 1)
  expect(live.changes.view()).toMatchObject({ detection: 'watching', scheduled: 2 })
  expect(live.changes.view().lagSeconds).toBeGreaterThan(0)
  live.done(first)
  expect(await live.next(3)).toMatchObject({ paths: ['a/2'] })
  for (const item of live.queue.slice(1)) live.done(item)
  expect(live.changes.view()).toMatchObject({ scheduled: 0, unscheduled: 0, lagSeconds: 0 })
  expect(new Set(live.queue.map(({ messageId }) => messageId)).size).toBe(3)
})

/** That a folder was renamed, as a feed tells it. */
const renaming = (sinceMs: number): Parameters<FeedListener['changed']> => [
  [{ folder: 'a', names: ['old'], trees: ['new'], scope: 'names', sinceMs }],
  () => undefined,
  [{ from: 'a/old', to: 'a/new' }],
]

test('what was renamed is renamed at the target while nothing is in the queue, then compared as what it is by now', async () => {
  const asked: unknown[] = []
  let isBusy = true
  await using live = await followTold(true, {
    gapSinceMs: undefined,
    rename: async (renamed) => {
      asked.push(renamed)
      return isBusy ? undefined : renamed.map((one) => ({ ...one, isFolder: true }))
    },
  })
  live.tell([{ folder: 'b', names: ['before'], trees: [], scope: 'names', sinceMs: monotonicMs() }])
  const before = await live.next()
  const sinceMs = monotonicMs() - 3_000
  live.tell(...renaming(sinceMs))
  live.tell([{ folder: 'b', names: ['after'], trees: [], scope: 'names', sinceMs: monotonicMs() }])
  expect(asked).toEqual([])
  live.done(before)
  await until('it was asked for', () => asked.length > 1)
  expect(live.queue).toHaveLength(1)
  expect(live.changes.view().lagSeconds).toBeGreaterThanOrEqual(3)
  isBusy = false
  const items = [await live.next(2), ...live.queue.slice(2)]
  expect(items.flatMap(({ paths }) => paths).toSorted()).toEqual(['a/new', 'a/new/', 'a/old', 'b/after'])
  for (const item of items) live.done(item)
  expect(live.changes.view()).toMatchObject({ unscheduled: 0, lagSeconds: 0 })
})

test('what cannot be renamed at the target is copied: before all is scanned, after an error, when nothing becomes free', async () => {
  const paths = ['a/new/', 'a/old']
  await using scanning = await startTold(true, { gapSinceMs: undefined })
  scanning.tell(...renaming(monotonicMs()))
  expect(await scanning.next()).toMatchObject({ paths: expect.arrayContaining(paths) })

  const failing = () => Promise.reject(new Error('the target is away'))
  await using failed = await followTold(true, { gapSinceMs: undefined, rename: failing })
  failed.tell(...renaming(monotonicMs()))
  expect(await failed.next()).toMatchObject({ paths: expect.arrayContaining(paths) })

  await using busy = await followTold(true, { gapSinceMs: undefined, rename: async () => undefined })
  busy.tell(...renaming(monotonicMs()))
  expect(await busy.next()).toMatchObject({ paths: expect.arrayContaining(paths) })
})

test('what is to be looked at again comes again by itself', async () => {
  await using live = follow()
  await live.start()
  live.moveIn('file')
  live.done(await live.next(), named('a', 'other'))
  expect(await live.next(2)).toMatchObject({ paths: ['a/other'] })
})

test('a name that is put off again and again waits since its first change, and says so when that is long ago', () => {
  const held = new HeldNames(
    () => undefined,
    () => undefined,
  )
  const nowMs = monotonicMs()
  const hold = (sinceMs: number) =>
    held.hold({ folder: 'a', names: ['1'], trees: [], scope: 'names', sinceMs }, nowMs + 60_000)
  hold(nowMs - 1_000)
  expect([held.oldestMs, held.writtenTo]).toEqual([nowMs - 1_000, undefined])
  hold(nowMs - 20_000)
  // A newer change of it came into the queue before it was held.
  hold(nowMs)
  expect([held.oldestMs, held.writtenTo]).toEqual([nowMs - 20_000, '/a/1'])
  held.close()
})

test('a folder in place of names comes back when its first name would, however long others are put off', async () => {
  const folders: string[] = []
  const held = new HeldNames(
    () => undefined,
    (folder) => void folders.push(folder),
    { names: 1, folders: 1 },
  )
  const nowMs = monotonicMs()
  const hold = (names: string[], untilMs: number) =>
    held.hold({ folder: 'a', names, trees: [], scope: 'names', sinceMs: nowMs }, untilMs)
  hold(['1', '2'], nowMs + 1)
  hold(['3'], nowMs + 3_600_000)
  await until('it comes back', () => folders.length > 0)
  expect(folders).toEqual(['a'])
  held.close()
})

test('of more names than there is room for, the folders come back, and of more folders everything', async () => {
  const names: string[] = []
  const folders: string[] = []
  const sinceMs = monotonicMs() - 5_000
  const held = new HeldNames(
    (folder, name) => void names.push(`${folder}/${name}`),
    (...folder) => void folders.push(folder.join(' ')),
    { names: 2, folders: 2 },
  )
  const nowMs = monotonicMs()
  const hold = (folder: string, untilMs: number | undefined, names: string[], trees: string[] = []) =>
    held.hold({ folder, names, trees, scope: 'names', sinceMs }, untilMs)
  hold('a', nowMs + 1, ['1', '2', '3', '4'])
  hold('b', nowMs + 1, [], ['1'])
  expect([held.changes, held.oldestMs]).toEqual([4, sinceMs])
  // One that is already held has its room.
  hold('a', nowMs + 1, ['1'])
  hold('c', nowMs + 1, ['1'])
  hold('d', nowMs + 1, ['1'])
  expect(held.changes).toBe(5)
  // What has no room and no time was not held, so that its changes are told as ever.
  hold('e', undefined, ['1'])
  expect(held.keep('e', '1', false, sinceMs)).toBe(false)
  await until('all come back', () => held.changes === 0)
  expect(names.toSorted()).toEqual(['a/1', 'a/2'])
  expect(folders.toSorted()).toEqual([` tree ${sinceMs}`, `a folder ${sinceMs}`, `b tree ${sinceMs}`])
  expect(held.oldestMs).toBeUndefined()
  held.close()
})

test('a change is applied when all that its item made is done, what was tried again included', async () => {
  await using live = follow()
  await live.start()
  expect(await live.changes.scanned()).toBe(false)
  live.moveIn('file')
  const first = await live.next()
  live.changes.working(first)
  live.changes.made(first.sequence, '1.child')
  live.changes.done(first, undefined)
  expect(live.changes.view()).toMatchObject({ scheduled: 1 })
  const child = { sequence: 50, messageId: '1.child' }
  live.changes.working(child)
  live.changes.made(50, '50.retry')
  live.changes.done(child, undefined)
  expect(live.changes.view().lagSeconds).toBeGreaterThan(0)
  live.changes.done({ sequence: 51, messageId: '50.retry' }, undefined)
  expect(live.changes.view()).toMatchObject({ scheduled: 0, lagSeconds: 0 })
})

test('a large file that is being copied is not copied a second time at the same time', async () => {
  await using live = follow()
  await live.start()
  live.moveIn('large')
  const first = await live.next()
  live.changes.working(first)
  live.changes.made(first.sequence, '1.large')
  live.done(first, [], named('', 'large'))
  writeFileSync(live.at('large'), 'more')
  live.moveIn('small')
  const second = await live.next(2)
  expect(second).toMatchObject({ paths: ['small'] })
  live.done(second)
  live.changes.done({ sequence: 60, messageId: '1.large' }, undefined)
  expect(await live.next(3)).toMatchObject({ paths: ['large'] })
})

test('until its first scan is over, a migration lags since it began: nobody knows what has not arrived', async () => {
  await using live = follow()
  await live.start()
  expect(live.changes.view()).toMatchObject({ detection: 'watching', unscheduled: 0, scheduled: 0 })
  await until('the lag grows', () => live.changes.view().lagSeconds > 0)
  const { lagSeconds } = live.changes.view()
  await until('it grows on', () => live.changes.view().lagSeconds > lagSeconds)
  expect(await live.changes.scanned()).toBe(false)
  expect(live.changes.view().lagSeconds).toBe(0)
})

test('after a gap everything is compared, once the scan is over and no sooner', async () => {
  await using live = follow({ gapSinceMs: monotonicMs() - 60_000 })
  await live.start()
  expect(live.queue).toEqual([])
  expect(live.changes.view().lagSeconds).toBeGreaterThan(60)
  expect(await live.changes.scanned()).toBe(true)
  expect(await live.next()).toMatchObject({ lane: 'region', paths: ['/'] })
  expect(await live.changes.scanned()).toBe(true)
  live.done(await live.next())
  expect(await live.changes.scanned()).toBe(false)
  expect(live.changes.view().lagSeconds).toBe(0)
  // What changes while nobody looks is behind since then.
  await live.changes.close()
  const { behindMs } = live.changes
  expect(monotonicMs() - behindMs!).toBeLessThan(60_000)
  await until('the lag grows', () => live.changes.view().lagSeconds > 0)
  expect(live.changes.behindMs).toBe(behindMs)
})

test('while comparing is all that tells of changes, the target is behind since the last comparison began', async () => {
  await using live = follow({ feed: new Comparison(3_600) })
  await live.start()
  expect(await live.changes.scanned()).toBe(false)
  await until('it is behind', () => live.changes.view().lagSeconds > 0)
  expect(live.changes.view()).toMatchObject({ detection: 'comparing', unscheduled: 0, scheduled: 0 })
  await using often = follow({ feed: new Comparison(0.05) })
  const begunMs = monotonicMs()
  await often.start()
  expect(await often.changes.scanned()).toBe(false)
  const first = await often.next()
  expect(often.changes.behindMs).toBeLessThan(begunMs + 25)
  often.done(first)
  const { behindMs } = often.changes
  expect(behindMs).toBeGreaterThan(begunMs + 25)
  // The next one is not over.
  await often.next(2)
  expect(often.changes.behindMs).toBe(behindMs)
})

test('more folders than can be watched: it says so, and compares, at the beginning and later', async () => {
  await using narrow = follow({ maxWatches: 2 })
  await narrow.start()
  expect(narrow.changes.view()).toMatchObject({ detection: 'comparing' })
  expect(narrow.changes.view().reason).toContain('more than 2 folders')
  expect(await narrow.changes.scanned()).toBe(true)
  expect(await narrow.next()).toMatchObject({ lane: 'region', paths: ['/'] })

  await using later = follow({ maxWatches: 4 })
  await later.start()
  expect(await later.changes.scanned()).toBe(false)
  expect(later.changes.view()).toMatchObject({ detection: 'watching', reason: undefined })
  mkdirSync(later.at('c/d/e'), { recursive: true })
  await until('it compares', () => later.changes.view().detection === 'comparing')
  await until('everything is to be compared', () => later.queue.some(({ lane }) => lane === 'region'))
  expect(later.failures).toEqual([])
})

test('a file with other names that was written to is late until everything is compared', async () => {
  await using live = follow()
  await live.start()
  await live.changes.scanned()
  const writeTo = async (name: string) => {
    const known = live.queue.length
    live.moveIn(name)
    const item = await live.next(known + 1)
    live.changes.working(item)
    live.changes.done(item, { counts: noCounts(), failures: [], hasOtherNames: true })
  }
  await writeTo('a/1')
  expect(live.changes.view()).toMatchObject({ unscheduled: 1 })
  const comparison = await live.next(2)
  expect(comparison).toMatchObject({ lane: 'region', paths: ['/'] })
  live.done(comparison)
  expect(live.changes.view()).toMatchObject({ unscheduled: 0, scheduled: 0, lagSeconds: 0 })
})

test('comparisons for other names take a small part of the time, and one that comes anyway serves as well', () => {
  vi.useFakeTimers()
  try {
    const asked: number[] = []
    const names = new OtherNames((sinceMs) => void asked.push(sinceMs))
    const compare = (ms: number) => {
      names.comparing()
      vi.advanceTimersByTime(ms)
      names.worked(ms)
      names.compared()
    }
    names.written(1)
    names.written(2)
    vi.advanceTimersByTime(0)
    expect(asked).toEqual([1])
    names.comparing()
    expect(names.sinceMs).toBeUndefined()
    // While everything is compared.
    names.written(3)
    vi.advanceTimersByTime(500)
    names.worked(500)
    names.compared()
    vi.advanceTimersByTime(4_999)
    expect(asked).toEqual([1])
    expect(names.sinceMs).toBe(3)
    vi.advanceTimersByTime(1)
    expect(asked).toEqual([1, 3])
    compare(0)
    names.written(4)
    vi.advanceTimersByTime(999)
    expect(asked).toHaveLength(2)
    compare(0)
    vi.advanceTimersByTime(10_000)
    expect(asked).toHaveLength(2)
    // Two threads at once: it counts for as long as it took.
    names.comparing()
    names.written(5)
    vi.advanceTimersByTime(500)
    names.worked(500)
    names.worked(500)
    names.compared()
    vi.advanceTimersByTime(5_000)
    expect(asked).toEqual([1, 3, 5])
  } finally {
    vi.useRealTimers()
  }
})

test('a comparison in which a path waits for another try puts off the next one by what it worked alone', async () => {
  vi.useFakeTimers({ toFake: ['hrtime', 'Date', 'setTimeout', 'clearTimeout'] })
  try {
    await using live = await followTold()
    const comparison = live.queue[0]!
    live.changes.working(comparison)
    live.changes.made(comparison.sequence, '1.retry')
    await vi.advanceTimersByTimeAsync(20)
    live.changes.done(comparison, undefined)
    // The path is tried again after minutes, which is no work.
    await vi.advanceTimersByTimeAsync(120_000)
    const retried = { sequence: 90, messageId: '1.retry' }
    live.changes.working(retried)
    await vi.advanceTimersByTimeAsync(10)
    live.changes.done(retried, undefined)
    live.tell([{ folder: '', names: ['file'], trees: [], scope: 'names', sinceMs: monotonicMs() }])
    await vi.advanceTimersByTimeAsync(0)
    const change = live.queue[1]!
    live.changes.working(change)
    live.changes.done(change, { counts: noCounts(), failures: [], hasOtherNames: true })
    await vi.advanceTimersByTimeAsync(1_000)
    expect(live.queue[2]).toMatchObject({ lane: 'region', paths: ['/'] })
  } finally {
    vi.useRealTimers()
  }
})

test('a change of a file with other names that waits for long shows when everything is compared', async () => {
  vi.useFakeTimers({ toFake: ['hrtime', 'Date', 'setTimeout', 'clearTimeout'] })
  try {
    await using live = await followTold()
    live.changes.working(live.queue[0]!)
    await vi.advanceTimersByTimeAsync(5_000)
    live.changes.done(live.queue[0]!, undefined)
    live.tell([{ folder: 'a', names: ['1'], trees: [], scope: 'names', sinceMs: monotonicMs() }])
    await vi.advanceTimersByTimeAsync(0)
    const change = live.queue[1]!
    live.changes.working(change)
    live.changes.done(change, { counts: noCounts(), failures: [], hasOtherNames: true })
    expect(live.changes.view().comparesAtMs).toBeUndefined()
    await vi.advanceTimersByTimeAsync(20_000)
    // Ten times what the last one worked, from its end on.
    expect(live.changes.view().comparesAtMs).toBeCloseTo(Date.now() + 30_000, -2)
    await vi.advanceTimersByTimeAsync(30_000)
    expect(live.queue[2]).toMatchObject({ lane: 'region', paths: ['/'] })
    expect(live.changes.view().comparesAtMs).toBeUndefined()
  } finally {
    vi.useRealTimers()
  }
})

test('without events everything is compared from time to time', async () => {
  await using live = follow({ feed: new Comparison(0.02) })
  await live.start()
  expect(await live.changes.scanned()).toBe(false)
  for (let i = 1; i <= 3; i++) {
    const item = await live.next(i)
    expect(item).toMatchObject({ lane: 'region', paths: ['/'] })
    live.done(item)
  }
})

test('a source that goes away ends it', async () => {
  await using live = follow()
  await live.start()
  renameSync(live.at(''), `${live.at('')} moved`)
  await until('it has failed', () => live.failures.length > 0)
  expect(String(live.failures[0])).toContain('moved or removed')
})

test('what a comparison finds no more leaves the list of failures, unless it was not looked at', async () => {
  await using live = follow({ feed: new Comparison(0.02) })
  const failure = (path: string) => ({ path, failure: 'io', message: 'no', attempts: 1 }) as const
  const paths = ['/still', '/mended', '/locked/below', '/locked']
  await known.note({ item: '1', failures: paths.map(failure) }, end)
  const listed = async () => (await ledger.page(workId, { limit: 10 })).map(({ entry }) => entry.path)
  await live.start()
  await live.changes.scanned()
  const first = await live.next()
  live.changes.working(first)
  await known.note({ item: '2', failures: [failure('/still'), failure('/locked')] }, end)
  expect(await listed()).toEqual(paths)
  live.done(first)
  await until('the list is shorter', async () => (await listed()).length < paths.length)
  expect(await listed()).toEqual(['/still', '/locked/below', '/locked'])
  const second = await live.next(2)
  live.changes.working(second)
  const message = 'the source is empty'
  const empty = { reason: 'SOURCE_EMPTY', message } as const
  live.changes.done(second, { counts: noCounts(), failures: [], deferral: empty })
  live.changes.working(await live.next(3))
  expect(await listed()).toHaveLength(3)
})

test('removals that are held are counted once, are behind, and end the work', async () => {
  await using live = follow()
  await live.start()
  live.moveIn('a/file')
  const item = await live.next()
  const one = { files: 1, folders: 0, bytes: 3 }
  const held = [
    { path: '/a/bc', ...one },
    { path: '/a/b/c', ...one },
    { path: '/a/b', files: 2, folders: 1, bytes: 6 },
  ]
  live.changes.working(item)
  live.changes.done(item, { counts: noCounts(), failures: [], held })
  live.changes.done(item, { counts: noCounts(), failures: [], held: [{ path: '/a/bc', ...one }] })
  expect(live.changes.view().lagSeconds).toBeGreaterThan(0)
  expect(await live.changes.scanned()).toBe(true)
  await until('the work has ended', () => live.failures.length === 1)
  expect(live.failures[0]).toBeInstanceOf(RemovalsHeld)
  expect(live.failures[0]).toMatchObject({
    held: { files: 3, folders: 1, bytes: 9, samples: ['/a/b', '/a/bc'] },
  })
})

test('an answer that the queue is empty says nothing of what was put into it after the question', async () => {
  await using live = follow()
  await live.start()
  expect(await live.changes.scanned()).toBe(false)
  const asked = live.changes.queued
  live.moveIn('file')
  await live.next()
  await until('the queue has it', () => live.changes.queued > asked)
  live.changes.emptied(asked)
  expect(live.changes.view().scheduled).toBe(1)
  expect(live.changes.view().lagSeconds).toBeGreaterThan(0)
  live.changes.emptied(live.changes.queued)
  expect(live.changes.view()).toMatchObject({ scheduled: 0, lagSeconds: 0 })
})

test('nor of what was on its way to the queue', () => {
  const batches = new Batches()
  batches.begin('one', { sinceMs: monotonicMs(), changes: 1, onFirst: () => undefined, releases: [] })
  batches.clear(batches.queued)
  expect(batches.size).toBe(1)
  batches.isQueued('one')
  batches.clear(batches.queued)
  expect(batches.size).toBe(0)
})

test('when something of the queue is lost everything is compared, and the target is behind until then', async () => {
  await using live = follow()
  await live.start()
  expect(await live.changes.scanned()).toBe(false)
  live.changes.compare()
  const everything = await live.next()
  expect(everything).toMatchObject({ lane: 'region', paths: ['/'] })
  expect(live.changes.view().lagSeconds).toBeGreaterThan(0)
  live.done(everything)
  expect(live.changes.view()).toMatchObject({ scheduled: 0, unscheduled: 0, lagSeconds: 0 })
})

test('what was told is acknowledged when it is done, whatever it was put together with, and a comparison does not hold it up', async () => {
  await using live = await followTold()
  const isDone: string[] = []
  const startMs = monotonicMs()
  const folderOf = (folder: string, name: string, sinceMs: number) =>
    ({ folder, names: [name], trees: [], scope: 'names', sinceMs }) as const
  live.tell([folderOf('a', '1', startMs)], () => void isDone.push('first'))
  live.tell([folderOf('b', '2', startMs + 1)], () => void isDone.push('second'))
  live.tell([], () => void isDone.push('nothing'))
  // The comparison of what was before is under way, and both are in the queue.
  const first = await live.next(2)
  const second = await live.next(3)
  live.done(second)
  // What tells of nothing is done at once; the second waits for the first, which is older.
  expect(isDone).toEqual(['nothing'])
  // It changed again while it was worked on: it is not done.
  live.done(first, named('a', '1'))
  expect(isDone).toEqual(['nothing'])
  live.done(await live.next(4))
  expect(isDone).toEqual(['nothing', 'first', 'second'])
})

test('that everything changed is acknowledged when everything was compared', async () => {
  await using live = await followTold()
  live.done(live.queue[0]!)
  let isDone = false
  live.tell(
    [{ folder: '', names: [], trees: [], scope: 'tree', sinceMs: monotonicMs() }],
    () => void (isDone = true),
  )
  const comparison = await live.next(2)
  expect([comparison.lane, isDone]).toEqual(['region', false])
  live.done(comparison)
  await live.changes.scanned()
  expect(isDone).toBe(true)
})

test('removals are counted first where everything is compared, and from when the source tells no more', async () => {
  const counted: string[] = []
  const countedFirst = {
    begin: () => void counted.push('begin'),
    isOn: () => counted.length > 0,
    allows: async () => true,
    end: () => void counted.push('end'),
  }
  await using told = await followTold(false, { countedFirst })
  told.done(told.queue[0]!)
  await told.changes.scanned()
  expect(counted).toEqual([])
  told.end(new WatchError('the queue is gone', true))
  await until('it compares', () => told.changes.view().detection === 'comparing')
  expect(counted).toEqual(['begin'])
})

test('who has missed nothing compares nothing, unless something else may be missing', async () => {
  await using quiet = await followTold(true)
  expect(quiet.queue).toEqual([])
  expect(quiet.changes.view()).toMatchObject({ unscheduled: 0, lagSeconds: 0 })
  await using other = await followTold(true, { comparesFirst: true })
  expect(other.queue).toMatchObject([{ lane: 'region', paths: ['/'] }])
})
