import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import pino from 'pino'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { Roots } from '../../services/migrations/execution/roots.ts'
import { filesystems } from '../../subjects/filesystems/filesystems.ts'
import { bandwidth } from '../../subjects/migrations/bandwidth.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { compareTrees } from '../support/compare-trees.ts'
import { addLocal, createFolder, nextEvent } from '../support/migrations.ts'
import { startTestPlatform, type TestPlatform } from '../support/platform.ts'
import { unlessGone, until } from '../support/until.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await startTestPlatform()
})
afterAll(() => platform[Symbol.asyncDispose]())

/** A migration between two folders, each in a folder of its own that can be moved. */
async function createMoved(migrationId: string, options: { scanOnlyMigration: boolean }) {
  const folder = createFolder('from', 'to')
  const [source, target] = [join(folder.from, 'root'), join(folder.to, 'root')]
  for (const path of [source, target]) mkdirSync(path)
  await addLocal(platform, `${migrationId}-from`, 'source', source)
  await addLocal(platform, `${migrationId}-to`, 'target', target)
  const create = () =>
    platform.call(migrations.create, {
      migrationId,
      path: '/',
      source: `${migrationId}-from`,
      target: `${migrationId}-to`,
      ...options,
    })
  const get = () => platform.call(migrations.get, { migrationId })
  const start = () => platform.call(migrations.start, { migrationId })
  return {
    ...folder,
    source,
    target,
    create,
    start,
    get,
    untilEqual: () =>
      until('both are equal', async () => {
        const { state, failedPathCount, changeLagSeconds } = await get()
        const isQuiet = state === 'LIVE' && failedPathCount === 0 && changeLagSeconds === 0
        return isQuiet && unlessGone(() => compareTrees(source, target))?.length === 0
      }),
    untilHeld: (side: string) =>
      until('it says so', async () =>
        (await get()).conditions.some(({ message }) => message.includes(`${side}: its folder`)),
      ),
  }
}

test('a live migration waits for its source until another folder is accepted in its place, and for its target', async () => {
  using live = await createMoved('live', { scanOnlyMigration: false })
  const { from, to, source, target } = live
  mkdirSync(join(source, 'a/b'), { recursive: true })
  for (const path of ['a/1', 'a/b/2', '3']) writeFileSync(join(source, path), path)
  await live.create()
  await live.start()
  await live.untilEqual()

  // A folder above it goes and comes back; nothing of that is told.
  renameSync(from, `${from}-away`)
  const away = join(`${from}-away`, 'root')
  rmSync(join(away, 'a'), { recursive: true })
  writeFileSync(join(away, 'new'), 'new')
  await until('it says so', async () => (await live.get()).conditions.length > 0)
  renameSync(`${from}-away`, from)
  await live.untilEqual()

  // Another folder takes its place.
  const copied = readdirSync(target)
  expect(copied.length).toBeGreaterThan(1)
  renameSync(source, `${source}-before`)
  mkdirSync(source)
  writeFileSync(join(source, 'x'), 'x')
  await live.untilHeld('source')
  expect((await live.get()).conditions).toMatchObject([{ reason: 'SOURCE_CHANGED' }])
  expect(readdirSync(target)).toEqual(copied)
  rmSync(source, { recursive: true })
  renameSync(`${source}-before`, source)
  await live.untilEqual()

  // Another version of all, behind a link that is switched: this time it is meant.
  const next = join(live.root, 'next')
  mkdirSync(next)
  writeFileSync(join(next, '3'), 'the next version')
  renameSync(source, `${source}-before`)
  symlinkSync(next, source)
  await live.untilHeld('source')
  expect(readdirSync(target)).toEqual(copied)
  const accepted = await platform.call(migrations['accept-source'], { migrationId: 'live' })
  expect(accepted).toMatchObject({ stateText: 'follows changes', conditions: [] })
  // It goes on, and nothing says any more that it could not.
  const reasons = new Set<string>()
  const untilMs = performance.now() + 3_000
  await until('some looks were taken', async () => {
    for (const { reason } of (await live.get()).conditions) reasons.add(reason)
    return performance.now() > untilMs
  })
  expect([...reasons]).not.toContain('CANNOT_GO_ON')
  expect([...reasons]).not.toContain('SOURCE_CHANGED')
  await live.untilEqual()
  expect(readdirSync(target)).toEqual(['3'])

  // What stands where the target was is not written to.
  renameSync(to, `${to}-away`)
  mkdirSync(target, { recursive: true })
  await live.untilHeld('target')
  appendFileSync(join(next, '3'), ', and more')
  writeFileSync(join(next, '4'), 'four')
  expect(readdirSync(target)).toEqual([])
  rmSync(to, { recursive: true })
  renameSync(`${to}-away`, to)
  await live.untilEqual()
  await platform.call(migrations.stop, { migrationId: 'live' })
})

