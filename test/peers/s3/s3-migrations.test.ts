import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { settings } from '../../../subjects/access/settings.ts'
import { filesystems } from '../../../subjects/filesystems/filesystems.ts'
import { loopback } from '../../../subjects/kit/names.ts'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import { type Azurite, startAzurite } from '../../support/azurite.ts'
import { compareTrees } from '../../support/compare-trees.ts'
import { addAzurite, addLocal, createFolder, migrate, verify } from '../../support/migrations.ts'
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { changeSample, createSample, isSampleChanged, sampleFiles } from '../../support/sample.ts'
import { until } from '../../support/until.ts'
import { noS3, type S3Server, s3Test, startS3 } from '../../support/versitygw.ts'

/** A whole platform migrates from and to a real S3 server. */
let server: S3Server
let azurite: Azurite
let platform: TestPlatform
beforeAll(async () => {
  if (noS3 !== undefined) return
  ;[server, azurite, platform] = await Promise.all([startS3(), startAzurite(), startTestPlatform()])
  await platform.call(settings.put, { storeHosts: [loopback] })
})
afterAll(async () => {
  await platform?.[Symbol.asyncDispose]()
  await server?.[Symbol.asyncDispose]()
  await azurite?.[Symbol.asyncDispose]()
})

/** Several parts. */
const largeBytes = 40 * 2 ** 20 + 1

/** A folder as source with files of all sorts, a folder as target, and two buckets that are both; gone with the scope. */
async function createStores(name: string) {
  const folder = createFolder('from', 'to')
  await addLocal(platform, `${name}-from`, 'source', folder.from)
  await addLocal(platform, `${name}-to`, 'target', folder.to)
  for (const bucket of ['one', 'two']) {
    server.createBucket(`${name}-${bucket}`)
    for (const role of ['source', 'target'] as const)
      await platform.call(filesystems['create-s3a'], {
        fileSystemId: `${name}-${role}-${bucket}`,
        role,
        ...server.options(`${name}-${bucket}`),
      })
  }
  await azurite.createContainer(name)
  for (const role of ['source', 'target'] as const)
    await addAzurite(platform, `${name}-${role}-azure`, role, azurite, name)
  createSample(folder.from, largeBytes)
  return folder
}

s3Test(
  'once: from a folder to a bucket, to another one, to Azure, back to a bucket and to a folder, each verified',
  async () => {
    using folder = await createStores('once')
    const way = [
      ['once-from', 'once-target-one'],
      ['once-source-one', 'once-target-two'],
      ['once-source-two', 'once-target-azure'],
      ['once-source-azure', 'once-to'],
    ] as const
    for (const [index, [source, target]] of way.entries()) {
      const migrationId = `once-${index}`
      const { progress, failures } = await migrate(platform, { source, target, migrationId })
      expect(failures).toEqual([])
      expect(progress.filesMigrated).toBe(sampleFiles)
      for (const level of ['digest', 'metadata'] as const)
        expect(await verify(platform, migrationId, level), `${migrationId} ${level}`).toMatchObject({
          totalDiscrepancies: 0,
          filesOnTarget: sampleFiles,
        })
    }
    expect(compareTrees(folder.from, folder.to)).toEqual([])
  },
  120_000,
)

s3Test(
  'what is there already is left out by size and time, though no listing of a bucket tells a time',
  async () => {
    using _folder = await createStores('skip')
    const step = { source: 'skip-from', target: 'skip-target-one' }
    await migrate(platform, { ...step, migrationId: 'skip-1' })
    await platform.call(migrations.delete, { migrationId: 'skip-1' })
    const actionPolicy = 'SkipIfSizeAndTimeMatch'
    const { progress } = await migrate(platform, { ...step, migrationId: 'skip-2', actionPolicy })
    expect(progress).toMatchObject({ filesSkipped: sampleFiles, filesMigrated: 0 })
  },
  120_000,
)

