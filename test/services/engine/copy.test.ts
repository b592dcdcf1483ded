import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  StoreError,
  type Losses,
  type Page,
  type SourceFile,
  type StorePath,
  type Upload,
} from '../../../services/drivers/contract/driver.ts'
import { LocalDriver } from '../../../services/drivers/local/local.ts'
import { UntilDone } from '../../../services/drivers/uploads/until-done.ts'
import { Children, type ChildBatch } from '../../../services/engine/items/children.ts'
import {
  add,
  noCounts,
  type Counts,
  type Failure,
  type ItemResult,
} from '../../../services/engine/run/counts.ts'
import { finishFolders } from '../../../services/engine/scan/finish-folders.ts'
import { decodeItem } from '../../../services/engine/items/item-decode.ts'
import {
  type Item,
  type Large,
  type Parts,
  type Reconcile,
  startRegion,
} from '../../../services/engine/items/items.ts'
import { lookBeside } from '../../../services/engine/tree/beside.ts'
import { copyFile, writePart } from '../../../services/engine/copy/copy.ts'
import { beginLarge, commitLarge, copyPart } from '../../../services/engine/copy/large.ts'
import { joinPath } from '../../../services/drivers/paths/path-text.ts'
import { boundsOf, directCopy, type Run } from '../../../services/engine/run/run.ts'
import { Stop } from '../../../services/engine/run/stop.ts'
import { scan } from '../../../services/engine/scan/scan.ts'
import { transfer } from '../../../services/engine/copy/transfer.ts'
import { failureOf, listAll, pattern } from '../../conformance/driver-store.ts'
import { compareTrees } from '../../support/compare-trees.ts'
import { createFolder } from '../../support/migrations.ts'
import { until } from '../../support/until.ts'
import { makeTree } from '../../support/tree.ts'
import { RemoteFolder } from './remote-folder.ts'
import { createRun, untold } from './runs.ts'

const bytes = (text: string) => Buffer.from(text)
const noPath = Buffer.alloc(0)

/** Does something whenever the engine asks whether it is to stop: between two chunks of a file. */
class Interrupting extends Stop {
  readonly #interrupt: () => void

  constructor(interrupt: () => void) {
    super(new Int32Array(1))
    this.#interrupt = interrupt
  }

  override check(): void {
    this.#interrupt()
    super.check()
  }
}

/** Works through all items in this thread. */
async function moveAll(run: Run): Promise<{ counts: Counts; failures: Failure[] }> {
  const counts = noCounts()
  const failures: Failure[] = []
  const items: Uint8Array[] = [startRegion()]
  const last: Uint8Array[] = []
  for (let bytes = items.shift(); bytes !== undefined; bytes = items.shift() ?? last.shift()) {
    const item = decodeItem(bytes)
    const children = new Children(async (batch: ChildBatch) => {
      items.push(...batch.regions, ...batch.transfers)
      last.push(...batch.folders)
    }, boundsOf(run))
    if (item.kind === 'large') {
      const copy = await beginLarge(run, item)
      for (let part = 0; part * copy.partBytes < copy.sizeBytes; part++) await copyPart(run, copy, part)
      add(counts, (await commitLarge(run, copy)).counts)
      continue
    }
    if (item.kind === 'reconcile') throw new Error('a scan makes no comparisons')
    if (item.kind === 'parts') throw new Error('nobody helps')
    const result = await resultOf(run, item, children)
    add(counts, result.counts)
    failures.push(...result.failures)
    if (result.retry !== undefined) items.push(result.retry)
  }
  return { counts, failures }
}

function resultOf(
  run: Run,
  item: Exclude<Item, Large | Parts | Reconcile>,
  children: Children,
): Promise<ItemResult> {
  switch (item.kind) {
    case 'region':
      return scan(run, item, children)
    case 'transfer':
      return transfer(run, item)
    case 'folders':
      return finishFolders(run, item, children)
  }
}

