import { hash } from 'node:crypto'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join, relative } from 'node:path'
import { expect } from 'vitest'
import { settings } from '../../../subjects/access/settings.ts'
import type { Input } from '../../../subjects/kit/contract.ts'
import { isGantryError } from '../../../subjects/kit/errors.ts'
import { loopback } from '../../../subjects/kit/names.ts'
import { bandwidth } from '../../../subjects/migrations/bandwidth.ts'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import type { Driver } from '../../../services/drivers/index.ts'
import { pattern } from '../../conformance/driver-store.ts'
import { Victim } from '../../crash/victim.ts'
import { compareTrees } from '../../support/compare-trees.ts'
import { addLocal, createFolder, outcomeOf } from '../../support/migrations.ts'
import { createHome } from '../../support/platform.ts'
import { readTree } from '../../support/store-tree.ts'
import { addStore, openStore, startStores, type StoreName, storeNames, whyNo } from '../../support/stores.ts'
import { concurrentUnless } from '../../support/unless.ts'
import { unlessGone, until } from '../../support/until.ts'

const folders = 3
const filesOfFolder = 60
const files = folders * filesOfFolder + 1
/** Of several parts in each store. */
const largeBytes = 12 * 2 ** 20 + 1
/** So that a migration lasts for the kills. */
const requestsPerSecond = 60
/** HDFS keeps whole milliseconds. */
const grainMs = 1
/** Restarts of a platform and of a cluster: two minutes where nothing else runs. */
const patienceMs = 300_000
/** Of what is waited for last: a cluster that has just restarted answers slowly beside others. */
const settledMs = 150_000

function fill(root: string): void {
  mkdirSync(root)
  writeFileSync(join(root, 'large'), pattern(largeBytes))
  for (let folder = 0; folder < folders; folder++) {
    mkdirSync(join(root, `folder ${folder}`))
    for (let file = 0; file < filesOfFolder; file++)
      writeFileSync(join(root, `folder ${folder}`, `file ${file}`), pattern(1 + 700 * file, file))
  }
}

/** A platform in a process of its own, that is killed and comes back; gone with the scope. */
async function startVictim() {
  await using starting = new AsyncDisposableStack()
  const home = await createHome()
  starting.defer(() => rmSync(home, { recursive: true, force: true }))
  const victim = starting.use(new Victim(home))
  await victim.start()
  await victim.call(settings.put, { storeHosts: [loopback] })
  const all = starting.move()
  return Object.assign(victim, {
    killAndStart: async () => {
      await victim.kill()
      await victim.start()
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  })
}

type Migrating = Pick<Victim, 'call'>

/** It is asked for again where an answer was lost, and may be there then. */
const created = async (victim: Migrating, input: Input<(typeof migrations)['create']>): Promise<void> => {
  await victim.call(migrations.create, input).catch((error: unknown) => {
    if (!isGantryError(error, 'ALREADY_EXISTS')) throw error
  })
}
const shareOf = async (victim: Migrating, migrationId: string): Promise<number> =>
  (await victim.call(migrations.progress, { migrationId })).progress.filesMigrated / files
const isShareThere = (victim: Migrating, migrationId: string, share: number) =>
  until(`${share * 100} % have arrived`, async () => (await shareOf(victim, migrationId)) > share)
const isState = (victim: Migrating, migrationId: string, state: string) =>
  until(`the migration is ${state}`, async () => {
    const known = await victim.call(migrations.get, { migrationId })
    return known.state === state
  })

/** What stands for Cloud Storage has all in memory, and nothing after a restart. */
const killed = (name: StoreName): string =>
  name === 'gcs' ? 'the platform is killed' : 'the platform is killed, and the store restarted,'

for (const name of storeNames.filter((one): one is Exclude<StoreName, 'local'> => one !== 'local')) {
  concurrentUnless(
    whyNo[name],
    `${name}: ${killed(name)} in the middle of a migration to it, and of one back: all arrives, once`,
    async () => {
      using folder = createFolder('from', 'to')
      fill(join(folder.from, 'tree'))
      await using stores = await startStores(name)
      await using victim = await startVictim()
      const spec = await stores.create('killed')
      await addLocal(victim, 'from', 'source', folder.from)
      await addStore(victim, 'target', 'target', spec)
      await addStore(victim, 'source', 'source', spec)
      await addLocal(victim, 'to', 'target', folder.to)
      await using driver = await openStore(spec, 'target')
      await victim.call(bandwidth.set, { scope: 'global', requests: requestsPerSecond })
      for (const [migrationId, source, target] of [
        ['there', 'from', 'target'],
        ['back', 'source', 'to'],
      ] as const) {
        await created(victim, { migrationId, source, target, path: '/tree', autoStart: true })
        await isShareThere(victim, migrationId, 0.2)
        await victim.killAndStart()
        await isShareThere(victim, migrationId, 0.4)
        await stores.restart?.()
        await isShareThere(victim, migrationId, 0.6)
        await victim.killAndStart()
        await isState(victim, migrationId, 'COMPLETED')
        const { progress, failures } = await outcomeOf(victim, migrationId)
        expect(failures).toEqual([])
        expect(progress.filesMigrated).toBe(files)
        expect([...(await readTree(driver, Buffer.from('tree'))).keys()]).toHaveLength(files + folders)
      }
      expect(
        compareTrees(join(folder.from, 'tree'), join(folder.to, 'tree'), undefined, true, grainMs),
      ).toEqual([])
    },
    patienceMs,
  )

  concurrentUnless(
    whyNo[name],
    `${name}: ${killed(name)} while a live migration from it goes on: what comes, changes and goes is so at the target`,
    async () => {
      using folder = createFolder('to')
      await using stores = await startStores(name)
      await using victim = await startVictim()
      const spec = await stores.create('live')
      await using source = await openStore(spec, 'target')
      const at = (path: string) => Buffer.from(`live/${path}`)
      await source.makeFolder(Buffer.from('live'), {})
      const write = (path: string, text: string) => putAgain(source, at(path), text)
      for (let file = 0; file < 20; file++) await write(`kept ${file}`, `kept ${file}`)
      await addStore(victim, 'source', 'source', spec)
      await addLocal(victim, 'to', 'target', folder.to)
      const migrationId = 'live'
      await created(victim, {
        migrationId,
        source: 'source',
        target: 'to',
        path: '/live',
        autoStart: true,
        scanOnlyMigration: false,
        comparisonPeriodSeconds: 1,
      })
      await isState(victim, migrationId, 'LIVE')
      const expected = new Map(Array.from({ length: 20 }, (_, file) => [`kept ${file}`, `kept ${file}`]))
      const change = async (round: number) => {
        await write(`new ${round}`, `new ${round}`)
        await write('kept 0', `changed in round ${round}`)
        await source.remove(at(`kept ${round}`))
        expected.set(`new ${round}`, `new ${round}`)
        expected.set('kept 0', `changed in round ${round}`)
        expected.delete(`kept ${round}`)
      }
      await change(1)
      await victim.kill()
      await change(2)
      await victim.start()
      await change(3)
      await stores.restart?.()
      await change(4)
      let found = new Map<string, string>()
      const look = () => {
        found = unlessGone(() => filesIn(join(folder.to, 'live'))) ?? found
        return isSame(found, expected)
      }
      await until('all is as at the source', look, settledMs).catch((cause: unknown) => {
        throw new Error(JSON.stringify([...found]), { cause })
      })
      expect(await victim.call(migrations.get, { migrationId })).toMatchObject({ state: 'LIVE' })
    },
    patienceMs,
  )
}

/** Digests of the files of a tree by their paths, as `readTree` has them. */
const digestsIn = (root: string): Map<string, string> =>
  new Map(
    readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => {
        const path = join(parentPath, name)
        return [relative(root, path), hash('sha256', readFileSync(path), 'base64')]
      }),
  )

