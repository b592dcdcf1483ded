import { execFileSync } from 'node:child_process'
import { appendFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { bandwidth } from '../../subjects/migrations/bandwidth.ts'
import { cleanups } from '../../subjects/migrations/cleanups.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { compareTrees, walkTree } from '../support/compare-trees.ts'
import { createFolder } from '../support/migrations.ts'
import { createHome } from '../support/platform.ts'
import { makeTree } from '../support/tree.ts'
import { Killer } from './killer.ts'
import { seed } from './settings.ts'
import { migrateFolder } from './migrate-folder.ts'
import { Victim } from './victim.ts'

const files = 5_000
/** So that a cleanup lasts until it was killed often enough, on a fast machine too; the limit goes then. */
const requestsPerSecond = 100
const wantedKills = 12
/** Of the files, how many are changed at the source after they were copied: one of so many. */
const changedOne = 50

const relativeFiles = (root: string) =>
  [...walkTree(root)].filter(({ stat }) => !stat.isDirectory()).map(({ path }) => path.toString('latin1'))

test(`a cleanup loses nothing and goes on: ${wantedKills} kills -9, CRASH_SEED=${seed}`, async () => {
  using folder = createFolder('from', 'to', 'kept')
  const { from, to, kept } = folder
  makeTree(from, { seed, files, isPortable: true })
  const home = await createHome()
  await using victim = new Victim(home)
  await victim.start()
  await migrateFolder(victim, folder)
  const stateOf = async () => (await victim.call(migrations.get, { migrationId: 'one' })).state
  // As long as it takes beside whatever else the machine does.
  while ((await stateOf()) !== 'COMPLETED') await delay(100)
  expect(compareTrees(from, to)).toEqual([])
  execFileSync('cp', ['-a', `${to}/.`, kept])
  const changed = [...walkTree(from)]
    .filter(({ stat }) => stat.isFile())
    .filter((_, index) => index % changedOne === 0)
    .map(({ path }) => path.toString())
  for (const path of changed) appendFileSync(join(from, path), 'more')
  const all = relativeFiles(from).length

  await victim.call(bandwidth.set, { scope: 'global', requests: requestsPerSecond })
  const { id: cleanupId } = await victim.call(cleanups.create, { migrationId: 'one' })
  const look = () => victim.call(cleanups.get, { cleanupId })
  const killer = new Killer({
    victim,
    seed,
    longestWaitMs: 1_000,
    phase: async () => {
      const { status } = await look()
      return status === 'COMPLETE' || status === 'CANCELLED' ? undefined : status.toLowerCase()
    },
    // What has left the source is at the target as it was.
    check: () => expect(compareTrees(kept, to)).toEqual([]),
  })
  let kills = 0
  while (kills < wantedKills) {
    const killed = await killer.next()
    if (killed.length === 0) break
    kills += killed.length
  }
  await victim.call(bandwidth.delete, { scope: 'global' })
  while (!['COMPLETE', 'CANCELLED'].includes((await look()).status)) await delay(100)

  const outcome = await look()
  console.log(`CRASH_SEED=${seed}: ${kills} kills, ${outcome.filesRemoved} of ${all} rows of removal`)
  expect(outcome).toMatchObject({ status: 'COMPLETE', filesDifferent: changed.length })
  expect(outcome.filesRemoved).toBeLessThanOrEqual(all - changed.length)
  expect(relativeFiles(from).toSorted()).toEqual(changed.toSorted())
  expect(compareTrees(kept, to)).toEqual([])
  expect(kills).toBeGreaterThanOrEqual(wantedKills)
  await victim[Symbol.asyncDispose]()
  rmSync(home, { recursive: true, force: true })
})