describe('through the drivers', () => {
  const MiB = 1024 * 1024
  const stores = {
    'remote to remote': (from: string, to: string) => [new RemoteFolder(from), new RemoteFolder(to)],
    'local to remote': (from: string, to: string) => [
      new LocalDriver({ fsRoot: from }),
      new RemoteFolder(to),
    ],
    'remote to local': (from: string, to: string) => [
      new RemoteFolder(from),
      new LocalDriver({ fsRoot: to }),
    ],
    'remote to one with small parts': (from: string, to: string) => [
      new RemoteFolder(from),
      new RemoteFolder(to, {
        maxPutBytes: 1_000,
        parts: { order: 'any', sizeFor: () => 300_000 },
      }),
    ],
  } as const

  test.each(Object.entries(stores))('%s: a tree of all that is awkward arrives', async (_, open) => {
    using folder = createFolder('from', 'to')
    makeTree(folder.from, { seed: 11, files: 400, largeBytes: 20 * MiB })
    const [source, target] = open(folder.from, folder.to)
    const { failures, counts } = await moveAll(createRun(source!, target!))
    expect(failures).toEqual([])
    expect(counts.filesMigrated).toBe(counts.filesScanned)
    expect(compareTrees(folder.from, folder.to)).toEqual([])
  })

  test('as many operations at once as the store wants', async () => {
    using folder = createFolder('from', 'to')
    for (let i = 0; i < 50; i++) writeFileSync(`${folder.from}/${i}`, `${i}`)
    const target = new RemoteFolder(folder.to, { concurrency: 5 })
    await moveAll(createRun(new LocalDriver({ fsRoot: folder.from }), target))
    expect(target.most).toBe(5)
  })

  test('what the store refuses is listed: by name, by size, a folder with all that is in it; links too', async () => {
    using folder = createFolder('from', 'to')
    writeFileSync(`${folder.from}/refused`, 'bytes')
    writeFileSync(`${folder.from}/refused empty`, '')
    writeFileSync(`${folder.from}/too large`, '')
    truncateSync(`${folder.from}/too large`, 2_000_000_000)
    mkdirSync(`${folder.from}/refused folder`)
    writeFileSync(`${folder.from}/refused folder/below`, 'bytes')
    symlinkSync('somewhere', `${folder.from}/link`)
    writeFileSync(`${folder.from}/taken`, 'bytes')
    const target = new RemoteFolder(folder.to, { symlinks: false })
    const run = createRun(new LocalDriver({ fsRoot: folder.from }), target)
    const large = { kind: 'large', attempt: 1, notBeforeMs: 0, path: bytes('too large') } as const
    expect(await failureOf(beginLarge(run, large))).toBe('too-large')
    truncateSync(`${folder.from}/too large`, 0)
    const { failures, counts } = await moveAll(run)
    expect(failures.map(({ path, failure }) => `${path}: ${failure}`).toSorted()).toEqual([
      '/link: unsupported',
      '/refused empty: name',
      '/refused folder: name',
      '/refused: name',
    ])
    for (const { message } of failures) expect(message).toMatch(/^target: /)
    expect(counts).toMatchObject({ failures: 4, filesMigrated: 2, foldersScanned: 2, foldersMigrated: 1 })
    expect(readdirSync(folder.to).toSorted()).toEqual(['taken', 'too large'])
  })

  test('names that no path can have are listed, each folder’s with its path', async () => {
    using folder = createFolder('from', 'to')
    mkdirSync(`${folder.from}/folder`)
    class Odd extends RemoteFolder {
      override async *list(path: StorePath, signal: AbortSignal): AsyncIterable<Page> {
        yield* super.list(path, signal)
        yield { entries: ['..', ''].map((name) => ({ name: bytes(name), type: 'other', sizeBytes: 0 })) }
      }
    }
    const { failures, counts } = await moveAll(createRun(new Odd(folder.from), new RemoteFolder(folder.to)))
    expect(failures.map(({ path, failure }) => `${path} ${failure}`)).toEqual([
      '/.. name',
      '/ name',
      '/folder/.. name',
      '/folder/ name',
    ])
    expect(counts).toMatchObject({ othersScanned: 4, failures: 4 })
  })

  test('what is begun in a store that goes away is removed when it is back', async () => {
    using folder = createFolder('from', 'to')
    writeFileSync(`${folder.from}/file`, pattern(1_000_000))
    const target = new RemoteFolder(folder.to, {
      maxPutBytes: 1_000,
      parts: { order: 'any', sizeFor: () => 300_000 },
    })
    let isAway = true
    const answer = () => {
      if (isAway) throw new StoreError('unreachable', 'it is away')
    }
    const its = { commit: target.commitUpload.bind(target), abort: target.abortUpload.bind(target) }
    target.commitUpload = async (...args) => (answer(), its.commit(...args))
    target.abortUpload = async (upload) => (answer(), its.abort(upload))
    const untilDone = new UntilDone([1, 1, 1, 1])
    const abandon = (upload: Upload) => untilDone.do(() => target.abortUpload(upload))
    const run = createRun(new LocalDriver({ fsRoot: folder.from }), target, { abandon })
    const losses = copyFile(run, bytes('file'), noCounts())
    await expect(losses).rejects.toMatchObject({ failure: 'unreachable', message: 'target: it is away' })
    expect(readdirSync(folder.to)).toHaveLength(1)
    isAway = false
    await until('nothing is left', () => readdirSync(folder.to).length === 0)
  })

  test('a source that asks for many files at once is told which are read', async () => {
    using folder = createFolder('from', 'to')
    for (const file of ['a/one', 'a/two', 'b/three']) {
      mkdirSync(dirname(join(folder.from, file)), { recursive: true })
      writeFileSync(join(folder.from, file), file)
    }
    const told: string[] = []
    class Announced extends RemoteFolder {
      announce(at: StorePath, names: readonly Buffer[]): void {
        told.push(...names.map((name) => joinPath(at, name).toString()))
      }
      override async open(...args: Parameters<RemoteFolder['open']>): Promise<SourceFile> {
        expect(told).toEqual(['a/one', 'a/two', 'b/three'])
        return super.open(...args)
      }
    }
    const groups = [
      { folder: bytes('a'), files: [bytes('one'), bytes('two')], others: [] },
      { folder: bytes('b'), files: [bytes('three')], others: [] },
    ]
    const target = new RemoteFolder(folder.to)
    for (const { folder: made } of groups) await target.makeFolder(made, {})
    const run = createRun(new Announced(folder.from), target)
    const { counts } = await transfer(run, { kind: 'transfer', attempt: 1, notBeforeMs: 0, groups })
    expect(counts.filesMigrated).toBe(3)
  })

  test('when the store as a whole fails, the files left are put off untried', async () => {
    using folder = createFolder('from', 'to')
    for (let i = 0; i < 50; i++) writeFileSync(`${folder.from}/${i}`, `${i}`)
    let tries = 0
    class Down extends RemoteFolder {
      override async put(): Promise<Losses> {
        tries++
        throw new StoreError('unreachable', 'nobody there', { retryAfterMs: 5_000 })
      }
    }
    const run = createRun(new LocalDriver({ fsRoot: folder.from }), new Down(folder.to, { concurrency: 4 }))
    const names = Array.from({ length: 50 }, (_, i) => bytes(`${i}`))
    const groups = [{ folder: noPath, files: names, others: [] }]
    const result = await transfer(run, { kind: 'transfer', attempt: 1, notBeforeMs: 0, groups })
    expect(tries).toBe(4)
    expect(result.failures).toEqual([])
    const retry = decodeItem(result.retry!)
    expect(retry).toMatchObject({ kind: 'transfer', attempt: 2 })
    expect(retry.notBeforeMs - Date.now()).toBeGreaterThan(4_000)
    expect(retry.kind === 'transfer' && retry.groups[0]!.files.length).toBe(50)
  })
})

