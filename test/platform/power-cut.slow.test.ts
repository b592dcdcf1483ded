import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Collection } from '../../broker/state/collection.ts'
import { thisBoot } from '../../services/migrations/execution/flush-target.ts'
import { slotsOf } from '../../services/migrations/execution/lanes.ts'
import { MigrationRecord, recordBucket, recordVersion } from '../../services/migrations/lifecycle/record.ts'
import { bandwidth } from '../../subjects/migrations/bandwidth.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { compareTrees } from '../support/compare-trees.ts'
import { addLocal, createFolder, nextEvent, outcomeOf } from '../support/migrations.ts'
import { connectAsPlatform } from '../support/platform-account.ts'
import { startTestPlatform, type TestPlatform } from '../support/platform.ts'
import { until } from '../support/until.ts'

/**
 * What the system had not written to the disk is lost with the power, though it was counted as done. No power can be cut
 * here: files at the target are made what a cut leaves, and the record says that another boot of this host wrote them.
 */

const folder = createFolder('from')
const filesOfItem = 512
/** Once more are at the target, one item of files is done at least: so many are in hand. */
const filesInHand = filesOfItem * slotsOf('transfer', availableParallelism())
const files = Array.from({ length: filesInHand + 2 * filesOfItem }, (_, index) => `file ${index}`)
let platform: TestPlatform
let records: Collection<typeof MigrationRecord>
beforeAll(async () => {
  mkdirSync(join(folder.from, 'in'))
  for (const name of files) writeFileSync(join(folder.from, 'in', name), `content of ${name}`)
  platform = await startTestPlatform()
  await addLocal(platform, 'from', 'source', folder.from)
  const connection = await connectAsPlatform(platform)
  records = await Collection.open(connection, {
    bucket: recordBucket,
    schema: MigrationRecord,
    version: recordVersion,
  })
})
afterAll(async () => {
  await platform[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

async function begun(migrationId: string, options: object, requests = 1_000_000): Promise<string> {
  const to = join(folder.root, migrationId)
  mkdirSync(to)
  await addLocal(platform, migrationId, 'target', to)
  await platform.call(bandwidth.set, { scope: 'target', name: migrationId, requests })
  const ends = { source: 'from', target: migrationId }
  await platform.call(migrations.create, { migrationId, path: '/', ...ends, autoStart: true, ...options })
  return to
}

const bootOf = async (migrationId: string) => (await records.get(migrationId))?.unflushedBoot

/** Empties every second file at the target, and takes the content of the others, as a cut does with what was not on the disk. */
function tear(to: string): void {
  for (const [index, name] of readdirSync(join(to, 'in')).entries()) {
    const path = join(to, 'in', name)
    const { size, mtimeMs } = statSync(path)
    truncateSync(path)
    if (index % 2 === 0) truncateSync(path, size)
    utimesSync(path, mtimeMs / 1_000, mtimeMs / 1_000)
  }
}

const inAnotherBoot = (migrationId: string) =>
  records.update(migrationId, (current) => ({ ...current, unflushedBoot: 'another boot' }))

async function stopped(migrationId: string): Promise<void> {
  const event = await nextEvent(platform, 'stopped', migrationId)
  await platform.call(migrations.stop, { migrationId })
  await event.payload
}

test('a scan that goes on in another boot of the host brings what the last one had not flushed', async () => {
  const migrationId = 'once'
  const to = await begun(migrationId, { actionPolicy: 'SkipIfSizeAndTimeMatch' }, 2_000)
  await until('some files are done', async () => {
    const { progress } = await platform.call(migrations.progress, { migrationId })
    return progress.filesMigrated > filesInHand
  })
  expect(await bootOf(migrationId)).toBe(thisBoot)
  await stopped(migrationId)
  // It was flushed when the work ended.
  expect(await bootOf(migrationId)).toBeUndefined()

  tear(to)
  await inAnotherBoot(migrationId)
  const completed = await nextEvent(platform, 'completed', migrationId)
  await platform.call(migrations.resume, { migrationId })
  const conditions = async () => (await platform.call(migrations.get, { migrationId })).conditions
  await until('it is shown', async () =>
    (await conditions()).some(({ reason }) => reason === 'TARGET_IN_DOUBT'),
  )
  await platform.call(bandwidth.set, { scope: 'target', name: migrationId, requests: 1_000_000 })
  expect(await completed.payload).toMatchObject({ state: 'COMPLETED', failedPathCount: 0 })
  expect(compareTrees(folder.from, to)).toEqual([])
  const { progress } = await outcomeOf(platform, migrationId)
  expect(progress.filesScanned).toBe(files.length)
  const record = await records.get(migrationId)
  expect([record?.unflushedBoot, record?.inDoubt]).toEqual([undefined, undefined])
  expect(await conditions()).toEqual([])
})

test('the target stays in doubt while paths have failed that were not read', async () => {
  const migrationId = 'failing'
  // Its event comes a moment after the record says so.
  const first = await nextEvent(platform, 'completed', migrationId)
  const to = await begun(migrationId, { actionPolicy: 'SkipIfSizeAndTimeMatch' })
  const inDoubt = async () => (await records.get(migrationId))?.inDoubt
  await first.payload
  tear(to)
  // A folder that stands in the way.
  const inTheWay = join(to, 'in', files[0]!)
  rmSync(inTheWay)
  mkdirSync(join(inTheWay, 'full'), { recursive: true })

  await inAnotherBoot(migrationId)
  let completed = await nextEvent(platform, 'completed', migrationId)
  await platform.call(migrations.reset, { migrationId })
  expect(await completed.payload).toMatchObject({ failedPathCount: 1 })
  expect(await inDoubt()).toBe(true)
  const { conditions } = await platform.call(migrations.get, { migrationId })
  expect(conditions.map(({ reason }) => reason)).toEqual(['TARGET_IN_DOUBT', 'PATHS_FAILED'])

  rmSync(inTheWay, { recursive: true })
  // Of the size and time of its source, and without its content.
  const { size, mtimeMs } = statSync(join(folder.from, 'in', files[0]!))
  writeFileSync(inTheWay, '')
  truncateSync(inTheWay, size)
  utimesSync(inTheWay, mtimeMs / 1_000, mtimeMs / 1_000)
  completed = await nextEvent(platform, 'completed', migrationId)
  await platform.call(migrations['retry-failures'], { migrationId })
  expect(await completed.payload).toMatchObject({ failedPathCount: 0 })
  expect(await inDoubt()).toBeUndefined()
  expect(readFileSync(inTheWay, 'utf8')).toBe(`content of ${files[0]}`)
})

test('what a live migration has not flushed is brought too, and it follows changes by its own policy again', async () => {
  const migrationId = 'live'
  const to = await begun(migrationId, { scanOnlyMigration: false, actionPolicy: 'SkipIfSizeAndTimeMatch' })
  const isLive = async () => (await records.get(migrationId))?.state === 'LIVE'
  await until('it follows changes', isLive)
  // What is brought from now on is not flushed.
  expect(await bootOf(migrationId)).toBe(thisBoot)
  await stopped(migrationId)

  tear(to)
  // A removal that was lost brings the file back.
  writeFileSync(join(to, 'in', 'removed before'), 'content')
  await inAnotherBoot(migrationId)
  await platform.call(migrations.resume, { migrationId })
  await until('the target is as its source', async () => compareTrees(folder.from, to).length === 0)
  await until('it follows changes', isLive)
  const record = await records.get(migrationId)
  expect([record?.unflushedBoot, record?.inDoubt]).toEqual([thisBoot, undefined])
  writeFileSync(join(folder.from, 'in', 'later'), 'content')
  await until('a change arrives', async () => compareTrees(folder.from, to).length === 0)
})
