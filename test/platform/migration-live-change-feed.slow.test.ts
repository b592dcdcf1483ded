import { rmSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { expect, test } from 'vitest'
import { filesystems } from '../../subjects/filesystems/filesystems.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { settings } from '../../subjects/access/settings.ts'
import { loopback } from '../../subjects/kit/names.ts'
import { azuriteOptions, openAzure } from '../support/azure-driver.ts'
import { startAzurite } from '../support/azurite.ts'
import { ChangeFeedDouble, segmentNow } from '../support/change-feed-double.ts'
import { compareContainer } from '../support/compare-container.ts'
import { ContainerChanges } from '../support/container-changes.ts'
import { addLocal, createFolder } from '../support/migrations.ts'
import { createHome, startTestPlatform } from '../support/platform.ts'
import { seededRandom } from '../support/random.ts'
import { StoreWriter } from '../support/store-writer.ts'
import { until } from '../support/until.ts'

const seed = Number(process.env['GANTRY_LIVE_SEED'] ?? 20_261_125)

test('changes of a container arrive by the change feed of its account, also those of a time when nobody read it', async () => {
  using folder = createFolder('target', 'disabled')
  await using azurite = await startAzurite()
  await azurite.createContainer('data')
  const container = azurite.service.getContainerClient('data')
  const feed = new ChangeFeedDouble(azurite.service, 'data', 'deflate')
  await using driver = openAzure(azuriteOptions(azurite, 'data'))
  const writer = new StoreWriter(driver, Buffer.alloc(0), seededRandom(seed))
  const changes = new ContainerChanges(container)
  for (let step = 0; step < 30; step++) await writer.step()
  await changes.next()
  const segment = segmentNow()
  await feed.enable()
  await feed.segment(segment, 'Publishing', ['00', '01'])
  const change = async (steps: number, chunk: number) => {
    for (let step = 0; step < steps; step++) {
      await writer.step()
      const found = await changes.next()
      if (found.length > 0) await feed.tell(feed.file(`0${step % 2}`, segment, chunk), found)
    }
  }

  const home = await createHome()
  let platform = await startTestPlatform({ home })
  const stateOf = async (migrationId: string) => platform.call(migrations.get, { migrationId })
  const create = async (migrationId: string, source: string, root: string) => {
    await addLocal(platform, migrationId, 'target', root)
    await platform.call(migrations.create, {
      migrationId,
      path: '/',
      source,
      target: migrationId,
      scanOnlyMigration: false,
      autoStart: true,
    })
    await until('it is LIVE', async () => (await stateOf(migrationId)).state === 'LIVE')
  }
  const same = () =>
    until(`the container is in the target, seed ${seed}`, async () =>
      isDeepStrictEqual(await compareContainer(folder.target, container, () => false), []),
    )
  const lake = {
    fileSystemId: 'lake',
    role: 'source',
    ...azuriteOptions(azurite, 'data'),
    changeFeed: true,
  } as const
  try {
    await platform.call(settings.put, { storeHosts: [loopback] })
    await platform.call(filesystems['create-adls2-shared-key'], lake)
    const { fileSystemId: _, ...checked } = lake
    expect((await platform.call(filesystems['check-adls2-shared-key'], checked)).checks).toContainEqual({
      check: 'changes',
      result: 'yes',
      detail: 'blob change feed of account gantrytest, which is empty',
    })
    await create('live', 'lake', folder.target)
    expect(await stateOf('live')).toMatchObject({
      changeDetection: 'notified',
      changeDetectionReason: expect.stringContaining('blob change feed of account gantrytest'),
    })
    await change(40, 0)
    await same()

    // While nobody reads; what the feed does not have is not looked for, as the position is known.
    await platform[Symbol.asyncDispose]()
    await change(20, 0)
    await change(20, 1)
    await container.getBlockBlobClient('silent').upload('silent', 6)
    await changes.next()
    platform = await startTestPlatform({ home })
    await until('all but one is there', async () =>
      isDeepStrictEqual(await compareContainer(folder.target, container, () => false), [
        '/silent is too many',
      ]),
    )

    // It is disabled, and the container with it.
    await feed.container.delete()
    await create('disabled', 'lake', folder.disabled)
    expect(await stateOf('disabled')).toMatchObject({
      changeDetection: 'comparing',
      changeDetectionReason: expect.stringMatching(/it is not enabled.* --enable-change-feed true/),
    })
  } finally {
    await platform[Symbol.asyncDispose]()
    rmSync(home, { recursive: true, force: true })
  }
})
