import { readdirSync, readlinkSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { maxBatchesUnacknowledged } from '../../../services/engine/threads/credit.ts'
import { encodeItem, largeFileBytes, startRegion } from '../../../services/engine/items/items.ts'
import type { ChildBatch } from '../../../services/engine/mover.ts'
import { ThreadPool } from '../../../services/engine/threads/pool.ts'
import { isGantryError } from '../../../subjects/kit/errors.ts'
import { createFolder } from '../../support/migrations.ts'
import { testUnless } from '../../support/unless.ts'
import { createMove } from './move-folder.ts'
import { fillWithNames } from '../../support/many-files.ts'

const never = new AbortController().signal
const MiB = 1024 * 1024

const reasonOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => expect.unreachable('it did not fail'),
    (error: unknown) => error,
  )

/** Makes files that are large, without content: each is an item by itself. */
function fillFolder(path: string, count: number): void {
  fillWithNames(path, count, String, largeFileBytes + 1)
}

describe('a scan', () => {
  test('waits for the answers to its batches, and ends only with the last', { timeout: 60_000 }, async () => {
    await using move = createMove()
    // A batch is sent for every 1,024 entries, when they are as many items: some batches more than may be unanswered.
    const files = 1_024 * (maxBatchesUnacknowledged + 4)
    fillFolder(move.from, files)
    const answers: (() => void)[] = []
    const full = Promise.withResolvers<void>()
    const state = { hasEnded: false }
    const publish = () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      answers.push(resolve)
      if (answers.length === maxBatchesUnacknowledged) full.resolve()
      return promise
    }
    const scan = move.mover.scan(move.spec, startRegion(), publish, never)
    const ended = scan.finally(() => (state.hasEnded = true))
    await full.promise
    // Another job in the same pool goes on meanwhile; when it is done, nothing more has been sent.
    await move.mover.scan(move.spec, startRegion(Buffer.from('nowhere')), async () => undefined, never)
    expect(answers).toHaveLength(maxBatchesUnacknowledged)
    expect(state.hasEnded).toBe(false)
    for (let next = 0; !state.hasEnded; next++) {
      while (answers.length <= next && !state.hasEnded) await Promise.race([ended, new Promise(setImmediate)])
      answers[next]?.()
    }
    expect((await scan).counts.filesScanned).toBe(files)
    expect(answers.length).toBeGreaterThan(maxBatchesUnacknowledged)
  })

  test('whose children cannot be stored fails with that error, and stops', async () => {
    await using move = createMove()
    fillFolder(move.from, 5_000)
    let calls = 0
    const publish = async () => {
      calls++
      throw new Error('the queue is full')
    }
    const error = await reasonOf(move.mover.scan(move.spec, startRegion(), publish, never))
    expect(String(error)).toContain('the queue is full')
    expect(calls).toBeLessThanOrEqual(maxBatchesUnacknowledged)
  })
})

describe('an abort', () => {
  test('ends a transfer between two files', async () => {
    await using move = createMove()
    const controller = new AbortController()
    for (let i = 0; i < 200; i++) writeFileSync(`${move.from}/${i}`, Buffer.alloc(40_000, `${i}`))
    const reason = new Error('enough')
    const running = move.run({
      signal: controller.signal,
      beforeTransfer: () => setImmediate(() => controller.abort(reason)),
    })
    expect(await reasonOf(running)).toBe(reason)
    expect(move.leftovers()).toEqual([])
  })

  test('ends a scan', async () => {
    await using move = createMove()
    fillFolder(move.from, 5_000)
    const controller = new AbortController()
    const publish = async () => controller.abort(new Error('enough'))
    const error = await reasonOf(move.mover.scan(move.spec, startRegion(), publish, controller.signal))
    expect(String(error)).toContain('enough')
  })

  test('before anything began, and while a job waits for a thread, is heard too', async () => {
    await using move = createMove()
    writeFileSync(`${move.from}/file`, 'bytes')
    const error = await reasonOf(move.run({ signal: AbortSignal.abort(new Error('never began')) }))
    expect(String(error)).toContain('never began')
    const controller = new AbortController()
    const many = Array.from({ length: 20 }, () =>
      reasonOf(move.mover.scan(move.spec, startRegion(), async () => undefined, controller.signal)),
    )
    controller.abort(new Error('while waiting'))
    for (const one of await Promise.all(many)) expect(String(one)).toContain('while waiting')
  })

  test('of a large file leaves nothing behind', async () => {
    await using move = createMove()
    writeFileSync(`${move.from}/large`, Buffer.alloc(150 * MiB, 'large'))
    const controller = new AbortController()
    const item = encodeItem({ kind: 'large', attempt: 1, notBeforeMs: 0, path: Buffer.from('large') })
    const running = reasonOf(move.mover.transfer(move.spec, item, controller.signal))
    while (readdirSync(move.to).length === 0) await new Promise(setImmediate)
    controller.abort(new Error('enough'))
    expect(String(await running)).toContain('enough')
    expect(readdirSync(move.to)).toEqual([])
  })
})

