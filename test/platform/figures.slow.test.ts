import { chmodSync, existsSync, mkdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bandwidth } from '../../subjects/migrations/bandwidth.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { exclusions } from '../../subjects/rules/exclusions.ts'
import { gantry } from '../cli/support.ts'
import { compareTrees } from '../support/compare-trees.ts'
import { addLocal, createFolder } from '../support/migrations.ts'
import { createHome, startTestPlatform, type TestPlatform } from '../support/platform.ts'
import { until } from '../support/until.ts'

const KiB = 1024
let home: string
let platform: TestPlatform
beforeAll(async () => {
  home = await createHome()
  platform = await startTestPlatform({ home })
})
afterAll(async () => {
  await platform[Symbol.asyncDispose]()
  rmSync(home, { recursive: true, force: true })
})

let count = 0

/** Two folders and a migration between them; not started. */
async function create(options: { readonly isLive: boolean }) {
  const folder = createFolder('source', 'target')
  const migrationId = `figures-${++count}`
  const [source, target] = [`${migrationId}-source`, `${migrationId}-target`]
  await addLocal(platform, source, 'source', folder.source)
  await addLocal(platform, target, 'target', folder.target)
  const scanOnlyMigration = !options.isLive
  await platform.call(migrations.create, { migrationId, path: '/', source, target, scanOnlyMigration })
  const info = () => platform.call(migrations.progress, { migrationId })
  const is = (state: string) => until(`it is ${state}`, async () => (await info()).state === state)
  return {
    migrationId,
    folder,
    info,
    is,
    at: (name: string) => join(folder.source, name),
    there: (name: string) => join(folder.target, name),
    limit: (limits: { limit?: number; unit?: 'KiB'; requests?: number }) =>
      platform.call(bandwidth.set, { scope: 'migration', name: migrationId, ...limits }),
    unlimited: () => platform.call(bandwidth.delete, { scope: 'migration', name: migrationId }),
    stop: async () => {
      await platform.call(migrations.stop, { migrationId })
      await is('STOPPED')
    },
    untilEqual: () =>
      until('the target is as the source is', () => compareTrees(folder.source, folder.target).length === 0),
    /** What was found, and what came of it. */
    figures: async () => {
      const { progress } = await info()
      const { filesScanned, filesMigrated, filesSkipped, filesSuperseded, failedPaths } = progress
      const { totalBytes, migratedBytes, bytesSuperseded } = progress
      return {
        files: { found: filesScanned, done: filesMigrated + filesSkipped + filesSuperseded + failedPaths },
        bytes: { found: totalBytes, done: migratedBytes + bytesSuperseded },
        superseded: { files: filesSuperseded, bytes: bytesSuperseded },
      }
    },
  }
}

/** Each figure of what was found is what came of it. */
function expectAllDone({ files, bytes }: Awaited<ReturnType<Awaited<ReturnType<typeof create>>['figures']>>) {
  expect(files.done).toBe(files.found)
  expect(bytes.done).toBe(bytes.found)
}

const names = Array.from({ length: 12 }, (_, index) => `file-${index}`)

/** Starts it slowly, and stops it when all files are found and most are not copied. Returns three of those that are not. */
async function stopHalfway({
  at,
  there,
  limit,
  unlimited,
  migrationId,
  info,
  stop,
}: Awaited<ReturnType<typeof create>>) {
  for (const name of names) writeFileSync(at(name), Buffer.alloc(64 * KiB, 1))
  await limit({ limit: 32, unit: 'KiB' })
  await platform.call(migrations.start, { migrationId })
  await until('all is listed', async () => (await info()).progress.migratedPercentage !== undefined)
  expect((await info()).progress.filesScanned).toBe(names.length)
  await stop()
  await unlimited()
  const left = names.filter((name) => !existsSync(there(name)))
  expect(left.length).toBeGreaterThan(3)
  return left as [string, string, string, ...string[]]
}