describe('a source that changes while it is copied', () => {
  /** Larger than a chunk, so that there is a moment in the middle. */
  const content = pattern(3_000_000)

  test.each([
    ['appended to', (path: string) => appendFileSync(path, 'more')],
    ['cut', (path: string) => truncateSync(path, 1_000)],
    ['overwritten by as many bytes', (path: string) => writeFileSync(path, pattern(content.length, 2))],
  ])('is noticed when it is %s, and the target is left as it was', async (_, change) => {
    using folder = createFolder('from', 'to')
    writeFileSync(`${folder.from}/file`, content)
    writeFileSync(`${folder.to}/file`, 'before')
    let checks = 0
    const stop = new Interrupting(() => {
      if (++checks === 2) change(`${folder.from}/file`)
    })
    const run = createRun(new LocalDriver({ fsRoot: folder.from }), new LocalDriver({ fsRoot: folder.to }), {
      stop,
    })
    using copy = directCopy(run)!.folder(noPath, noPath, untold)
    expect(() => copy.file(bytes('file'))).toThrow(expect.objectContaining({ failure: 'changed' }))
    expect(readFileSync(`${folder.to}/file`, 'utf8')).toBe('before')
    expect(readdirSync(folder.to)).toEqual(['file'])
  })

  test('is tried again, and is right then', async () => {
    using folder = createFolder('from', 'to')
    writeFileSync(`${folder.from}/file`, content)
    let checks = 0
    const stop = new Interrupting(() => {
      if (++checks === 5) appendFileSync(`${folder.from}/file`, 'more')
    })
    const run = createRun(new LocalDriver({ fsRoot: folder.from }), new LocalDriver({ fsRoot: folder.to }), {
      stop,
    })
    const { counts, failures } = await moveAll(run)
    expect(checks).toBeGreaterThan(10)
    expect(failures).toEqual([])
    expect(counts).toMatchObject({ filesScanned: 1, filesMigrated: 1, bytesMigrated: content.length + 4 })
    expect(compareTrees(folder.from, folder.to)).toEqual([])
  })

  test.each([
    ['local', (root: string) => new LocalDriver({ fsRoot: root })],
    ['remote', (root: string) => new RemoteFolder(root)],
  ])('between the parts of a large file is noticed (%s)', async (_, open) => {
    using folder = createFolder('from', 'to')
    writeFileSync(`${folder.from}/file`, Buffer.alloc(40_000_000, 'large'))
    const run = createRun(open(folder.from), open(folder.to))
    const copy = await beginLarge(run, { kind: 'large', attempt: 1, notBeforeMs: 0, path: bytes('file') })
    await copyPart(run, copy, 0)
    await copyPart(run, copy, 1)
    appendFileSync(`${folder.from}/file`, 'more')
    expect(await failureOf(copyPart(run, copy, 2))).toBe('changed')
    expect(await failureOf(commitLarge(run, copy))).toBe('changed')
    await run.target.abortUpload(copy.upload)
    expect(readdirSync(folder.to)).toEqual([])
  })
})

