import { hash } from 'node:crypto'
import { chmodSync, mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import type { Driver, StorePath } from '../../../services/drivers/contract/driver.ts'
import { LocalDriver } from '../../../services/drivers/local/local.ts'
import { joinPath } from '../../../services/drivers/paths/path-text.ts'
import { sizeOfSame } from '../../../services/engine/tree/same-content.ts'
import { Mover } from '../../../services/engine/mover.ts'
import { contentOf, listAll, pattern } from '../../conformance/driver-store.ts'
import { createFolder } from '../../support/migrations.ts'
import { ObjectStoreDoubleDriver } from '../../support/object-store-double/driver.ts'
import { doubleSpec } from '../../support/object-store-double/kind.ts'
import { ObjectStoreDouble } from '../../support/object-store-double/store.ts'
import { compareAll, differences } from './compare-folder.ts'
import { drive } from './drive.ts'
import { liveSpec, localSpec } from './local-spec.ts'
import { changed, reconcile } from './reconcile-folder.ts'
import { createRun } from './runs.ts'

/** The engine knows nothing of this store: its threads load its kind, and go by its capabilities. */
const kinds = [new URL('../../support/object-store-double/kind.ts', import.meta.url).href]
const mover = new Mover({ threads: 2, kinds, log: { error: () => undefined } })
afterAll(() => mover.close())

const MiB = 2 ** 20
/** In one piece; in parts, one after the other; and in items of its own. */
const sizes = { empty: 0, small: 10, parts: MiB + 1, large: 20 * MiB + 3 }

/** Folders of this host and buckets of a double; gone with the scope. */
function createStores() {
  const folder = createFolder('from', 'to')
  const store = new ObjectStoreDouble('one', 'two')
  const opened = new AsyncDisposableStack()
  const open = <D extends Driver>(driver: D): D => opened.adopt(driver, (one) => one.close())
  const local = (fsRoot: string) => ({
    spec: { kind: 'local', options: { fsRoot } } as const,
    driver: open(new LocalDriver({ fsRoot })),
  })
  const bucket = (name: string, grainMs?: number) => {
    // Parts one after the other in the one, in any order and with receipts in the other.
    const parts = name === 'one' ? 'sequential' : 'any'
    const times = grainMs === undefined ? {} : { grainMs }
    const options = { store: store.name, bucket: name, parts, ...times } as const
    return { spec: doubleSpec(options), driver: open(new ObjectStoreDoubleDriver(options)) }
  }
  return {
    path: folder.from,
    from: local(folder.from),
    to: local(folder.to),
    one: bucket('one'),
    two: bucket('two'),
    coarse: bucket('one', 1_000),
    faults: store.faults,
    [Symbol.asyncDispose]: async () => {
      await opened.disposeAsync()
      store[Symbol.dispose]()
      folder[Symbol.dispose]()
    },
  }
}

type Side = ReturnType<typeof createStores>['from' | 'one']

/** All that is in a store, with content and attributes, by path. */
async function treeOf(driver: Driver, folder: StorePath = Buffer.alloc(0)): Promise<Record<string, unknown>> {
  const tree: Record<string, unknown> = {}
  for (const { name, type, sizeBytes, modifiedMs, mode } of await listAll(driver, folder)) {
    const path = joinPath(folder, name)
    tree[path.toString()] =
      type === 'file'
        ? { sizeBytes, mode, modifiedMs, content: hash('sha256', await contentOf(driver, path)) }
        : { type, mode, modifiedMs }
    if (type === 'folder') Object.assign(tree, await treeOf(driver, path))
  }
  return tree
}

const between = (source: Side, target: Side) => ({ source: source.spec, target: target.spec })
const nowhere = { from: '', to: '' }

function fill(path: string): void {
  for (const folder of ['', 'folder', 'folder/below', 'hollow'])
    mkdirSync(join(path, folder), { recursive: true })
  for (const [name, sizeBytes] of Object.entries(sizes)) {
    const file = join(path, 'folder/below', name)
    writeFileSync(file, pattern(sizeBytes))
    chmodSync(file, 0o640)
    utimesSync(file, 1_500_000_000, 1_500_000_000.5)
  }
  writeFileSync(join(path, 'file'), 'at the top')
  for (const folder of ['folder/below', 'hollow', 'folder']) utimesSync(join(path, folder), 1_000, 1_000)
}

test('a one-time migration brings all to an object store, from one to another, and back', async () => {
  await using stores = createStores()
  const { from, one, two, to } = stores
  fill(stores.path)
  for (const [source, target] of [
    [from, one],
    [one, two],
    [two, to],
  ] as const) {
    const { failures, counts } = await drive(mover, localSpec(nowhere, between(source, target)))
    expect(failures).toEqual([])
    expect(counts.filesMigrated).toBe(5)
    expect(await treeOf(target.driver)).toEqual(await treeOf(from.driver))
  }
  // The store was as object stores are now and then, and nobody noticed.
  expect(stores.faults.throttled).toBeGreaterThan(0)
  expect(stores.faults.lost).toBeGreaterThan(0)
})

test('contents are compared by what digests the stores have, or else by reading', async () => {
  await using stores = createStores()
  const { from, one, two } = stores
  fill(stores.path)
  for (const target of [one, two]) await drive(mover, localSpec(nowhere, between(from, target)))
  const compare = (source: Side, target: Side) =>
    compareAll(mover, localSpec(nowhere, between(source, target)), { level: 'digest' })
  // An upload has no digest of the whole: it is read, at both sides between two buckets.
  const [inParts, whole] = [sizes.parts + sizes.large, sizes.small + 'at the top'.length]
  const byStores = await compare(one, two)
  expect(differences(byStores)).toEqual([])
  expect(byStores.counts['bytesRead']).toBe(2 * inParts)
  const byReading = await compare(from, one)
  expect(differences(byReading)).toEqual([])
  expect(byReading.counts['bytesRead']).toBe(whole + 2 * inParts)

  await two.driver.put(Buffer.from('file'), Buffer.from('at the TOP'), {})
  const [row] = (await compare(one, two)).rows.filter(({ scanResult }) => scanResult === 'DIGEST_MISMATCH')
  expect(row).toMatchObject({ sourcePath: '/file', detail: expect.stringMatching(/^SHA-256 /) })
  await two.driver.setAttributes(Buffer.from('file'), { modifiedMs: 1 })
  expect(differences(await compare(from, two))).toContain('DIGEST_MISMATCH /file')
})

test('a policy that goes by content reads nothing where both stores keep a digest', async () => {
  await using stores = createStores()
  const { one, two, from } = stores
  for (const { driver } of [one, two]) await driver.put(Buffer.from('file'), Buffer.from('content'), {})
  writeFileSync(join(stores.path, 'file'), 'content')
  const opens = [one, two, from].map(({ driver }) => vi.spyOn(driver, 'open'))
  const opened = () => opens.map(({ mock }) => mock.calls.length)
  const sizeOf = (source: Side, target: Side) =>
    sizeOfSame(createRun(source.driver, target.driver), Buffer.from('file'))
  expect(await sizeOf(one, two)).toBe(7)
  await two.driver.put(Buffer.from('file'), Buffer.from('CONTENT'), {})
  expect(await sizeOf(one, two)).toBeUndefined()
  expect(opened()).toEqual([0, 0, 0])
  // With one digest the other side alone is read.
  await two.driver.put(Buffer.from('file'), Buffer.from('content'), {})
  expect(await sizeOf(from, two)).toBe(7)
  expect(await sizeOf(two, from)).toBe(7)
  expect(opened()).toEqual([0, 0, 2])
})

test('a verification misses no time that the target keeps less exactly than the source', async () => {
  await using stores = createStores()
  const { from, coarse } = stores
  fill(stores.path)
  const spec = localSpec(nowhere, between(from, coarse))
  await drive(mover, spec)
  for (const level of ['time', 'metadata'] as const)
    expect(differences(await compareAll(mover, spec, { level })), level).toEqual([])
  utimesSync(join(stores.path, 'file'), 1_500_000_000, 1_500_000_000)
  const changed = await compareAll(mover, spec, { level: 'time' })
  expect(differences(changed)).toEqual(['TIME_MISMATCH /file'])
})

test('a migration that recurs brings what has changed', async () => {
  await using stores = createStores()
  const { from, one, to } = stores
  fill(stores.path)
  const run = (source: Side, target: Side) =>
    drive(mover, localSpec(nowhere, { ...between(source, target), policy: 'SkipIfSizeAndTimeMatch' }))
  await run(from, one)
  await run(one, to)
  writeFileSync(join(stores.path, 'file'), 'has changed')
  writeFileSync(join(stores.path, 'folder/new'), 'is new')
  for (const [source, target] of [
    [from, one],
    [one, to],
  ] as const) {
    const { failures, counts } = await run(source, target)
    expect(failures).toEqual([])
    expect(counts).toMatchObject({ filesMigrated: 2, filesSkipped: 4 })
  }
  const files = async ({ driver }: Side) =>
    Object.entries(await treeOf(driver)).filter(([, its]) => typeof its === 'object' && 'content' in its!)
  expect(await files(to)).toEqual(await files(from))
})

test('a live migration applies what was changed, at both sides', async () => {
  await using stores = createStores()
  const { from, one, to } = stores
  fill(stores.path)
  const compare = async (source: Side, target: Side) => {
    const { failures, counts } = await reconcile(mover, liveSpec(nowhere, between(source, target)), [
      changed('', { scope: 'tree' }),
    ])
    expect(failures).toEqual([])
    return counts
  }
  const contents = async ({ driver }: Side) =>
    Object.fromEntries(
      Object.entries(await treeOf(driver)).map(([path, its]) => [
        path,
        (its as { content?: string }).content,
      ]),
    )
  for (const [source, target] of [
    [from, one],
    [one, to],
  ] as const) {
    expect((await compare(source, target)).filesMigrated).toBe(5)
    expect(await contents(target)).toEqual(await contents(from))
  }
  rmSync(join(stores.path, 'folder/below'), { recursive: true })
  rmSync(join(stores.path, 'file'))
  mkdirSync(join(stores.path, 'file'))
  writeFileSync(join(stores.path, 'file/inside'), 'where a file was')
  writeFileSync(join(stores.path, 'hollow/new'), 'is new')
  for (const [source, target] of [
    [from, one],
    [one, to],
  ] as const) {
    const counts = await compare(source, target)
    expect(counts).toMatchObject({ filesMigrated: 2, filesRemoved: 5 })
    expect(await contents(target)).toEqual(await contents(from))
  }
})