test('files of a live migration that go or change before they are copied are told, once, over stops and restarts', async () => {
  const one = await create({ isLive: true })
  using _folder = one.folder
  const [gone, smaller, larger] = await stopHalfway(one)
  rmSync(one.at(gone))
  truncateSync(one.at(smaller), 16 * KiB)
  writeFileSync(one.at(larger), Buffer.alloc(100 * KiB, 2))
  await platform.call(migrations.resume, { migrationId: one.migrationId })
  await one.is('LIVE')
  await one.untilEqual()
  await until('nothing is pending', async () => {
    const { unscheduledEvents, scheduledEvents } = (await one.info()).progress
    return unscheduledEvents === 0 && scheduledEvents === 0
  })
  await one.stop()
  const figures = await one.figures()
  expectAllDone(figures)
  expect(figures.superseded.files).toBeGreaterThan(0)
  expect(figures.superseded.bytes).toBeGreaterThanOrEqual((64 + 48) * KiB)
  expect((await one.info()).progress.migratedPercentage).toBe(100)
  // The migration itself, and whoever reads it, have the same.
  expect(await platform.call(migrations.get, { migrationId: one.migrationId })).toMatchObject({
    filesSuperseded: figures.superseded.files,
    bytesSuperseded: figures.superseded.bytes,
    migratedPercentage: 100,
  })
  const { out } = await gantry(['migrations', 'get', one.migrationId], { env: { GANTRY_HOME: home } })
  expect(out).toMatch(/superseded +\d+ files? \(\d+ KiB\) changed, deleted or retried since/)

  await platform[Symbol.asyncDispose]()
  platform = await startTestPlatform({ home })
  expect(await one.figures()).toEqual(figures)
  await platform.call(migrations.resume, { migrationId: one.migrationId })
  await one.is('LIVE')
  await one.stop()
  expect(await one.figures()).toEqual(figures)
})

test('of a one-time migration, what is gone or smaller by then is among what was found, and done', async () => {
  const one = await create({ isLive: false })
  using _folder = one.folder
  const [gone, smaller, larger] = await stopHalfway(one)
  expect((await one.info()).progress.migratedPercentage).toBeLessThan(100)
  rmSync(one.at(gone))
  truncateSync(one.at(smaller), 16 * KiB)
  writeFileSync(one.at(larger), Buffer.alloc(100 * KiB, 2))
  await platform.call(migrations.resume, { migrationId: one.migrationId })
  await one.is('COMPLETED')
  const { progress } = await one.info()
  expect(progress).toMatchObject({ filesVanished: 1, filesSuperseded: 1, migratedPercentage: 100 })
  expect(progress.bytesSuperseded).toBe((64 + 48) * KiB)
  expectAllDone(await one.figures())
})

test('a failure that was mended counts as found again, and no more as a failure', async () => {
  const one = await create({ isLive: true })
  using _folder = one.folder
  const locked = one.there('locked')
  writeFileSync(one.at('locked'), 'content')
  // What stands there, the migration has not made.
  mkdirSync(join(locked, 'in the way'), { recursive: true })
  await platform.call(migrations.start, { migrationId: one.migrationId })
  await one.is('LIVE')
  expect((await one.info()).progress).toMatchObject({ filesScanned: 1, failedPaths: 1, filesSuperseded: 0 })
  rmSync(locked, { recursive: true })
  chmodSync(one.at('locked'), 0o600)
  await until('it has arrived', async () => (await one.info()).progress.failedPaths === 0)
  await one.untilEqual()
  await one.stop()
  const figures = await one.figures()
  expectAllDone(figures)
  expect(figures.superseded).toEqual({ files: 1, bytes: 7 })
})