describe('a part that is poured from the source into the target', () => {
  const content = bytes('content of a part')
  /** Comes in pieces, after a try that was cut. */
  const file = (end: () => void = () => undefined): SourceFile => ({
    sizeBytes: content.length,
    attributes: { modifiedMs: 0 },
    nameCount: 1,
    version: '1',
    read: async (offset, length) => content.subarray(offset, offset + length),
    pour: async (offset, length, take) => {
      take(content.subarray(offset, offset + 5), 0)
      for (let at = 0; at < length; at += 3)
        take(Buffer.from(content.subarray(offset + at, Math.min(offset + at + 3, offset + length))), at)
      end()
    },
    verifyUnchanged: async () => undefined,
    close: async () => undefined,
  })
  const part = { index: 0, offset: 0, length: content.length, isShared: false }
  const begin = (target: LocalDriver) =>
    target.beginUpload(bytes('file'), {
      sizeBytes: content.length,
      tag: 'migration',
      attributes: { modifiedMs: 0 },
    })

  test('arrives, also when some of it comes twice', async () => {
    using folder = createFolder('from', 'to')
    const target = new LocalDriver({ fsRoot: folder.to })
    const run = createRun(new LocalDriver({ fsRoot: folder.from }), target)
    const upload = await begin(target)
    await writePart(run, file(), { ...part, upload })
    await target.commitUpload(upload, 1, { modifiedMs: 0 })
    expect(readFileSync(`${folder.to}/file`)).toEqual(content)
  })

  test('fails by the side that it fails on', async () => {
    using folder = createFolder('from', 'to')
    class Full extends LocalDriver {
      override async writePart(...[, , , body]: Parameters<LocalDriver['writePart']>): Promise<void> {
        await body.pour?.(() => {
          throw new StoreError('full', 'there is no space left')
        })
      }
    }
    const target = new LocalDriver({ fsRoot: folder.to })
    const run = createRun(new LocalDriver({ fsRoot: folder.from }), target)
    const upload = await begin(target)
    const full = { ...run, target: new Full({ fsRoot: folder.to }) }
    const said = (error: unknown) => (error as Error).message
    expect(await writePart(full, file(), { ...part, upload }).catch(said)).toBe(
      'target: there is no space left',
    )
    const gone = file(() => {
      throw new StoreError('gone', 'it is no longer there')
    })
    expect(await writePart(run, gone, { ...part, upload }).catch(said)).toBe('it is no longer there')
    expect(await target.writtenParts(upload, content.length)).toEqual([])
  })

  test('is read whole before it is written where others write to the same file', async () => {
    using folder = createFolder('from', 'to')
    let canPour: boolean | undefined
    class Looking extends LocalDriver {
      override async writePart(...args: Parameters<LocalDriver['writePart']>): Promise<void> {
        canPour = args[3].pour !== undefined
        await super.writePart(...args)
      }
    }
    const target = new Looking({ fsRoot: folder.to })
    const run = createRun(new LocalDriver({ fsRoot: folder.from }), target)
    const upload = await begin(target)
    await writePart(run, file(), { ...part, upload, isShared: true })
    expect(canPour).toBe(false)
  })
})

test('what stands beside is the same, held in memory or asked for', async () => {
  using folder = createFolder('from', 'to')
  for (const [name, there] of Object.entries({ same: 'aaa', other: 'bb', missing: undefined, more: 'c' })) {
    writeFileSync(`${folder.from}/${name}`, 'xxx')
    if (there !== undefined) writeFileSync(`${folder.to}/${name}`, there)
  }
  writeFileSync(`${folder.to}/extra`, 'e')
  const run = createRun(new RemoteFolder(folder.from), new RemoteFolder(folder.to))
  const entries = await listAll(run.source, noPath)
  for (const limit of [2, 1_000]) {
    const beside = await lookBeside(run, noPath, { limit })
    const found = await beside!.find(entries)
    const sizes = Array.from(found, ([{ name }, there]) => [name.toString(), there.sizeBytes])
    expect(Object.fromEntries(sizes)).toEqual({ same: 3, other: 2, more: 1 })
    const rest = (await Array.fromAsync(beside!.rest())).flat()
    expect(rest.map(({ name }) => name.toString())).toEqual(['extra'])
  }
  expect(await lookBeside(run, bytes('nowhere'))).toBe(undefined)
})
