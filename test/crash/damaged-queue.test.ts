import { queueStream } from '../../broker/common/queue-stream.ts'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { bandwidth } from '../../subjects/migrations/bandwidth.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { compareTrees } from '../support/compare-trees.ts'
import { addLocal, createFolder } from '../support/migrations.ts'
import { createHome } from '../support/platform.ts'
import { randomBelow, seededRandom } from '../support/random.ts'
import { migrationEventsOf } from './books.ts'
import { damageStream } from './damage.ts'
import { damagesOf, seed } from './settings.ts'
import { Victim } from './victim.ts'

/** Of few large folders: those of small ones come again by themselves, with all that was found in them. */
const folders = 6
const filesInFolder = 1_500
const files = folders * filesInFolder
/** Requests to stores in a second until the kill, so that it comes before the end. */
const requests = 4_000
/** Every so manyeth is a live one. */
const liveEvery = 5
const lookEveryMs = 20
/** A round takes some twelve seconds, also where all is scanned again. */
const patienceMs = 300_000
/** From so many on it would be odd if none of them had hit what was still to be done. */
const enough = 10

const rounds = damagesOf('queues')

test(
  `${rounds} damaged queues: nothing is missing under COMPLETED or LIVE, CRASH_SEED=${seed}`,
  { timeout: rounds * patienceMs },
  async () => {
    const random = seededRandom(seed)
    const home = await createHome()
    using folder = createFolder('from')
    for (let one = 0; one < folders; one++) {
      mkdirSync(join(folder.from, `${one}`))
      for (let index = 0; index < filesInFolder; index++)
        writeFileSync(join(folder.from, `${one}`, `file ${index}`), `${one} ${index}`)
    }
    await using victim = new Victim(home)
    await victim.start()
    await addLocal(victim, 'from', 'source', folder.from)
    let told = 0
    for (let round = 0; round < rounds; round++) {
      const migrationId = `run-${round}`
      const isLive = round % liveEvery === liveEvery - 1
      const to = join(folder.root, migrationId)
      mkdirSync(to)
      await addLocal(victim, migrationId, 'target', to)
      await victim.call(bandwidth.set, { scope: 'global', requests })
      const { internalId } = await victim.call(migrations.create, {
        migrationId,
        path: '/',
        source: 'from',
        target: migrationId,
        autoStart: true,
        scanOnlyMigration: !isLive,
      })
      const wanted = randomBelow(random, files)
      const look = () => victim.call(migrations.progress, { migrationId })
      for (let seen = await look(); seen.state === 'RUNNING' && seen.progress.filesMigrated < wanted;) {
        await delay(lookEveryMs)
        seen = await look()
      }
      await victim.kill()
      const what = damageStream(join(home, 'jetstream'), queueStream(internalId), random)
      await victim.start()
      await victim.call(bandwidth.delete, { scope: 'global' })
      const deadline = Date.now() + patienceMs
      for (let isDone = false; !isDone; await delay(lookEveryMs)) {
        const seen = await victim.call(migrations.get, { migrationId })
        const isLiveAndThere = seen.changeLagSeconds === 0 && seen.conditions.length === 0
        isDone = seen.state === 'COMPLETED' || (seen.state === 'LIVE' && isLiveAndThere)
        if (!isDone && Date.now() > deadline) expect.fail(`${what}: ${JSON.stringify(seen, undefined, 2)}`)
      }
      expect(compareTrees(folder.from, to), what).toEqual([])
      const { failedPathCount, conditions } = await victim.call(migrations.get, { migrationId })
      expect([failedPathCount, conditions.map(({ reason }) => reason)], what).toEqual([0, []])
      const events = (await migrationEventsOf(victim)).filter((event) => event.migrationId === migrationId)
      const isTold = events.some(({ event }) => event === 'work-lost')
      if (isTold) told += 1
      console.log(`${migrationId}: ${what}: ${isTold ? 'told' : 'nothing was lost'}`)
      if (isLive) await victim.call(migrations.stop, { migrationId })
      rmSync(to, { recursive: true })
    }
    console.log(`CRASH_SEED=${seed}: ${told} of ${rounds} damaged queues had lost work`)
    if (rounds >= enough) expect(told).toBeGreaterThan(0)
    await victim[Symbol.asyncDispose]()
    rmSync(home, { recursive: true, force: true })
  },
)
