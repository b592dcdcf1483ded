import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  appendFileSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import type { SourceFile } from '../../../services/drivers/contract/driver.ts'
import { LocalDriver } from '../../../services/drivers/local/local.ts'
import { decodeItem } from '../../../services/engine/items/item-decode.ts'
import { encodeItem, startRegion } from '../../../services/engine/items/items.ts'
import { beginLarge, commitLarge, copyPart } from '../../../services/engine/copy/large.ts'
import { partsLeft } from '../../../services/engine/copy/large-copy.ts'
import { ComesAgain } from '../../../services/engine/mover.ts'
import { pattern } from '../../conformance/driver-store.ts'
import { compareTrees } from '../../support/compare-trees.ts'
import { createFolder } from '../../support/migrations.ts'
import { until } from '../../support/until.ts'
import { sharedMoves } from './move-folder.ts'
import { openSpec } from '../../../services/engine/run/run.ts'
import { RemoteFolder } from './remote-folder.ts'
import { createRun } from './runs.ts'

const createMove = sharedMoves()
const MiB = 1024 * 1024
const never = new AbortController().signal
const large = (attempt = 1) =>
  ({ kind: 'large', attempt, notBeforeMs: 0, path: Buffer.from('large') }) as const

/** A remote folder that counts what is read of its files. */
class CountingFolder extends RemoteFolder {
  bytesRead = 0

  override async open(...args: Parameters<LocalDriver['open']>): Promise<SourceFile> {
    const file = await super.open(...args)
    const read = file.read.bind(file)
    file.read = (offset: number, length: number) => {
      this.bytesRead += length
      return read(offset, length)
    }
    return file
  }
}

/** Makes what stands under construction in a folder that of a process that is dead. */
function bury(folder: string): void {
  for (const name of readdirSync(folder).filter((one) => one.startsWith('.gantry~')))
    renameSync(`${folder}/${name}`, `${folder}/${name.replace(/\.[0-9a-f]{12}\./, '.000000000000.')}`)
}

interface Folders {
  readonly from: string
  readonly to: string
}
const driversOf = ({ from, to }: Folders) =>
  [new LocalDriver({ fsRoot: from }), new LocalDriver({ fsRoot: to })] as const

/** Begins with a large file, as a worker that is killed then. */
async function copyFirstPart(folders: Folders, options?: Parameters<typeof createRun>[2]): Promise<void> {
  const run = createRun(...driversOf(folders), options)
  await copyPart(run, await beginLarge(run, large()), 0)
}

describe('a large file whose first worker was killed', () => {
  const sizeBytes = 100 * MiB + 17
  const targets = {
    local: (to: string) => new LocalDriver({ fsRoot: to }),
    remote: (to: string) => new RemoteFolder(to, { parts: { order: 'any', sizeFor: () => 7 * MiB } }),
  }

  test.each(Object.entries(targets))(
    'is gone on with part by part: only what is missing is read (%s)',
    async (_, open) => {
      using folder = createFolder('from', 'to')
      writeFileSync(`${folder.from}/large`, pattern(sizeBytes))
      const first = createRun(new CountingFolder(folder.from), open(folder.to))
      const begun = await beginLarge(first, large())
      expect(partsLeft(begun)).toHaveLength(Math.ceil(sizeBytes / begun.partBytes))
      for (const index of [0, 3, 4]) await copyPart(first, begun, index)

      const source = new CountingFolder(folder.from)
      const second = createRun(source, open(folder.to), { liveThreads: [] })
      const copy = await beginLarge(second, large())
      expect(copy.upload.written).toEqual([0, 3, 4])
      for (const index of partsLeft(copy)) await copyPart(second, copy, index)
      const { counts } = await commitLarge(second, copy)
      expect(source.bytesRead).toBe(sizeBytes - 3 * copy.partBytes)
      expect(counts).toMatchObject({ bytesMigrated: sizeBytes, bytesResumed: 3 * copy.partBytes })
      expect(compareTrees(folder.from, folder.to)).toEqual([])
      expect(readdirSync(folder.to)).toEqual(['large'])
    },
  )

  test('is begun anew when it has changed, and nothing is left of the old parts', async () => {
    using folder = createFolder('from', 'to')
    writeFileSync(`${folder.from}/large`, pattern(40 * MiB))
    await copyFirstPart(folder)
    appendFileSync(`${folder.from}/large`, 'more')
    const second = createRun(...driversOf(folder), { liveThreads: [] })
    const copy = await beginLarge(second, large())
    expect(copy.upload.written ?? []).toEqual([])
    expect(readdirSync(folder.to)).toHaveLength(2)
    await second.target.abortUpload(copy.upload)
    expect(readdirSync(folder.to)).toEqual([])
  })

  test('is forgotten when it is gone', async () => {
    using folder = createFolder('from', 'to')
    writeFileSync(`${folder.from}/large`, pattern(40 * MiB))
    await copyFirstPart(folder)
    rmSync(`${folder.from}/large`)
    bury(folder.to)
    await expect(
      beginLarge(createRun(...driversOf(folder), { liveThreads: [] }), large()),
    ).rejects.toMatchObject({
      failure: 'gone',
    })
    expect(readdirSync(folder.to)).toEqual([])
  })

  test('keeps its parts from whoever sweeps the folder for small files, unless all begins anew', async () => {
    await using move = createMove()
    writeFileSync(move.at('from', 'large'), pattern(40 * MiB))
    writeFileSync(move.at('from', 'small'), 'bytes')
    const spec = openSpec(move.spec)
    await copyFirstPart(move, { spec })
    bury(move.to)
    const groups = [{ folder: Buffer.alloc(0), files: [Buffer.from('small')], others: [] }]
    const small = encodeItem({ kind: 'transfer', attempt: 1, notBeforeMs: 0, groups })
    await move.mover.transfer(move.spec, small, never, true)
    expect(move.leftovers()).toHaveLength(2)
    const { counts } = await move.mover.transfer(move.spec, encodeItem(large()), never, true)
    expect(counts.bytesResumed).toBe(16 * MiB)
    expect(compareTrees(move.from, move.to)).toEqual([])
  })
})

