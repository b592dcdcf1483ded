import { isUtf8 } from 'node:buffer'
import { afterAll, beforeAll, expect } from 'vitest'
import { type Driver, nothingLost, type StorePath } from '../../../services/drivers/index.ts'
import { textFromPath } from '../../../services/drivers/paths/path-text.ts'
import { settings } from '../../../subjects/access/settings.ts'
import { loopback } from '../../../subjects/kit/names.ts'
import { agents } from '../../../subjects/migrations/agents.ts'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import { pathMappings } from '../../../subjects/rules/path-mappings.ts'
import { awkwardNames } from '../../conformance/driver-names.ts'
import { join, pattern } from '../../conformance/driver-store.ts'
import { startAgent } from '../../support/agent-child.ts'
import { migrate, verify } from '../../support/migrations.ts'
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { seededRandom } from '../../support/random.ts'
import { StoreWriter } from '../../support/store-writer.ts'
import {
  each,
  type Found,
  liveDifferences,
  readTree,
  treeDifferences,
  writeFile,
} from '../../support/store-tree.ts'
import {
  addStore,
  openStore,
  startAllStores,
  type StoreName,
  storeNames,
  whyNo,
} from '../../support/stores.ts'
import { testUnless } from '../../support/unless.ts'
import { until } from '../../support/until.ts'

/** Every store is source and target with every other, by one platform. */
let platform: TestPlatform
let stores: Awaited<ReturnType<typeof startAllStores>>
const sources = new Map<StoreName, Promise<Source>>()
const targets = new Map<StoreName, Promise<Target>>()

interface Target {
  readonly driver: Driver & AsyncDisposable
}
interface Source extends Target {
  /** All that it has, as it was read back. */
  readonly tree: Map<string, Found>
}

/** Each kind is a target once and a source once. */
const chain = ['local', 's3a', 'gcs', 'hdfs', 'adls2', 'local'] as const satisfies readonly StoreName[]
const whyNoChain = chain.map((name) => whyNo[name]).find((why) => why !== undefined)

/** Folder of a source that is migrated; so it is at the target, but within one store. */
const folderOf = (name: StoreName): StorePath => Buffer.from(`of-${name}`)
const mappedFolder = Buffer.from('mapped')

/** All of them are in one cluster, in which a folder cannot go to itself. */
const isSamePlace = (from: StoreName, to: StoreName) => from === 'hdfs' && to === 'hdfs'

type Place = readonly [fileSystemId: string, folder: StorePath]

const mapFolder = ([sourceFileSystem, from]: Place, [targetFileSystem, to]: Place) =>
  platform.call(pathMappings.create, {
    sourceFileSystem,
    sourcePath: textFromPath(from),
    targetFileSystem,
    targetPath: textFromPath(to),
  })

beforeAll(async () => {
  ;[stores, platform] = await Promise.all([startAllStores(), startTestPlatform()])
  await platform.call(settings.put, { storeHosts: [loopback] })
})
afterAll(async () => {
  for (const side of [...sources.values(), ...targets.values()]) await (await side).driver.close()
  await platform?.[Symbol.asyncDispose]()
  await stores?.[Symbol.asyncDispose]()
})

/** A store with a tree as a source of the platform, made when it is asked for first. */
function sourceOf(name: StoreName): Promise<Source> {
  const make = async () => {
    const spec = await stores[name]!.create('anyfrom')
    await addStore(platform, `${name}-source`, 'source', spec)
    const driver = await openStore(spec, 'target')
    await fill(driver, folderOf(name))
    return { driver, tree: await readTree(driver, folderOf(name)) }
  }
  return sources.get(name) ?? remember(sources, name, make())
}

function targetOf(name: StoreName): Promise<Target> {
  const make = async () => {
    const spec = await stores[name]!.create('anyto')
    await addStore(platform, `${name}-target`, 'target', spec)
    return { driver: await openStore(spec, 'target') }
  }
  return targets.get(name) ?? remember(targets, name, make())
}

function remember<K, V>(known: Map<K, V>, key: K, value: V): V {
  known.set(key, value)
  return value
}

/** More than what goes with one request at any of them. */
const largeBytes = 17 * 2 ** 20 + 1

