import { queueStream } from '../../broker/common/queue-stream.ts'
import { jetstreamManager } from '@nats-io/jetstream'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Queue } from '../../broker/queue/queue.ts'
import { encodeItem, startRegion } from '../../services/engine/items/items.ts'
import { Collection } from '../../broker/state/collection.ts'
import { Progress } from '../../services/migrations/progress/progress.ts'
import { FilesystemRecord } from '../../services/filesystems/record.ts'
import { gantry } from '../cli/support.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { compareTrees } from '../support/compare-trees.ts'
import { addLocal, createFolder, migrate, nextEvent, outcomeOf } from '../support/migrations.ts'
import { connectAsPlatform, keptFor } from '../support/platform-account.ts'
import { createHome, startTestPlatform, testLog, type TestPlatform } from '../support/platform.ts'
import { makeTree } from '../support/tree.ts'
import { until } from '../support/until.ts'

const folder = createFolder('small', 'many', 'large')
let platform: TestPlatform
let targets = 0
beforeAll(async () => {
  makeTree(folder.small, { seed: 2, files: 200 })
  makeTree(folder.many, { seed: 3, files: 6_000 })
  platform = await startTestPlatform()
  await addLocal(platform, 'small', 'source', folder.small)
  await addLocal(platform, 'many', 'source', folder.many)
  await addLocal(platform, 'large', 'source', folder.large)
}, 60_000)
afterAll(async () => {
  await platform[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
}, 60_000)

/** A new target, and the folder that it is. */
async function newTarget(): Promise<{ target: string; path: string }> {
  const target = `target-${++targets}`
  const path = join(folder.root, target)
  mkdirSync(path)
  await addLocal(platform, target, 'target', path)
  return { target, path }
}

const progressOf = async (migrationId: string) =>
  (await platform.call(migrations.progress, { migrationId })).progress

/** Starts a migration of many files, and stops it when some have arrived and others have not. */
async function stopInTheMiddle(migrationId: string, options: { resumable?: boolean } = {}) {
  const { target, path } = await newTarget()
  const stopped = await nextEvent(platform, 'stopped', migrationId)
  await platform.call(migrations.create, { migrationId, path: '/', source: 'many', target, autoStart: true })
  await until('some files have arrived', async () => (await progressOf(migrationId)).filesMigrated > 0)
  const stopping = await platform.call(migrations.stop, { migrationId, ...options })
  expect(['STOPPING', 'STOPPED']).toContain(stopping.state)
  expect(stopping.abortReason).toBe('MANUALLY_ABORTED_BY_USER')
  expect(await stopped.payload).toMatchObject({ migrationId, state: 'STOPPED' })
  return { target, path }
}

test('stopped in the middle and resumed, again and again: all arrives, and is counted once', async () => {
  const migrationId = 'stop and go'
  const { path } = await stopInTheMiddle(migrationId)
  const completed = await nextEvent(platform, 'completed', migrationId)
  for (let round = 0; round < 3; round++) {
    const before = (await progressOf(migrationId)).filesMigrated
    const started = await nextEvent(platform, 'started', migrationId)
    const stopped = await nextEvent(platform, 'stopped', migrationId)
    const resumed = await platform.call(round % 2 === 0 ? migrations.resume : migrations.start, {
      migrationId,
    })
    expect(resumed.state).toBe('RUNNING')
    expect(resumed.abortReason).toBeUndefined()
    expect(await started.payload).toMatchObject({ state: 'RUNNING' })
    await until('it goes on', async () => (await progressOf(migrationId)).filesMigrated > before)
    await platform.call(migrations.stop, { migrationId })
    await stopped.payload
  }
  await platform.call(migrations.resume, { migrationId })
  expect(await completed.payload).toMatchObject({ state: 'COMPLETED', failedPathCount: 0 })
  expect(compareTrees(folder.many, path)).toEqual([])
  const { progress, failures } = await outcomeOf(platform, migrationId)
  expect(failures).toEqual([])
  expect(progress.filesMigrated).toBe(progress.filesScanned)
  expect(progress.migratedPercentage).toBe(100)
  expect(progress.totalMigratedBytes).toBe(progress.totalBytes)

  const states = await platform.call(migrations.states, { migrationId })
  const round = ['SCHEDULED', 'RUNNING', 'STOPPING', 'STOPPED']
  expect(states.map(({ state }) => state)).toEqual([
    ...[...round, ...round, ...round, ...round],
    ...['SCHEDULED', 'RUNNING', 'COMPLETED'],
  ])
  expect(states.toSorted((one, other) => (one.since < other.since ? -1 : 1))).toEqual(states)
})

test('the command line waits for the end of a stop, also of one that another has asked for', async () => {
  const { target } = await newTarget()
  const migrationId = 'stop and wait'
  const env = { GANTRY_HOME: platform.home }
  await platform.call(migrations.create, { migrationId, path: '/', source: 'many', target, autoStart: true })
  await until('some files have arrived', async () => (await progressOf(migrationId)).filesMigrated > 0)
  await platform.call(migrations.stop, { migrationId, resumable: false })
  const { out, code } = await gantry(['migrations', 'stop', migrationId, '--wait', '--json'], { env })
  // Where it had stopped already, there is nothing to stop.
  if (code === 0) expect(JSON.parse(out)).toMatchObject({ migrationId, state: 'STOPPED', resumable: false })
  await until('it has stopped', async () => {
    const { state } = await platform.call(migrations.get, { migrationId })
    return state === 'STOPPED'
  })
  const reset = await gantry(['migrations', 'reset', migrationId], { env })
  expect(reset.code).toBe(0)
  const all = await gantry(['migrations', 'stop-all', '--wait', '--json'], { env })
  expect(all.code).toBe(0)
  expect(JSON.parse(all.out)).toContainEqual({ migrationId, done: true, state: 'STOPPED' })
})

test(
  'stopped in the middle of a large file, it keeps the parts for whoever resumes it, and for nobody else',
  { timeout: 60_000 },
  async () => {
    const migrationId = 'large'
    writeFileSync(join(folder.large, 'file'), randomBytes(300 * 2 ** 20))
    const { target, path } = await newTarget()
    await platform.call(migrations.create, { migrationId, path: '/', source: 'large', target })
    // The file under construction keeps its inode when another thread goes on with it.
    const inodes = () =>
      readdirSync(path)
        .filter((name) => !name.endsWith('.parts'))
        .map((name) => statSync(join(path, name)).ino)
    const stopHalfway = async (options: { resumable?: boolean } = {}) => {
      await until('a part is written', () => hasParts(path))
      const stopped = await nextEvent(platform, 'stopped', migrationId)
      await platform.call(migrations.stop, { migrationId, ...options })
      await stopped.payload
    }
    await platform.call(migrations.start, { migrationId })
    await stopHalfway()
    const [begun] = inodes()
    expect(begun).toBeDefined()
    const kept = await progressOf(migrationId)
    expect(kept.migratedBytes).toBeGreaterThan(0)
    expect(kept.migratedBytes).toBeLessThan(kept.totalBytes)
    expect(kept.migratedPercentage).toBe(Math.floor((kept.migratedBytes / kept.totalBytes) * 100))
    const completed = await nextEvent(platform, 'completed', migrationId)
    await platform.call(migrations.resume, { migrationId })
    expect(await completed.payload).toMatchObject({ failedPathCount: 0 })
    expect(inodes()).toEqual([begun])
    expect(compareTrees(folder.large, path)).toEqual([])

    rmSync(join(path, 'file'))
    await platform.call(migrations.reset, { migrationId })
    await stopHalfway({ resumable: false })
    await until('nothing is left', () => readdirSync(path).length === 0)
    expect((await progressOf(migrationId)).migratedBytes).toBe(0)
  },
)

/** Whether a part of a file under construction is written. */
const hasParts = (path: string): boolean =>
  readdirSync(path).some((name) => name.endsWith('.parts') && readFileSync(join(path, name)).includes(0x77))

test('stopped for good, it cannot be started, and nothing is kept but its record', async () => {
  const migrationId = 'for good'
  await stopInTheMiddle(migrationId, { resumable: false })
  for (const verb of ['start', 'resume'] as const) {
    const { status, body } = await platform.rest('migrator', 'POST', `/migrations/for%20good/${verb}`)
    expect(status).toBe(403)
    expect(body).toMatchObject({
      code: 'NOT_ALLOWED_IN_STATE',
      message: `for good is STOPPED and not resumable: cannot ${verb}; allowed: reset, delete`,
      details: { state: 'STOPPED', resumable: false, allowed: ['reset', 'delete'] },
    })
  }
  const { internalId } = await platform.call(migrations.get, { migrationId })
  const connection = await connectAsPlatform(platform)
  expect(Object.keys(await keptFor(connection, internalId))).not.toContain(`WORK_${internalId}`)
  await connection.close()
})

test('one that fails for a reason that does not pass is stopped with it, and goes on when that is seen to', async () => {
  const migrationId = 'aborted'
  const { target, path } = await stopInTheMiddle(migrationId)
  const connection = await connectAsPlatform(platform)
  const filesystems = await Collection.open(connection, {
    bucket: 'filesystems',
    schema: FilesystemRecord,
    version: 1,
  })
  await filesystems.delete(target)
  const stopped = await nextEvent(platform, 'stopped', migrationId)
  await platform.call(migrations.resume, { migrationId })
  expect(await stopped.payload).toMatchObject({ state: 'STOPPED', previous: 'RUNNING' })
  expect(await platform.call(migrations.get, { migrationId })).toMatchObject({
    state: 'STOPPED',
    resumable: true,
    abortReason: 'AUTO_ABORTED',
    stateText: `stopped because of an error: there is no filesystem ${target}`,
  })
  await addLocal(platform, target, 'target', path)
  const completed = await nextEvent(platform, 'completed', migrationId)
  const resumed = await platform.call(migrations.resume, { migrationId })
  expect([resumed.abortReason, resumed.stateText]).toEqual([undefined, 'scans and copies'])
  await completed.payload
  expect(compareTrees(folder.many, path)).toEqual([])
  await connection.close()
})

test('what runs cannot be deleted; what is deleted leaves nothing', async () => {
  const migrationId = 'gone'
  const { target } = await newTarget()
  const created = { migrationId, path: '/', source: 'many', target, autoStart: true }
  const { internalId } = await platform.call(migrations.create, created)
  const refused = await platform.rest('migrator', 'DELETE', '/migrations/gone')
  expect(refused.status).toBe(403)
  expect(refused.body).toMatchObject({
    code: 'NOT_ALLOWED_IN_STATE',
    details: { state: 'RUNNING', resumable: true, allowed: ['stop', 'reset', 'rescan'] },
  })
  const connection = await connectAsPlatform(platform)
  await until('it has a queue and progress', async () => {
    const kept = await keptFor(connection, internalId)
    return kept[`WORK_${internalId}`] !== undefined && kept['KV_progress'] !== undefined
  })
  const stopped = await nextEvent(platform, 'stopped', migrationId)
  await platform.call(migrations.stop, { migrationId })
  await stopped.payload
  const deleted = await nextEvent(platform, 'deleted', migrationId)
  await platform.call(migrations.delete, { migrationId })
  expect(await deleted.payload).toMatchObject({ migrationId, internalId })
  expect(await keptFor(connection, internalId)).toEqual({})
  await connection.close()
  await expect(platform.call(migrations.get, { migrationId })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  // The name and the path are free again.
  await platform.call(migrations.create, { ...created, autoStart: false })
  await platform.call(migrations.delete, { migrationId })
})

test('several migrations at once', async () => {
  const all = await Promise.all(
    Array.from({ length: 5 }, async (_, index) => {
      const { target, path } = await newTarget()
      const { progress, failures } = await migrate(platform, {
        migrationId: `beside ${index}`,
        source: 'small',
        target,
      })
      return { path, progress, failures }
    }),
  )
  for (const { path, progress, failures } of all) {
    expect(failures).toEqual([])
    expect(compareTrees(folder.small, path)).toEqual([])
    expect(progress.filesMigrated).toBe(progress.filesScanned)
  }
})

test('a platform that is stopped in the middle goes on by itself when it starts again', async () => {
  using own = createFolder('home', 'to')
  await createHome({}, own.home)
  await using first = await startTestPlatform({ home: own.home })
  await addLocal(first, 'many', 'source', folder.many)
  await addLocal(first, 'to', 'target', own.to)
  await first.call(migrations.create, {
    migrationId: 'one',
    path: '/',
    source: 'many',
    target: 'to',
    autoStart: true,
  })
  await until('some files have arrived', async () => {
    const { progress } = await first.call(migrations.progress, { migrationId: 'one' })
    return progress.filesMigrated > 0
  })
  await first[Symbol.asyncDispose]()
  await using second = await startTestPlatform({ home: own.home })
  await until('it is completed', async () => {
    const { state } = await second.call(migrations.get, { migrationId: 'one' })
    return state === 'COMPLETED'
  })
  expect(compareTrees(folder.many, own.to)).toEqual([])
  const { progress } = await outcomeOf(second, 'one')
  expect(progress.filesMigrated).toBe(progress.filesScanned)
})

test('what a writer that was killed had under construction goes with the migration that it was of', async () => {
  const migrationId = 'left over'
  const { path } = await stopInTheMiddle(migrationId)
  const { internalId } = await platform.call(migrations.get, { migrationId })
  const module = new URL('../../services/drivers/paths/temporary-names.ts', import.meta.url)
  const write = `const { temporaryName } = await import(${JSON.stringify(module.href)})
    const { writeFileSync } = await import('node:fs')
    writeFileSync(${JSON.stringify(`${path}/small/`)} + temporaryName(${JSON.stringify(internalId)}), 'part')`
  const connection = await connectAsPlatform(platform)
  const queue = await Queue.open(connection, internalId, [], testLog)
  const group = { folder: Buffer.from('small'), files: [Buffer.from('one')], others: [] }
  const item = encodeItem({ kind: 'transfer', attempt: 1, notBeforeMs: 0, groups: [group] })
  await queue.publish('transfer', item, 'of the one that died', new AbortController().signal)
  await connection.close()
  mkdirSync(join(path, 'small'), { recursive: true })
  execFileSync(process.execPath, ['--input-type=module', '-e', write])
  const left = () => readdirSync(join(path, 'small')).filter((name) => name.startsWith('.gantry~'))
  expect(left()).toHaveLength(1)
  await platform.call(migrations.delete, { migrationId })
  expect(left()).toEqual([])
})

test('the broker is killed when all is done: the next scan counts that no second time', async () => {
  const migrationId = 'killed at the end'
  const { target } = await newTarget()
  const completed = await nextEvent(platform, 'completed', migrationId)
  await platform.call(migrations.create, { migrationId, path: '/', source: 'small', target, autoStart: true })
  await completed.payload
  process.kill(platform.brokerPid()!, 'SIGKILL')
  const once = await until('the platform answers', () => progressOf(migrationId).catch(() => undefined))
  const again = await nextEvent(platform, 'completed', migrationId)
  await platform.call(migrations['add-pending-region'], { migrationId, path: '/' })
  await again.payload
  expect((await progressOf(migrationId)).filesScanned).toBe(2 * once.filesScanned)
})

test('what a platform that was killed at the end has left of a scan is counted no second time by the next', async () => {
  const migrationId = 'left at the end'
  const { target } = await newTarget()
  const completed = await nextEvent(platform, 'completed', migrationId)
  await platform.call(migrations.create, { migrationId, path: '/', source: 'small', target, autoStart: true })
  await completed.payload
  const once = await progressOf(migrationId)
  const { internalId: workId } = await platform.call(migrations.get, { migrationId })
  const connection = await connectAsPlatform(platform)
  const progress = await Progress.open(connection)
  await until(
    'nothing is kept of the scan',
    async () => !(await Queue.names(connection)).includes(workId) && (await progress.of(workId)).length === 0,
  )
  // As it is between the record's write and the end of the queue: one item was in it, which is done.
  const queue = await Queue.open(connection, workId, [], testLog)
  await queue.publish('region', startRegion(), 'done', new AbortController().signal)
  await (await jetstreamManager(connection)).streams.deleteMessage(queueStream(workId), 1)
  const { filesScanned, filesMigrated } = once
  const counts = { filesScanned, filesMigrated }
  const book = { counts, counted: [], early: {}, done: 1, sum: 1, published: 1 }
  await progress.store({ migration: workId, worker: crypto.randomUUID(), ...book })
  const again = await nextEvent(platform, 'completed', migrationId)
  await platform.call(migrations['add-pending-region'], { migrationId, path: '/' })
  await again.payload
  expect((await progressOf(migrationId)).filesScanned).toBe(2 * filesScanned)
  await connection.close()
})

test('many commands for one migration at the same time are all done', async () => {
  const migrationId = 'busy'
  const { target } = await newTarget()
  await platform.call(migrations.create, { migrationId, path: '/', source: 'many', target })
  const commands = Array.from({ length: 200 }, (_, n) =>
    platform.rest('migrator', 'PUT', `/migrations/${migrationId}/maxPendingRegions/${(n % 50) + 1}`),
  )
  const failed = (await Promise.all(commands)).filter(({ status }) => status !== 200)
  expect(failed).toEqual([])
  await platform.call(migrations.delete, { migrationId })
})
