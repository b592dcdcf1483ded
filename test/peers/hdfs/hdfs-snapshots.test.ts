import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { LocalDriver } from '../../../services/drivers/local/local.ts'
import type { HdfsDriver } from '../../../services/drivers/hdfs/hdfs.ts'
import { settings } from '../../../subjects/access/settings.ts'
import { filesystems } from '../../../subjects/filesystems/filesystems.ts'
import { loopback } from '../../../subjects/kit/names.ts'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import { type HdfsCluster, hdfsTest, noHdfs, openHdfs, startHdfs } from '../../support/hdfs.ts'
import { addLocal, createFolder } from '../../support/migrations.ts'
import { createHome, startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { oneOf, randomBelow, seededRandom } from '../../support/random.ts'
import { liveDifferences } from '../../support/store-tree.ts'
import { StoreWriter } from '../../support/store-writer.ts'
import { until } from '../../support/until.ts'

let home: string
let cluster: HdfsCluster
let platform: TestPlatform
beforeAll(async () => {
  if (noHdfs !== undefined) return
  home = await createHome()
  ;[cluster, platform] = await Promise.all([startHdfs(), startTestPlatform({ home })])
  await platform.call(settings.put, { storeHosts: [loopback] })
})
afterAll(async () => {
  await platform?.[Symbol.asyncDispose]()
  await cluster?.[Symbol.asyncDispose]()
})

const get = (migrationId: string) => platform.call(migrations.get, { migrationId })
const isLive = (migrationId: string) =>
  until('it is LIVE', async () => (await get(migrationId)).state === 'LIVE')

const snapshotsOf = async (driver: HdfsDriver, folder: string): Promise<string[]> => {
  const pages = await Array.fromAsync(
    driver.list(Buffer.from(`${folder}/.snapshot`), new AbortController().signal),
  )
  return pages.flatMap(({ entries }) => entries.map(({ name }) => name.toString()))
}

hdfsTest(
  'live by snapshots: all arrives, renamed folders too, and over a restart nothing is compared',
  async () => {
    using folder = createFolder('to')
    const to = new LocalDriver({ fsRoot: folder.to })
    await using source = openHdfs(cluster.options())
    const at = (path: string) => Buffer.from(`live/below/${path}`)
    for (const path of ['live', 'live/below', 'live/below/w']) await source.makeFolder(Buffer.from(path), {})
    await source.put(at('kept'), Buffer.from('at the source'), {})
    await cluster.ask('allow-snapshots', '/live')
    await addLocal(platform, 'snap-to', 'target', folder.to)
    await platform.call(filesystems['create-hdfs'], {
      fileSystemId: 'snap-from',
      role: 'source',
      ...cluster.options({ 'gantry.hdfs.snapshot.period': '500' }),
    })
    const writer = new StoreWriter(source, at('w'), seededRandom(1))
    const write = async (count: number) => {
      for (let step = 0; step < count; step++) await writer.step()
    }
    await write(15)
    const migrationId = 'snap'
    const live = { migrationId, path: '/live/below', source: 'snap-from', target: 'snap-to' }
    await platform.call(migrations.create, { ...live, scanOnlyMigration: false, autoStart: true })
    await write(15)
    await isLive(migrationId)
    expect(await get(migrationId)).toMatchObject({
      changeDetection: 'snapshots',
      changeDetectionReason: 'differences of snapshots of /live',
    })
    await source.makeFolder(at('old'), {})
    for (const name of ['1', '2']) await source.put(at(`old/${name}`), Buffer.from(`file ${name}`), {})
    await until('it arrives', async () => (await to.stat(Buffer.from('live/below/old/2'))) !== undefined)
    // What came is looked at again with the next snapshots: who finds it gone then removes it, and there is nothing to rename.
    let base: string | undefined
    let toldUntil = ''
    await until('a look finds nothing more to tell', async () => {
      const { changesToldUntil = '' } = await get(migrationId)
      const [only, ...others] = await snapshotsOf(source, 'live')
      const isSame = only === base && others.length === 0
      if (isSame && changesToldUntil > toldUntil) return true
      if (!isSame) [base, toldUntil] = [only, changesToldUntil]
      return false
    })
    const inode = (path: string) => statSync(join(folder.to, 'live/below', path)).ino
    const copied = inode('old/2')
    await source.rename(at('old'), at('new'))
    await source.put(at('new/1'), Buffer.from('file x'), {})
    await write(40)
    const now = () => liveDifferences([source, to], Buffer.from('live/below'))
    let left: string[] = []
    await until('nothing differs', async () => (left = await now()).length === 0).catch((cause: unknown) => {
      throw new Error(left.join('\n'), { cause })
    })
    // What was renamed is not copied again.
    expect(inode('new/2')).toBe(copied)
    expect((await platform.call(migrations.failures, { migrationId })).failedPaths).toEqual([])
    // The one from which it goes on, one that is being compared with it, and three that are worked on.
    expect((await snapshotsOf(source, 'live')).length).toBeLessThanOrEqual(5)

    const kept = join(folder.to, 'live/below/kept')
    // Only a comparison would find it.
    writeFileSync(kept, 'something else at the target')
    await platform[Symbol.asyncDispose]()
    await write(20)
    platform = await startTestPlatform({ home })
    await write(10)
    await until('all but that arrives', async () => (await now()).every((one) => one.includes('kept')))
    await isLive(migrationId)
    expect(readFileSync(kept, 'utf8')).toBe('something else at the target')

    await platform.call(migrations.stop, { migrationId })
    await until('it is stopped', async () => (await get(migrationId)).state === 'STOPPED')
    expect((await snapshotsOf(source, 'live')).length).toBeLessThanOrEqual(4)
  },
  180_000,
)

hdfsTest(
  'live by snapshots: folders that are renamed again and again, into each other, with files that come and go, are so there',
  async () => {
    using folder = createFolder('to')
    const to = new LocalDriver({ fsRoot: folder.to })
    await using source = openHdfs(cluster.options())
    const random = seededRandom(7)
    const path = (...names: string[]) => Buffer.from(['moved', ...names].join('/'))
    await source.makeFolder(path(), {})
    await cluster.ask('allow-snapshots', '/moved')
    await addLocal(platform, 'moved-to', 'target', folder.to)
    await platform.call(filesystems['create-hdfs'], {
      fileSystemId: 'moved-from',
      role: 'source',
      ...cluster.options({ 'gantry.hdfs.snapshot.period': '500' }),
    })
    const migrationId = 'moved'
    const live = { migrationId, path: '/moved', source: 'moved-from', target: 'moved-to' }
    await platform.call(migrations.create, { ...live, scanOnlyMigration: false, autoStart: true })
    await isLive(migrationId)
    /** Folders that are there, below the one of the migration. */
    let there: string[] = []
    for (let step = 0; step < 120; step++) {
      const parent = there.length === 0 || randomBelow(random, 3) === 0 ? '' : oneOf(random, there)
      const name = [...(parent === '' ? [] : [parent]), `f${randomBelow(random, 6)}`].join('/')
      const isFree = !there.includes(name)
      const moved = there.length === 0 ? undefined : oneOf(random, there)
      if (isFree && (moved === undefined || randomBelow(random, 4) === 0)) {
        await source.makeFolder(path(name), {})
        there.push(name)
      } else if (isFree && moved !== undefined && !`${name}/`.startsWith(`${moved}/`)) {
        await source.rename(path(moved), path(name))
        const isMoved = (one: string) => `${one}/`.startsWith(`${moved}/`)
        there = there.map((one) => (isMoved(one) ? name + one.slice(moved.length) : one))
      } else if (moved !== undefined && randomBelow(random, 4) === 0)
        await source.remove(path(moved, 'file')).catch(() => undefined)
      if (there.length > 0)
        await source.put(path(oneOf(random, there), 'file'), Buffer.from(`step ${step % 10}`), {})
    }
    let left: string[] = []
    await until(
      'nothing differs',
      async () => (left = await liveDifferences([source, to], path())).length === 0,
    ).catch((cause: unknown) => {
      throw new Error(left.join('\n'), { cause })
    })
    expect((await platform.call(migrations.failures, { migrationId })).failedPaths).toEqual([])
    await platform.call(migrations.stop, { migrationId })
    await until('it is stopped', async () => (await get(migrationId)).state === 'STOPPED')
  },
  120_000,
)

hdfsTest('without snapshots it compares, and says what to run', async () => {
  using folder = createFolder('to')
  await using source = openHdfs(cluster.options())
  await source.makeFolder(Buffer.from('plain'), {})
  await addLocal(platform, 'plain-to', 'target', folder.to)
  await platform.call(filesystems['create-hdfs'], {
    fileSystemId: 'plain-from',
    role: 'source',
    ...cluster.options(),
  })
  const live = { migrationId: 'plain', path: '/plain', source: 'plain-from', target: 'plain-to' }
  const compared = { ...live, scanOnlyMigration: false, autoStart: true, comparisonPeriodSeconds: 1 }
  await platform.call(migrations.create, compared)
  await isLive('plain')
  const { changeDetection, changeDetectionReason } = await get('plain')
  expect(changeDetection).toBe('comparing')
  expect(changeDetectionReason).toContain('hdfs dfsadmin -allowSnapshot /plain')
  await source.put(Buffer.from('plain/later'), Buffer.from('later'), {})
  const to = new LocalDriver({ fsRoot: folder.to })
  await until('it arrives', async () => (await to.stat(Buffer.from('plain/later'))) !== undefined)
  await platform.call(migrations.stop, { migrationId: 'plain' })
})