test('a failure that a rule excludes by now is marked in the list at once, and goes with the next scan', async () => {
  const one = await create({ isLive: false })
  using _folder = one.folder
  const { migrationId } = one
  for (const path of ['a', 'b/c']) {
    mkdirSync(dirname(one.at(path)), { recursive: true })
    writeFileSync(one.at(path), 'content')
    // What stands there, the migration has not made.
    mkdirSync(join(one.there(path), 'in the way'), { recursive: true })
  }
  await platform.call(migrations.start, { migrationId })
  await one.is('COMPLETED')
  const listed = async () => {
    const { failedPaths } = await platform.call(migrations.failures, { migrationId })
    return Object.fromEntries(failedPaths.map(({ path, excluded }) => [path, excluded]))
  }
  expect(await listed()).toEqual({ '/a': undefined, '/b/c': undefined })
  const id = 'excluded-since'
  await platform.call(exclusions['create-paths'], { id, description: 'Since', paths: ['/b'] })
  await platform.call(exclusions.attach, { migrationId, id })
  expect(await listed()).toEqual({ '/a': undefined, '/b/c': true })
  const env = { GANTRY_HOME: home }
  const { out } = await gantry(['migrations', 'failures', migrationId], { env })
  expect(out).toMatch(/excluded/)
  const exported = await gantry(['migrations', 'export-failures', migrationId], { env })
  expect(exported.out).toMatch(/"\/b\/c".*"true"/)
  expect(exported.out).toMatch(/"\/a".*""/)
  const { body } = await platform.rest('migrator', 'GET', `/migrations/${migrationId}/failures`)
  const sorted = (body as { failedPaths: { path: string }[] }).failedPaths.toSorted((a, b) =>
    a.path < b.path ? -1 : 1,
  )
  expect(sorted).toMatchObject([{ excluded: false }, { excluded: true }])
  // Whoever takes the rule off has the failure back: it is no less missing at the target.
  await platform.call(exclusions.detach, { migrationId, id })
  expect(await listed()).toEqual({ '/a': undefined, '/b/c': undefined })
  await platform.call(exclusions.attach, { migrationId, id })
  // Nothing is in the way any more; what is excluded is not copied for that.
  rmSync(one.there('b/c'), { recursive: true })
  expect(await platform.call(migrations['retry-failures'], { migrationId })).toEqual({ retried: 1 })
  await one.is('COMPLETED')
  expect(existsSync(one.there('b/c'))).toBe(false)
  expect(await listed()).toEqual({ '/a': undefined, '/b/c': true })
  await platform.call(migrations['add-pending-region'], { migrationId, path: '/' })
  await until('it is scanned again', async () => !('/b/c' in (await listed())))
  await one.is('COMPLETED')
  expect(await listed()).toEqual({ '/a': undefined })
  expect((await one.info()).progress.failedPaths).toBe(1)
})

test('no percentage is shown before everything is listed, and none falls after that', async () => {
  const one = await create({ isLive: false })
  using _folder = one.folder
  const folders = 60
  for (let folder = 0; folder < folders; folder++) {
    mkdirSync(one.at(`folder-${folder}/deep`), { recursive: true })
    for (const name of ['a', 'deep/b']) writeFileSync(one.at(`folder-${folder}/${name}`), 'content')
  }
  const env = { GANTRY_HOME: home }
  await one.limit({ requests: 30 })
  await platform.call(migrations.start, { migrationId: one.migrationId })
  await until('some files have arrived', async () => (await one.info()).progress.filesMigrated > 0)
  await one.stop()
  const { progress } = await one.info()
  expect(progress.filesScanned).toBeLessThan(2 * folders)
  expect(progress).not.toHaveProperty('migratedPercentage')
  expect(await platform.call(migrations.get, { migrationId: one.migrationId })).not.toHaveProperty(
    'migratedPercentage',
  )
  const watched = await gantry(['watch', one.migrationId], { env })
  expect(watched.out + watched.err).toMatch(/is stopped before everything was found, at \d+ of \d+ files/)
  expect((await gantry(['migrations', 'get', one.migrationId], { env })).out).not.toContain(' %')

  await one.limit({ requests: 200 })
  await platform.call(migrations.resume, { migrationId: one.migrationId })
  const seen: number[] = []
  await until('it is completed', async () => {
    const { state, progress: now } = await one.info()
    const { filesScanned, migratedPercentage } = now
    if (migratedPercentage !== undefined) {
      expect(filesScanned).toBe(2 * folders)
      seen.push(migratedPercentage)
    }
    return state === 'COMPLETED'
  })
  expect(seen).toEqual(seen.toSorted((a, b) => a - b))
  expect(seen.at(-1)).toBe(100)
})