/** One store or another cannot hold it: what is refused is refused as a file too, and not only with its folder. */
const isOftenRefused = (name: Buffer): boolean =>
  !isUtf8(name) || name.some((byte) => byte < 0x20) || /[\\:]|\.$/.test(name.toString())

/** Puts a tree of what goes wrong somewhere into a folder, but what the store cannot hold. */
async function fill(driver: Driver, folder: StorePath): Promise<void> {
  let count = 0
  /** No two have the same, and the microseconds count. */
  const attributes = (mode: number) => ({ modifiedMs: 1_500_000_000_000 + ++count * 1_001.125, mode })
  const makeFolder = async (path: StorePath) => {
    if (driver.refuses(path, { type: 'folder', sizeBytes: 0 }) === undefined)
      await driver.makeFolder(path, attributes(0o750))
  }
  const file = async (path: StorePath, bytes: Buffer, mode = 0o640) => {
    if (driver.refuses(path, { type: 'file', sizeBytes: bytes.length }) === undefined)
      await writeFile(driver, path, bytes, attributes(mode))
  }
  const at = (...names: (string | Buffer)[]) => join(folder, ...names)
  for (const names of [[], ['files'], ['folders'], ['hollow'], ['deep'], ['deep', 'below']])
    await makeFolder(at(...names))
  await file(at('empty'), Buffer.alloc(0))
  await file(at('deep', 'below', 'large'), pattern(largeBytes), 0o600)
  await each(awkwardNames, async (name) => {
    if (isOftenRefused(name)) await file(at('files', name), name)
    await makeFolder(at('folders', name))
    await file(at('folders', name, name), name)
  })
  await driver.makeLink?.(at('link'), Buffer.from('deep/below/large'))
  // Where a folder's time moves, it has its own once nothing is made in it any more.
  if (driver.capabilities.folderTimesMove) {
    const folders = [...(await readTree(driver, folder)).values()].filter(({ type }) => type === 'folder')
    await each(folders, async ({ path }) => {
      const lost = await driver.setAttributes(path, attributes(0o750))
      expect(lost).toEqual(nothingLost)
    })
  }
}

/** What of a tree a target can hold, and what is to be among the failures. */
function expected(source: Map<string, Found>, target: Driver, to: (path: StorePath) => StorePath) {
  const kept = new Map<string, Found>()
  const failures: { path: string; failureClass: string }[] = []
  const refused: Buffer[] = []
  const inOrder = [...source].toSorted(([one], [other]) => one.length - other.length)
  for (const [key, found] of inOrder) {
    const { path, type, sizeBytes } = found
    if (refused.some((folder) => path.subarray(0, folder.length + 1).equals(join(folder, '')))) continue
    const isHeld = type !== 'symlink' || target.capabilities.symlinks
    if (isHeld && target.refuses(to(path), { type, sizeBytes }) === undefined) kept.set(key, found)
    else {
      failures.push({ path: textFromPath(path), failureClass: isHeld ? 'name' : 'unsupported' })
      if (type === 'folder') refused.push(path)
    }
  }
  return { kept, failures: failures.toSorted(byPath) }
}

const byPath = (one: { path: string }, other: { path: string }) => (one.path < other.path ? -1 : 1)

for (const from of storeNames)
  for (const to of storeNames)
    testUnless(
      whyNo[from] ?? whyNo[to],
      `${from} to ${to}: what the target can hold arrives as it is, and all else is among the failures once`,
      async () => {
        const [source, target] = [await sourceOf(from), await targetOf(to)]
        const folder = folderOf(from)
        const folderThere = isSamePlace(from, to) ? mappedFolder : folder
        if (isSamePlace(from, to)) await mapFolder([`${from}-source`, folder], [`${to}-target`, mappedFolder])
        const at = (path: StorePath) => Buffer.concat([folderThere, path.subarray(folder.length)])
        const { tree } = source
        const { kept, failures: lost } = expected(tree, target.driver, at)
        const migrationId = `${from}-to-${to}`
        const { progress, failures } = await migrate(platform, {
          source: `${from}-source`,
          target: `${to}-target`,
          path: textFromPath(folder),
          migrationId,
        })
        expect(failures.map(({ path, failureClass }) => ({ path, failureClass })).toSorted(byPath)).toEqual(
          lost,
        )
        const files = [...kept.values()].filter(({ type }) => type !== 'folder').length
        expect(progress.filesMigrated).toBe(files)
        const arrived = await readTree(target.driver, folderThere)
        expect(treeDifferences([kept, arrived], [source.driver, target.driver])).toEqual([])
        for (const level of ['digest', 'metadata'] as const) {
          expect(await verify(platform, migrationId, level), level).toMatchObject({
            filesOnTarget: files,
            // And the folder itself.
            matchedPathCount: kept.size + 1,
            totalDiscrepancies: tree.size - kept.size,
          })
        }
      },
      60_000,
    )

