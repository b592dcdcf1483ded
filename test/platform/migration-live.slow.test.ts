import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { filesystems } from '../../subjects/filesystems/filesystems.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { compareTrees } from '../support/compare-trees.ts'
import { immovable, whyNotImmovable } from '../support/immovable.ts'
import { addLocal, createFolder } from '../support/migrations.ts'
import { createHome, startTestPlatform, type TestPlatform } from '../support/platform.ts'
import { testUnless } from '../support/unless.ts'
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

let count = 0

interface LiveOptions {
  readonly listens?: boolean
  readonly actionPolicy?: 'SkipIfSizeMatch'
  readonly maxDeletionPercent?: number
  readonly trash?: boolean
}

/** Two folders, as source and target, and a live migration between them; not started. */
async function createLive({ listens = true, ...options }: LiveOptions = {}) {
  const folder = createFolder('source', 'target')
  const migrationId = `live-${++count}`
  const [source, target] = [`${migrationId}-source`, `${migrationId}-target`]
  await addLocal(platform, source, 'source', folder.source)
  await platform.call(filesystems['create-local'], {
    fileSystemId: target,
    role: 'target',
    fsRoot: folder.target,
    listenAndApplySourceChanges: listens,
  })
  await platform.call(migrations.create, {
    migrationId,
    path: '/',
    source,
    target,
    scanOnlyMigration: false,
    ...options,
  })
  const get = () => platform.call(migrations.get, { migrationId })
  const is = (state: string) => until(`it is ${state}`, async () => (await get()).state === state)
  const differences = () => compareTrees(folder.source, folder.target)
  return {
    migrationId,
    at: (path: string) => join(folder.source, path),
    there: (path: string) => join(folder.target, path),
    get,
    is,
    differences,
    start: async () => {
      await platform.call(migrations.start, { migrationId })
      await is('LIVE')
    },
    stop: async () => {
      await platform.call(migrations.stop, { migrationId })
      await is('STOPPED')
    },
    untilEqual: async () => {
      await until('the target is as the source is', () => isEqual(differences)).catch(async () => {
        expect({ differences: differences(), view: await get() }).toBe('equal')
      })
    },
    [Symbol.asyncDispose]: async () => {
      if ((await get()).state === 'LIVE') {
        await platform.call(migrations.stop, { migrationId })
        await is('STOPPED')
      }
      folder[Symbol.dispose]()
    },
  }
}

/** A tree that is being changed may lose a file between its name and a look at it. */
function isEqual(differences: () => string[], but: string[] = []): boolean {
  try {
    return isDeepStrictEqual(differences(), but)
  } catch {
    return false
  }
}

function fill(at: (path: string) => string): void {
  mkdirSync(at('a/b/c'), { recursive: true })
  for (const path of ['1', 'a/2', 'a/b/3', 'a/b/c/4']) writeFileSync(at(path), `content of ${path}`)
}

function changeAll(at: (path: string) => string): void {
  appendFileSync(at('1'), ' and more')
  renameSync(at('a/b'), at('moved'))
  writeFileSync(at('moved/c/new'), 'new')
  rmSync(at('a/2'))
  mkdirSync(at('new/folder'), { recursive: true })
  writeFileSync(at('new/folder/file'), 'x')
  chmodSync(at('moved/3'), 0o600)
  utimesSync(at('moved/c/4'), 1_000_000, 1_000_000)
  symlinkSync('../1', at('a/link'))
}

test('what changes after the scan arrives: files, folders, links, modes, times, and what was removed', async () => {
  await using live = await createLive()
  fill(live.at)
  await live.start()
  expect(live.differences()).toEqual([])
  changeAll(live.at)
  // Nobody is told of the other name.
  linkSync(live.at('1'), live.at('new/other name'))
  await live.untilEqual()
  appendFileSync(live.at('1'), ' for both names')
  await live.untilEqual()
  await until('nothing is left to do', async () => (await live.get()).changeLagSeconds === 0)
  expect(await live.get()).toMatchObject({
    state: 'LIVE',
    scanOnlyMigration: false,
    changeDetection: 'watching',
    unscheduledEvents: 0,
    scheduledEvents: 0,
    failedPathCount: 0,
  })
  expect((await live.get()).clientActivitySummary.fileCount).toBeGreaterThan(0)

  // A source that vanishes: it waits, is behind, and goes on by itself.
  const elsewhere = `${live.at('')}-elsewhere`
  const vanishedMs = Date.now()
  renameSync(live.at(''), elsewhere)
  const said =
    /^Live, blocked: the source has changed: its folder \/.* does not exist\. Mount it or restore it$/
  await until('it says so', async () => said.test((await live.get()).stateText))
  const away = await live.get()
  expect(away).toMatchObject({ state: 'LIVE', conditions: [{ reason: 'SOURCE_CHANGED' }] })
  // Between two tries too, and none of them begins to count anew.
  expect(away.changeLagSeconds).toBeGreaterThan((Date.now() - vanishedMs) / 1_000 - 1)
  writeFileSync(join(elsewhere, 'later'), 'x')
  renameSync(elsewhere, live.at(''))
  await live.untilEqual()
  await until('nothing is left to do', async () => (await live.get()).changeLagSeconds === 0)
})

