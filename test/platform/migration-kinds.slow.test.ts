import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { jetstreamManager } from '@nats-io/jetstream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Collection } from '../../broker/state/collection.ts'
import { MigrationRecord, recordVersion } from '../../services/migrations/lifecycle/record.ts'
import { migrationEvents } from '../../subjects/migrations/events.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import type { Migration, MigrationState } from '../../subjects/migrations/model/model.ts'
import { roots } from '../../subjects/kit/names.ts'
import { settings } from '../../subjects/access/settings.ts'
import { compareTrees } from '../support/compare-trees.ts'
import { migrationRecord } from '../support/migration-records.ts'
import { addLocal, createFolder, nextEvent, outcomeOf } from '../support/migrations.ts'
import { connectAsPlatform, keptFor } from '../support/platform-account.ts'
import { createHome, startTestPlatform, type TestPlatform } from '../support/platform.ts'
import { makeTree } from '../support/tree.ts'
import { until } from '../support/until.ts'

const folder = createFolder('home', 'small', 'many')
let platform: TestPlatform
let targets = 0
/** Every state that was entered, as the events of states tell: `<migration> <state>`. */
const entered: string[] = []

beforeAll(async () => {
  makeTree(folder.small, { seed: 4, files: 60 })
  makeTree(folder.many, { seed: 5, files: 2_500 })
  await createHome({}, folder.home)
  platform = await startTestPlatform({ home: folder.home })
  await addLocal(platform, 'small', 'source', folder.small)
  await addLocal(platform, 'many', 'source', folder.many)
  follow()
}, 60_000)
afterAll(async () => {
  await platform[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
}, 60_000)

/** Other events say in which state the migration was when what they tell of was seen. */
const stateEvents = new Set(
  Object.entries(migrationEvents)
    .filter(([name, { payload }]) => name === 'created' || 'previous' in payload.properties)
    .map(([name]) => name),
)

function follow(): void {
  platform.operator.subscribe(`${roots.events}.migrations.*.*`, {
    callback: (_, message) => {
      if (!stateEvents.has(message.subject.split('.').at(-2)!)) return
      const { migrationId, state } = message.json<{ migrationId: string; state: string }>()
      const text = `${migrationId} ${state}`
      if (entered.at(-1) !== text) entered.push(text)
    },
  })
}

const statesOf = (...ids: string[]) => entered.filter((text) => ids.includes(text.split(' ')[0]!))

/** A new target, and the folder that it is. */
async function newTarget(): Promise<{ target: string; path: string }> {
  const target = `target-${++targets}`
  const path = join(folder.root, target)
  mkdirSync(path)
  await addLocal(platform, target, 'target', path)
  return { target, path }
}

const get = (migrationId: string) => platform.call(migrations.get, { migrationId })

/** Waits until a migration is in a state, and that is told: a moment after whoever asks can see it. */
const reaches = (migrationId: string, state: MigrationState) =>
  until(`${migrationId} is ${state}`, async () => {
    const isTold = statesOf(migrationId).at(-1) === `${migrationId} ${state}`
    return isTold && (await get(migrationId)).state === state
  })

const someArrived = (migrationId: string) =>
  until('some files have arrived', async () => {
    const { progress } = await platform.call(migrations.progress, { migrationId })
    return progress.filesMigrated > 0
  })

/** What is kept of a migration whatever its generation is: its record, and what it had done when, if a minute has ended. */
const keptOfAll = new Set(['KV_migrations', 'KV_migration-history'])

/** As when the broker's machine went down before its writes were on disk. */
async function loseQueue(internalId: string): Promise<void> {
  const connection = await connectAsPlatform(platform)
  await (await jetstreamManager(connection)).streams.delete(`WORK_${internalId}`)
  await connection.close()
}

/** REST of the migrator, as scripts of the existing product use it; the reply of a success. */
async function rest(method: string, path: string, status = 200): Promise<unknown> {
  const reply = await platform.rest('migrator', method, path)
  expect(reply, JSON.stringify(reply.body)).toMatchObject({ status })
  return reply.body
}

test('from its definition to its end, by the paths of the existing product', async () => {
  const { target, path } = await newTarget()
  const query = `path=/&source=small&target=${target}&scanOnlyMigration=true&migrationPriority=LOW&additionalProperties=team=storage`
  expect(await rest('PUT', `/migrations/plain?${query}`, 201)).toMatchObject({
    state: 'NONSCHEDULED',
    migrationPriority: 'LOW',
    recurringMigration: false,
    pendingRegionCount: 0,
  })
  // Never started, there is nothing to resume, to stop or to scan again.
  for (const verb of ['resume', 'stop', 'addPendingRegion?path=/']) {
    expect(await rest('POST', `/migrations/plain/${verb}`, 403)).toMatchObject({
      code: 'NOT_ALLOWED_IN_STATE',
      details: { state: 'NONSCHEDULED', allowed: ['start', 'reset', 'delete'] },
    })
  }
  expect(await rest('POST', '/migrations/plain/reset')).toMatchObject({ state: 'NONSCHEDULED' })
  await rest('POST', '/migrations/plain/start')
  await reaches('plain', 'COMPLETED')
  expect(statesOf('plain')).toEqual([
    'plain NONSCHEDULED',
    'plain SCHEDULED',
    'plain RUNNING',
    'plain COMPLETED',
  ])
  expect(compareTrees(folder.small, path)).toEqual([])
  const { progress } = await outcomeOf(platform, 'plain')

  // Once more, with nothing to copy: its figures begin at 0.
  const again = (await rest('POST', '/migrations/plain/reset?actionPolicy=SkipIfSizeMatch')) as Migration
  expect(again.targetActionPolicy).toMatch(/SkipIfSizeMatch/)
  await reaches('plain', 'COMPLETED')
  const { progress: second } = await outcomeOf(platform, 'plain')
  expect(second.filesScanned).toBe(progress.filesScanned)
  expect(second.totalMigratedBytes).toBe(0)

  const updated = await platform.rest('migrator', 'PATCH', '/migrations/plain', {
    body: { migrationPriority: 'HIGH' },
  })
  expect(updated.body).toMatchObject({ migrationPriority: 'HIGH', additionalProperties: { team: 'storage' } })
  const toggled =
    'deletionMode=NO_DELETION&actionPolicy=com.wandisco.livemigrator2.migration.OverwriteActionPolicy'
  expect(await rest('PUT', `/migrations/plain/toggleDeletionMode?${toggled}`)).toMatchObject({
    deletionMode: 'NO_DELETION',
    targetActionPolicy: expect.stringContaining('Overwrite') as string,
  })
  expect(await rest('PUT', '/migrations/plain/maxPendingRegions/7')).toMatchObject({ maxPendingRegions: 7 })
  expect(await rest('PUT', '/migrations/plain/maxPendingRegions/5000')).toMatchObject({
    maxPendingRegions: 5_000,
  })
  await rest('PUT', '/migrations/plain/maxPendingRegions/0', 400)
  expect(await rest('GET', '/migrations/plain/oldestIncompleteWorkItem')).toEqual({
    migrationId: 'plain',
    itemType: 'NONE',
    operation: null,
    path: null,
    newPath: null,
    ldmActionCreationTimeStamp: null,
    ldmActionCreationDate: null,
    sourceEventCreationTimestamp: null,
    sourceEventCreationDate: null,
  })
  expect(await rest('DELETE', '/migrations/plain/withAssets')).toEqual({
    workItems: { total: 0, deleted: 0, bytesDeleted: 0 },
    failedPaths: { total: 0, deleted: 0, bytesDeleted: 0 },
    verifications: { total: 0, deleted: 0, bytesDeleted: 0 },
    cleanups: { total: 0, deleted: 0, bytesDeleted: 0 },
  })
  await rest('GET', '/migrations/plain', 404)
})

test('a folder is scanned again, with a policy of its own, and no other', async () => {
  const { target, path } = await newTarget()
  mkdirSync(join(folder.small, 'again', 'deep'), { recursive: true })
  const inside = join('again', 'deep', 'file')
  writeFileSync(join(folder.small, inside), 'one')
  writeFileSync(join(folder.small, 'outside'), 'one')
  const migrationId = 'rescan'
  await platform.call(migrations.create, {
    migrationId,
    path: '/',
    source: 'small',
    target,
    actionPolicy: 'SkipIfSizeMatch',
    autoStart: true,
  })
  await reaches(migrationId, 'COMPLETED')
  const { progress: before } = await outcomeOf(platform, migrationId)
  // Of the same size: the migration's own policy would leave it as it is.
  writeFileSync(join(folder.small, inside), 'two')
  writeFileSync(join(folder.small, 'outside'), 'two')
  const completed = await nextEvent(platform, 'completed', migrationId)
  const region = 'addPendingRegion?path=/again&actionPolicy=Overwrite'
  expect(await rest('POST', `/migrations/rescan/${region}`)).toMatchObject({ pendingRegionCount: 1 })
  await completed.payload
  expect(readFileSync(join(path, inside), 'utf8')).toBe('two')
  expect(readFileSync(join(path, 'outside'), 'utf8')).toBe('one')
  const { progress: after } = await outcomeOf(platform, migrationId)
  expect(after.filesMigrated).toBe(before.filesMigrated + 1)
  expect(await rest('GET', '/migrations/rescan/pendingRegions')).toEqual([])
  // What is not there, or not in the migration, is refused.
  await rest('POST', '/migrations/rescan/addPendingRegion?path=/nowhere', 404)
  rmSync(join(folder.small, 'outside'))
  await platform.call(migrations.delete, { migrationId })
})

test('a limit keeps the others waiting, and a more urgent one takes the place of a less urgent one', async () => {
  await platform.call(settings.put, { maxRunningMigrations: 1 })
  const [low, urgent, later] = await Promise.all([newTarget(), newTarget(), newTarget()])
  const common = { path: '/', autoStart: true } as const
  const start = (migrationId: string, source: string, target: string, migrationPriority?: 'LOW' | 'HIGH') =>
    platform.call(migrations.create, {
      ...common,
      migrationId,
      source,
      target,
      ...(migrationPriority === undefined ? {} : { migrationPriority }),
    })
  expect(await start('low', 'many', low.target, 'LOW')).toMatchObject({ state: 'RUNNING' })
  await someArrived('low')
  // What waits of it can be seen.
  const { itemType } = await platform.call(migrations['oldest-work'], { migrationId: 'low' })
  expect(itemType).not.toBe('NONE')
  expect(await start('later', 'small', later.target, 'LOW')).toMatchObject({ state: 'SCHEDULED' })
  expect(await start('urgent', 'small', urgent.target)).toMatchObject({ state: 'RUNNING' })
  expect(await get('low')).toMatchObject({ state: 'SCHEDULED', resumable: true })
  const { scheduled } = (await rest('GET', '/migration-path-status?path=/&sourceId=many')) as {
    scheduled: boolean
  }
  expect(scheduled).toBe(true)
  await reaches('later', 'COMPLETED')
  expect(statesOf('low', 'later', 'urgent').filter((text) => /RUNNING|COMPLETED/.test(text))).toEqual([
    'low RUNNING',
    'urgent RUNNING',
    'urgent COMPLETED',
    'low RUNNING',
    'low COMPLETED',
    'later RUNNING',
    'later COMPLETED',
  ])
  expect(compareTrees(folder.many, low.path)).toEqual([])
  const { progress } = await outcomeOf(platform, 'low')
  expect(progress.filesMigrated).toBe(progress.filesScanned)
  await platform.call(settings.put, { maxRunningMigrations: 0 })
})

test('reset while it runs, it begins from the start under another generation, and nothing of before is left', async () => {
  const { target, path } = await newTarget()
  const { internalId } = await platform.call(migrations.create, {
    migrationId: 'reset',
    path: '/',
    source: 'many',
    target,
    autoStart: true,
  })
  await someArrived('reset')
  expect(await platform.call(migrations.reset, { migrationId: 'reset' })).toMatchObject({ state: 'RUNNING' })
  await reaches('reset', 'COMPLETED')
  expect(compareTrees(folder.many, path)).toEqual([])
  const { progress } = await outcomeOf(platform, 'reset')
  expect(progress.filesMigrated).toBe(progress.filesScanned)
  const connection = await connectAsPlatform(platform)
  await until('nothing is left but what all its generations have', async () => {
    const kept = Object.keys(await keptFor(connection, internalId))
    return kept.every((stream) => keptOfAll.has(stream))
  })
  await connection.close()
})

test('one whose queue was lost is scanned from the start, and counted once', async () => {
  const { target, path } = await newTarget()
  const migrationId = 'lost'
  const { internalId } = await platform.call(migrations.create, {
    migrationId,
    path: '/',
    source: 'many',
    target,
    autoStart: true,
  })
  await someArrived(migrationId)
  await loseQueue(internalId)
  await reaches(migrationId, 'COMPLETED')
  expect(compareTrees(folder.many, path)).toEqual([])
  const { progress } = await outcomeOf(platform, migrationId)
  expect(progress.filesMigrated).toBe(progress.filesScanned)
})

test('a recurring one scans again and again, also after the platform was away', async () => {
  const { target, path } = await newTarget()
  const waiting = await nextEvent(platform, 'waiting', 'again')
  const query = `path=/&source=small&target=${target}&recurringMigration=true&recurringPeriod=1S&autoStart=true`
  expect(await rest('PUT', `/migrations/again?${query}`, 201)).toMatchObject({
    scanOnlyMigration: true,
    recurringMigration: true,
    recurringPeriodSeconds: 1,
  })
  await waiting.payload
  writeFileSync(join(folder.small, 'later'), 'later')
  await until('the new file arrived', () => existsSync(join(path, 'later')))
  const { recurringMigrationTracker: tracker } = await get('again')
  expect(tracker!.recurringCount).toBeGreaterThan(1)
  expect(tracker!.iterations[0]).toMatchObject({ iteration: 1, failedPathCount: 0 })
  const { progress } = await platform.call(migrations.progress, { migrationId: 'again' })
  expect(progress.filesScanned).toBeLessThan(2 * tracker!.iterations[0]!.filesMigrated)
  const states = ['SCHEDULED', 'RUNNING', 'WAITING_FOR_NEXT_RECURRENCE', 'RECURRENCE_SCHEDULED', 'RUNNING']
  expect(statesOf('again').slice(0, states.length)).toEqual(states.map((state) => `again ${state}`))
  // It rests for an hour; then its time comes while the platform is away.
  await platform.call(migrations.update, { migrationId: 'again', recurringPeriodSeconds: 3_600 })
  const rests = await until('it rests', async () => {
    const { nextRecurrenceTime } = await get('again')
    return nextRecurrenceTime !== undefined && Date.parse(nextRecurrenceTime) - 3_600_000
  })
  const { recurringCount: before } = (await get('again')).recurringMigrationTracker!
  const recurringPeriodSeconds = Math.ceil((Date.now() - rests) / 1_000) + 3
  await platform.call(migrations.update, { migrationId: 'again', recurringPeriodSeconds })
  await platform[Symbol.asyncDispose]()
  writeFileSync(join(folder.small, 'meanwhile'), 'meanwhile')
  platform = await startTestPlatform({ home: folder.home })
  follow()
  await until('what came meanwhile arrived', () => existsSync(join(path, 'meanwhile')))
  expect((await get('again')).recurringMigrationTracker!.recurringCount).toBeGreaterThan(before)
  // Nothing is left of its last scan, and it scans no more by itself.
  await platform.call(migrations.update, { migrationId: 'again', recurringPeriodSeconds: 3_600 })
  await until('it rests', async () => (await get('again')).state === 'WAITING_FOR_NEXT_RECURRENCE')
  await platform.call(migrations.stop, { migrationId: 'again' })
  await until('it has stopped', async () => (await get('again')).state === 'STOPPED')
  const stopped = await platform.call(migrations.progress, { migrationId: 'again' })
  expect(stopped.progress.migratedPercentage).toBe(100)
  expect(stopped).not.toHaveProperty('nextRecurrenceTime')
  await platform.call(migrations.resume, { migrationId: 'again' })
  await until('it rests again', async () => (await get('again')).state === 'WAITING_FOR_NEXT_RECURRENCE')
})

test('a live one is LIVE when all is copied, scans a folder again, and goes on after a stop', async () => {
  const { target, path } = await newTarget()
  const connection = await connectAsPlatform(platform)
  const records = await Collection.open(connection, {
    bucket: 'migrations',
    schema: MigrationRecord,
    version: recordVersion,
  })
  const migrationId = 'live'
  const internalId = crypto.randomUUID()
  const fields = {
    migrationId,
    internalId,
    source: 'small',
    target,
    kind: 'live',
    state: 'SCHEDULED',
  } as const
  await records.create(migrationId, migrationRecord(fields))
  await connection.close()
  await reaches(migrationId, 'LIVE')
  expect(compareTrees(folder.small, path)).toEqual([])
  const live = await get(migrationId)
  expect(live.scannerSummary.progressSummary.baseScanCompletionTime).toBeDefined()
  expect(live.scanOnlyMigration).toBe(false)

  mkdirSync(join(folder.small, 'region'))
  writeFileSync(join(folder.small, 'region', 'file'), 'new')
  await rest('POST', '/migrations/live/addPendingRegion?path=/region')
  await until('the region arrived', () => existsSync(join(path, 'region', 'file')))
  await reaches(migrationId, 'LIVE')
  expect((await get(migrationId)).pendingRegionCount).toBe(0)

  // Changes that were noted there and not followed yet are found by another scan.
  await loseQueue(internalId)
  await until(
    'it runs once more',
    () => statesOf(migrationId).filter((text) => text.endsWith('LIVE')).length > 2,
  )

  await platform.call(migrations.stop, { migrationId })
  await reaches(migrationId, 'STOPPED')
  await platform.call(migrations.resume, { migrationId })
  await reaches(migrationId, 'LIVE')
  await platform.call(migrations.reset, { migrationId })
  await reaches(migrationId, 'LIVE')
  const { progress } = await platform.call(migrations.progress, { migrationId })
  expect(progress.filesMigrated).toBe(progress.filesScanned)
  expect(statesOf(migrationId).filter((text) => !text.endsWith('SCHEDULED'))).toEqual(
    'RUNNING LIVE RUNNING LIVE RUNNING LIVE STOPPING STOPPED RUNNING LIVE RUNNING LIVE'
      .split(' ')
      .map((state) => `live ${state}`),
  )
})

test('all are stopped, and all are forgotten', async () => {
  const stopped = await platform.call(migrations['stop-all'], { resumable: false })
  expect(stopped.find(({ migrationId }) => migrationId === 'again')).toMatchObject({ done: true })
  expect(stopped.find(({ migrationId }) => migrationId === 'low')).toEqual({
    migrationId: 'low',
    done: false,
    state: 'COMPLETED',
    reason: 'low is COMPLETED: cannot stop; allowed: reset, add-pending-region, delete',
  })
  await reaches('again', 'STOPPED')
  await reaches('live', 'STOPPED')
  // Its history was written when the platform stopped.
  const { internalId } = await get('again')
  const connection = await connectAsPlatform(platform)
  expect(await keptFor(connection, internalId)).toHaveProperty('KV_migration-history')
  const deleted = (await rest('DELETE', '/migrations')) as { done: boolean }[]
  expect(deleted.length).toBeGreaterThan(3)
  expect(deleted.every(({ done }) => done)).toBe(true)
  expect(await rest('GET', '/migrations')).toEqual([])
  expect(await keptFor(connection, internalId)).toEqual({})
  await connection.close()
})
