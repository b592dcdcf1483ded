import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { encodeItem, headOf, startRegion } from '../../../services/engine/items/items.ts'
import { Mover } from '../../../services/engine/mover.ts'
import { createMove } from './move-folder.ts'

/** A little more than a thread has when it does nothing. */
const threadMemoryMb = 24
/** Entries with names as long as these do not fit in that. */
const poison = Array.from({ length: 45_000 }, (_, index) => `${index}`.padStart(200, 'x'))
const timeout = 240_000

/** A mover whose threads have little memory, and a folder that is too large for them, between others. */
const logged: object[] = []
const mover = new Mover({ threads: 2, threadMemoryMb, log: { error: (fields) => logged.push(fields) } })
const move = createMove({ policy: 'SkipIfSizeMatch' }, mover)
afterAll(async () => {
  await mover.close()
  await move[Symbol.asyncDispose]()
})

beforeAll(() => {
  for (const name of ['before', 'poison', 'then']) mkdirSync(`${move.from}/${name}`)
  for (const name of ['before', 'then']) writeFileSync(`${move.from}/${name}/file`, name)
  mkdirSync(`${move.to}/poison`)
  for (const name of poison) writeFileSync(`${move.to}/poison/${name}`, '')
}, timeout)

test('what ends its thread three times is a failure, and all else arrives', { timeout }, async () => {
  logged.length = 0
  const { counts, failures } = await move.run()
  expect(failures).toEqual([
    {
      path: '/poison',
      failure: 'crashed',
      message: expect.stringMatching(
        /^source: 3 worker threads ended while they worked on it: .*memory limit/,
      ),
      attempts: 3,
      isFolder: true,
    },
  ])
  expect(counts).toMatchObject({ filesMigrated: 2, failures: 1 })
  expect(readdirSync(`${move.to}/before`)).toEqual(['file'])
  expect(readdirSync(`${move.to}/then`)).toEqual(['file'])
  expect(logged).toHaveLength(3)
})

test(
  'how often threads ended is in the item, and outlives the process that counted',
  { timeout },
  async () => {
    const region = (threadEnds?: number) =>
      encodeItem({
        kind: 'region',
        attempt: 1,
        notBeforeMs: 0,
        ...(threadEnds === undefined ? {} : { threadEnds }),
        groups: [{ parent: Buffer.alloc(0), names: [Buffer.from('poison')] }],
      })
    const scan = (item: Uint8Array) =>
      move.mover.scan(move.spec, item, async () => undefined, new AbortController().signal)
    const first = await scan(region())
    expect(first.failures).toEqual([])
    expect(first.deferral?.message).toMatch(
      /\/poison: a worker thread ended while it worked on this: .*memory limit/,
    )
    expect(first.retry).toBeDefined()
    expect(headOf(first.retry!)).toMatchObject({ kind: 'region', attempt: 1, threadEnds: 1 })
    const last = await scan(region(2))
    expect(last.retry).toBeUndefined()
    expect(last.failures).toMatchObject([{ failure: 'crashed' }])
    // What ends well is not counted on.
    expect((await scan(startRegion())).failures).toEqual([])
  },
)
