import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, vi } from 'vitest'
import { settings } from '../../../subjects/access/settings.ts'
import { filesystems } from '../../../subjects/filesystems/filesystems.ts'
import { loopback } from '../../../subjects/kit/names.ts'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import { type Azurite, startAzurite } from '../../support/azurite.ts'
import { compareTrees } from '../../support/compare-trees.ts'
import { type HdfsCluster, hdfsTest, noHdfs, openHdfs, startHdfs } from '../../support/hdfs.ts'
import { addAzurite, addLocal, createFolder, migrate, verify } from '../../support/migrations.ts'
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { changeSample, createSample, isSampleChanged, sampleFiles } from '../../support/sample.ts'
import { siteFile } from '../../support/site-file.ts'
import { until } from '../../support/until.ts'

/** A whole platform migrates from and to a real cluster. */
let cluster: HdfsCluster
let azurite: Azurite
let platform: TestPlatform
beforeAll(async () => {
  if (noHdfs !== undefined) return
  ;[cluster, azurite, platform] = await Promise.all([startHdfs(), startAzurite(), startTestPlatform()])
  await platform.call(settings.put, { storeHosts: [loopback] })
  for (const role of ['source', 'target'] as const)
    await platform.call(filesystems['create-hdfs'], {
      fileSystemId: `lake-${role}`,
      role,
      ...cluster.options(),
    })
})
afterAll(async () => {
  await platform?.[Symbol.asyncDispose]()
  await cluster?.[Symbol.asyncDispose]()
  await azurite?.[Symbol.asyncDispose]()
})

/** Several blocks of the cluster. */
const largeBytes = 5 * 2 ** 20 + 1

/** HDFS keeps whole milliseconds. */
const compareHeld = (from: string, to: string) => compareTrees(from, to, undefined, true, 1)

hdfsTest(
  'once: from a folder to HDFS, within it, to Azure and back, and to a folder, each verified',
  async () => {
    using folder = createFolder('from', 'to')
    mkdirSync(join(folder.from, 'once'))
    createSample(join(folder.from, 'once'), largeBytes)
    await addLocal(platform, 'once-from', 'source', folder.from)
    await addLocal(platform, 'once-to', 'target', folder.to)
    await azurite.createContainer('once')
    for (const role of ['source', 'target'] as const)
      await addAzurite(platform, `once-${role}-azure`, role, azurite, 'once')
    const way = [
      { source: 'once-from', target: 'lake-target', path: '/once' },
      { source: 'lake-source', target: 'once-target-azure', path: '/once' },
      { source: 'once-source-azure', target: 'once-to', path: '/once' },
    ] as const
    for (const [index, { source, target, path }] of way.entries()) {
      const migrationId = `once-${index}`
      const { progress, failures } = await migrate(platform, { source, target, path, migrationId })
      expect(failures).toEqual([])
      expect(progress.filesMigrated).toBe(sampleFiles)
      for (const level of ['digest', 'metadata'] as const)
        expect(await verify(platform, migrationId, level), `${migrationId} ${level}`).toMatchObject({
          totalDiscrepancies: 0,
          filesOnTarget: sampleFiles,
        })
    }
    expect(compareHeld(folder.from, folder.to)).toEqual([])
    // Nothing that was under construction is left.
    await using driver = openHdfs(cluster.options())
    for (const path of ['', 'once', 'once/folder', 'once/folder/below']) {
      const pages = await Array.fromAsync(driver.list(Buffer.from(path), new AbortController().signal))
      const names = pages.flatMap(({ entries }) => entries.map(({ name }) => name.toString()))
      expect(names.filter((name) => name.startsWith('.gantry'))).toEqual([])
    }
  },
  180_000,
)

hdfsTest('a check tells how the cluster keeps what is in it', async () => {
  const { ok, checks } = await platform.call(filesystems['check-stored'], { fileSystemId: 'lake-target' })
  expect(ok).toBe(true)
  expect(checks).toContainEqual({ check: 'root', result: 'yes', detail: 'its root: storage policy HOT' })
})

