import { queueStream } from '../../broker/common/queue-stream.ts'
import { jetstreamManager } from '@nats-io/jetstream'
import { mkdirSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Collection } from '../../broker/state/collection.ts'
import { Queue } from '../../broker/queue/queue.ts'
import { laneSubject } from '../../broker/queue/work.ts'
import { slotsOf } from '../../services/migrations/execution/lanes.ts'
import { MigrationRecord, recordVersion } from '../../services/migrations/lifecycle/record.ts'
import { bandwidth } from '../../subjects/migrations/bandwidth.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { compareTrees } from '../support/compare-trees.ts'
import { addLocal, createFolder, nextEvent, outcomeOf } from '../support/migrations.ts'
import { connectAsPlatform } from '../support/platform-account.ts'
import { startTestPlatform, type TestPlatform } from '../support/platform.ts'
import { until } from '../support/until.ts'

/** Items with files that may be in hand at once. */
const inFlight = slotsOf('transfer', availableParallelism())
/** Folders enough that as many items wait besides; each makes two. */
const folders = inFlight + 2
const filesInFolder = 600
const folder = createFolder('from')
let platform: TestPlatform
beforeAll(async () => {
  for (let one = 0; one < folders; one++) {
    mkdirSync(join(folder.from, `${one}`))
    for (let index = 0; index < filesInFolder; index++)
      writeFileSync(join(folder.from, `${one}`, `file ${index}`), `${one} ${index}`)
  }
  platform = await startTestPlatform()
  await addLocal(platform, 'from', 'source', folder.from)
}, 60_000)
afterAll(async () => {
  await platform[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
}, 60_000)

/** A migration to a target of its own, so slow that most of what it has found waits. */
async function slowMigration(migrationId: string, options: { scanOnlyMigration?: boolean } = {}) {
  const to = join(folder.root, migrationId)
  mkdirSync(to, { recursive: true })
  await addLocal(platform, migrationId, 'target', to)
  await platform.call(bandwidth.set, { scope: 'target', name: migrationId, requests: 100 })
  const { internalId } = await platform.call(migrations.create, {
    migrationId,
    path: '/',
    source: 'from',
    target: migrationId,
    autoStart: true,
    ...options,
  })
  const connection = await connectAsPlatform(platform)
  await until('it has a queue', async () => (await Queue.names(connection)).includes(internalId))
  await connection.close()
  return { to, internalId }
}

const hurry = (migrationId: string) =>
  platform.call(bandwidth.set, { scope: 'target', name: migrationId, requests: 1_000_000 })

const transfers = (internalId: string) => laneSubject(internalId, 'transfer')

/** Resolves when an item with files waits that nobody has in hand. */
async function untilItemsWait(internalId: string): Promise<void> {
  const connection = await connectAsPlatform(platform)
  const { streams } = await jetstreamManager(connection)
  const filter = transfers(internalId)
  await until('items with files wait', async () => {
    const { state } = await streams.info(queueStream(internalId), { subjects_filter: filter })
    return (state.subjects?.[filter] ?? 0) > inFlight
  })
  await connection.close()
}

/** Resolves when the record says that the folder to be scanned again is in the queue. */
async function untilQueued(migrationId: string): Promise<void> {
  const connection = await connectAsPlatform(platform)
  const records = await Collection.open(connection, {
    bucket: 'migrations',
    schema: MigrationRecord,
    version: recordVersion,
  })
  await until('it is in the queue', async () => {
    const record = await records.get(migrationId)
    return record?.pendingRegions.some(({ queued }) => queued)
  })
  await connection.close()
}

/** Takes the last item with files out of the queue, as a broker does that finds it damaged on its disk. */
async function loseItem(internalId: string): Promise<void> {
  const connection = await connectAsPlatform(platform)
  const { streams } = await jetstreamManager(connection)
  const last = await streams.getMessage(queueStream(internalId), { last_by_subj: transfers(internalId) })
  await streams.deleteMessage(queueStream(internalId), last!.seq, false)
  await connection.close()
}

test('an item that the broker lost while a migration runs is noticed, told, and what it was about is moved all the same', async () => {
  const migrationId = 'running'
  const { to, internalId } = await slowMigration(migrationId)
  const [lost, completed] = [
    await nextEvent(platform, 'work-lost', migrationId),
    await nextEvent(platform, 'completed', migrationId),
  ]
  await untilItemsWait(internalId)
  await loseItem(internalId)
  await hurry(migrationId)
  expect(await completed.payload).toMatchObject({ state: 'COMPLETED', failedPathCount: 0 })
  expect(compareTrees(folder.from, to)).toEqual([])
  expect(await lost.payload).toMatchObject({ state: 'RUNNING', items: 1 })
  const { progress } = await outcomeOf(platform, migrationId)
  expect(progress.filesMigrated).toBe(progress.filesScanned)
})

test('one that the broker lost while nobody worked on the migration is noticed before it goes on', async () => {
  const migrationId = 'stopped'
  const { to, internalId } = await slowMigration(migrationId)
  await untilItemsWait(internalId)
  const stopped = await nextEvent(platform, 'stopped', migrationId)
  await platform.call(migrations.stop, { migrationId })
  await stopped.payload
  await loseItem(internalId)
  const [lost, completed] = [
    await nextEvent(platform, 'work-lost', migrationId),
    await nextEvent(platform, 'completed', migrationId),
  ]
  await platform.call(migrations.resume, { migrationId })
  expect(await lost.payload).toMatchObject({ state: 'RUNNING', items: 1 })
  await until('it is shown', async () => {
    const { conditions } = await platform.call(migrations.get, { migrationId })
    return conditions.some(({ reason }) => reason === 'WORK_LOST')
  })
  const health = await platform.rest('platform', 'GET', '/api/v1/health')
  expect(health).toMatchObject({ status: 503, body: { code: 'UNAVAILABLE' } })
  expect(JSON.stringify(health.body)).toContain(migrationId)
  await hurry(migrationId)
  await completed.payload
  expect(compareTrees(folder.from, to)).toEqual([])
  expect((await platform.call(migrations.get, { migrationId })).conditions).toEqual([])
  expect(await platform.rest('platform', 'GET', '/api/v1/health')).toMatchObject({ status: 200 })
})

test('an item of a live migration that the broker lost is told, and everything is compared once', async () => {
  const migrationId = 'live'
  const { to, internalId } = await slowMigration(migrationId, { scanOnlyMigration: false })
  const [lost, live] = [
    await nextEvent(platform, 'work-lost', migrationId),
    await nextEvent(platform, 'live', migrationId),
  ]
  await untilItemsWait(internalId)
  await loseItem(internalId)
  await hurry(migrationId)
  expect(await lost.payload).toMatchObject({ items: 1 })
  expect(await live.payload).toMatchObject({ state: 'LIVE' })
  await until(
    'nothing waits',
    async () => (await platform.call(migrations.get, { migrationId })).changeLagSeconds === 0,
  )
  expect(compareTrees(folder.from, to)).toEqual([])
  await until('that is over', async () => {
    const { conditions } = await platform.call(migrations.get, { migrationId })
    return conditions.every(({ reason }) => reason !== 'WORK_LOST')
  })
})

test('a folder that is scanned again is scanned also when the queue is lost meanwhile', async () => {
  const migrationId = 'again'
  const { to } = await slowMigration(migrationId)
  const completed = await nextEvent(platform, 'completed', migrationId)
  await hurry(migrationId)
  await completed.payload
  await platform.call(bandwidth.set, { scope: 'target', name: migrationId, requests: 20 })
  writeFileSync(join(folder.from, '0', 'later'), 'later')
  const again = await nextEvent(platform, 'completed', migrationId)
  const { internalId } = await platform.call(migrations['add-pending-region'], { migrationId, path: '/0' })
  await untilQueued(migrationId)
  const connection = await connectAsPlatform(platform)
  await Queue.deleteByName(connection, internalId)
  await connection.close()
  await hurry(migrationId)
  await again.payload
  expect(compareTrees(folder.from, to)).toEqual([])
})

test('a migration that is stopped while a loss is found keeps its failures, and is scanned anew when it goes on', async () => {
  const migrationId = 'stopping'
  const inTheWay = join(folder.root, migrationId, '0', 'file 0', 'in the way')
  mkdirSync(inTheWay, { recursive: true })
  writeFileSync(join(inTheWay, 'file'), 'content')
  const { internalId } = await slowMigration(migrationId)
  const outcome = async (work: () => Promise<unknown>) => {
    const completed = await nextEvent(platform, 'completed', migrationId)
    await work()
    await hurry(migrationId)
    return (await completed.payload).failedPathCount
  }
  const stop = async () => {
    const stopped = await nextEvent(platform, 'stopped', migrationId)
    await platform.call(migrations.stop, { migrationId })
    await stopped.payload
  }
  expect(await outcome(() => Promise.resolve())).toBe(1)
  await platform.call(bandwidth.set, { scope: 'target', name: migrationId, requests: 20 })
  for (let one = 1; one < folders; one++)
    await platform.call(migrations['add-pending-region'], { migrationId, path: `/${one}` })
  await untilItemsWait(internalId)
  await stop()
  await loseItem(internalId)
  // It may be told before the stop, or after the next resume: that is a matter of moments.
  const lost = await nextEvent(platform, 'work-lost', migrationId)
  const started = await nextEvent(platform, 'started', migrationId)
  await platform.call(migrations.resume, { migrationId })
  await started.payload
  await stop()
  expect(await outcome(() => platform.call(migrations.resume, { migrationId }))).toBe(1)
  expect(await lost.payload).toMatchObject({ items: 1 })
})
