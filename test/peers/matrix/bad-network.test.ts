import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { settings } from '../../../subjects/access/settings.ts'
import { loopback } from '../../../subjects/kit/names.ts'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import type { ConditionReason } from '../../../subjects/migrations/model/condition-terms.ts'
import { pattern } from '../../conformance/driver-store.ts'
import { type Fate, faults, type Refusal, startBadNetwork } from '../../support/bad-network.ts'
import { compareTrees } from '../../support/compare-trees.ts'
import { addLocal, createFolder, migrate, verify } from '../../support/migrations.ts'
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { seededRandom } from '../../support/random.ts'
import { liveDifferences, readTree } from '../../support/store-tree.ts'
import { StoreWriter } from '../../support/store-writer.ts'
import { addStore, behind, openStore, startStores, whyNo } from '../../support/stores.ts'
import { concurrentUnless } from '../../support/unless.ts'
import { until } from '../../support/until.ts'

/** A whole platform migrates to and from real servers over a network that is bad. */
let platform: TestPlatform
beforeAll(async () => {
  platform = await startTestPlatform()
  await platform.call(settings.put, { storeHosts: [loopback] })
})
afterAll(() => platform?.[Symbol.asyncDispose]())

/** Longer than what a server here needs, on half a core too. */
const timeoutMs = 6_000
/** Each third request or so of a file has one then. */
const faultyShare = 0.08
const lateMs = timeoutMs + 500
const seed = Number(process.env['GANTRY_MATRIX_SEED'] ?? 1)

interface Remote {
  /** Soon out of patience, so that what a driver repeats is over in a second, and what the engine does is seen too. */
  readonly properties: Readonly<Record<string, string>>
  /** How the service asks for fewer requests. */
  readonly busy: Refusal
}

const remotes: Readonly<Record<'adls2' | 's3a' | 'gcs' | 'hdfs', Remote>> = {
  adls2: {
    properties: {
      'fs.azure.io.retry.max.retries': '3',
      'fs.azure.io.retry.min.backoff.interval': '20',
      'fs.azure.http.read.timeout': String(timeoutMs),
    },
    busy: { status: 503, headers: { 'x-ms-error-code': 'ServerBusy', 'x-ms-request-id': 'r' }, body: '' },
  },
  s3a: {
    properties: {
      'fs.s3a.attempts.maximum': '3',
      'fs.s3a.retry.interval': '20',
      'fs.s3a.connection.timeout': String(timeoutMs),
    },
    busy: {
      status: 503,
      headers: { 'content-type': 'application/xml', 'x-amz-request-id': 'r' },
      body: '<?xml version="1.0"?><Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>',
    },
  },
  gcs: {
    properties: {
      'fs.gs.http.max.retry': '3',
      'gantry.gcs.retry.interval': '20',
      'fs.gs.http.read-timeout': String(timeoutMs),
    },
    busy: {
      status: 429,
      headers: { 'content-type': 'application/json', 'x-guploader-uploadid': 'u' },
      body: '{"error":{"code":429,"message":"Slow down","errors":[{"reason":"rateLimitExceeded"}]}}',
    },
  },
  hdfs: {
    properties: {
      'dfs.http.client.retry.max.attempts': '3',
      'dfs.http.client.failover.sleep.base.millis': '20',
      'dfs.webhdfs.socket.read-timeout': String(timeoutMs),
    },
    busy: {
      status: 503,
      headers: { 'content-type': 'application/json' },
      body: '{"RemoteException":{"exception":"RetriableException","javaClassName":"org.apache.hadoop.ipc.RetriableException","message":"Server too busy"}}',
    },
  },
}

const folders = 4
const filesOfFolder = 10
const files = folders * filesOfFolder + 2
/** Of a migration that makes one at least for each file: in its middle. */
const someRequests = files / 2
/** Several parts. */
const largeBytes = 6 * 2 ** 20 + 1

function fill(root: string): void {
  mkdirSync(join(root, 'hollow'), { recursive: true })
  writeFileSync(join(root, 'empty'), '')
  writeFileSync(join(root, 'large'), pattern(largeBytes))
  for (let folder = 0; folder < folders; folder++) {
    mkdirSync(join(root, `folder ${folder}`))
    for (let file = 0; file < filesOfFolder; file++)
      writeFileSync(join(root, `folder ${folder}`, `file ${file}`), pattern(1 + 700 * file, file))
  }
}

/** Of changes at the source of a live migration. */
const rounds = 4
const stepsOfRound = 8

/** HDFS keeps whole milliseconds. */
const grainMs = 1

const conditionsOf = async (migrationId: string): Promise<readonly { reason: ConditionReason }[]> => {
  // It is not there before the call that makes it has been answered.
  const known = await platform.call(migrations.get, { migrationId }).catch(() => undefined)
  return known?.conditions ?? []
}
const says = (migrationId: string, reason: ConditionReason) =>
  until(`conditions say ${reason}`, async () =>
    (await conditionsOf(migrationId)).some((one) => one.reason === reason),
  )

/** A folder, a store behind a bad network, and a folder that all comes back to; gone with the scope. */
async function start(name: keyof typeof remotes, what: string) {
  await using started = new AsyncDisposableStack()
  const stores = started.use(await startStores(name))
  const random = seededRandom(seed)
  const network = started.use(await startBadNetwork(stores.endpoint!, { random, lateMs }))
  const folder = started.use(createFolder('from', 'to'))
  const id = `${what}-${name}`
  fill(join(folder.from, id))
  const spec = await stores.create(what)
  const remote = behind(spec, network.endpoint, remotes[name].properties)
  await addLocal(platform, `${id}-from`, 'source', folder.from)
  await addStore(platform, `${id}-target`, 'target', remote)
  await addStore(platform, `${id}-source`, 'source', remote)
  await addLocal(platform, `${id}-to`, 'target', folder.to)
  const all = started.move()
  return {
    id,
    network,
    spec,
    from: folder.from,
    there: { source: `${id}-from`, target: `${id}-target`, path: `/${id}`, migrationId: `${id}-there` },
    back: { source: `${id}-source`, target: `${id}-to`, path: `/${id}`, migrationId: `${id}-back` },
    differences: () => compareTrees(join(folder.from, id), join(folder.to, id), undefined, true, grainMs),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  }
}