testUnless(
  whyNoChain,
  `agents alone move a tree from store to store, ${chain.join(' → ')}: each hop brings what the target can hold, and the platform nothing`,
  async () => {
    const folder = Buffer.from('chain')
    const path = textFromPath(folder)
    const specs = await Promise.all(chain.map(async (name, index) => stores[name]!.create(`chain${index}`)))
    const shares = specs.flatMap(({ kind, options }) =>
      kind === 'local' ? ['--share', options.fsRoot!] : [],
    )
    await using _one = await startAgent(platform, 'one', shares)
    await using _two = await startAgent(platform, 'two', shares)
    await using opened = new AsyncDisposableStack()
    const drivers = await Promise.all(specs.map(async (spec) => opened.use(await openStore(spec, 'target'))))
    await fill(drivers[0]!, folder)
    const first = await readTree(drivers[0]!, folder)
    let there = first
    let moved = 0
    for (const [index, to] of drivers.entries()) {
      if (index === 0) continue
      const [source, target] = [`chain-from-${index}`, `chain-to-${index}`]
      await addStore(platform, source, 'source', specs[index - 1]!)
      await addStore(platform, target, 'target', specs[index]!)
      const { kept, failures: lost } = expected(there, to, (same) => same)
      const migrationId = `chain-${index}-to-${chain[index]}`
      const { progress, failures } = await migrate(platform, {
        source,
        target,
        path,
        migrationId,
        movedBy: 'AGENTS',
      })
      expect(
        failures.map(({ path: at, failureClass }) => ({ path: at, failureClass })).toSorted(byPath),
      ).toEqual(lost)
      const arrived = await readTree(to, folder)
      expect(treeDifferences([kept, arrived], [drivers[index - 1]!, to]), migrationId).toEqual([])
      moved += progress.filesMigrated
      there = arrived
    }
    const all = await platform.call(agents.list, {})
    expect(all.reduce((sum, { transferredFiles }) => sum + transferredFiles, 0)).toBe(moved)
    const contentsOf = (tree: Map<string, Found>) =>
      Object.fromEntries(Array.from(tree, ([key, { type, sha256 }]) => [key, `${type} ${sha256}`]))
    expect(contentsOf(first)).toMatchObject(contentsOf(there))
    expect(there.size).toBeGreaterThan(first.size / 2)
  },
  300_000,
)

/** A place of its own in each of two stores, and a migration from one to the other; what it is like now. */
async function between(from: StoreName, to: StoreName, what: string) {
  const specs = [
    await stores[from]!.create(`${what}from${to}`),
    await stores[to]!.create(`${what}to${from}`),
  ] as const
  const migrationId = `${what}-${from}-${to}`
  const folder = Buffer.from(migrationId)
  const [source, target] = await Promise.all(specs.map((spec) => openStore(spec, 'target')))
  for (const [index, role] of (['source', 'target'] as const).entries())
    await addStore(platform, `${migrationId}-${role}`, role, specs[index]!)
  await source!.makeFolder(folder, {})
  const folderThere = isSamePlace(from, to) ? Buffer.from(`${migrationId}-there`) : folder
  if (isSamePlace(from, to))
    await mapFolder([`${migrationId}-source`, folder], [`${migrationId}-target`, folderThere])
  return {
    source: source!,
    folder,
    migration: {
      migrationId,
      source: `${migrationId}-source`,
      target: `${migrationId}-target`,
      path: textFromPath(folder),
      autoStart: true,
    },
    differences: () => liveDifferences([source!, target!], folder, folderThere),
    [Symbol.asyncDispose]: async () => {
      await source!.close()
      await target!.close()
    },
  }
}

