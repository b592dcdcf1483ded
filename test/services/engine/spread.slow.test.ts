import {
  appendFileSync,
  ftruncateSync,
  openSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
  closeSync,
} from 'node:fs'
import { afterAll, expect, test } from 'vitest'
import { LocalDriver } from '../../../services/drivers/local/local.ts'
import { decodeItem } from '../../../services/engine/items/item-decode.ts'
import { add, noCounts } from '../../../services/engine/run/counts.ts'
import { newMeter, readMeter } from '../../../services/engine/run/meter.ts'
import { encodeItem, type Large, type Parts } from '../../../services/engine/items/items.ts'
import { beginLarge, copyPart } from '../../../services/engine/copy/large.ts'
import { Mover, type ItemResult, type MoveSpec } from '../../../services/engine/mover.ts'
import { openSpec } from '../../../services/engine/run/run.ts'
import { copyOf, lookAgain, SpreadOver } from '../../../services/engine/copy/spread.ts'
import { pattern } from '../../conformance/driver-store.ts'
import { compareTrees } from '../../support/compare-trees.ts'
import { sharedMoves } from './move-folder.ts'
import { createRun } from './runs.ts'

const MiB = 1024 * 1024
/** Nine parts of 16 MiB and a bit. */
const sizeBytes = 9 * 16 * MiB + 17
const never = new AbortController().signal
const createMove = sharedMoves()
/** Another worker. */
const other = new Mover({ threads: 2, log: { error: () => undefined } })
afterAll(() => other.close())

const large: Large = { kind: 'large', attempt: 1, notBeforeMs: 0, path: Buffer.from('large') }

/** What a worker with help makes of the item of a file: what is left of it, and the items of its parts. */
async function spreadOut(
  { mover, spec }: { mover: Mover; spec: MoveSpec },
  item: Uint8Array = encodeItem(large),
) {
  const parts: Uint8Array[] = []
  const result = await mover.transfer(spec, item, never, true, async (more) => void parts.push(...more))
  return { result, next: result.retry, parts }
}

const itemOf = ({ retry }: ItemResult) => decodeItem(retry!) as Large
const partsOf = (bytes: Uint8Array) => decodeItem(bytes) as Parts

test('parts are copied by several workers, and the file appears when all are there, counted once', async () => {
  await using move = createMove()
  writeFileSync(move.at('from', 'large'), pattern(sizeBytes))
  const { result, next, parts } = await spreadOut(move)
  expect(result.counts.filesMigrated).toBe(0)
  expect(parts.map((one) => partsOf(one).count)).toEqual([4, 4, 2])
  const meter = newMeter()
  const results = [
    await move.mover.transfer(move.spec, parts[0]!, never),
    await other.transfer({ ...move.spec, meter }, parts[2]!, never),
  ]
  expect(readMeter(meter)).toEqual({ bytes: 16 * MiB + 17, files: 0 })
  const look = await spreadOut(move, next)
  expect(look.parts).toEqual([])
  expect(itemOf(look.result)).toMatchObject({ attempt: 1, spread: { written: 6, resumedBytes: 0 } })
  expect(readdirSync(move.to)).not.toContain('large')
  results.push(await other.transfer(move.spec, parts[1]!, never))
  const sum = results.reduce((total, { counts }) => add(total, counts), { ...look.result.counts })
  expect(sum).toEqual({ ...noCounts(), bytesShared: sizeBytes })
  for (const { failures, retry } of results) expect([failures, retry]).toEqual([[], undefined])
  const { result: last } = await spreadOut({ ...move, mover: other }, look.next)
  expect(last).toMatchObject({
    failures: [],
    counts: { filesMigrated: 1, bytesMigrated: sizeBytes, bytesSharedOver: sizeBytes, bytesResumed: 0 },
  })
  expect(readdirSync(move.to)).toEqual(['large'])
  expect(compareTrees(move.from, move.to)).toEqual([])
  // Handed out once more after all, they find nothing to do.
  expect(await other.transfer(move.spec, parts[1]!, never, true)).toMatchObject({ failures: [] })
  expect(readdirSync(move.to)).toEqual(['large'])
})

test('whoever dies, only what is missing is copied', async () => {
  await using move = createMove()
  writeFileSync(move.at('from', 'large'), pattern(sizeBytes))
  const first = await spreadOut(move)
  const run = createRun(new LocalDriver({ fsRoot: move.from }), new LocalDriver({ fsRoot: move.to }))
  for (const index of [1, 2]) await copyPart(run, copyOf(move.spec, partsOf(first.parts[0]!)), index)
  // Who spread it out died before it had said so.
  const again = await spreadOut({ ...move, mover: other })
  expect(itemOf(again.result).spread).toMatchObject({
    token: itemOf(first.result).spread!.token,
    written: 2,
    resumedBytes: 32 * MiB,
  })
  const meter = newMeter()
  for (const part of first.parts) await other.transfer({ ...move.spec, meter }, part, never, true)
  expect(readMeter(meter).bytes).toBe(sizeBytes - 32 * MiB)
  const { result } = await spreadOut(move, again.next)
  expect(result.counts).toMatchObject({ filesMigrated: 1, bytesResumed: 32 * MiB })
  expect(compareTrees(move.from, move.to)).toEqual([])
})

