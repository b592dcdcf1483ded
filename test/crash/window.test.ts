import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { bandwidth } from '../../subjects/migrations/bandwidth.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { compareTrees } from '../support/compare-trees.ts'
import { addLocal, createFolder } from '../support/migrations.ts'
import { startTestPlatform } from '../support/platform.ts'
import { makeTree } from '../support/tree.ts'

/** Shorter windows there are not. */
const windowSeconds = 60
const lookEveryMs = 100

// It kills nothing, and takes two minutes: schedules have no finer grain.
test('a migration is held when the window of its schedule ends, and goes on with the next', async () => {
  using folder = createFolder('from', 'to')
  makeTree(folder.from, { seed: 3, files: 3_000 })
  await using platform = await startTestPlatform()
  await addLocal(platform, 'from', 'source', folder.from)
  await addLocal(platform, 'to', 'target', folder.to)
  await platform.call(bandwidth.set, { scope: 'global', requests: 20 })
  // Every other minute from now on.
  const begins = new Date(Date.now() + 5_000)
  begins.setUTCMilliseconds(0)
  const first = begins.getUTCMinutes() % 2
  await platform.call(migrations.create, {
    migrationId: 'nightly',
    path: '/',
    source: 'from',
    target: 'to',
    recurringMigration: true,
    recurringSchedule: `${begins.getUTCSeconds()} ${first}-59/2 * * * *`,
    recurringTimeZone: 'UTC',
    recurringWindow: windowSeconds,
    autoStart: true,
  })
  const look = () => platform.call(migrations.get, { migrationId: 'nightly' })
  const moved = async () =>
    (await platform.call(migrations.progress, { migrationId: 'nightly' })).progress.filesMigrated
  const is = async (state: string) => (await look()).state === state
  while ((await moved()) === 0) await delay(lookEveryMs)
  while (!(await is('SCHEDULED'))) await delay(lookEveryMs)
  const endedMs = Date.now()
  expect(endedMs - begins.getTime()).toBeGreaterThanOrEqual(windowSeconds * 1_000)
  expect((await look()).conditions).toMatchObject([{ reason: 'WAITS_FOR_WINDOW' }])
  const before = await moved()
  await platform.call(bandwidth.delete, { scope: 'global' })
  while (await is('SCHEDULED')) await delay(lookEveryMs)
  expect(Date.now() - begins.getTime()).toBeGreaterThanOrEqual(2 * windowSeconds * 1_000)
  while (!(await is('WAITING_FOR_NEXT_RECURRENCE'))) await delay(lookEveryMs)
  expect(await moved()).toBeGreaterThan(before)
  expect(compareTrees(folder.from, folder.to)).toEqual([])
  expect((await look()).failedPathCount).toBe(0)
})