test('what changed while it was stopped arrives when it goes on; what stood at the target before stays', async () => {
  await using live = await createLive()
  fill(live.at)
  for (const path of ['theirs', 'scanned', 'told', 'mended']) {
    mkdirSync(live.there(path))
    writeFileSync(live.there(`${path}/file`), 'theirs')
  }
  writeFileSync(live.at('scanned'), 'a file')
  const differences = () => live.differences().toSorted()
  const theirs = ['/scanned/file is too many', '/scanned: file became folder']
  theirs.push('/theirs is too many', '/theirs/file is too many')
  theirs.push('/told/file is too many', '/told: file became folder')
  const areInTheWay = (...paths: string[]) =>
    until(`${paths.join()} failed`, async () => {
      const { failedPaths } = await platform.call(migrations.failures, { migrationId: live.migrationId })
      return isDeepStrictEqual(failedPaths.map(({ path }) => path).toSorted(), paths)
    })
  await live.start()
  await areInTheWay('/scanned')
  writeFileSync(live.at('told'), 'a file')
  writeFileSync(live.at('mended'), 'a file')
  await areInTheWay('/mended', '/scanned', '/told')
  // What is mended leaves the list with its arrival, and waits for no comparison of everything.
  rmSync(live.there('mended'), { recursive: true })
  appendFileSync(live.at('mended'), ' and more')
  await areInTheWay('/scanned', '/told')
  await live.stop()
  changeAll(live.at)
  const left = await live.get()
  expect(left).toMatchObject({ changeDetection: 'off', unscheduledEvents: 1 })
  await until('its lag grows', async () => (await live.get()).changeLagSeconds! > left.changeLagSeconds!)
  await live.start()
  await until('the changes have arrived', () => isEqual(differences, theirs))
  await until('it is behind no more', async () => (await live.get()).changeLagSeconds === 0)
})

testUnless(
  whyNotImmovable(),
  'a removal that the target refuses is a failure, and is made when it is tried again',
  async () => {
    await using live = await createLive()
    const { migrationId } = live
    fill(live.at)
    await live.start()
    const listed = async () => (await platform.call(migrations.failures, { migrationId })).failedPaths
    const first = await refused(live, listed)
    await platform.call(migrations['retry-failures'], { migrationId })
    await until('it is tried again', async () => (await listed()).length === 0)
    await live.is('LIVE')
    expect([first.path, live.differences()]).toEqual(['/a/2', []])
  },
)

/** Removes a file whose counterpart nobody may remove, has that tried again, and then lets it go. */
async function refused(
  live: Awaited<ReturnType<typeof createLive>>,
  listed: () => Promise<readonly { id: number; path: string }[]>,
) {
  const { migrationId } = live
  using _ = immovable(live.there('a/2'))
  rmSync(live.at('a/2'))
  await until('it is a failure', async () => (await listed()).length === 1)
  const [first] = await listed()
  await platform.call(migrations['retry-failures'], { migrationId })
  await until('it failed again', async () => {
    const [again] = await listed()
    return again !== undefined && again.id > first!.id
  })
  await live.is('LIVE')
  return first!
}

