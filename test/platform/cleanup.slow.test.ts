import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Cleanup, cleanups } from '../../subjects/migrations/cleanups.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { gantry } from '../cli/support.ts'
import { addLocal, createFolder, nextEvent } from '../support/migrations.ts'
import { createHome, startTestPlatform, type TestPlatform } from '../support/platform.ts'
import { until } from '../support/until.ts'

const folder = createFolder('from', 'to')
let home: string
let platform: TestPlatform
beforeAll(async () => {
  home = await createHome()
  platform = await startTestPlatform({ home })
  await addLocal(platform, 'from', 'source', folder.from)
  await addLocal(platform, 'to', 'target', folder.to)
})
afterAll(async () => {
  await platform[Symbol.asyncDispose]()
  rmSync(home, { recursive: true, force: true })
  folder[Symbol.dispose]()
})

/** Files in a folder of the source, of a migration of its own. */
function fill(name: string, count = 3): void {
  mkdirSync(join(folder.from, name, 'deep'), { recursive: true })
  for (let index = 0; index < count; index++)
    writeFileSync(join(folder.from, name, 'deep', `file${index}`), `content ${index}`)
}

async function migrated(migrationId: string, more: object = {}): Promise<void> {
  const completed = await nextEvent(platform, 'completed', migrationId)
  const input = { migrationId, path: `/${migrationId}`, source: 'from', target: 'to', autoStart: true }
  await platform.call(migrations.create, { ...input, ...more })
  await completed.payload
}

const ended = ({ status }: Cleanup) => status === 'COMPLETE' || status === 'CANCELLED'

async function untilEnded(cleanupId: string): Promise<Cleanup> {
  await until('the cleanup has ended', async () => ended(await platform.call(cleanups.get, { cleanupId })))
  return platform.call(cleanups.get, { cleanupId })
}

/** The cleanup that a migration begins by itself. */
async function ownCleanup(migrationId: string): Promise<Cleanup> {
  const list = () => platform.call(cleanups.list, { migrationId })
  await until('the cleanup has ended', async () => (await list()).some(ended))
  expect(await list()).toHaveLength(1)
  return (await list())[0]!
}

const isThere = (path: string) => existsSync(join(folder.from, path))
const refusal = async (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'nothing was refused',
    (error: Error) => error.message,
  )

test('nothing is removed from a folder that took the place of the source, until it is accepted', async () => {
  fill('replaced')
  await migrated('replaced')
  const source = join(folder.from, 'replaced')
  renameSync(source, join(folder.from, 'kept'))
  cpSync(join(folder.from, 'kept'), source, { recursive: true, preserveTimestamps: true })
  const { id: refused } = await platform.call(cleanups.create, { migrationId: 'replaced' })
  expect(await untilEnded(refused)).toMatchObject({
    status: 'CANCELLED',
    message: expect.stringContaining(`source: its folder ${source} is a different folder`),
  })
  expect(isThere('replaced/deep/file0')).toBe(true)

  await platform.call(migrations['accept-source'], { migrationId: 'replaced' })
  const { id } = await platform.call(cleanups.create, { migrationId: 'replaced' })
  expect(await untilEnded(id)).toMatchObject({ status: 'COMPLETE', filesRemoved: 3 })
  expect(isThere('replaced/deep/file0')).toBe(false)
  expect(isThere('kept/deep/file0')).toBe(true)
  await platform.call(migrations['delete-with-assets'], { migrationId: 'replaced' })
})