test('closing stops what runs, refuses what waits and what comes, and leaves no file half-written', async () => {
  await using move = createMove()
  for (let i = 0; i < 400; i++) writeFileSync(`${move.from}/${i}`, Buffer.alloc(40_000, `${i}`))
  const running = reasonOf(move.run({ beforeTransfer: () => setImmediate(() => void move.mover.close()) }))
  expect(await running).toBeInstanceOf(Error)
  await move.mover.close()
  expect(move.leftovers()).toEqual([])
  expect(String(await reasonOf(move.run()))).toContain('closed')
})

test('what a driver refuses of its options fails the job as not accepted', async () => {
  await using move = createMove()
  const source = { kind: 'local', options: { additionalProperties: { 'fs.x': '1' } } } as const
  const error = await reasonOf(move.run({}, { source }))
  expect(isGantryError(error, 'NOT_ACCEPTED')).toBe(true)
  expect(isGantryError(error) && error.details).toMatchObject([{ field: 'additionalProperties.fs.x' }])
})

test('an item that is none fails its job, and the next one is done', async () => {
  await using move = createMove()
  writeFileSync(`${move.from}/file`, 'bytes')
  const none = [Buffer.from('{}'), Buffer.from('{"kind":"region","attempt":1,"notBeforeMs":0,"groups":5}')]
  for (const item of none) {
    const scan = move.mover.scan(move.spec, item, async () => undefined, never)
    expect(isGantryError(await reasonOf(scan), 'INVALID_INPUT')).toBe(true)
  }
  expect(
    isGantryError(await reasonOf(move.mover.transfer(move.spec, startRegion(), never)), 'INVALID_INPUT'),
  ).toBe(true)
  expect((await move.run()).counts.filesMigrated).toBe(1)
})

test('an item that is part of a larger buffer stays the caller’s', async () => {
  await using move = createMove()
  const item = startRegion()
  const buffer = new Uint8Array(1_000)
  buffer.set(item, 100)
  const inside = buffer.subarray(100, 100 + item.length)
  const children: ChildBatch[] = []
  await move.mover.scan(move.spec, inside, async (batch) => void children.push(batch), never)
  expect(Buffer.from(inside).equals(item)).toBe(true)
})

/** A pool whose threads do as they are told by the migration's id, and how to give it a job. */
function toldPool(threads: number) {
  const logged: object[] = []
  const entry = new URL('./ending-thread.ts', import.meta.url)
  const pool = new ThreadPool({ threads, log: { error: (fields) => logged.push(fields) }, entry })
  const run = (id: string, signal = never) => {
    const filesystem = { kind: 'local', options: {} } as const
    const spec = {
      id,
      generation: 1,
      root: new Uint8Array(0),
      source: filesystem,
      target: filesystem,
      policy: 'Overwrite',
    } as const
    const job = { kind: 'scan', spec, item: new Uint8Array(0), liveThreads: undefined } as const
    return pool.run(job, { signal, priority: 'files' })
  }
  return { pool, run, logged }
}

test('what waits of a more urgent migration goes first', { timeout: 60_000 }, async () => {
  const { pool, run } = toldPool(1)
  await using _closed = pool
  pool.setUrgency('answer high', 'high')
  pool.setUrgency('answer low', 'low')
  // Both places of the thread are taken, so that the others have to wait.
  const stop = new AbortController()
  const held = [reasonOf(run('wait', stop.signal)), reasonOf(run('wait', stop.signal))]
  const order: string[] = []
  const waiting = ['low', 'normal', 'high', 'low', 'normal', 'high'].map(async (urgency) => {
    await run(`answer ${urgency}`)
    order.push(urgency)
  })
  stop.abort()
  await Promise.all([...waiting, ...held])
  expect(order).toEqual(['high', 'high', 'normal', 'normal', 'low', 'low'])
})

testUnless(
  process.platform === 'linux' ? undefined : 'only Linux shows what a process has open',
  'what a thread has open by system calls of its own is closed when it ends',
  async () => {
    const { pool, run } = toldPool(1)
    await using _closed = pool
    using folder = createFolder('data')
    const file = `${folder.data}/file`
    writeFileSync(file, '')
    await reasonOf(run(`crash-with ${file}`))
    const open = readdirSync('/proc/self/fd').flatMap((fd) => {
      try {
        return [readlinkSync(`/proc/self/fd/${fd}`)]
      } catch {
        // That of the listing itself.
        return []
      }
    })
    expect(open).not.toContain(file)
  },
)

test(
  'a thread that ends takes its jobs along and no others, and is replaced',
  { timeout: 60_000 },
  async () => {
    const { pool, run, logged } = toldPool(2)
    await using _closed = pool
    const before = pool.liveThreads()
    expect(before).toHaveLength(2)
    await Promise.all([run('answer'), run('answer')])
    const other = run('wait')
    const crashed = await reasonOf(run('crash'))
    expect(crashed).toBeInstanceOf(Error)
    expect(String(crashed)).toContain('thread')
    expect(String((crashed as Error).cause)).toContain('on purpose')
    expect(logged).toHaveLength(1)
    const after = pool.liveThreads()
    expect(after).toHaveLength(2)
    expect(after.filter((thread) => before.includes(thread))).toHaveLength(1)
    await Promise.all(Array.from({ length: 6 }, () => run('answer')))
    const ended = reasonOf(other)
    await pool.close()
    await ended
  },
)
