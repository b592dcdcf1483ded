import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { settings } from '../../../subjects/access/settings.ts'
import { loopback } from '../../../subjects/kit/names.ts'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import { largeFileBytes } from '../../../services/engine/items/items.ts'
import { pattern } from '../../conformance/driver-store.ts'
import { startBadNetwork } from '../../support/bad-network.ts'
import { addLocal, createFolder, nextEvent, outcomeOf, verify } from '../../support/migrations.ts'
import { startTestPlatform } from '../../support/platform.ts'
import { seededRandom } from '../../support/random.ts'
import { readTree } from '../../support/store-tree.ts'
import { addStore, behind, openStore, type StoreName, startStores, whyNo } from '../../support/stores.ts'
import { concurrentUnless } from '../../support/unless.ts'
import { until } from '../../support/until.ts'

/** A whole platform migrates to real servers that fall silent in the middle of writes, with the limits of time that people have. */

const smallFiles = 30
const files = smallFiles + 1
/** In the middle of the small ones. */
const someRequests = 20
const migrationId = 'one'
const path = '/data'

const writes = /^(PUT|POST) /
const anything = /^/

/** A platform, a folder and a store behind a network; gone with the scope. */
async function start(name: StoreName) {
  await using started = new AsyncDisposableStack()
  const stores = started.use(await startStores(name))
  const network = started.use(await startBadNetwork(stores.endpoint!, { random: seededRandom(1), lateMs: 0 }))
  const folder = started.use(createFolder('from'))
  const data = join(folder.from, 'data')
  mkdirSync(data)
  for (let file = 0; file < smallFiles; file++)
    writeFileSync(join(data, `file ${file}`), pattern(1 + 700 * file, file))
  writeFileSync(join(data, 'large'), pattern(largeFileBytes + 1))
  const spec = await stores.create('silent')
  const platform = await startTestPlatform()
  let isStopped = false
  const stop = async () => {
    if (!isStopped) await platform[Symbol.asyncDispose]()
    isStopped = true
  }
  started.defer(stop)
  await platform.call(settings.put, { storeHosts: [loopback] })
  await addLocal(platform, 'from', 'source', folder.from)
  await addStore(platform, 'to', 'target', behind(spec, network.endpoint, {}))
  const state = async () => (await platform.call(migrations.get, { migrationId })).state
  const all = started.move()
  return {
    platform,
    stop,
    network,
    state,
    spec,
    begin: async () => {
      const before = network.counts.get('silent') ?? 0
      network.after(someRequests, () => network.fallSilent(writes))
      await platform.call(migrations.create, {
        migrationId,
        path,
        source: 'from',
        target: 'to',
        autoStart: true,
      })
      await until('writes are not answered', () => (network.counts.get('silent') ?? 0) > before)
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  }
}

for (const name of ['adls2', 's3a', 'gcs', 'hdfs'] as const) {
  concurrentUnless(
    whyNo[name],
    `${name}: a stop ends writes that are not answered; what of them arrives all the same does no harm, and nothing counts twice`,
    async () => {
      await using pair = await start(name)
      const { platform, network, state } = pair
      await pair.begin()
      await platform.call(migrations.stop, { migrationId })
      await until('it is stopped', async () => (await state()) === 'STOPPED')
      await network.speak()
      const completed = await nextEvent(platform, 'completed', migrationId)
      await platform.call(migrations.resume, { migrationId })
      await completed.payload
      const { progress, failures } = await outcomeOf(platform, migrationId)
      expect(failures).toEqual([])
      expect(progress.filesMigrated).toBe(files)
      expect(await verify(platform, migrationId, 'digest')).toMatchObject({
        totalDiscrepancies: 0,
        filesOnTarget: files,
      })
      await using driver = await openStore(pair.spec, 'target')
      const isAllThere = async () => (await readTree(driver, Buffer.from('data'))).size === files
      await until('nothing else is there', isAllThere)
    },
    120_000,
  )

  concurrentUnless(
    whyNo[name],
    `${name}: nobody waits for a silent target to delete a migration, or to stop the platform`,
    async () => {
      await using pair = await start(name)
      const { platform, network, state } = pair
      await pair.begin()
      network.fallSilent(anything)
      await platform.call(migrations.stop, { migrationId })
      await until('it is stopped', async () => (await state()) === 'STOPPED')
      await platform.call(migrations.delete, { migrationId })
      await network.speak()
      await pair.begin()
      network.fallSilent(anything)
      await pair.stop()
      await network.speak()
    },
    120_000,
  )
}
