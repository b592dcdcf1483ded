import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { agents } from '../../subjects/migrations/agents.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { pattern } from '../conformance/driver-store.ts'
import { startAgent } from '../support/agent-child.ts'
import { startAzurite, type Azurite } from '../support/azurite.ts'
import { compareContainer } from '../support/compare-container.ts'
import { compareTrees } from '../support/compare-trees.ts'
import { addAzurite, addLocal, createFolder, nextEvent, outcomeOf } from '../support/migrations.ts'
import { startTestPlatform } from '../support/platform.ts'
import { until } from '../support/until.ts'

const sizeBytes = 320 * 1024 * 1024 + 5

/** Parts of a file that are at the target, while it is under construction. */
async function partsAt(to: string, azurite: Azurite | undefined): Promise<number> {
  if (azurite === undefined) {
    if (!existsSync(to)) return 0
    const account = readdirSync(to).find((name) => name.endsWith('.parts'))
    return account === undefined ? 0 : readFileSync(join(to, account)).filter((byte) => byte === 0x77).length
  }
  const blob = azurite.service.getContainerClient('there').getBlockBlobClient('killed/large')
  const blocks = await blob.getBlockList('uncommitted').catch(() => undefined)
  return blocks?.uncommittedBlocks?.length ?? 0
}

test.each([['folder'], ['azurite']])(
  'one file is copied by two agents, and by one when the other is killed (%s)',
  async (kind) => {
    using folder = createFolder('from', 'to')
    await using platform = await startTestPlatform()
    await using azurite = kind === 'azurite' ? await startAzurite() : undefined
    for (const name of ['both', 'killed']) {
      mkdirSync(join(folder.from, name))
      writeFileSync(join(folder.from, name, 'large'), pattern(sizeBytes))
    }
    await addLocal(platform, 'here', 'source', folder.from)
    if (azurite === undefined) await addLocal(platform, 'there', 'target', folder.to)
    else {
      await azurite.createContainer('there')
      await addAzurite(platform, 'there', 'target', azurite, 'there')
    }
    const args = ['--share', folder.root, '--threads', '1']
    await using first = await startAgent(platform, 'first', args)
    await using _other = await startAgent(platform, 'other', args)
    const begin = async (migrationId: string) => {
      const completed = await nextEvent(platform, 'completed', migrationId)
      await platform.call(migrations.create, {
        migrationId,
        path: `/${migrationId}`,
        source: 'here',
        target: 'there',
        movedBy: 'AGENTS',
        autoStart: true,
      })
      return completed
    }
    const check = async (migrationId: string) => {
      const { progress, failures } = await outcomeOf(platform, migrationId)
      expect(failures).toEqual([])
      expect(progress).toMatchObject({ filesMigrated: 1, totalBytes: sizeBytes })
      const differences =
        azurite === undefined
          ? compareTrees(join(folder.from, migrationId), join(folder.to, migrationId))
          : await compareContainer(folder.from, azurite.service.getContainerClient('there'), (path) =>
              path.toString().startsWith(migrationId === 'both' ? 'killed' : 'none'),
            )
      expect(differences).toEqual([])
    }

    await (
      await begin('both')
    ).payload
    for (const name of ['first', 'other'])
      await until(`${name} has copied parts`, async () => {
        return (await platform.call(agents.get, { name })).bytesPerSecond > 0
      })
    await check('both')

    const completed = await begin('killed')
    await until('some parts are there', async () => (await partsAt(join(folder.to, 'killed'), azurite)) >= 3)
    first.kill('SIGKILL')
    await completed.payload
    await check('killed')
    if (azurite === undefined) expect(readdirSync(join(folder.to, 'killed'))).toEqual(['large'])
  },
)