s3Test(
  'the server is killed in the middle and comes back: all arrives, once',
  async () => {
    using folder = await createStores('kill')
    for (let i = 0; i < 2_000; i++) writeFileSync(join(folder.from, 'folder', `file ${i}`), `content ${i}`)
    const migrationId = 'kill-1'
    const done = migrate(platform, { source: 'kill-from', target: 'kill-target-one', migrationId })
    for (const share of [0.1, 0.5]) {
      await until('some has arrived', async () => {
        // It is not there before the call that makes it has been answered.
        const known = await platform.call(migrations.progress, { migrationId }).catch(() => undefined)
        return (known?.progress.filesMigrated ?? 0) > share * 2_000
      })
      await server.kill()
      await server.restart()
    }
    const { failures, progress } = await done
    expect(failures).toEqual([])
    expect(progress.filesMigrated).toBe(sampleFiles + 2_000)
    expect(await verify(platform, migrationId, 'digest')).toMatchObject({
      totalDiscrepancies: 0,
      filesOnTarget: sampleFiles + 2_000,
    })
  },
  180_000,
)

s3Test('on 18080 as well: created, masked, changed, healthy, and refused when the key is wrong', async () => {
  server.createBucket('wire')
  const path = '/fs/targets/s3a/wire'
  const ask = (method: string, at: string, body?: object) =>
    platform.rest('migrator', method, at, { headers: { accept: 'application/json' }, ...(body && { body }) })
  const options = server.options('wire', { 'fs.s3a.connection.maximum': '8', 'fs.s3a.fast.upload': 'true' })
  const wrong = await ask('POST', path, { ...options, secretKey: 'another-key' })
  expect(wrong.status).toBe(409)
  expect(JSON.stringify(wrong.body)).not.toContain('another-key')
  const created = await ask('POST', path, { ...options, sessionToken: undefined })
  expect(created).toMatchObject({
    status: 201,
    body: { fileSystemId: 'wire', fsType: 's3a', isSource: false, properties: { bucketName: 'wire' } },
  })
  expect(JSON.stringify(created.body)).not.toContain(server.secretKey)
  const changed = await ask('PATCH', path, { additionalProperties: { 'fs.s3a.connection.maximum': '4' } })
  expect(changed.status).toBe(200)
  const unknown = await ask('POST', '/fs/targets/s3a/other', { ...options, bucketName: 'not-there' })
  expect(unknown.status).toBeGreaterThanOrEqual(400)
  expect((await ask('GET', '/fs/health/wire')).body).toMatchObject({ healthReason: 'NONE' })
})

s3Test(
  'live: changes arrive in a bucket, and from there in another one and in a folder',
  async () => {
    using folder = await createStores('live')
    const way = [
      { source: 'live-from', target: 'live-target-one', migrationId: 'live-1' },
      { source: 'live-source-one', target: 'live-target-two', migrationId: 'live-2' },
      { source: 'live-source-two', target: 'live-to', migrationId: 'live-3' },
    ] as const
    for (const [index, step] of way.entries()) {
      await platform.call(migrations.create, {
        ...step,
        ...(index > 0 && { comparisonPeriodSeconds: 1 }),
        path: '/',
        scanOnlyMigration: false,
        autoStart: true,
      })
      await until('it is LIVE', async () => {
        const { state } = await platform.call(migrations.get, { migrationId: step.migrationId })
        return state === 'LIVE'
      })
    }
    changeSample(folder.from)
    await until('all has arrived', () => isSampleChanged(folder.to))
    for (const { migrationId } of way) {
      expect((await platform.call(migrations.failures, { migrationId })).failedPaths).toEqual([])
      await platform.call(migrations.stop, { migrationId })
    }
    // A change in a folder does not move its marker in a bucket: that would be a request for each file.
    const isTime = (difference: string) => difference.startsWith('/folder: its time')
    const differences = () => compareTrees(folder.from, folder.to).filter((one) => !isTime(one))
    await until('nothing differs', () => differences().length === 0)
  },
  180_000,
)