test('a large file keeps its parts when its item comes again, and leaves nothing when it does not', async () => {
  await using move = createMove()
  writeFileSync(move.at('from', 'large'), Buffer.alloc(150 * MiB, 'large'))
  for (const [reason, left] of [
    [new ComesAgain('stopping'), 2],
    [new Error('stopped'), 0],
  ] as const) {
    const controller = new AbortController()
    const running = move.mover.transfer(move.spec, encodeItem(large()), controller.signal)
    await until('parts are written', () => move.leftovers().length > 0)
    controller.abort(reason)
    await expect(running).rejects.toBe(reason)
    expect(move.leftovers(), reason.message).toHaveLength(left)
    for (const name of move.leftovers()) rmSync(move.at('to', name))
  }
})

/** A migration of one large file. */
function moveOfLarge(): ReturnType<typeof createMove> {
  const move = createMove()
  writeFileSync(move.at('from', 'large'), randomBytes(200 * MiB))
  return move
}

function expectMoved(move: ReturnType<typeof createMove>): void {
  expect(move.leftovers()).toEqual([])
  expect(compareTrees(move.from, move.to)).toEqual([])
}

/** Goes on with a file that is there in part, and reads only what is missing. */
async function goOn(move: ReturnType<typeof createMove>): Promise<void> {
  const written = marksIn(move)
  const { counts, failures } = await move.run({ redelivered: true })
  expect(failures).toEqual([])
  expect(written).toBeGreaterThan(0)
  expect(counts.bytesResumed).toBe(written * 16 * MiB)
  expect(counts.bytesResumed).toBeLessThan(statSync(move.at('from', 'large')).size)
  expectMoved(move)
}

/** Begins to copy a large file, and stops when the first parts are there. */
async function stopHalfway(move: ReturnType<typeof createMove>): Promise<void> {
  const controller = new AbortController()
  const running = move.mover.transfer(move.spec, encodeItem(large()), controller.signal)
  await until('a part is written', () => marksIn(move) > 0)
  controller.abort(new ComesAgain('the migration was stopped'))
  await expect(running).rejects.toThrow('stopped')
}

/** Parts that are written of the file under construction. */
const marksIn = (move: ReturnType<typeof createMove>): number => {
  const account = move.leftovers().find((name) => name.endsWith('.parts'))
  return account === undefined
    ? 0
    : readFileSync(move.at('to', account)).filter((byte) => byte === 0x77).length
}

test(
  'stopped and resumed in the same process, a large file goes on with its parts',
  { timeout: 60_000 },
  async () => {
    await using move = moveOfLarge()
    await stopHalfway(move)
    await goOn(move)
  },
)

test(
  'stopped and deleted, begun from the start, or finished by others, a large file leaves nothing',
  { timeout: 120_000 },
  async () => {
    await using move = moveOfLarge()
    const folders = encodeItem({
      kind: 'folders',
      attempt: 1,
      notBeforeMs: 0,
      start: Buffer.alloc(0),
      groups: [],
    })
    const next = { ...move.spec, generation: 2 }
    for (const end of [
      () => move.mover.sweep(move.spec, encodeItem(large()), never),
      () => move.mover.scan(next, startRegion(), async () => undefined, never),
      () => move.mover.finishFolders(move.spec, folders, async () => undefined, never),
    ]) {
      await stopHalfway(move)
      expect(move.leftovers()).toHaveLength(2)
      await end()
      expect(move.leftovers()).toEqual([])
    }
  },
)

test(
  'a process that is killed in the middle of a large file: the next one reads the rest of it',
  { timeout: 60_000 },
  async () => {
    await using move = moveOfLarge()
    const script = fileURLToPath(new URL('./moving-process.ts', import.meta.url))
    const child = spawn(process.execPath, [script, move.spec.id, move.from, move.to], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const exited = once(child, 'exit')
    await until('a part is written', () => marksIn(move) > 0)
    child.kill('SIGKILL')
    await exited
    await goOn(move)
  },
)

test(
  'a target that is moved away and back in the middle of a large file keeps nothing of it',
  { timeout: 60_000 },
  async () => {
    await using move = moveOfLarge()
    const attempts: number[] = []
    let away: Promise<void> | undefined
    const { failures } = await move.run({
      beforeTransfer: (bytes) => {
        const { attempt } = decodeItem(bytes)
        attempts.push(attempt)
        if (attempt === 1) {
          away = until('parts are written', () => move.leftovers().length > 0).then(() =>
            renameSync(move.to, move.at('away')),
          )
        } else {
          renameSync(move.at('away'), move.to)
        }
      },
    })
    await away
    expect(failures).toEqual([])
    expect(attempts.length).toBeGreaterThan(1)
    expectMoved(move)
  },
)
