import { expect, test } from 'vitest'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { compareTrees } from '../support/compare-trees.ts'
import { addLocal, createFolder, migrate } from '../support/migrations.ts'
import { startTestPlatform } from '../support/platform.ts'
import { makeTree } from '../support/tree.ts'

/** Wide folders with more than one read of a folder gives, and more small ones than an item has; CI has 20,000. */
const files = Number(process.env['GANTRY_TEST_FILES'] ?? 4_000)

test(
  'a tree of all that is awkward, with a file over 1 GiB, arrives byte for byte',
  { timeout: 240_000 },
  async () => {
    using folder = createFolder('from', 'to')
    makeTree(folder.from, { seed: 1, files, largeBytes: 2 ** 30 + 12_345 })
    await using platform = await startTestPlatform()
    await addLocal(platform, 'from', 'source', folder.from)
    await addLocal(platform, 'to', 'target', folder.to)
    const { failures } = await migrate(platform, { source: 'from', target: 'to' })
    expect(failures).toEqual([])
    // With owners, and with the times of folders, which are set when all else is done.
    expect(compareTrees(folder.from, folder.to)).toEqual([])
    const { metadata, links, notKept } = await platform.call(migrations.get, { migrationId: 'everything' })
    expect({ metadata, links }).toEqual({
      metadata: { modes: true, owners: true, attributes: false },
      links: 'keep',
    })
    expect(notKept).toEqual({ times: 0, modes: 0, owners: 0, attributes: 0, links: 0, hardLinks: 2 })
  },
)
