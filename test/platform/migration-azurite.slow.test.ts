import { expect, test } from 'vitest'
import { startAzurite } from '../support/azurite.ts'
import { compareContainer } from '../support/compare-container.ts'
import { compareTrees } from '../support/compare-trees.ts'
import { isOneOf, listedPaths, pathsOf } from '../support/listing.ts'
import { addAzurite, addLocal, createFolder, migrate } from '../support/migrations.ts'
import { startTestPlatform } from '../support/platform.ts'
import { makeTree } from '../support/tree.ts'

const files = Number(process.env['GANTRY_TEST_FILES'] ?? 500)
/**
 * ms. Azurite uses one core, and each file costs it several requests of a millisecond and more: CI's 20,000 files took
 * 144 s alone, and over 180 s beside other tests. This only ends a test that hangs, so it has twice that.
 */
const timeout = 60_000 + 30 * files

test(
  'a tree of all that is awkward goes to Azure and back; what it cannot hold is told',
  { timeout },
  async () => {
    using folder = createFolder('from', 'back')
    makeTree(folder.from, { seed: 4, files })
    await using azurite = await startAzurite()
    await azurite.createContainer('there')
    await using platform = await startTestPlatform()
    await addLocal(platform, 'from', 'source', folder.from)
    await addAzurite(platform, 'to', 'target', azurite, 'there')

    const there = await migrate(platform, { source: 'from', target: 'to' })
    const isLost = isOneOf(there.failures.map(({ path }) => path))
    expect(await compareContainer(folder.from, azurite.service.getContainerClient('there'), isLost)).toEqual(
      [],
    )
    expect(await listedPaths(platform, 'to')).toEqual(pathsOf(folder.from, isLost))
    for (const { path, failureClass, failureMessage, attempts, action } of there.failures) {
      const reason = path.startsWith('/links/') ? /symbolic link/ : /UTF-8|U\+|backslash|dot|characters/
      expect(failureMessage, path).toMatch(reason)
      expect(failureMessage, path).toMatch(/^target: /)
      expect(['name', 'unsupported'], path).toContain(failureClass)
      expect({ attempts, action }).toEqual({ attempts: 1, action: 'MIGRATION' })
    }
    await addAzurite(platform, 'back-from', 'source', azurite, 'there')
    await addLocal(platform, 'back-to', 'target', folder.back)
    const back = await migrate(platform, { source: 'back-from', target: 'back-to', migrationId: 'back' })
    expect(back.failures).toEqual([])
    expect(compareTrees(folder.from, folder.back, isLost)).toEqual([])
    expect(back.progress.filesMigrated).toBe(there.progress.filesMigrated)
  },
)
