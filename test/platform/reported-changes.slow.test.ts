import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { filesystems } from '../../subjects/filesystems/filesystems.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { compareTrees } from '../support/compare-trees.ts'
import { addLocal, createFolder } from '../support/migrations.ts'
import { createHome, startTestPlatform, type TestPlatform } from '../support/platform.ts'
import { until } from '../support/until.ts'

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

const report = (fileSystemId: string, changes: { path: string; tree?: boolean }[]) =>
  platform.call(filesystems['report-changes'], { fileSystemId, changes })

/** A live migration of /data between two folders, from a source whose changes are reported. */
async function follow(name: string) {
  const folder = createFolder('source', 'target')
  const [source, target] = [`${name}-source`, `${name}-target`]
  mkdirSync(join(folder.source, 'data/old'), { recursive: true })
  writeFileSync(join(folder.source, 'data/old/file'), 'old')
  mkdirSync(join(folder.target, 'data'))
  await platform.call(filesystems['create-local'], {
    fileSystemId: source,
    role: 'source',
    scanOnly: false,
    reportedChanges: true,
    fsRoot: folder.source,
  })
  await addLocal(platform, target, 'target', folder.target)
  await platform.call(migrations.create, { migrationId: name, path: '/data', source, target })
  const get = () => platform.call(migrations.get, { migrationId: name })
  const is = (state: string) => until(`it is ${state}`, async () => (await get()).state === state)
  const untilOnly = (...differences: string[]) =>
    until(`what differs is ${differences.join(', ') || 'nothing'}`, () =>
      isDeepStrictEqual(compareTrees(join(folder.source, 'data'), join(folder.target, 'data')), differences),
    )
  const start = async () => {
    await platform.call(migrations.start, { migrationId: name })
    await is('LIVE')
  }
  return {
    source,
    target,
    get,
    at: (path: string) => join(folder.source, 'data', path),
    start,
    restart: () => platform.call(migrations.resume, { migrationId: name }).then(() => is('LIVE')),
    stop: async () => {
      await platform.call(migrations.stop, { migrationId: name })
      await is('STOPPED')
    },
    untilOnly,
    untilEqual: () => untilOnly(),
    [Symbol.asyncDispose]: async () => {
      await platform.call(migrations.stop, { migrationId: name })
      await is('STOPPED')
      folder[Symbol.dispose]()
    },
  }
}

test('what is reported arrives, with the folders that it is in, and nothing else does before', async () => {
  await using live = await follow('reported')
  await live.start()
  await live.untilEqual()
  expect(await live.get()).toMatchObject({
    changeDetection: 'reported',
    changeDetectionReason: 'reported by other programs (gantry.services.v1.filesystems.report-changes)',
  })
  mkdirSync(live.at('new/deep'), { recursive: true })
  writeFileSync(live.at('new/deep/file'), 'new')
  writeFileSync(live.at('untold'), 'untold')
  await report(live.source, [{ path: '/data/new/deep/file' }, { path: '/elsewhere/file' }])
  await live.untilOnly('/untold is missing')

  // A name with a percent sign, removed, renamed with all that is in it: each by its paths.
  writeFileSync(live.at('50%\n'), 'x')
  rmSync(live.at('old/file'))
  renameSync(live.at('new'), live.at('renamed'))
  await report(live.source, [
    { path: '/data/50%25%0A' },
    { path: '/data/old/file' },
    { path: '/data/new', tree: true },
    { path: '/data/renamed', tree: true },
    { path: '/data/untold' },
  ])
  await live.untilEqual()
})

test('what is reported while the migration is stopped, or the platform, is done afterwards and nothing is compared', async () => {
  await using live = await follow('stopped')
  await live.start()
  await report(live.source, [])
  await live.untilEqual()
  await live.stop()
  writeFileSync(live.at('told'), 'told')
  writeFileSync(live.at('untold'), 'untold')
  await report(live.source, [{ path: '/data/told' }])
  await platform.stop()
  platform = await startTestPlatform({ home })
  await live.restart()
  await live.untilOnly('/untold is missing')
  // Whoever may have missed something says so of the root.
  await report(live.source, [{ path: '/', tree: true }])
  await live.untilEqual()
})

test('only a source of which it is said may have its changes reported, by field and by role', async () => {
  await using live = await follow('refused')
  await expect(report(live.target, [])).rejects.toMatchObject({ code: 'NOT_FOUND' })
  await platform.call(filesystems['update-local'], { fileSystemId: live.source, reportedChanges: false })
  await expect(report(live.source, [])).rejects.toMatchObject({
    code: 'NOT_ALLOWED_IN_STATE',
    message: `live migrations from ${live.source} detect changes automatically: set its reportedChanges to true first`,
  })
  await expect(
    platform.call(filesystems['update-local'], { fileSystemId: live.target, reportedChanges: true }),
  ).rejects.toMatchObject({ code: 'NOT_ACCEPTED', message: expect.stringContaining('reportedChanges') })
  await platform.call(filesystems['update-local'], { fileSystemId: live.source, reportedChanges: true })
  expect(await platform.call(filesystems.get, { fileSystemId: live.source })).toMatchObject({
    properties: { reportedChanges: 'true' },
  })
  await expect(report(live.source, [{ path: 'relative' }])).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  await live.start()
})

test('the check of a source says when something was reported last', async () => {
  await using live = await follow('checked')
  const line = async () => {
    const { checks } = await platform.call(filesystems['check-stored'], { fileSystemId: live.source })
    return checks.find(({ check }) => check === 'changes')
  }
  expect(await line()).toMatchObject({
    result: 'untried',
    detail: expect.stringMatching(/no changes have been reported yet/),
  })
  await report(live.source, [])
  expect(await line()).toMatchObject({
    result: 'yes',
    detail: expect.stringMatching(/^reported by other programs, last at /),
  })
  await live.start()
})

test('until when changes are told is also when all of it was asked to be scanned again', async () => {
  await using migration = await follow('unheard')
  await migration.start()
  const toldUntil = async () => Date.parse((await migration.get()).changesToldUntil ?? '')
  const before = await toldUntil()
  // Nobody reports it.
  writeFileSync(migration.at('new'), 'new')
  await until('the clock goes on', () => Date.now() > before + 100)
  const seenMs = Date.now()
  expect(await toldUntil()).toBeLessThan(seenMs)
  await platform.call(migrations['add-pending-region'], { migrationId: 'unheard', path: '/data/old' })
  await until('a part was scanned', async () => (await migration.get()).state === 'LIVE')
  expect(await toldUntil()).toBeLessThan(seenMs)
  await platform.call(migrations['add-pending-region'], { migrationId: 'unheard', path: '/data' })
  await until('all that was there when the table was seen is told', async () => (await toldUntil()) > seenMs)
  await migration.untilEqual()
})