const liveLarge = (round: number) => pattern(largeBytes, round)

for (const name of storeNames.filter((one): one is Exclude<StoreName, 'local'> => one !== 'local'))
  concurrentUnless(
    whyNo[name],
    `${name}: ${killed(name)} while a live migration to it goes on: files, large ones too, and folders are so there`,
    async () => {
      using folder = createFolder('from')
      await using stores = await startStores(name)
      await using victim = await startVictim()
      const root = join(folder.from, 'live')
      const at = (...path: string[]) => join(root, ...path)
      mkdirSync(at('folder/below'), { recursive: true })
      for (let file = 0; file < 20; file++) writeFileSync(at(`kept ${file}`), `kept ${file}`)
      for (let file = 0; file < 10; file++) writeFileSync(at(`folder/below/${file}`), pattern(5_000, file))
      const spec = await stores.create('live-to')
      await addLocal(victim, 'from', 'source', folder.from)
      await addStore(victim, 'target', 'target', spec)
      await created(victim, {
        migrationId: 'live-to',
        source: 'from',
        target: 'target',
        path: '/live',
        autoStart: true,
        scanOnlyMigration: false,
      })
      await isState(victim, 'live-to', 'LIVE')
      const change = (round: number) => {
        writeFileSync(at(`new ${round}`), `new ${round}`)
        writeFileSync(at('kept 0'), `changed in round ${round}`)
        rmSync(at(`kept ${round}`))
        writeFileSync(at('large'), liveLarge(round))
        renameSync(at(round === 1 ? 'folder' : `folder ${round - 1}`), at(`folder ${round}`))
        appendFileSync(at(`folder ${round}/below/0`), `more in round ${round}`)
      }
      change(1)
      await victim.kill()
      change(2)
      await victim.start()
      change(3)
      await stores.restart?.()
      change(4)
      await victim.killAndStart()
      change(5)
      const expected = digestsIn(root)
      await using driver = await openStore(spec, 'target')
      let found = new Map<string, string>()
      const look = async () => {
        const tree = await readTree(driver, Buffer.from('live'))
        found = new Map(
          tree.entries().flatMap(([path, { sha256 }]) => (sha256 === undefined ? [] : [[path, sha256]])),
        )
        return isSame(found, expected)
      }
      // Whatever is read is overwritten or removed now and then.
      await until('all is as at the source', () => look().catch(() => false), settledMs).catch(
        (cause: unknown) => {
          throw new Error(JSON.stringify([...found.keys()]), { cause })
        },
      )
      const { failedPaths } = await victim.call(migrations.failures, { migrationId: 'live-to' })
      expect(failedPaths).toEqual([])
      expect(await victim.call(migrations.get, { migrationId: 'live-to' })).toMatchObject({ state: 'LIVE' })
    },
    patienceMs,
  )

/** Contents of the files of a folder by their names. */
const filesIn = (folder: string): Map<string, string> =>
  new Map(
    (existsSync(folder) ? readdirSync(folder) : []).map((name) => [
      name,
      readFileSync(join(folder, name), 'utf8'),
    ]),
  )

const isSame = (one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): boolean =>
  one.size === other.size && [...one].every(([name, text]) => other.get(name) === text)

/** A server that has just started may not take all at once. */
const putAgain = (driver: Driver, path: Buffer, text: string): Promise<unknown> =>
  until(`${path.toString()} is written`, () =>
    driver.put(path, Buffer.from(text), {}).then(
      () => true,
      () => false,
    ),
  )
