import { test } from 'vitest'
import { textFromPath } from '../../services/drivers/path-text.ts'
import { startAzurite } from '../support/azurite.ts'
import { compareContainer, lookAtBlobs } from '../support/compare-container.ts'
import { walkTree } from '../support/compare-trees.ts'
import { addAzurite, createFolder } from '../support/migrations.ts'
import { makeTree } from '../support/tree.ts'
import { kills, killWhileMigrating, seed, victims } from './kills.ts'

/** Azurite takes 1,500 of them a second at best. */
const files = 3_000
/** Goes in blocks, as does the largest of the others. */
const largeBytes = 40 * 2 ** 20
/** An item of 512 files takes a second or two, and a killed one begins again. */
const longestWaitMs = 4_000

test.for(victims)(`to Azure: kill -9 of %s, ${kills} times, CRASH_SEED=${seed}`, async ([, way]) => {
  using folder = createFolder('from')
  const { from } = folder
  makeTree(from, { seed, files, largeBytes, isPortable: true })
  const links = [...walkTree(from)].filter(({ stat }) => stat.isSymbolicLink())
  await using azurite = await startAzurite()
  await killWhileMigrating(way, {
    longestWaitMs,
    from,
    refused: links.map(({ path }) => textFromPath(path)).toSorted(),
    newTarget: async (victim, id) => {
      await azurite.createContainer(id)
      await addAzurite(victim, id, 'target', azurite, id)
      const container = azurite.service.getContainerClient(id)
      return {
        look: () => lookAtBlobs(from, container),
        differences: () => compareContainer(from, container, () => false),
        [Symbol.asyncDispose]: async () => void (await container.delete()),
      }
    },
  })
})
