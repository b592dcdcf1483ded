import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { jetstreamManager } from '@nats-io/jetstream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { factStream, isFact } from '../../broker/state/events.ts'
import type { Payload } from '../../subjects/kit/contract.ts'
import { migrationEvents } from '../../subjects/migrations/events.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { roots, subjectToken } from '../../subjects/kit/names.ts'
import { gantry } from '../cli/support.ts'
import { addLocal, createFolder, migrate, nextEvent, outcomeOf } from '../support/migrations.ts'
import { connectAsPlatform } from '../support/platform-account.ts'
import { startTestPlatform, type TestPlatform } from '../support/platform.ts'
import { until } from '../support/until.ts'

const folder = createFolder('from', 'to')
let platform: TestPlatform
beforeAll(async () => {
  mkdirSync(join(folder.from, 'a/blocked/deep'), { recursive: true })
  for (const path of ['a/file', 'a/blocked/one', 'a/blocked/deep/two', 'fine'])
    writeFileSync(join(folder.from, path), path)
  execFileSync('mkfifo', [join(folder.from, 'pipe "x"')])
  // What stands in the way: a folder where a file goes, and a file where a folder goes.
  mkdirSync(join(folder.to, 'a/file/full'), { recursive: true })
  writeFileSync(join(folder.to, 'a/blocked'), 'no folder')
  platform = await startTestPlatform()
  await addLocal(platform, 'from', 'source', folder.from)
  await addLocal(platform, 'to', 'target', folder.to)
})
afterAll(async () => {
  await platform[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

const migrationId = 'everything'
const pathsOf = (failures: readonly { path: string }[]) => failures.map(({ path }) => path).toSorted()
/** Tries failures again, and waits until the migration is completed once more. */
async function retry() {
  const completed = await nextEvent(platform, 'completed', migrationId)
  const { retried } = await platform.call(migrations['retry-failures'], { migrationId })
  await completed.payload
  return { retried, ...(await outcomeOf(platform, migrationId)) }
}

/** What followers are told of the list, or of how far it is, the last of it last. */
async function follow<E extends 'failures-changed' | 'progressed'>(event: E) {
  const told: Payload<(typeof migrationEvents)[E]>[] = []
  const subject = migrationEvents[event].subject.replace('{id}', subjectToken(migrationId))
  platform.operator.subscribe(subject, {
    callback: (_, message) => void (isFact(message) && told.push(message.json())),
  })
  await platform.operator.flush()
  return told
}

/** How many events about a migration are kept whose subjects are so. */
async function keptEvents(subject: string): Promise<number> {
  const connection = await connectAsPlatform(platform)
  const query = { subjects_filter: subject }
  const { state } = await (await jetstreamManager(connection)).streams.info(factStream, query)
  await connection.close()
  return Object.keys(state.subjects ?? {}).length
}

test('failures are told, listed, exported, tried again, and leave the list when they have arrived', async () => {
  const told = await follow('failures-changed')
  const progress = await follow('progressed')
  const first = await migrate(platform, { source: 'from', target: 'to' })
  expect(pathsOf(first.failures)).toEqual(['/a/blocked', '/a/file', '/pipe "x"'])
  expect(await platform.call(migrations.get, { migrationId })).toMatchObject({
    state: 'COMPLETED',
    stateText: 'completed, but 3 paths were not copied',
  })

  await until('three are told', () => told.at(-1)?.failedPathCount === 3)
  expect(told.reduce((sum, { added }) => sum + added, 0)).toBe(3)
  expect(pathsOf(told.flatMap(({ failedPaths }) => failedPaths))).toEqual(pathsOf(first.failures))

  // How far it is was told as well, and is what one is told who asks; nothing keeps it.
  await until('its end is told', () => progress.at(-1)?.state === 'COMPLETED')
  expect(progress.at(-1)).toEqual(await platform.call(migrations.progress, { migrationId }))
  expect(await keptEvents(`${roots.events}.migrations.*.${migrationId}`)).toBeGreaterThan(0)
  expect(await keptEvents(migrationEvents.progressed.subject.replace('{id}', '*'))).toBe(0)

  const path = `/migrations/${migrationId}/failures`
  const csv = await fetch(`${platform.httpUrls.migrator}${path}/export`)
  expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8')
  const rows = (await csv.text()).trim().split('\r\n')
  expect(rows[0]).toBe(
    '"id","path","failureClass","failureMessage","attempts","dateFailed","action","excluded"',
  )
  expect(rows).toHaveLength(4)
  expect(rows.some((row) => row.includes(',"/pipe ""x""","unsupported",'))).toBe(true)
  const exported = await gantry(['migrations', 'export-failures', migrationId, '--format', 'jsonl'], {
    env: { GANTRY_HOME: platform.home },
  })
  expect(
    exported.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual(first.failures)

  const none = await platform.rest('migrator', 'POST', `${path}/retry`, {
    body: { failureClass: 'permission' },
  })
  expect(none).toMatchObject({ status: 200, body: { retried: 0 } })

  const again = await retry()
  expect(again.retried).toBe(3)
  expect(pathsOf(again.failures)).toEqual(pathsOf(first.failures))
  expect(again.failures.every(({ id }) => first.failures.every((before) => before.id < id))).toBe(true)

  rmSync(join(folder.to, 'a'), { recursive: true })
  const mended = await retry()
  expect(pathsOf(mended.failures)).toEqual(['/pipe "x"'])
  for (const file of ['a/file', 'a/blocked/one', 'a/blocked/deep/two'])
    expect(readFileSync(join(folder.to, file), 'utf8')).toBe(file)
  expect(existsSync(join(folder.to, 'pipe "x"'))).toBe(false)
  await until('one is left', () => told.at(-1)?.failedPathCount === 1)
})

test('figures: of a migration now and before, of all, by time, and how the platform is doing', async () => {
  const get = async (path: string) => (await platform.rest('migrator', 'GET', path)).body
  const done = { filesScanned: 5, dirsScanned: 4, filesMigrated: 4, dirsMigrated: 4 }
  expect(await get(`/stats/current/${migrationId}`)).toMatchObject({ migrationId, migrationStats: done })
  expect(await get('/stats/current')).toMatchObject([{ migrationId, migrationStats: done }])
  expect(await get('/stats/cumulative')).toMatchObject(done)
  expect(await get(`/stats/${migrationId}`)).toMatchObject([{ migrationId, migrationStats: done }])
  expect((await platform.rest('migrator', 'GET', '/stats/nobody')).status).toBe(404)
  const bucket = { totalFiles: 4, totalBytes: 41, scannedFiles: 5 }
  expect(await get('/stats/throughputSummary')).toMatchObject({ last300Secs: bucket, last1800Secs: bucket })
  expect(await get('/stats/throughputInLastSecs/1800')).toMatchObject(bucket)
  expect((await platform.rest('migrator', 'GET', '/stats/throughputInLastSecs/0')).status).toBe(400)
  expect(await get('/diagnostics/summary')).toMatchObject({
    migrationsRunning: 0,
    failedPathsCount: 1,
    migrationIdMostFailedPaths: migrationId,
    failedPathsAverage: 1,
    retryCount: 0,
    pendingRegionAverage: 0,
    totalFilesIterated: 5,
    actionStoreCurrent: 0,
  })
  expect(await get('/stats/migrationSummary')).toMatchObject({
    // It is completed, and a file failed.
    completed: { migrations: [{ pathRetryCount: 0, progress: { migratedPercentage: 80 } }] },
    migrationStats: [
      { migrationId, migrationStats: { ...done, filesMigratedScan: 4, filesMigratedClient: 0 } },
    ],
  })
  const text = await fetch(`${platform.httpUrls.migrator}/diagnostics/summary.txt`)
  expect(await text.text()).toContain('\nfailedPathsCount: 1\n')
})

test('a migration goes with what was kept for it, and the reply tells what that was', async () => {
  const { status, body } = await platform.rest('migrator', 'DELETE', `/migrations/${migrationId}/withAssets`)
  expect({ status, body }).toEqual({
    status: 200,
    body: {
      workItems: { total: 0, deleted: 0, bytesDeleted: 0 },
      failedPaths: { total: 1, deleted: 1, bytesDeleted: expect.any(Number) as number },
      verifications: { total: 0, deleted: 0, bytesDeleted: 0 },
      cleanups: { total: 0, deleted: 0, bytesDeleted: 0 },
    },
  })
  expect((body as { failedPaths: { bytesDeleted: number } }).failedPaths.bytesDeleted).toBeGreaterThan(0)
  expect((await platform.rest('migrator', 'GET', `/migrations/${migrationId}`)).status).toBe(404)
  expect((await platform.rest('migrator', 'DELETE', `/migrations/${migrationId}/withAssets`)).status).toBe(
    404,
  )
})

test('a path that fails again in a rescan stays in the list once, and leaves it when a rescan brings it', async () => {
  const name = 'rescanned'
  using own = createFolder('from', 'to')
  mkdirSync(join(own.from, 'in/folder'), { recursive: true })
  mkdirSync(join(own.from, 'beside'))
  for (const path of ['in/one', 'in/two', 'in/folder/below', 'beside/three'])
    writeFileSync(join(own.from, path), path)
  // In the way of files and of a folder.
  for (const path of ['in/one', 'in/two', 'beside/three'])
    mkdirSync(join(own.to, path, 'full'), { recursive: true })
  writeFileSync(join(own.to, 'in/folder'), 'no folder')
  await addLocal(platform, 'own-from', 'source', own.from)
  await addLocal(platform, 'own-to', 'target', own.to)
  const listed = async () => (await platform.call(migrations.failures, { migrationId: name })).failedPaths
  const rescan = async (path: string) => {
    const completed = await nextEvent(platform, 'completed', name)
    await platform.call(migrations['add-pending-region'], { migrationId: name, path })
    await completed.payload
    const { failedPathCount } = await platform.call(migrations.get, { migrationId: name })
    const paths = pathsOf(await listed())
    expect(failedPathCount).toBe(paths.length)
    return paths
  }
  await migrate(platform, { source: 'own-from', target: 'own-to', migrationId: name })
  const first = await listed()
  const all = ['/beside/three', '/in/folder', '/in/one', '/in/two']
  expect(pathsOf(first)).toEqual(all)
  // As it was.
  expect(await rescan('/in')).toEqual(all)
  const latest = (path: string) => async () => (await listed()).find((one) => one.path === path)?.id
  expect(await latest('/in/one')()).toBeGreaterThan(Math.max(...first.map(({ id }) => id)))
  expect(await latest('/beside/three')()).toBe(first.find(({ path }) => path === '/beside/three')?.id)
  // One is mended, one is gone at the source, and what is beside was not looked at.
  rmSync(join(own.to, 'in/one'), { recursive: true })
  rmSync(join(own.from, 'in/two'))
  rmSync(join(own.to, 'beside/three'), { recursive: true })
  expect(await rescan('/in')).toEqual(['/beside/three', '/in/folder'])
  expect(readFileSync(join(own.to, 'in/one'), 'utf8')).toBe('in/one')
  // What is below a folder that fails nobody looks at.
  rmSync(join(own.to, 'in/folder'))
  mkdirSync(join(own.to, 'in/folder/below/full'), { recursive: true })
  expect(await rescan('/')).toEqual(['/in/folder/below'])
  rmSync(join(own.to, 'in/folder'), { recursive: true })
  writeFileSync(join(own.to, 'in/folder'), 'no folder')
  expect(await rescan('/')).toEqual(['/in/folder', '/in/folder/below'])
  rmSync(join(own.to, 'in/folder'))
  expect(await rescan('/')).toEqual([])
  await until('the condition has gone', async () => {
    const { conditions } = await platform.call(migrations.get, { migrationId: name })
    return conditions.every(({ reason }) => reason !== 'PATHS_FAILED')
  })
  await platform.call(migrations.delete, { migrationId: name })
})