hdfsTest('a source is found by the configuration of the host', async () => {
  using folder = createFolder('conf')
  const { defaultFS, user, additionalProperties = {} } = cluster.options()
  writeFileSync(
    join(folder.conf, 'core-site.xml'),
    siteFile({ 'fs.defaultFS': defaultFS, 'io.sort.mb': '1' }),
  )
  writeFileSync(join(folder.conf, 'hdfs-site.xml'), siteFile(additionalProperties))
  vi.stubEnv('HADOOP_CONF_DIR', folder.conf)
  try {
    const found = await platform.rest('migrator', 'POST', '/fs/autodiscover/sources/hdfs?scanOnly=false', {
      body: { user },
    })
    expect(found).toMatchObject({
      status: 201,
      body: {
        fileSystemId: 'auto-discovered-source-hdfs',
        isSource: true,
        isScanOnly: false,
        properties: { defaultFS, user, ...additionalProperties },
      },
    })
    const fsId = 'auto-discovered-source-hdfs'
    expect(await platform.call(filesystems.health, { fileSystemId: fsId })).toMatchObject({ healthy: true })
    await expect(platform.call(filesystems['discover-hdfs'], { user: user! })).rejects.toMatchObject({
      code: 'ALREADY_EXISTS',
    })
  } finally {
    vi.unstubAllEnvs()
  }
})

hdfsTest('on 18080 as well: created, changed, healthy, and refused where nothing answers', async () => {
  const path = '/fs/targets/hdfs/wire'
  const ask = (method: string, at: string, body?: object) =>
    platform.rest('migrator', method, at, { headers: { accept: 'application/json' }, ...(body && { body }) })
  const options = cluster.options({ 'gantry.hdfs.connections': '8', 'dfs.nameservices': 'x' })
  const created = await ask('POST', path, options)
  expect(created).toMatchObject({
    status: 201,
    body: { fileSystemId: 'wire', fsType: 'hdfs', isSource: false, properties: { user: options.user } },
  })
  const changed = await ask('PATCH', path, { additionalProperties: { 'gantry.hdfs.connections': '4' } })
  expect(changed.status).toBe(200)
  const absent = await ask('POST', '/fs/targets/hdfs/absent', {
    ...options,
    defaultFS: 'webhdfs://127.0.0.1:1',
  })
  expect(absent.status).toBeGreaterThanOrEqual(400)
  expect((await ask('GET', '/fs/health/wire')).body).toMatchObject({ healthReason: 'NONE' })
})

hdfsTest(
  'live: changes arrive in HDFS, and from there in a folder',
  async () => {
    using folder = createFolder('from', 'to')
    const [from, to] = [folder.from, folder.to].map((root) => join(root, 'live')) as [string, string]
    mkdirSync(from)
    createSample(from, largeBytes)
    await addLocal(platform, 'live-from', 'source', folder.from)
    await addLocal(platform, 'live-to', 'target', folder.to)
    const way = [
      { source: 'live-from', target: 'lake-target', migrationId: 'live-1', path: '/live' },
      {
        source: 'lake-source',
        target: 'live-to',
        migrationId: 'live-2',
        path: '/live',
        comparisonPeriodSeconds: 1,
      },
    ] as const
    for (const step of way) {
      await platform.call(migrations.create, { ...step, scanOnlyMigration: false, autoStart: true })
      await until('it is LIVE', async () => {
        const { state } = await platform.call(migrations.get, { migrationId: step.migrationId })
        return state === 'LIVE'
      })
    }
    changeSample(from)
    await until('all has arrived', () => isSampleChanged(to))
    await until('nothing differs', () => compareHeld(from, to).length === 0)
    for (const { migrationId } of way) {
      expect((await platform.call(migrations.failures, { migrationId })).failedPaths).toEqual([])
      await platform.call(migrations.stop, { migrationId })
    }
  },
  180_000,
)

hdfsTest(
  'the name node goes in the middle and comes back: all arrives, once',
  async () => {
    using folder = createFolder('from')
    mkdirSync(join(folder.from, 'many'))
    const count = 600
    for (let i = 0; i < count; i++) writeFileSync(join(folder.from, 'many', `file ${i}`), `content ${i}`)
    await addLocal(platform, 'gone-from', 'source', folder.from)
    const migrationId = 'gone-1'
    const done = migrate(platform, { source: 'gone-from', target: 'lake-target', path: '/many', migrationId })
    await until('some has arrived', async () => {
      // It is not there before the call that makes it has been answered.
      const known = await platform.call(migrations.progress, { migrationId }).catch(() => undefined)
      return (known?.progress.filesMigrated ?? 0) > 0.2 * count
    })
    await cluster.ask('restart-name-node')
    const { failures, progress } = await done
    expect(failures).toEqual([])
    expect(progress.filesMigrated).toBe(count)
    expect(await verify(platform, migrationId, 'digest')).toMatchObject({
      totalDiscrepancies: 0,
      filesOnTarget: count,
    })
  },
  180_000,
)