test('more removals than the guard allows are held until somebody approves of them, and go into the trash', async () => {
  await using live = await createLive({
    actionPolicy: 'SkipIfSizeMatch',
    maxDeletionPercent: 50,
    trash: true,
  })
  const { migrationId } = live
  const old = Array.from({ length: 10 }, (_, index) => `old${index}`)
  fill(live.at)
  // Older than the migration: it goes as it was told, a comparison would leave it.
  for (const side of [live.at, live.there]) for (const name of old) writeFileSync(side(name), 'x')
  // Before it is started its first scan is planned: by the policy, and nothing is deleted.
  expect(await platform.call(migrations.plan, { migrationId })).toMatchObject({
    filesToSkip: 10,
    filesToDelete: 0,
    deletionsNeedApproval: false,
  })
  await live.start()
  await until('the target is counted', async () => (await live.get()).entriesAtTarget === 18)
  await platform.call(migrations.update, { migrationId, maxDeletionPercent: 30 })
  for (const path of [...old, 'a']) rmSync(live.at(path), { recursive: true })
  await live.is('STOPPED')
  const held = await live.get()
  expect(held).toMatchObject({
    resumable: true,
    abortReason: 'AUTO_ABORTED',
    stateText: expect.stringMatching(
      /^stopped before deleting \d+ files?(?: and \d folders?)? more .* after 5 /,
    ),
    conditions: [{ reason: 'WAITS_FOR_APPROVAL', message: expect.stringContaining('such as /') }],
    deletions: { isHeld: true, removedWithinHour: 5, percent: (100 * 11) / 18 },
    maxDeletionPercent: 30,
    trash: true,
    changeLagSeconds: expect.any(Number),
  })
  // Of ten old ones, and three files in three folders; the eighteen have the root and a file that stays.
  expect(held.deletions!.files + held.deletions!.folders).toBe(16 - 5)

  // What nobody approved of waits again.
  await platform.call(migrations.resume, { migrationId })
  await live.is('STOPPED')
  const { deletions } = await live.get()
  expect(deletions).toMatchObject({ isHeld: true, removedWithinHour: 5 })
  const planned = await platform.call(migrations.plan, { migrationId })
  const going = planned.samples.filter(({ action }) => action === 'DELETE').map(({ path }) => path)
  expect(going).toEqual(expect.arrayContaining(deletions?.samples ?? ['none']))
  expect(planned).toMatchObject({
    status: 'COMPLETE',
    filesToDelete: deletions?.files,
    foldersToDelete: deletions?.folders,
    deletionsNeedApproval: true,
    filesToCopy: 0,
    filesToReplace: 0,
  })
  const kept = planned.samples.filter(({ action }) => action === 'KEEP').map(({ path }) => path)
  expect(kept).toEqual(['/.gantry-trash'])
  await platform.call(migrations['approve-deletions'], { migrationId })
  const besideTrash = () => live.differences().filter((line) => !line.startsWith('/.gantry-trash'))
  await until('all of it is removed', () => isEqual(besideTrash))
  await until('nothing is left to do', async () => (await live.get()).changeLagSeconds === 0)
  await live.is('LIVE')
  expect((await live.get()).deletions).toBeUndefined()
  const trashed = readdirSync(live.there('.gantry-trash'), { recursive: true, encoding: 'utf8' })
  expect(trashed.filter((path) => /old\d$|a\/2$|b\/3$|c\/4$/.test(path))).toHaveLength(13)
})

test('changes after the scan are not applied where the target is not to listen', async () => {
  await using live = await createLive({ listens: false })
  fill(live.at)
  await live.start()
  await until('it has ended to listen', async () => (await live.get()).changeDetection === 'off')
  expect((await live.get()).changeDetectionReason).toContain('listenAndApplySourceChanges')
  expect((await live.get()).changeLagSeconds).toBe(0)
  writeFileSync(live.at('later'), 'x')
  expect(live.differences()).toEqual(['/later is missing'])
  await live.stop()
  expect((await live.get()).changeLagSeconds).toBeUndefined()
})

test('a folder that is asked for is scanned again, and it is live again', async () => {
  await using live = await createLive()
  fill(live.at)
  await live.start()
  rmSync(live.there('a'), { recursive: true })
  await platform.call(migrations['add-pending-region'], { migrationId: live.migrationId, path: '/a' })
  await live.untilEqual()
  await live.is('LIVE')
  writeFileSync(live.at('a/later'), 'x')
  await live.untilEqual()
  // One that will never go on is not behind.
  await platform.call(migrations.stop, { migrationId: live.migrationId, resumable: false })
  await live.is('STOPPED')
  expect((await live.get()).changeLagSeconds).toBeUndefined()
})

test('what changed while the platform was away arrives when it is there again', async () => {
  await using live = await createLive()
  fill(live.at)
  execFileSync('mkfifo', [live.at('pipe'), live.at('a/pipe')])
  await live.start()
  await platform[Symbol.asyncDispose]()
  changeAll(live.at)
  platform = await startTestPlatform({ home })
  const pipes = ['/a/pipe is missing', '/pipe is missing']
  const hasAllBut = (missing: string[]) =>
    until('the changes have arrived', () => isEqual(() => live.differences().toSorted(), missing))
  await hasAllBut(pipes)
  await until('all is compared', async () => (await live.get()).changeLagSeconds === 0)
  // What cannot arrive was told before.
  const failed = async () => (await live.get()).failedPathCount
  expect(await failed()).toBe(2)
  rmSync(live.at('pipe'))
  await until('its failure is gone with it', async () => (await failed()) === 1)
  writeFileSync(live.at('later'), 'x')
  await hasAllBut(['/a/pipe is missing'])
  expect((await live.get()).state).toBe('LIVE')
})
