import {
  AccountSASPermissions,
  generateAccountSASQueryParameters,
  StorageSharedKeyCredential,
} from '@azure/storage-blob'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { expect, test } from 'vitest'
import { filesystems } from '../../subjects/filesystems/filesystems.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { settings } from '../../subjects/access/settings.ts'
import { loopback } from '../../subjects/kit/names.ts'
import { azuriteOptions, openAzure } from '../support/azure-driver.ts'
import { startAzurite, startAzuriteQueues } from '../support/azurite.ts'
import { compareContainer } from '../support/compare-container.ts'
import { EventGridDouble } from '../support/event-grid-double.ts'
import { addLocal, createFolder } from '../support/migrations.ts'
import { createHome, startTestPlatform } from '../support/platform.ts'
import { oneOf, randomBelow, seededRandom } from '../support/random.ts'
import { StoreWriter } from '../support/store-writer.ts'
import { until } from '../support/until.ts'

const seed = Number(process.env['GANTRY_LIVE_SEED'] ?? 20_261_125)

test('changes of a container arrive by messages that come twice, out of order, and after a restart; what none tells a comparison finds', async () => {
  using folder = createFolder('target', 'healed')
  await using azurite = await startAzurite()
  await using queues = await startAzuriteQueues(azurite)
  await azurite.createContainer('data')
  const container = azurite.service.getContainerClient('data')
  const queue = queues.service.getQueueClient('changes')
  await queue.create()
  await using driver = openAzure(azuriteOptions(azurite, 'data'))
  const random = seededRandom(seed)
  const writer = new StoreWriter(driver, Buffer.alloc(0), random)
  const grid = new EventGridDouble(container, queue)
  for (let step = 0; step < 30; step++) await writer.step()
  await grid.changes()

  const home = await createHome()
  let platform = await startTestPlatform({ home })
  const create = async (migrationId: string, target: string, options: object = {}) => {
    await addLocal(platform, target, 'target', folder[target as 'target'])
    await platform.call(migrations.create, {
      migrationId,
      path: '/',
      source: 'lake',
      target,
      scanOnlyMigration: false,
      autoStart: true,
      ...options,
    })
    await until('it is LIVE', async () => {
      const { state } = await platform.call(migrations.get, { migrationId })
      return state === 'LIVE'
    })
  }
  const same = (root: string) =>
    until(`the container is in ${root}, seed ${seed}`, async () =>
      isDeepStrictEqual(await compareContainer(root, container, () => false), []),
    )
  /** All messages were received. */
  const received = () =>
    until('no message waits', async () => (await queue.peekMessages()).peekedMessageItems.length === 0)
  /** Steps of which nothing is lost. */
  const change = async (steps: number) => {
    for (let step = 0; step < steps; step++) {
      await writer.step()
      const changes = await grid.changes()
      const told = changes.flatMap((one) => (randomBelow(random, 3) === 0 ? [one, one] : [one]))
      const mixed = told.map((one) => ({ one, at: random() })).toSorted((a, b) => a.at - b.at)
      await grid.tell(mixed.map(({ one }) => one))
    }
  }
  try {
    await platform.call(settings.put, { storeHosts: [loopback] })
    await platform.call(filesystems['create-adls2-shared-key'], {
      fileSystemId: 'lake',
      role: 'source',
      ...azuriteOptions(azurite, 'data'),
      eventQueue: `${queues.url}/changes`,
    })
    await create('live', 'target')
    expect(await platform.call(migrations.get, { migrationId: 'live' })).toMatchObject({
      changeDetection: 'notified',
      changeDetectionReason: `notifications in queue ${queues.url}/changes`,
    })
    await change(60)
    await same(folder.target)

    // While nobody listens: what no message tells is not looked for, as the position is known.
    await platform[Symbol.asyncDispose]()
    await change(20)
    await container.getBlockBlobClient('silent').upload('silent', 6)
    await grid.changes()
    platform = await startTestPlatform({ home })
    await received()
    await until('all but one is there', async () =>
      isDeepStrictEqual(await compareContainer(folder.target, container, () => false), [
        '/silent is too many',
      ]),
    )
    expect(existsSync(join(folder.target, 'silent'))).toBe(false)

    // Each of these is asked for once the one before has come: the queue is known to have been empty.
    for (const text of ['what nobody understands', 'nor this', 'nor that']) {
      await queue.sendMessage(text)
      await received()
    }
    // One of them may have told of it: all is compared, at the next start at the latest.
    await platform[Symbol.asyncDispose]()
    platform = await startTestPlatform({ home })
    await same(folder.target)

    // Most is lost.
    await create('healed', 'healed', { comparisonPeriodSeconds: 1 })
    await same(folder.healed)
    for (let step = 0; step < 40; step++) {
      await writer.step()
      const changes = await grid.changes()
      if (changes.length > 0 && randomBelow(random, 3) === 0) await grid.tell([oneOf(random, changes)])
    }
    await same(folder.healed)
  } finally {
    await platform[Symbol.asyncDispose]()
    rmSync(home, { recursive: true, force: true })
  }
})

test('without its queue, or the right to read it, a container is compared from time to time, and why is told', async () => {
  using folder = createFolder('missing', 'refused')
  await using azurite = await startAzurite()
  await using queues = await startAzuriteQueues(azurite)
  await using platform = await startTestPlatform()
  await azurite.createContainer('data')
  await azurite.service.getContainerClient('data').getBlockBlobClient('file').upload('text', 4)
  await queues.service.getQueueClient('changes').create()
  await platform.call(settings.put, { storeHosts: [loopback] })
  const { sharedKey: _, ...options } = azuriteOptions(azurite, 'data')
  const onlyLooks = generateAccountSASQueryParameters(
    {
      services: 'bq',
      resourceTypes: 'co',
      permissions: AccountSASPermissions.parse('rl'),
      expiresOn: new Date(Date.now() + 3_600_000),
    },
    new StorageSharedKeyCredential(azurite.account, azurite.key),
  )
  const role = 'source' as const
  await platform.call(filesystems['create-adls2-shared-key'], {
    fileSystemId: 'missing',
    role,
    ...azuriteOptions(azurite, 'data'),
    eventQueue: `${queues.url}/other`,
  })
  await platform.call(filesystems['create-adls2-sas'], {
    fileSystemId: 'refused',
    role,
    ...options,
    sasToken: onlyLooks.toString(),
    eventQueue: `${queues.url}/changes`,
  })
  for (const [name, reason] of [
    ['missing', /404 QueueNotFound .*create the queue or correct eventQueue/],
    ['refused', /403 .*the SAS allows sp=rl, .* with eventQueue rlup/],
  ] as const) {
    await addLocal(platform, `${name}-copy`, 'target', folder[name])
    await platform.call(migrations.create, {
      migrationId: name,
      path: '/',
      source: name,
      target: `${name}-copy`,
      scanOnlyMigration: false,
      autoStart: true,
    })
    const compared = await until('it is LIVE and compares', async () => {
      const found = await platform.call(migrations.get, { migrationId: name })
      return found.state === 'LIVE' && found.changeDetection === 'comparing' && found
    })
    expect(compared.changeDetectionReason).toMatch(reason)
    expect(existsSync(join(folder[name], 'file'))).toBe(true)
  }
})
