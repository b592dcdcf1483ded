import { expect, test } from 'vitest'
import { startAzurite } from '../support/azurite.ts'
import { compareContainer } from '../support/compare-container.ts'
import { compareTrees } from '../support/compare-trees.ts'
import { isOneOf } from '../support/listing.ts'
import { addAzurite, addLocal, createFolder, migrate } from '../support/migrations.ts'
import { startTestPlatform } from '../support/platform.ts'
import { makeTree } from '../support/tree.ts'

test('a file over 1 GiB goes to Azure in blocks, and back in parts', { timeout: 180_000 }, async () => {
  using folder = createFolder('from', 'back')
  makeTree(folder.from, { seed: 5, files: 100, largeBytes: 2 ** 30 + 12_345 })
  await using azurite = await startAzurite()
  await azurite.createContainer('there')
  await using platform = await startTestPlatform()
  await addLocal(platform, 'from', 'source', folder.from)
  await addAzurite(platform, 'to', 'target', azurite, 'there')
  const { failures } = await migrate(platform, { source: 'from', target: 'to' })
  const isLost = isOneOf(failures.map(({ path }) => path))
  expect(await compareContainer(folder.from, azurite.service.getContainerClient('there'), isLost)).toEqual([])
  await addAzurite(platform, 'back-from', 'source', azurite, 'there')
  await addLocal(platform, 'back-to', 'target', folder.back)
  const back = await migrate(platform, { source: 'back-from', target: 'back-to', migrationId: 'back' })
  expect(back.failures).toEqual([])
  expect(compareTrees(folder.from, folder.back, isLost)).toEqual([])
})