const stateOf = async (migrationId: string) => (await platform.call(migrations.get, { migrationId })).state

const pairs = storeNames.flatMap((from) => storeNames.map((to) => [from, to] as const))

for (const [from, to] of pairs)
  testUnless(
    whyNo[from] ?? whyNo[to],
    `live from ${from} to ${to}: what comes, changes and goes at random is so at the target`,
    async () => {
      await using pair = await between(from, to, 'live')
      const { migrationId } = pair.migration
      const seed = Number(process.env['GANTRY_MATRIX_SEED'] ?? 1)
      const writer = new StoreWriter(pair.source, pair.folder, seededRandom(seed))
      const steps: string[] = []
      const write = async (count: number) => {
        for (let step = 0; step < count; step++) steps.push(await writer.step())
      }
      await write(30)
      await platform.call(migrations.create, {
        ...pair.migration,
        scanOnlyMigration: false,
        ...(from !== 'local' && { comparisonPeriodSeconds: 1 }),
      })
      await write(20)
      await until('it is LIVE', async () => (await stateOf(migrationId)) === 'LIVE')
      await write(60)
      let left: string[] = []
      await until('all is the same', async () => (left = await pair.differences()).length === 0).catch(
        async (cause: unknown) => {
          const status = JSON.stringify(await platform.call(migrations.get, { migrationId }))
          throw new Error(`seed ${seed}: ${left.join('\n')}\n${steps.join('\n')}\n${status}`, { cause })
        },
      )
      expect((await platform.call(migrations.failures, { migrationId })).failedPaths).toEqual([])
      await platform.call(migrations.stop, { migrationId })
      await until('it is stopped', async () => (await stateOf(migrationId)) === 'STOPPED')
      expect(await verify(platform, migrationId, 'digest')).toMatchObject({ totalDiscrepancies: 0 })
    },
    // A look at a cluster may take a minute: a data node looks long for the blocks of what was just removed.
    180_000,
  )

for (const [from, to] of [
  ['s3a', 'gcs'],
  ['hdfs', 'adls2'],
  ['gcs', 'local'],
] as const)
  testUnless(
    whyNo[from] ?? whyNo[to],
    `recurring from ${from} to ${to}: what is new and what is changed comes with the next scan, nothing else is copied again`,
    async () => {
      await using pair = await between(from, to, 'again')
      const { migrationId } = pair.migration
      const at = (name: string) => join(pair.folder, name)
      for (const name of ['stays', 'changes'])
        await pair.source.put(at(name), Buffer.from(name), { modifiedMs: 1_600_000_000_000 })
      await platform.call(migrations.create, {
        ...pair.migration,
        recurringMigration: true,
        recurringPeriod: '1S',
        actionPolicy: 'SkipIfSizeAndTimeMatch',
      })
      const isWaiting = async () => (await stateOf(migrationId)) === 'WAITING_FOR_NEXT_RECURRENCE'
      await until('it waits for its next scan', isWaiting)
      expect(await pair.differences()).toEqual([])
      await pair.source.put(at('changes'), Buffer.from('CHANGES'), { modifiedMs: 1_600_000_002_000 })
      await pair.source.makeFolder(at('new'), {})
      await pair.source.put(at('new/file'), Buffer.from('is new'), {})
      await until('all is the same', async () => (await pair.differences()).length === 0)
      const tracker = async () =>
        (await platform.call(migrations.get, { migrationId })).recurringMigrationTracker!
      const { recurringCount } = await tracker()
      await until('it scanned twice', async () => (await tracker()).recurringCount >= recurringCount + 2)
      const copied = (await tracker()).iterations.map(({ filesMigrated }) => filesMigrated)
      expect(copied.reduce((sum, count) => sum + count, 0)).toBe(4)
      expect((await platform.call(migrations.failures, { migrationId })).failedPaths).toEqual([])
    },
    60_000,
  )