test.each([
  ['longer', (path: string) => appendFileSync(path, 'more')],
  ['too small for many', (path: string) => truncateSync(path, 20 * MiB)],
  ['another of the same size', (path: string) => writeFileSync(path, Buffer.alloc(sizeBytes, 'other'))],
])('a file that becomes %s meanwhile is copied anew, by one worker', async (_, change) => {
  await using move = createMove()
  writeFileSync(move.at('from', 'large'), pattern(sizeBytes))
  const { next, parts } = await spreadOut(move)
  await other.transfer(move.spec, parts[0]!, never)
  change(move.at('from', 'large'))
  expect(await other.transfer(move.spec, parts[1]!, never)).toMatchObject({ failures: [] })
  const { result } = await spreadOut(move, next)
  const again = itemOf(result)
  expect(again).toMatchObject({ attempt: 2 })
  expect(again.spread).toBeUndefined()
  expect(readdirSync(move.to)).toEqual([])
  // Parts of before find nothing to write to.
  expect((await other.transfer(move.spec, parts[2]!, never)).retry).toBeUndefined()
  const { result: last, parts: none } = await spreadOut(move, encodeItem({ ...again, notBeforeMs: 0 }))
  expect(none).toEqual([])
  expect(last).toMatchObject({ failures: [], counts: { filesMigrated: 1 } })
  expect(compareTrees(move.from, move.to)).toEqual([])
})

test('a file that is gone meanwhile is forgotten, with its parts', async () => {
  await using move = createMove()
  writeFileSync(move.at('from', 'large'), pattern(sizeBytes))
  const { next, parts } = await spreadOut(move)
  await other.transfer(move.spec, parts[0]!, never)
  rmSync(move.at('from', 'large'))
  expect((await other.transfer(move.spec, parts[1]!, never)).retry).toBeUndefined()
  const { result } = await spreadOut(move, next)
  expect(result).toMatchObject({ failures: [], counts: { filesVanished: 1 } })
  expect(result.retry).toBeUndefined()
  expect(readdirSync(move.to)).toEqual([])
})

test('parts stay when the folder is swept for others, and go when all begins anew or nobody goes on', async () => {
  await using move = createMove({ generation: 3 })
  writeFileSync(move.at('from', 'large'), pattern(sizeBytes))
  writeFileSync(move.at('from', 'small'), 'small')
  const { parts, next } = await spreadOut(move)
  const small = encodeItem({
    kind: 'transfer',
    attempt: 1,
    notBeforeMs: 0,
    groups: [{ folder: Buffer.alloc(0), files: [Buffer.from('small')], others: [] }],
  })
  await move.mover.transfer(move.spec, small, never, true)
  expect(readdirSync(move.to)).toHaveLength(3)
  await move.mover.transfer({ ...move.spec, generation: 4 }, small, never, true)
  expect(readdirSync(move.to)).toEqual(['small'])

  // What was in the queue of before is in nobody's way; a deletion finds what there is by the items that are left.
  expect((await spreadOut(move, next)).result.retry).toBeDefined()
  await spreadOut(move)
  expect(readdirSync(move.to)).toHaveLength(3)
  await move.mover.sweep(move.spec, parts[0]!, never)
  expect(readdirSync(move.to)).toEqual(['small'])
})

test('a file is left to one worker when it is small, has holes, or has failed before', async () => {
  await using move = createMove()
  const [source, target] = [new LocalDriver({ fsRoot: move.from }), new LocalDriver({ fsRoot: move.to })]
  const run = createRun(source, target, { spec: openSpec(move.spec) })
  writeFileSync(move.at('from', 'large'), pattern(8 * 16 * MiB))
  const copy = await beginLarge(run, large, { mayShare: true })
  expect(copy.isShared).toBe(false)
  await target.abortUpload(copy.upload)
  rmSync(move.at('from', 'large'))
  const fd = openSync(move.at('from', 'large'), 'w')
  ftruncateSync(fd, sizeBytes)
  closeSync(fd)
  expect((await spreadOut(move)).result.counts.filesMigrated).toBe(1)
  writeFileSync(move.at('from', 'large'), pattern(sizeBytes))
  const { parts, result } = await spreadOut(move, encodeItem({ ...large, attempt: 2 }))
  expect([parts, result.counts.filesMigrated]).toEqual([[], 1])
})

test('a file whose parts do not come is tried by one worker', async () => {
  await using move = createMove()
  const source = new LocalDriver({ fsRoot: move.from })
  const run = createRun(source, new LocalDriver({ fsRoot: move.to }), { spec: openSpec(move.spec) })
  writeFileSync(move.at('from', 'large'), pattern(sizeBytes))
  const copy = await beginLarge(run, large, { mayShare: true })
  const begunMs = Date.now()
  const first = itemOf(lookAgain(large, copy, 10, begunMs))
  const later = itemOf(lookAgain(first, copy, 10, begunMs + 200_000))
  expect(later.spread).toEqual(first.spread)
  expect(() => lookAgain(later, copy, 10, begunMs + 301_000)).toThrow(SpreadOver)
  // One part more, and it goes on.
  const more = itemOf(lookAgain(later, copy, 9, begunMs + 301_000))
  expect(more.spread).toMatchObject({ written: 1, sinceMs: begunMs + 301_000 })
})