for (const [name, { busy }] of Object.entries(remotes) as [keyof typeof remotes, Remote][]) {
  concurrentUnless(
    whyNo[name],
    `${name}: connections break, answers are cut off, lost, late and repeated, and all is away for a while: nothing is lost, nothing comes twice`,
    async () => {
      await using pair = await start(name, 'faults')
      const { network, there, back } = pair
      await using driver = await openStore(pair.spec, 'target')
      const isAllThere = async () =>
        (await readTree(driver, Buffer.from(pair.id))).size === files + folders + 1
      network.worsen(faultyShare)
      for (const way of [there, back]) {
        network.after(someRequests, () => network.cut())
        const done = migrate(platform, way)
        await says(way.migrationId, way === there ? 'TARGET_UNREACHABLE' : 'SOURCE_UNREACHABLE')
        network.mend()
        const { progress, failures } = await done
        expect(failures).toEqual([])
        expect(progress.filesMigrated).toBe(files)
        // What was begun and given up is removed, now that it can be.
        await until('nothing else is there', isAllThere)
      }
      expect(pair.differences()).toEqual([])
      expect(await verify(platform, there.migrationId, 'digest')).toMatchObject({
        totalDiscrepancies: 0,
        filesOnTarget: files,
      })
      for (const fault of faults) expect(network.counts.get(fault) ?? 0, fault).toBeGreaterThan(0)
    },
    180_000,
  )

  concurrentUnless(
    whyNo[name],
    `${name}: what asks for fewer requests is left alone for a while, as the conditions say, and then goes on`,
    async () => {
      await using pair = await start(name, 'busy')
      const { network, there, back } = pair
      const asking = { ...busy, headers: { ...busy.headers, 'retry-after': '1' } }
      for (const [way, refusal] of [
        [there, asking],
        [back, busy],
      ] as const) {
        network.after(someRequests, () => network.refuse(refusal))
        const done = migrate(platform, way)
        await says(way.migrationId, way === there ? 'TARGET_THROTTLED' : 'SOURCE_THROTTLED')
        const before = network.counts.get('refused') ?? 0
        network.refuse(undefined)
        const { progress, failures } = await done
        expect(failures).toEqual([])
        expect(progress.filesMigrated).toBe(files)
        // What was under way, with its repetitions: nobody goes on asking as before.
        expect(before).toBeLessThan(files * 8)
        await until('the conditions are over', async () => (await conditionsOf(way.migrationId)).length === 0)
      }
      expect(pair.differences()).toEqual([])
    },
    120_000,
  )

  concurrentUnless(
    whyNo[name],
    `${name}: live over such a network, files are written over, removed and made again: what a request does that arrives late is mended by the next comparison`,
    async () => {
      await using pair = await start(name, 'live')
      const { network, there, spec } = pair
      await using driver = await openStore(spec, 'target')
      await using source = await openStore({ kind: 'local', options: { fsRoot: pair.from } }, 'target')
      const root = Buffer.from(pair.id)
      const writer = new StoreWriter(source, root, seededRandom(seed))
      const steps: string[] = []
      const { migrationId } = there
      const get = () => platform.call(migrations.get, { migrationId })
      await platform.call(migrations.create, {
        ...there,
        autoStart: true,
        scanOnlyMigration: false,
      })
      await until('it is LIVE', async () => (await get()).state === 'LIVE')
      network.worsen(faultyShare)
      for (let round = 0; round < rounds; round++) {
        for (let step = 0; step < stepsOfRound; step++) steps.push(await writer.step())
        // They arrive before the next ones come, so that what is late meets what was done later.
        await until('the changes are taken', async () => (await get()).changeLagSeconds === 0)
      }
      network.worsen(0)
      await platform.call(migrations.stop, { migrationId })
      await until('it is stopped', async () => (await get()).state === 'STOPPED')
      const fates = (fate: Fate) => network.counts.get(fate) ?? 0
      await until('what is late has arrived', () => fates('arrived') === fates('held'))
      // Whoever goes on compares everything once.
      await platform.call(migrations.resume, { migrationId })
      let left: string[] = []
      const isSame = async () => (left = await liveDifferences([source, driver], root)).length === 0
      await until('all is the same', isSame).catch((cause: unknown) => {
        throw new Error(`seed ${seed}: ${left.join('\n')}\n${steps.join('\n')}`, { cause })
      })
      await platform.call(migrations.stop, { migrationId })
      expect(fates('held')).toBeGreaterThan(0)
    },
    180_000,
  )
}

concurrentUnless(
  whyNo.hdfs,
  'hdfs: what is made by a request that arrives late, and removed again, moves no time of a folder that is finished',
  async () => {
    await using pair = await start('hdfs', 'late')
    const { network, there, back } = pair
    await using driver = await openStore(pair.spec, 'target')
    // Content goes to a data node, with the name that it is written under.
    network.meet(/^PUT .*folder%203.*op=CREATE.*namenoderpcaddress/, 'held')
    await migrate(platform, there)
    await until('it has arrived', () => network.counts.get('arrived') === 1)
    expect((await readTree(driver, Buffer.from(pair.id))).size).toBe(files + folders + 1)
    await migrate(platform, back)
    expect(pair.differences()).toEqual([])
  },
  120_000,
)
