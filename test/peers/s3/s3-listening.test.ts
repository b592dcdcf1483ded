import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { storeError } from '../../../services/drivers/contract/driver.ts'
import { LocalDriver } from '../../../services/drivers/local/local.ts'
import { settings } from '../../../subjects/access/settings.ts'
import { filesystems } from '../../../subjects/filesystems/filesystems.ts'
import { loopback } from '../../../subjects/kit/names.ts'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import { addLocal, createFolder } from '../../support/migrations.ts'
import { createHome, startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { seededRandom } from '../../support/random.ts'
import { liveDifferences } from '../../support/store-tree.ts'
import { StoreWriter } from '../../support/store-writer.ts'
import { testUnless } from '../../support/unless.ts'
import { until } from '../../support/until.ts'
import { openS3, type S3Server, s3Servers } from '../../support/versitygw.ts'

/** Live from buckets of a real MinIO that is listened to (ListenBucketNotification). */

const seed = Number(process.env['GANTRY_LISTEN_SEED'] ?? 1)
const root = Buffer.alloc(0)
const { missing, start } = s3Servers.find(({ name }) => name === 'minio')!

let home: string
let server: S3Server
let platform: TestPlatform
beforeAll(async () => {
  if (missing !== undefined) return
  home = await createHome()
  ;[server, platform] = await Promise.all([start(), startTestPlatform({ home })])
  await platform.call(settings.put, { storeHosts: [loopback] })
}, 60_000)
afterAll(async () => {
  await platform?.[Symbol.asyncDispose]()
  await server?.[Symbol.asyncDispose]()
  if (home !== undefined) rmSync(home, { recursive: true, force: true })
})

/** A migration from a bucket to a folder; gone with the scope. */
async function createPair(bucket: string) {
  const folder = createFolder('to')
  server.createBucket(bucket)
  await platform.call(filesystems['create-s3a'], {
    fileSystemId: bucket,
    role: 'source',
    ...server.options(bucket),
    bucketNotifications: true,
  })
  await addLocal(platform, `${bucket}-to`, 'target', folder.to)
  const source = openS3(server.options(bucket))
  const target = new LocalDriver({ fsRoot: folder.to })
  const writer = new StoreWriter(source, Buffer.from('w'), seededRandom(seed))
  await source.makeFolder(Buffer.from('w'), {})
  await source.put(Buffer.from('kept'), Buffer.from('at the source'), {})
  const differences = () => liveDifferences([source, target], root)
  const get = () => platform.call(migrations.get, { migrationId: bucket })
  return {
    source,
    get,
    kept: join(folder.to, 'kept'),
    write: async (count: number) => {
      for (let step = 0; step < count; step++) await writer.step()
    },
    begin: () =>
      platform.call(migrations.create, {
        source: bucket,
        target: `${bucket}-to`,
        migrationId: bucket,
        path: '/',
        autoStart: true,
        scanOnlyMigration: false,
      }),
    follows: () =>
      until('it follows changes, and nothing is to be compared', async () => {
        const { state, changeDetection, changeLagSeconds } = await get()
        return state === 'LIVE' && changeDetection === 'notified' && changeLagSeconds === 0
      }),
    isSame: async (without?: string) => {
      let left: string[] = []
      // What is read may be replaced just then.
      const now = () => differences().catch((error: unknown) => [storeError(error).message])
      await until('all is the same', async () => {
        left = (await now()).filter((one) => without === undefined || !one.includes(without))
        return left.length === 0
      }).catch((cause: unknown) => {
        throw new Error(`seed ${seed}: ${left.join('\n')}`, { cause })
      })
    },
    [Symbol.asyncDispose]: async () => {
      await source.close()
      await target.close()
      folder[Symbol.dispose]()
    },
  }
}

testUnless(
  missing,
  'all arrives by what is told, and what came while nobody listened by a comparison',
  async () => {
    await using pair = await createPair('listened')
    await pair.write(20)
    await pair.begin()
    await pair.write(20)
    await pair.follows()
    expect((await pair.get()).changeDetectionReason).toMatch(/ListenBucketNotification/)
    // Only a comparison would find it.
    writeFileSync(pair.kept, 'something else at the target')
    await pair.write(100)
    await pair.isSame('kept')
    expect(readFileSync(pair.kept, 'utf8')).toBe('something else at the target')
    expect((await platform.call(migrations.failures, { migrationId: 'listened' })).failedPaths).toEqual([])

    await platform[Symbol.asyncDispose]()
    await pair.write(30)
    platform = await startTestPlatform({ home })
    await pair.write(20)
    await pair.isSame()
    await pair.follows()
    await platform.call(migrations.stop, { migrationId: 'listened' })
  },
  120_000,
)

testUnless(
  missing,
  'a service that was killed is listened to again, and compared',
  async () => {
    await using pair = await createPair('killed')
    await pair.begin()
    await pair.follows()
    await server.kill()
    await server.restart()
    await pair.write(40)
    await pair.isSame()
    await pair.follows()
    await pair.write(20)
    await pair.isSame()
    await platform.call(migrations.stop, { migrationId: 'killed' })
  },
  120_000,
)

testUnless(missing, 'until when all was told goes on while nothing happens', async () => {
  await using pair = await createPair('quiet')
  await pair.begin()
  await pair.follows()
  const putMs = Date.now()
  await pair.source.put(Buffer.from('last'), Buffer.from('content'), {})
  const told = async () => Date.parse((await pair.get()).changesToldUntil ?? '') > putMs
  await until('it is told of', told)
  await pair.isSame()
  const check = await platform.call(filesystems['check-stored'], { fileSystemId: 'quiet' })
  expect(check.checks.find((one) => one.check === 'changes')).toMatchObject({ result: 'yes' })
  await platform.call(migrations.stop, { migrationId: 'quiet' })
})
