import { expect, test } from 'vitest'
import {
  type Listing,
  type Page,
  StoreError,
  type StorePath,
} from '../../../services/drivers/contract/driver.ts'
import { LocalDriver } from '../../../services/drivers/local/local.ts'
import { type ChildBatch, Children } from '../../../services/engine/items/children.ts'
import { decodeItem } from '../../../services/engine/items/item-decode.ts'
import { localBounds, startRegion } from '../../../services/engine/items/items.ts'
import { add, noCounts } from '../../../services/engine/run/counts.ts'
import { scan } from '../../../services/engine/scan/scan.ts'
import { never } from '../../conformance/driver-store.ts'
import { createFolder } from '../../support/migrations.ts'
import { ObjectStoreDoubleDriver } from '../../support/object-store-double/driver.ts'
import { ObjectStoreDouble } from '../../support/object-store-double/store.ts'
import { createRun } from './runs.ts'

/** Counts the pages that are asked for. */
class CountingDriver extends ObjectStoreDoubleDriver {
  pages = 0
  override async *list(
    folder: StorePath,
    signal: AbortSignal,
    listing?: Listing,
  ): AsyncGenerator<Page, void, undefined> {
    for await (const page of super.list(folder, signal, listing)) {
      this.pages++
      yield page
    }
  }
}

const files = 2_300
/** Entries that an item finds here, where it is 100,000 in a migration: two pages of this store. */
const bounds = { entries: 900, waiting: 10 }

test('a folder that is longer than an item goes on from a cursor, also when one of its items comes again', async () => {
  using store = new ObjectStoreDouble('bucket')
  using folder = createFolder('to')
  await using opened = new AsyncDisposableStack()
  const open = () => new CountingDriver({ store: store.name, bucket: 'bucket' })
  const source = opened.adopt(open(), (driver) => driver.close())
  const target = new LocalDriver({ fsRoot: folder.to })
  const names = Array.from({ length: files }, (_, index) => `large/file ${index}`)
  for (const name of names) await source.put(Buffer.from(name), Buffer.from('x'), {})
  await source.put(Buffer.from('large/folder/inside'), Buffer.from('x'), {})
  const run = createRun(source, target)

  const counts = noCounts()
  const found: string[] = []
  const finished: string[] = []
  const scanItem = async (item: Uint8Array) => {
    const region = decodeItem(item)
    if (region.kind !== 'region') throw new Error('not a region')
    const batches: ChildBatch[] = []
    const send = async (batch: ChildBatch) => void batches.push(batch)
    const result = await scan(run, region, new Children(send, localBounds), bounds)
    expect(result).toMatchObject({ failures: [] })
    expect(result.retry).toBeUndefined()
    return { result, regions: batches.flatMap(({ regions }) => regions), batches }
  }
  const items: Uint8Array[] = [startRegion()]
  let slices = 0
  for (let item = items.shift(); item !== undefined; item = items.shift()) {
    const { result, regions, batches } = await scanItem(item)
    add(counts, result.counts)
    items.push(...regions)
    for (const one of batches.flatMap(({ transfers }) => transfers)) {
      const transfer = decodeItem(one)
      if (transfer.kind === 'transfer')
        for (const { folder: its, files: all } of transfer.groups)
          found.push(...all.map((name) => `${its.toString()}/${name.toString()}`))
    }
    for (const one of batches.flatMap(({ folders }) => folders)) {
      const item = decodeItem(one)
      if (item.kind !== 'folders') throw new Error('not folders')
      if (item.start !== undefined) finished.push(item.start.toString())
      finished.push(...item.groups.flatMap(({ names: its }) => its.map((name) => name.toString())))
    }
    const region = decodeItem(item)
    if (region.kind !== 'region' || region.rest === undefined) continue
    slices++
    // Killed before it was acknowledged: it does its own work again, and none of those before it.
    source.pages = 0
    const again = await scanItem(item)
    expect(source.pages).toBeLessThanOrEqual(2)
    expect(again.regions).toEqual(regions)
  }
  expect(slices).toBe(2)
  expect(found.toSorted()).toEqual([...names, 'large/folder/inside'].toSorted())
  expect(counts).toMatchObject({ filesScanned: files + 1, foldersScanned: 3, foldersMigrated: 3 })
  expect(finished.filter((name) => name === 'large')).toHaveLength(1)
  expect((await target.stat(Buffer.from('large/folder')))?.type).toBe('folder')
})

test('a folder of which the rest is to be listed may be gone by then', async () => {
  using store = new ObjectStoreDouble('bucket')
  using folder = createFolder('from', 'to')
  await using opened = new AsyncDisposableStack()
  const source = opened.adopt(new CountingDriver({ store: store.name, bucket: 'bucket' }), (one) =>
    one.close(),
  )
  for (const name of ['a/1', 'a/2']) await source.put(Buffer.from(name), Buffer.from('x'), {})
  const [first] = await Array.fromAsync(source.list(Buffer.from('a'), never, { limit: 1 }))
  for (const name of ['a/1', 'a/2']) await source.remove(Buffer.from(name))
  const rest = { cursor: first!.cursor!, isMade: true }
  const region = {
    kind: 'region',
    attempt: 1,
    notBeforeMs: 0,
    start: Buffer.from('a'),
    rest,
    groups: [],
  } as const
  const run = createRun(source, new LocalDriver({ fsRoot: folder.to }))
  const children = () => new Children(async () => undefined, localBounds)
  expect(await scan(run, region, children())).toMatchObject({ failures: [], counts: { foldersScanned: 1 } })
  const local = createRun(new LocalDriver({ fsRoot: folder.from }), run.target)
  expect(await scan(local, region, children())).toMatchObject({
    failures: [],
    counts: { foldersVanished: 1 },
  })
})

test('a listing that fails in the middle goes on where it failed: nothing is taken twice', async () => {
  using store = new ObjectStoreDouble('bucket')
  using folder = createFolder('to')
  await using opened = new AsyncDisposableStack()
  const source = opened.adopt(new CountingDriver({ store: store.name, bucket: 'bucket' }), (one) =>
    one.close(),
  )
  for (let index = 0; index < files; index++)
    await source.put(Buffer.from(`large/file ${index}`), Buffer.from('x'), {})
  const list = source.list.bind(source)
  let failsAfter = 2
  source.list = async function* (...args) {
    for await (const page of list(...args)) {
      if (failsAfter-- === 0) throw new StoreError('unreachable', 'it is away')
      yield page
    }
  }
  const run = createRun(source, new LocalDriver({ fsRoot: folder.to }))
  const counts = noCounts()
  const found: string[] = []
  const items: Uint8Array[] = [startRegion()]
  for (let item = items.shift(); item !== undefined; item = items.shift()) {
    const region = decodeItem(item)
    if (region.kind !== 'region') throw new Error('not a region')
    const send = async ({ regions, transfers }: ChildBatch) => {
      items.push(...regions)
      for (const transfer of transfers.map((one) => decodeItem(one)))
        if (transfer.kind === 'transfer')
          found.push(...transfer.groups.flatMap((one) => one.files.map((name) => name.toString())))
    }
    const result = await scan(run, region, new Children(send, localBounds))
    expect(result.failures).toEqual([])
    add(counts, result.counts)
    if (result.retry !== undefined) items.push(result.retry)
  }
  expect(failsAfter).toBeLessThan(0)
  expect(found).toHaveLength(files)
  expect(new Set(found).size).toBe(files)
  expect(counts).toMatchObject({ filesScanned: files, foldersScanned: 2, foldersMigrated: 2 })
})
