import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { textFromPath } from '../../services/drivers/paths/path-text.ts'
import { startAzurite } from '../support/azurite.ts'
import { ChangingFolder } from '../support/changing-folder.ts'
import { compareContainer, lookAtBlobs } from '../support/compare-container.ts'
import { compareTrees, walkTree } from '../support/compare-trees.ts'
import { addAzurite, addLocal, createFolder } from '../support/migrations.ts'
import { randomBelow, seededRandom } from '../support/random.ts'
import { makeTree } from '../support/tree.ts'
import { Documents } from './documents.ts'
import { killWhileLive } from './live.ts'
import { killWhileMigrating, type OneTimeOptions } from './one-time.ts'
import { Watcher } from './partial.ts'
import { type CaseName, filesInTree, killsOf, seed, wantedKills } from './settings.ts'
import { Tally } from './tally.ts'

const largeBytes = 128 * 2 ** 20
/** Between two changes at most; waiting for a random time is the test. */
const longestPauseMs = 20

const tally = new Tally()
const called = (name: CaseName) => `${name}: ${killsOf(name)} kills -9, CRASH_SEED=${seed}`

/** A tree that stands still, and beside it folders in which much happens. */
function makeSource(from: string, stage: string, { keepsTypes }: { keepsTypes: boolean }) {
  const still = join(from, 'still')
  makeTree(still, { seed, files: filesInTree, largeBytes })
  const changing = join(from, 'changing')
  mkdirSync(changing)
  const random = seededRandom(seed)
  const folder = new ChangingFolder(changing, random, { keepsTypes })
  const documents = new Documents(join(from, 'documents'), stage, random)
  return {
    write: () => {
      const end = new AbortController()
      const writing = (async () => {
        while (!end.signal.aborted) {
          folder.step()
          documents.step()
          await delay(randomBelow(random, longestPauseMs))
        }
      })()
      return async () => {
        end.abort()
        await writing
      }
    },
    /** Looks at what stands at the target. */
    watcherOf: (to: string) => {
      const watcher = new Watcher(still, join(to, 'still'))
      return () => {
        const { files, partial } = watcher.look()
        return { files, partial: [...partial, ...documents.partialIn(join(to, 'documents'))] }
      }
    },
  }
}

function contentOf(from: string) {
  const entries = [...walkTree(from)]
  const folders = entries.filter(({ stat }) => stat.isDirectory()).length
  // The root is one too.
  return { files: entries.length - folders, folders: folders + 1 }
}

async function toFolder(options: Pick<OneTimeOptions, 'name' | 'movedBy'> & { agents?: readonly string[] }) {
  using folder = createFolder('from', 'stage')
  const { from, stage, root } = folder
  // A scan does not put a folder where it has put a file before: that is among the failures.
  const source = makeSource(from, stage, { keepsTypes: true })
  const { agents: names, ...rest } = options
  await killWhileMigrating({
    ...rest,
    ...(names === undefined ? {} : { agents: { names, share: root } }),
    tally,
    longestWaitMs: 1_000,
    requestsPerSecond: 1_500,
    from,
    content: () => contentOf(from),
    write: source.write,
    refused: [],
    newTarget: async (victim, id) => {
      const to = join(root, id)
      mkdirSync(to)
      await addLocal(victim, id, 'target', to)
      const look = source.watcherOf(to)
      return {
        look: async () => look(),
        differences: async () => compareTrees(from, to),
        [Symbol.asyncDispose]: async () => rmSync(to, { recursive: true }),
      }
    },
  })
}

test(called('one-time'), () => toFolder({ name: 'one-time' }))

test(called('one-time, with agents'), () =>
  toFolder({ name: 'one-time, with agents', movedBy: 'ALL', agents: ['first', 'second'] }),
)

test(called('live'), async () => {
  using folder = createFolder('from', 'to', 'stage')
  const { from, to, stage } = folder
  const source = makeSource(from, stage, { keepsTypes: false })
  const look = source.watcherOf(to)
  await killWhileLive({
    tally,
    from,
    to,
    write: source.write,
    look,
    differences: () => compareTrees(from, to),
  })
})

test(called('to Azure'), async () => {
  /** Azurite takes 1,500 of them a second at best. */
  const files = 3_000
  using folder = createFolder('from')
  const { from } = folder
  // The large one goes in blocks, as does the largest of the others.
  makeTree(from, { seed, files, largeBytes: 40 * 2 ** 20, isPortable: true })
  const links = [...walkTree(from)].filter(({ stat }) => stat.isSymbolicLink())
  await using azurite = await startAzurite()
  await killWhileMigrating({
    name: 'to Azure',
    tally,
    // An item of 512 files takes a second or two, and a killed one begins again.
    longestWaitMs: 3_000,
    requestsPerSecond: 5_000,
    from,
    content: () => contentOf(from),
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

test('all of them together', () => {
  console.log(`CRASH_SEED=${seed}\n${tally.text}`)
  expect(tally.sum).toBeGreaterThanOrEqual(wantedKills)
})
