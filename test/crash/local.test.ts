import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'vitest'
import { compareTrees } from '../support/compare-trees.ts'
import { addLocal, createFolder } from '../support/migrations.ts'
import { makeTree } from '../support/tree.ts'
import { kills, killWhileMigrating, seed, victims } from './kills.ts'
import { lookAtFiles } from './partial.ts'

const files = 20_000
const largeBytes = 256 * 2 ** 20
const longestWaitMs = 900

test.for(victims)(`to a folder: kill -9 of %s, ${kills} times, CRASH_SEED=${seed}`, async ([, way]) => {
  using folder = createFolder('from')
  const { from, root } = folder
  makeTree(from, { seed, files, largeBytes })
  await killWhileMigrating(way, {
    longestWaitMs,
    from,
    refused: [],
    newTarget: async (victim, id) => {
      const to = join(root, id)
      mkdirSync(to)
      await addLocal(victim, id, 'target', to)
      return {
        look: async () => lookAtFiles(from, to),
        differences: async () => compareTrees(from, to),
        [Symbol.asyncDispose]: async () => rmSync(to, { recursive: true }),
      }
    },
  })
})
