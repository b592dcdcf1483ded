import { hash } from 'node:crypto'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { expect } from 'vitest'
import { joinPath } from '../../../services/engine/items/paths.ts'
import type { Driver } from '../../../services/drivers/contract/driver.ts'
import { settings } from '../../../subjects/access/settings.ts'
import { filesystems } from '../../../subjects/filesystems/filesystems.ts'
import { loopback } from '../../../subjects/kit/names.ts'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import { listAll } from '../../conformance/driver-store.ts'
import { openGcs, noGcs, startGcs } from '../../support/gcs.ts'
import { walkTree } from '../../support/compare-trees.ts'
import { addLocal, createFolder } from '../../support/migrations.ts'
import { createHome, startTestPlatform } from '../../support/platform.ts'
import { noPubSub, startPubSub } from '../../support/pubsub-emulator.ts'
import { seededRandom } from '../../support/random.ts'
import { StoreWriter } from '../../support/store-writer.ts'
import { testUnless } from '../../support/unless.ts'
import { unlessGone, until } from '../../support/until.ts'

const seed = Number(process.env['GANTRY_LIVE_SEED'] ?? 20_261_125)

/** All files below a folder with digests of their contents, and all folders; nothing while they change under the look at them. */
async function contentOf(driver: Driver, folder: Buffer = Buffer.alloc(0)): Promise<string[]> {
  const entries = await listAll(driver, folder).catch(() => [])
  const all = entries.map(async ({ name, type }) => {
    const path = folder.length === 0 ? name : joinPath(folder, name)
    if (type === 'folder') return [`${path.toString()}/`, ...(await contentOf(driver, path))]
    const file = await driver.open(path).catch(() => undefined)
    const content = await file?.read(0, file.sizeBytes).catch(() => undefined)
    return content === undefined ? [] : [`${path.toString()} ${hash('sha256', content)}`]
  })
  return (await Promise.all(all)).flat().toSorted(byText)
}

const contentBelow = (root: string): string[] =>
  [...walkTree(root)]
    .map(({ path, stat }) =>
      stat.isDirectory()
        ? `${path.toString()}/`
        : `${path.toString()} ${hash('sha256', readFileSync(join(root, path.toString())))}`,
    )
    .toSorted(byText)

const byText = (one: string, other: string): number => (one < other ? -1 : 1)

testUnless(
  noGcs ?? noPubSub,
  "changes of a bucket arrive by the server's own notifications, after a restart, too",
  async () => {
    using folder = createFolder('target')
    await using pubSub = await startPubSub()
    await using server = await startGcs(pubSub)
    await server.createBucket('data')
    await using driver = openGcs(server.options('data'))
    const writer = new StoreWriter(driver, Buffer.alloc(0), seededRandom(seed))
    const change = async (steps: number) => {
      for (let step = 0; step < steps; step++) await writer.step()
    }
    await change(20)
    const home = await createHome()
    let platform = await startTestPlatform({ home })
    const same = () =>
      until(`the bucket is in the target, seed ${seed}`, async () =>
        isDeepStrictEqual(
          await contentOf(driver),
          unlessGone(() => contentBelow(folder.target)),
        ),
      )
    try {
      await platform.call(settings.put, { storeHosts: [loopback] })
      await platform.call(filesystems['create-gcs'], {
        fileSystemId: 'lake',
        role: 'source',
        ...server.options('data'),
        pubSubSubscription: pubSub.subscription,
        pubSubEndpoint: pubSub.endpoint,
      })
      await addLocal(platform, 'copy', 'target', folder.target)
      await platform.call(migrations.create, {
        migrationId: 'live',
        path: '/',
        source: 'lake',
        target: 'copy',
        scanOnlyMigration: false,
        autoStart: true,
      })
      await until('it is LIVE', async () => {
        const { state } = await platform.call(migrations.get, { migrationId: 'live' })
        return state === 'LIVE'
      })
      expect(await platform.call(migrations.get, { migrationId: 'live' })).toMatchObject({
        changeDetection: 'notified',
        changeDetectionReason: `notifications in subscription ${pubSub.subscription}`,
      })
      await change(60)
      await same()
      await platform[Symbol.asyncDispose]()
      await change(20)
      platform = await startTestPlatform({ home })
      await same()
    } finally {
      await platform[Symbol.asyncDispose]()
      rmSync(home, { recursive: true, force: true })
    }
  },
  180_000,
)