test('a reset takes another folder of the target if it is told to, and the log says once why it could not go on', async () => {
  const lines: { level: number; msg: string; reason?: string; migration?: string; err?: unknown }[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  await using own = await startTestPlatform({ log })
  using folder = createFolder('from', 'to', 'other')
  writeFileSync(join(folder.from, 'file'), 'content')
  await addLocal(own, 'from', 'source', folder.from)
  await addLocal(own, 'to', 'target', folder.to)
  const migrationId = 'moved'
  await own.call(migrations.create, {
    migrationId,
    path: '/',
    source: 'from',
    target: 'to',
    scanOnlyMigration: false,
    autoStart: true,
  })
  const get = () => own.call(migrations.get, { migrationId })
  await until('it follows', async () => (await get()).state === 'LIVE')
  await own.call(migrations.stop, { migrationId })
  await until('it has stopped', async () => (await get()).state === 'STOPPED')
  await own.call(filesystems['update-local'], { fileSystemId: 'to', fsRoot: folder.other })

  // It may be the folder below a mount that is missing.
  await own.call(migrations.reset, { migrationId })
  await until('it cannot go on', async () =>
    (await get()).conditions.some(({ reason }) => reason === 'CANNOT_GO_ON'),
  )
  expect(readdirSync(folder.other)).toEqual([])
  await own.call(migrations.stop, { migrationId })
  await until('it has stopped again', async () => (await get()).state === 'STOPPED')
  await own.call(migrations.reset, { migrationId, acceptTarget: true })
  await until('all is at the other folder', async () => {
    const { state, conditions } = await get()
    expect(conditions.map(({ reason }) => reason)).not.toContain('CANNOT_GO_ON')
    return state === 'LIVE' && readdirSync(folder.other).includes('file')
  })

  lines.length = 0
  // The folder is another one by now: it waits, tries again and again, and says so once.
  const tries = vi.spyOn(Roots, 'watch')
  rmSync(folder.other, { recursive: true })
  mkdirSync(folder.other)
  await until('it says so', async () =>
    (await get()).conditions.some(({ reason }) => reason === 'CANNOT_GO_ON'),
  )
  await until('it was tried some times', () => tries.mock.calls.length > 4)
  tries.mockRestore()
  const told = lines.filter(({ msg }) => msg.startsWith('A migration cannot continue'))
  expect(told).toHaveLength(1)
  expect(told[0]).toMatchObject({
    migration: migrationId,
    reason: expect.stringContaining('is not the folder that the migration started with'),
  })
  expect(told[0]).not.toHaveProperty('err')
})

test('a scan whose target was another folder for a while begins anew when it is there again', async () => {
  using once = await createMoved('once', { scanOnlyMigration: true })
  const { to, source, target } = once
  for (let index = 0; index < 2_000; index++) writeFileSync(join(source, `${index}`), `content of ${index}`)
  await once.create()
  await platform.call(bandwidth.set, { scope: 'migration', name: 'once', requests: 500 })
  const completed = await nextEvent(platform, 'completed', 'once')
  await once.start()
  await until('some have arrived', () => readdirSync(target).length > 0)
  renameSync(to, `${to}-away`)
  mkdirSync(target, { recursive: true })
  await once.untilHeld('target')
  rmSync(to, { recursive: true })
  renameSync(`${to}-away`, to)
  await platform.call(bandwidth.delete, { scope: 'migration', name: 'once' })
  expect(await completed.payload).toMatchObject({ state: 'COMPLETED', failedPathCount: 0 })
  // A writer whose folder was moved away while it wrote cannot take along what it had under construction.
  const isFinal = (difference: string) => !difference.includes('.gantry~')
  expect(compareTrees(source, target).filter(isFinal)).toEqual([])
})

test('totals and failures of a completed scan stay while a retry waits for its source, and after the new source was accepted', async () => {
  using kept = await createMoved('kept', { scanOnlyMigration: true })
  const { source, target } = kept
  for (const name of ['1', '2']) writeFileSync(join(source, name), name)
  execFileSync('mkfifo', [join(source, 'pipe')])
  await kept.create()
  const figures = async () => {
    const [{ state, failedPathCount, conditions }, { progress }] = await Promise.all([
      kept.get(),
      platform.call(migrations.progress, { migrationId: 'kept' }),
    ])
    const { filesScanned, filesMigrated } = progress
    return {
      state,
      failedPathCount,
      filesScanned,
      filesMigrated,
      reasons: conditions.map(({ reason }) => reason),
    }
  }
  const completed = async (begin: () => Promise<unknown>) => {
    const { payload } = await nextEvent(platform, 'completed', 'kept')
    await begin()
    await payload
    return figures()
  }
  const retry = () => platform.call(migrations['retry-failures'], { migrationId: 'kept' })
  const before = { failedPathCount: 1, filesScanned: 3, filesMigrated: 2 }
  expect(await completed(kept.start)).toMatchObject({ state: 'COMPLETED', ...before })

  renameSync(source, `${source}-before`)
  mkdirSync(source)
  execFileSync('mkfifo', [join(source, 'pipe')])
  writeFileSync(join(source, 'new'), 'new')
  /** Beyond the first look, which notes that the source is another one. */
  const heldTwice = async () => {
    await kept.untilHeld('source')
    const untilMs = performance.now() + 3_000
    await until('it looked again', async () => {
      expect(await figures()).toEqual({
        state: 'RUNNING',
        ...before,
        reasons: ['SOURCE_CHANGED', 'PATHS_FAILED'],
      })
      return performance.now() > untilMs
    })
  }
  await retry()
  await heldTwice()
  // The source is back: what was asked for is done, and nothing else.
  expect(
    await completed(async () => {
      renameSync(source, `${source}-next`)
      renameSync(`${source}-before`, source)
    }),
  ).toMatchObject({ state: 'COMPLETED', ...before })

  renameSync(source, `${source}-before`)
  renameSync(`${source}-next`, source)
  await retry()
  await heldTwice()
  // Another one is accepted: all of it is copied, and counted with what was before.
  expect(
    await completed(() => platform.call(migrations['accept-source'], { migrationId: 'kept' })),
  ).toMatchObject({ state: 'COMPLETED', failedPathCount: 1, filesMigrated: 3 })
  expect(readdirSync(target).toSorted()).toEqual(['1', '2', 'new'])
})
