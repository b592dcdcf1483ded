import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { filesystems } from '../../subjects/filesystems.ts'
import { migrations } from '../../subjects/migrations.ts'
import { ChangingFolder } from '../support/changing-folder.ts'
import { compareTrees } from '../support/compare-trees.ts'
import { createFolder } from '../support/migrations.ts'
import { createHome } from '../support/platform.ts'
import { randomBelow, seededRandom } from '../support/random.ts'
import { makeTree } from '../support/tree.ts'
import { kills, seed, victims } from './kills.ts'
import { lookAtFiles } from './partial.ts'
import { Victim } from './victim.ts'

const files = 20_000
/** Some kills come while the folder is scanned, the others while changes are followed. */
const longestWaitMs = 3_000
/** Between two changes at most; waiting for a random time is the test. */
const longestPauseMs = 20
/** What all that was changed at last needs to arrive, after a comparison of everything. */
const patienceMs = 120_000

const migrationId = 'live'

/** Changes a folder until the signal aborts. */
async function keepChanging(
  folder: ChangingFolder,
  random: () => number,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    folder.step()
    await delay(randomBelow(random, longestPauseMs))
  }
}

test.for(victims)(
  `live, while files change: kill -9 of %s, ${kills} times, CRASH_SEED=${seed}`,
  async ([, { kill, revive }]) => {
    using folder = createFolder('from', 'to')
    const { from, to } = folder
    const still = 'still'
    const changing = join(from, 'changing')
    mkdirSync(join(from, still))
    makeTree(join(from, still), { seed, files })
    mkdirSync(changing)
    const random = seededRandom(seed)
    const home = await createHome()
    await using victim = new Victim(home)
    await victim.start()
    await victim.call(filesystems['create-local'], { fileSystemId: 'from', role: 'source', fsRoot: from })
    await victim.call(filesystems['create-local'], { fileSystemId: 'to', role: 'target', fsRoot: to })
    await victim.call(migrations.create, {
      migrationId,
      path: '/',
      source: 'from',
      target: 'to',
      scanOnlyMigration: false,
      autoStart: true,
    })
    const end = new AbortController()
    const writing = keepChanging(new ChangingFolder(changing, random), random, end.signal)
    const states: string[] = []
    for (let count = 0; count < kills; count++) {
      await delay(randomBelow(random, longestWaitMs))
      const { state } = await victim.call(migrations.get, { migrationId })
      states.push(state)
      expect(['RUNNING', 'LIVE']).toContain(state)
      await kill(victim)
      expect(lookAtFiles(join(from, still), join(to, still)).partial, `after kill ${count + 1}`).toEqual([])
      await revive(victim)
    }
    end.abort()
    await writing
    const deadlineMs = Date.now() + patienceMs
    let differences = compareTrees(from, to)
    while (differences.length > 0 && Date.now() < deadlineMs) {
      await delay(500)
      differences = compareTrees(from, to)
    }
    expect(differences, states.join(' ')).toEqual([])
    const { failedPaths } = await victim.call(migrations.failures, { migrationId })
    expect(failedPaths).toEqual([])
    console.log(`killed in ${states.join(', ')}`)
    await victim[Symbol.asyncDispose]()
    rmSync(home, { recursive: true, force: true })
  },
)
