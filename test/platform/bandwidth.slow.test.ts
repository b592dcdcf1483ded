import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { bandwidth } from '../../subjects/migrations/bandwidth.ts'
import { filesystems } from '../../subjects/filesystems/filesystems.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { compareTrees } from '../support/compare-trees.ts'
import { addLocal, createFolder, nextEvent } from '../support/migrations.ts'
import { startTestPlatform, type TestPlatform } from '../support/platform.ts'
import { until } from '../support/until.ts'

const MiB = 1024 * 1024

let platform: TestPlatform
const folder = createFolder('from', 'to')
let count = 0

beforeAll(async () => {
  platform = await startTestPlatform()
  await addLocal(platform, 'here', 'source', folder.from)
  await addLocal(platform, 'there', 'target', folder.to)
})
afterAll(async () => {
  await platform[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})
beforeEach(async () => {
  await platform.call(bandwidth.delete, { scope: 'global' })
})

/** A migration of a folder of its own with files of these sizes, not started. */
async function createMigration(...sizes: number[]) {
  const migrationId = `tree-${count++}`
  mkdirSync(join(folder.from, migrationId))
  mkdirSync(join(folder.to, migrationId))
  for (const [index, size] of sizes.entries())
    writeFileSync(join(folder.from, migrationId, `${index}`), Buffer.alloc(size, index + 1))
  await platform.call(migrations.create, {
    migrationId,
    path: `/${migrationId}`,
    source: 'here',
    target: 'there',
  })
  return {
    migrationId,
    /** Resolves to the seconds that it took. */
    run: async () => {
      const completed = await nextEvent(platform, 'completed', migrationId)
      const begun = performance.now()
      await platform.call(migrations.start, { migrationId })
      await completed.payload
      return (performance.now() - begun) / 1_000
    },
    differences: () => compareTrees(join(folder.from, migrationId), join(folder.to, migrationId)),
  }
}

test('the limit of the existing product is the global one', async () => {
  const path = '/bandwidthPolicies/application'
  expect((await platform.rest('migrator', 'GET', path)).body).toMatchObject({ limitBytesPerSecond: -1 })
  const set = await platform.rest('migrator', 'POST', `${path}?limit=3&unit=MiB`)
  expect(set).toMatchObject({ status: 200, body: { id: 'application', limitBytesPerSecond: 3 * MiB } })
  expect(await platform.call(bandwidth.get, { scope: 'global' })).toMatchObject({
    limitBytesPerSecond: 3 * MiB,
    now: { limitBytesPerSecond: 3 * MiB, limitRequestsPerSecond: -1 },
  })
  await platform.rest('migrator', 'POST', `${path}?limit=5&unit=KB`)
  expect((await platform.rest('migrator', 'GET', path)).body).toMatchObject({ limitBytesPerSecond: 5_000 })
  const removed = await platform.rest('migrator', 'DELETE', path)
  expect(removed).toMatchObject({ status: 200, body: { limitBytesPerSecond: -1 } })
})

test('what is no limit is refused, and says why', async () => {
  const set = (input: object) => platform.call(bandwidth.set, { scope: 'global', ...input })
  await expect(set({ limit: 0 })).rejects.toThrow('limit must be a whole number of at least 1')
  await expect(set({ limit: 100 })).rejects.toThrow('unit is required')
  await expect(set({ limit: 9_000, unit: 'YiB' })).rejects.toThrow('limit must be less than 8 PiB')
  await expect(set({ name: 'x', limit: 1, unit: 'B' })).rejects.toThrow('name must be left out')
  await expect(set({ scope: 'migration', limit: 1, unit: 'B' })).rejects.toThrow(
    'name is required: which migration',
  )
  await expect(set({ scope: 'migration', name: 'none', limit: 1, unit: 'B' })).rejects.toThrow(
    'there is no migration',
  )
  await expect(set({ scope: 'target', name: 'here', limit: 1, unit: 'B' })).rejects.toThrow(
    'here is a source',
  )
  const windows = [{ from: '08:00', to: '09:00', limitBytesPerSecond: 0 }]
  await expect(set({ schedule: { timeZone: 'UTC', windows } })).rejects.toThrow('windows[0]')
  await expect(set({ schedule: { timeZone: 'Mars/Olympus', windows: [] } })).rejects.toThrow('time zone')
  expect(
    (await platform.rest('migrator', 'POST', '/bandwidthPolicies/application?limit=1&unit=x')).status,
  ).toBe(412)
})

test('a table of the time of day is in force at once, and what it leaves out is the plain limit', async () => {
  const schedule = {
    timeZone: 'UTC',
    windows: [{ from: '00:00', to: '24:00', limitBytesPerSecond: 7 }],
  }
  const policy = await platform.call(bandwidth.set, {
    scope: 'target',
    name: 'there',
    limit: 9,
    unit: 'B',
    requests: 8,
    schedule,
  })
  expect(policy).toMatchObject({
    id: 'target/there',
    now: { limitBytesPerSecond: 7, limitRequestsPerSecond: 8 },
  })
  const all = await platform.call(bandwidth.list, {})
  expect(all.map(({ id }) => id)).toEqual(['application', 'target/there'])
  await platform.call(bandwidth.set, {
    scope: 'target',
    name: 'there',
    schedule: { ...schedule, windows: [] },
  })
  const without = await platform.call(bandwidth.get, { scope: 'target', name: 'there' })
  expect(without).toMatchObject({ now: { limitBytesPerSecond: 9 } })
  expect(without).not.toHaveProperty('schedule')
  await platform.call(bandwidth.delete, { scope: 'target', name: 'there' })
})

test('files, large and small, move at the rate of the limit', async () => {
  const one = await createMigration(2 * MiB, 600_000, 600_000, 0, 17 * MiB)
  await platform.call(bandwidth.set, { scope: 'global', limit: 10, unit: 'MiB' })
  // 20 MiB at 10 MiB/s, a fifth of a second of them free. That no more is waited than the limit asks for is tested on the
  // pace itself.
  expect(await one.run()).toBeGreaterThan(1.6)
  expect(one.differences()).toEqual([])
})

test('a limit of one migration holds up no other, stopping is prompt, and lifting it sets it free', async () => {
  const slow = await createMigration(...Array<number>(50).fill(100_000), 17 * MiB)
  const other = await createMigration(...Array<number>(50).fill(100_000))
  const place = { scope: 'migration', name: slow.migrationId } as const
  await platform.call(bandwidth.set, { ...place, limit: 1, unit: 'KB' })
  const completed = await nextEvent(platform, 'completed', slow.migrationId)
  await platform.call(migrations.start, { migrationId: slow.migrationId })
  await until('it has found its files', async () => {
    const { progress } = await platform.call(migrations.progress, { migrationId: slow.migrationId })
    return progress.filesScanned === 51
  })
  // The slow one needs hours: whoever waited for it would not end.
  await other.run()
  const stopped = await nextEvent(platform, 'stopped', slow.migrationId)
  await platform.call(migrations.stop, { migrationId: slow.migrationId })
  await stopped.payload
  await platform.call(migrations.resume, { migrationId: slow.migrationId })
  await platform.call(bandwidth.delete, place)
  await completed.payload
  expect(slow.differences()).toEqual([])
  await platform.call(migrations.delete, { migrationId: slow.migrationId })
})

test('the limit of a migration goes with it', async () => {
  const { migrationId } = await createMigration()
  const place = { scope: 'migration', name: migrationId } as const
  await platform.call(bandwidth.set, { ...place, limit: 1, unit: 'KB' })
  await platform.call(migrations.delete, { migrationId })
  expect(await platform.call(bandwidth.get, place)).toMatchObject({ limitBytesPerSecond: -1 })
})

test('the limit of a target goes with it', async () => {
  await addLocal(platform, 'passing', 'target', folder.to)
  await platform.call(bandwidth.set, { scope: 'target', name: 'passing', limit: 1, unit: 'B' })
  await platform.call(filesystems.delete, { fileSystemId: 'passing' })
  const known = await platform.call(bandwidth.list, {})
  expect(known.map(({ name }) => name)).not.toContain('passing')
})