test('a look, a cleanup and its reports, on the command line', async () => {
  fill('first')
  await migrated('first')
  writeFileSync(join(folder.from, 'first/deep/file1'), 'CONTENT 1')
  const run = async (...args: string[]) => {
    const { code, out, err } = await gantry([...args], { env: { GANTRY_HOME: home } })
    expect({ code, err }).toEqual({ code: 0, err: '' })
    return out
  }
  const looked = JSON.parse(await run('cleanups', 'create', 'first', '--dry-run', '--json')) as Cleanup
  expect(await untilEnded(looked.id)).toMatchObject({
    status: 'COMPLETE',
    dryRun: true,
    filesRemovable: 2,
    filesKept: 1,
    filesRemoved: 0,
  })
  expect(isThere('first/deep/file0')).toBe(true)

  const asked = await platform.call(cleanups.create, { migrationId: 'first', onlyIfAll: true })
  expect(await untilEnded(asked.id)).toMatchObject({
    status: 'CANCELLED',
    message: 'nothing was removed, because 1 path would have been kept',
    filesRemoved: 0,
  })
  expect(isThere('first/deep/file0')).toBe(true)

  const { id } = JSON.parse(await run('cleanups', 'create', 'first', '--json')) as Cleanup
  expect(await untilEnded(id)).toMatchObject({ status: 'COMPLETE', filesRemoved: 2, filesDifferent: 1 })
  expect(isThere('first/deep/file0')).toBe(false)
  expect(isThere('first/deep/file1')).toBe(true)
  const keptReport = await run('cleanups', 'report', id)
  expect(keptReport.split('\r\n')).toEqual([
    '"result","type","sourcePath","targetPath","sizeBytes","detail"',
    '"DIFFERENT","FILE","/first/deep/file1","/first/deep/file1","9","other content from byte 0 on"',
    '',
  ])
  const full = await run('cleanups', 'report', id, '--report-id', 'FULL')
  expect(full.trim().split('\n')).toHaveLength(3)
  expect(JSON.parse(await run('cleanups', 'report', id, '--report-id', 'SUMMARY'))).toMatchObject({ id })

  const { sourceCleanupTracker: tracker } = await platform.call(migrations.get, { migrationId: 'first' })
  const { startedAt } = await platform.call(cleanups.get, { cleanupId: id })
  expect(tracker).toEqual({ count: 2, inProgress: false, lastStartTime: startedAt })

  // The existing product's way to the same.
  const reports = (await platform.rest('migrator', 'GET', '/source-cleanup/first/reports')).body as {
    descriptor: { name: string; type: string }
    migrationExists: boolean
    size: number
  }[]
  expect(reports).toHaveLength(3 * 4)
  const newest = reports.find(({ descriptor }) => descriptor.type === 'FULL')
  expect(newest).toMatchObject({ migrationExists: true, descriptor: { name: `${id}-full.jsonl` } })
  const query = `reportName=${newest?.descriptor.name}`
  const got = await fetch(`${platform.httpUrls.migrator}/source-cleanup/reports/first?${query}`)
  expect(await got.text()).toBe(full)
  expect((await platform.rest('migrator', 'GET', '/source-cleanup/nobody/reports')).status).toBe(404)

  // They go with the migration only if that is asked for.
  const bytes = reports.reduce((sum, { size }) => sum + size, 0)
  expect(JSON.parse(await run('migrations', 'delete-with-assets', 'first', '--json'))).toMatchObject({
    cleanups: { total: 3, deleted: 3, bytesDeleted: bytes },
    verifications: { total: 0, deleted: 0, bytesDeleted: 0 },
  })
  expect(await platform.call(cleanups.list, { migrationId: 'first' })).toEqual([])
  expect(readdirSync(join(home, 'cleanups'))).toEqual([])
})

test('by itself: at once, later, and not when somebody thought better of it; a restart forgets none', async () => {
  for (const name of ['at-once', 'later', 'never']) fill(name)
  await migrated('at-once', { deletionMode: 'IMMEDIATE_DELETION' })
  expect(await ownCleanup('at-once')).toMatchObject({
    status: 'COMPLETE',
    filesRemoved: 3,
    foldersRemoved: 1,
  })
  expect(isThere('at-once')).toBe(true)
  expect(isThere('at-once/deep')).toBe(false)

  const delayed = { deletionMode: 'DELAYED_DELETION', delayedDeletionPeriod: 3_600 }
  for (const name of ['later', 'never']) await migrated(name, delayed)
  const later = await platform.call(migrations.get, { migrationId: 'later' })
  expect(later).toMatchObject({
    deletionMode: 'DELAYED_DELETION',
    delayedDeletionPeriodSeconds: 3_600,
    autoSourceCleanupEnabled: true,
  })
  const { nextCleanupTime = '', migrationCompleteTime = '' } = later
  expect(Date.parse(nextCleanupTime) - Date.parse(migrationCompleteTime)).toBe(3_600_000)
  const stopped = await platform.rest(
    'migrator',
    'PUT',
    '/migrations/never/toggleDeletionMode?deletionMode=NO_DELETION',
  )
  expect(stopped.body).toMatchObject({ deletionMode: 'NO_DELETION', autoSourceCleanupEnabled: false })
  expect(stopped.body).toHaveProperty('nextCleanupTime', null)

  await platform[Symbol.asyncDispose]()
  platform = await startTestPlatform({ home })
  expect(isThere('later/deep/file0')).toBe(true)
  const changed = await platform.rest('migrator', 'PATCH', '/migrations/later', {
    body: { delayedDeletionPeriod: 1 },
  })
  expect(changed.status).toBe(200)
  expect(await ownCleanup('later')).toMatchObject({ status: 'COMPLETE', filesRemoved: 3 })
  // Of each completion once.
  await platform[Symbol.asyncDispose]()
  platform = await startTestPlatform({ home })
  expect(await platform.call(cleanups.list, { migrationId: 'at-once' })).toHaveLength(1)
  expect(isThere('never/deep/file0')).toBe(true)
})

