import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { filesystems } from '../../subjects/filesystems.ts'
import { migrations } from '../../subjects/migrations.ts'
import { compareTrees } from '../support/compare-trees.ts'
import { createFolder } from '../support/migrations.ts'
import { createHome } from '../support/platform.ts'
import { randomBelow, seededRandom } from '../support/random.ts'
import { makeTree } from '../support/tree.ts'
import { partialFiles } from './partial.ts'
import { Victim } from './victim.ts'

const kills = 20
const files = 20_000
const largeBytes = 256 * 2 ** 20
/** Kills come at any moment of a migration, which takes some seconds; waiting for a random time is the test. */
const longestWaitMs = 900
const seed = Number(process.env['CRASH_SEED'] ?? Math.floor(Math.random() * 2 ** 31))

const victims = {
  platform: async (victim: Victim) => {
    await victim.kill()
    return () => victim.start()
  },
  'nats-server': async (victim: Victim) => {
    await victim.killBroker()
    return () => Promise.resolve()
  },
}

test.for(Object.entries(victims))(`kill -9 of %s, ${kills} times, CRASH_SEED=${seed}`, async ([, kill]) => {
  const random = seededRandom(seed)
  using folder = createFolder('from')
  makeTree(folder.from, { seed, files, largeBytes })
  const home = await createHome()
  await using victim = new Victim(home)
  await victim.start()
  await victim.call(filesystems['create-local'], {
    fileSystemId: 'from',
    role: 'source',
    fsRoot: folder.from,
  })

  let killed = 0
  for (let run = 0; killed < kills; run++) {
    const id = `run-${run}`
    const target = join(folder.root, id)
    mkdirSync(target)
    await victim.call(filesystems['create-local'], { fileSystemId: id, role: 'target', fsRoot: target })
    await victim.call(migrations.create, {
      migrationId: id,
      path: '/',
      source: 'from',
      target: id,
      autoStart: true,
    })
    for (;;) {
      await delay(randomBelow(random, longestWaitMs))
      const { state } = await victim.call(migrations.get, { migrationId: id })
      if (state === 'COMPLETED') break
      if (killed === kills) continue
      killed += 1
      const revive = await kill(victim)
      expect(partialFiles(folder.from, target), `after kill ${killed}`).toEqual([])
      await revive()
    }
    expect(compareTrees(folder.from, target), id).toEqual([])
    const { progress } = await victim.call(migrations.progress, { migrationId: id })
    expect(progress.failedPaths).toBe(0)
    expect(progress.filesMigrated).toBeGreaterThanOrEqual(progress.filesScanned)
    rmSync(target, { recursive: true })
  }
  await victim[Symbol.asyncDispose]()
  expect(victim.brokerPid()).toBeUndefined()
  rmSync(home, { recursive: true, force: true })
})
