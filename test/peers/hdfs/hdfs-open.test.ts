import { existsSync, readFileSync } from 'node:fs'
import { once } from 'node:events'
import { request } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { settings } from '../../../subjects/access/settings.ts'
import { filesystems } from '../../../subjects/filesystems/filesystems.ts'
import { loopback } from '../../../subjects/kit/names.ts'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import { failureOf } from '../../conformance/driver-store.ts'
import { type HdfsCluster, hdfsTest, noHdfs, openHdfs, startHdfs } from '../../support/hdfs.ts'
import { addLocal, createFolder, nextEvent, outcomeOf } from '../../support/migrations.ts'
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { until } from '../../support/until.ts'

/** Files that somebody has open for writing: HDFS lists them with the blocks that are complete. */
let cluster: HdfsCluster
let platform: TestPlatform
beforeAll(async () => {
  if (noHdfs !== undefined) return
  ;[cluster, platform] = await Promise.all([startHdfs(), startTestPlatform()])
  await platform.call(settings.put, { storeHosts: [loopback] })
  await platform.call(filesystems['create-hdfs'], {
    fileSystemId: 'open-from',
    role: 'source',
    ...cluster.options({ 'gantry.hdfs.snapshot.period': '500' }),
  })
})
afterAll(async () => {
  await platform?.[Symbol.asyncDispose]()
  await cluster?.[Symbol.asyncDispose]()
})

const MiB = 2 ** 20

/** Opens a file for writing and leaves it open. */
async function openForWriting(path: string, how: 'CREATE' | 'APPEND' = 'CREATE') {
  const { user, additionalProperties } = cluster.options()
  const query = new URLSearchParams({
    op: how,
    'user.name': user!,
    blocksize: additionalProperties!['dfs.blocksize']!,
    noredirect: 'true',
  })
  const method = how === 'CREATE' ? 'PUT' : 'POST'
  const asked = await fetch(`http://${cluster.nameNodes[0]}/webhdfs/v1${path}?${query.toString()}`, {
    method,
  })
  const { Location } = (await asked.json()) as { Location: string }
  const sending = request(Location, { method })
  const answered = once(sending, 'response')
  // A test that fails leaves it as it is.
  answered.catch(() => undefined)
  sending.flushHeaders()
  return {
    write: (bytes: Buffer) => sending.write(bytes),
    close: async () => {
      sending.end()
      await answered
    },
  }
}

const lengthOf = async (path: string) =>
  Number((await cluster.ask('status', path).catch(() => '- - - - -1')).trim().split(' ')[4])

/** A file of one and a half blocks and one of half a block, both open; the second is listed as an empty one. */
async function openTwo(folder: string) {
  const contents = { two: Buffer.alloc(1.5 * MiB, 'two '), half: Buffer.alloc(MiB / 2, 'half ') }
  const files = {
    two: await openForWriting(`${folder}/two`),
    half: await openForWriting(`${folder}/half`),
  }
  for (const name of ['two', 'half'] as const) files[name].write(contents[name])
  await until('a block is complete', async () => (await lengthOf(`${folder}/two`)) === MiB)
  await until('the other is there', async () => (await lengthOf(`${folder}/half`)) === 0)
  return {
    contents,
    close: async () => {
      await files.two.close()
      await files.half.close()
    },
  }
}

hdfsTest('an open file is not read, and is once it is closed', async () => {
  await using driver = openHdfs(cluster.options(), 'source')
  await using target = openHdfs(cluster.options())
  await target.makeFolder(Buffer.from('driver'), {})
  const { contents, close } = await openTwo('/driver')
  for (const name of ['two', 'half'])
    await expect(driver.open(Buffer.from(`driver/${name}`))).rejects.toMatchObject({
      failure: 'changed',
      message: expect.stringContaining('open for writing'),
    })
  await close()
  for (const name of ['two', 'half'] as const) {
    const file = await driver.open(Buffer.from(`driver/${name}`))
    expect((await file.read(0, file.sizeBytes)).equals(contents[name])).toBe(true)
  }
})

hdfsTest('a file that somebody appends to is not removed, though it has its version still', async () => {
  await using driver = openHdfs(cluster.options(), 'source')
  const path = Buffer.from('kept')
  await driver.put(path, Buffer.from('proven, '), {})
  const version = await driver.version(path)
  const file = await openForWriting('/kept', 'APPEND')
  file.write(Buffer.from('and more'))
  await until('it is open', async () => (await cluster.ask('is-open', '/kept')).trim() === 'true')
  expect(await driver.version(path)).toBe(version)
  expect(await failureOf(driver.removeVersion(path, version!))).toBe('changed')
  await file.close()
  expect((await cluster.ask('read', '/kept')).trim()).toBe('proven, and more')
  expect(await driver.removeVersion(path, (await driver.version(path))!)).toBe(true)
  expect(await driver.stat(path)).toBeUndefined()
})

hdfsTest(
  'once: nothing arrives of an open file before it is closed, and then all of it',
  async () => {
    using folder = createFolder('to')
    await using driver = openHdfs(cluster.options())
    await driver.makeFolder(Buffer.from('once'), {})
    const { contents, close } = await openTwo('/once')
    await addLocal(platform, 'once-to', 'target', folder.to)
    const migrationId = 'open-once'
    const completed = await nextEvent(platform, 'completed', migrationId)
    const ends = { source: 'open-from', target: 'once-to', path: '/once' }
    await platform.call(migrations.create, { migrationId, ...ends, autoStart: true })
    await until('both are put off', async () => {
      const { body } = await platform.rest('migrator', 'GET', `/migrations/${migrationId}`)
      return (body as { numberPathsRequeued?: number }).numberPathsRequeued === 2
    })
    for (const name of ['two', 'half']) expect(existsSync(join(folder.to, 'once', name))).toBe(false)
    await close()
    await completed.payload
    expect((await outcomeOf(platform, migrationId)).failures).toEqual([])
    for (const name of ['two', 'half'] as const)
      expect(readFileSync(join(folder.to, 'once', name)).equals(contents[name])).toBe(true)
  },
  120_000,
)

hdfsTest(
  'live: an open file waits, and arrives once it is closed',
  async () => {
    using folder = createFolder('to')
    await using driver = openHdfs(cluster.options())
    await driver.makeFolder(Buffer.from('live'), {})
    await cluster.ask('allow-snapshots', '/live')
    await addLocal(platform, 'live-to', 'target', folder.to)
    const migrationId = 'open-live'
    const ends = { source: 'open-from', target: 'live-to', path: '/live', scanOnlyMigration: false }
    await platform.call(migrations.create, { migrationId, ...ends, autoStart: true })
    await until(
      'it is LIVE',
      async () => (await platform.call(migrations.get, { migrationId })).state === 'LIVE',
    )
    const { contents, close } = await openTwo('/live')
    await driver.put(Buffer.from('live/after'), Buffer.from('told after it'), {})
    await until('what is told after it arrives', () => existsSync(join(folder.to, 'live', 'after')))
    for (const name of ['two', 'half']) expect(existsSync(join(folder.to, 'live', name))).toBe(false)
    await close()
    for (const name of ['two', 'half'] as const)
      await until(`${name} arrives`, () => {
        const path = join(folder.to, 'live', name)
        return existsSync(path) && readFileSync(path).equals(contents[name])
      })
    expect((await platform.call(migrations.failures, { migrationId })).failedPaths).toEqual([])
  },
  120_000,
)