test('what a cleanup cannot be combined with is refused, and says what is in the way', async () => {
  fill('shared')
  await migrated('shared')
  const create = (migrationId: string) => refusal(platform.call(cleanups.create, { migrationId }))
  const put = async (query: string) => {
    const path = `/migrations/refused?path=/shared&source=from&target=to&${query}`
    return ((await platform.rest('migrator', 'PUT', path)).body as { message: string }).message
  }
  expect(await put('deletionMode=IMMEDIATE_DELETION&scanOnlyMigration=false')).toContain(
    'deletionMode is only for one-time migrations; a live migration',
  )
  expect(await put('deletionMode=IMMEDIATE_DELETION&recurringMigration=true')).toContain(
    'one-time migrations',
  )
  expect(await put('deletionMode=IMMEDIATE_DELETION&targetMatch=true')).toContain('targetMatch')
  expect(await put('deletionMode=IMMEDIATE_DELETION&links=follow')).toContain('links=follow')
  expect(await put('deletionMode=DELAYED_DELETION')).toContain('delayedDeletionPeriod is required')
  expect(await put('delayedDeletionPeriod=5')).toContain('is only for deletionMode=DELAYED_DELETION')
  expect(await put('deletionMode=IMMEDIATE_DELETION&autoSourceCleanupEnabled=false')).toContain(
    'autoSourceCleanupEnabled cannot be combined with deletionMode',
  )

  // Another one reads a folder above it, as another filesystem.
  await addLocal(platform, 'above', 'source', folder.root)
  await platform.call(migrations.create, {
    migrationId: 'other',
    path: '/from/shared/deep',
    source: 'above',
    target: 'to',
  })
  expect(await create('shared')).toContain('other reads the same source: delete that migration first')
  expect(await create('other')).toContain(
    'other is NONSCHEDULED: its source can be cleaned up only when it is COMPLETED',
  )
  await platform.call(migrations.delete, { migrationId: 'other' })

  const { id } = await platform.call(cleanups.create, { migrationId: 'shared' })
  expect(await untilEnded(id)).toMatchObject({ status: 'COMPLETE', filesRemoved: 3 })
  // What is at the target only is all that there is.
  expect(
    await refusal(
      platform.call(migrations['add-pending-region'], {
        migrationId: 'shared',
        path: '/shared',
        targetMatch: true,
      }),
    ),
  ).toContain('its source was cleaned up')
  const matching = {
    migrationId: 'matching',
    path: '/shared/deep',
    source: 'from',
    target: 'to',
    targetMatch: true,
  }
  mkdirSync(join(folder.from, 'shared/deep'))
  expect(await refusal(platform.call(migrations.create, matching))).toContain(
    'would delete the files that shared copies to the same folder',
  )
})

test('a cleanup that a restart breaks off goes on, and its report has all that it removed', async () => {
  fill('long', 2_000)
  await migrated('long')
  const { id } = await platform.call(cleanups.create, { migrationId: 'long' })
  await until('some are removed', async () => {
    const { filesRemoved } = await platform.call(cleanups.get, { cleanupId: id })
    return filesRemoved > 0
  })
  await platform[Symbol.asyncDispose]()
  platform = await startTestPlatform({ home })
  expect(await untilEnded(id)).toMatchObject({ status: 'COMPLETE', filesRemoved: 2_000, filesKept: 0 })
  const report = async (reportId: 'FULL' | 'REMOVED_CSV') => {
    const { out } = await gantry(['cleanups', 'report', id, '--report-id', reportId], {
      env: { GANTRY_HOME: home },
    })
    return out.trim().split('\n')
  }
  expect(new Set(await report('FULL')).size).toBe(2_001)
  expect(new Set(await report('REMOVED_CSV')).size).toBe(2_002)
  expect(isThere('long/deep')).toBe(false)
})
