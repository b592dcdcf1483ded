import { PutBucketNotificationConfigurationCommand, S3Client } from '@aws-sdk/client-s3'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { storeError } from '../../../services/drivers/contract/driver.ts'
import { LocalDriver } from '../../../services/drivers/local/local.ts'
import { settings } from '../../../subjects/access/settings.ts'
import { filesystems } from '../../../subjects/filesystems/filesystems.ts'
import { loopback } from '../../../subjects/kit/names.ts'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import { addLocal, createFolder } from '../../support/migrations.ts'
import { createHome, startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { seededRandom } from '../../support/random.ts'
import { type EventRelay, startRelay } from '../../support/s3-events.ts'
import { minioProgram, type S3Server, startS3Server, versitygwProgram } from '../../support/s3-server.ts'
import { noSqs, type SqsServer, startSqs } from '../../support/sqs.ts'
import { liveDifferences } from '../../support/store-tree.ts'
import { StoreWriter } from '../../support/store-writer.ts'
import { testUnless } from '../../support/unless.ts'
import { until } from '../../support/until.ts'
import { openS3, s3Servers } from '../../support/versitygw.ts'

const seed = Number(process.env['GANTRY_QUEUE_SEED'] ?? 1)
const root = Buffer.alloc(0)

/** How each server is made to send its events to the relay. */
const sending = {
  versitygw: {
    start: (url: string) =>
      startS3Server(process.env['VERSITYGW']!, {
        ...versitygwProgram,
        env: (...keys) => ({ ...versitygwProgram.env(...keys), VGW_EVENT_WEBHOOK_URL: url }),
      }),
    // It sends those of all buckets.
    configure: () => Promise.resolve(),
  },
  minio: {
    start: (url: string) =>
      startS3Server(process.env['MINIO']!, {
        ...minioProgram,
        env: (...keys) => ({
          ...minioProgram.env(...keys),
          MINIO_NOTIFY_WEBHOOK_ENABLE_RELAY: 'on',
          MINIO_NOTIFY_WEBHOOK_ENDPOINT_RELAY: url,
        }),
      }),
    configure: async ({ endpoint, accessKey, secretKey }: S3Server, Bucket: string) => {
      const credentials = { accessKeyId: accessKey, secretAccessKey: secretKey }
      const client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true, credentials })
      const queue = {
        QueueArn: 'arn:minio:sqs::RELAY:webhook',
        Events: ['s3:ObjectCreated:*' as const, 's3:ObjectRemoved:*' as const],
      }
      const NotificationConfiguration = { QueueConfigurations: [queue] }
      await client.send(new PutBucketNotificationConfigurationCommand({ Bucket, NotificationConfiguration }))
      client.destroy()
    },
  },
}

describe.each(s3Servers.map(({ name, missing }) => ({ name, missing: missing ?? noSqs })))(
  'live from a bucket of $name that tells of its changes',
  ({ name, missing }) => {
    const { start, configure } = sending[name]
    let home: string
    let sqs: SqsServer
    let relay: EventRelay
    let server: S3Server
    let platform: TestPlatform
    const urls = new Map<string, string>()
    beforeAll(async () => {
      if (missing !== undefined) return
      home = await createHome()
      ;[sqs, platform] = await Promise.all([startSqs(), startTestPlatform({ home })])
      const send = async (body: string) => {
        for (const [bucket, url] of urls) if (body.includes(bucket)) await sqs.send(url, body)
      }
      relay = await startRelay(send, seededRandom(seed))
      server = await start(relay.url)
      await platform.call(settings.put, { storeHosts: [loopback] })
    })
    afterAll(async () => {
      await platform?.[Symbol.asyncDispose]()
      await server?.[Symbol.asyncDispose]()
      await relay?.[Symbol.asyncDispose]()
      await sqs?.[Symbol.asyncDispose]()
      if (home !== undefined) rmSync(home, { recursive: true, force: true })
    })

    /** A bucket with a queue, and a folder as target; gone with the scope. */
    async function createPair(bucket: string) {
      const folder = createFolder('to')
      server.createBucket(bucket)
      const url = await sqs.createQueue(bucket)
      urls.set(bucket, url)
      await configure(server, bucket)
      const options = { ...server.options(bucket), sqsQueue: bucket, sqsEndpoint: sqs.endpoint }
      await platform.call(filesystems['create-s3a'], { fileSystemId: bucket, role: 'source', ...options })
      await addLocal(platform, `${bucket}-to`, 'target', folder.to)
      const source = openS3(server.options(bucket))
      const target = new LocalDriver({ fsRoot: folder.to })
      const differences = () => liveDifferences([source, target], root)
      return {
        ...folder,
        url,
        source,
        differences,
        migration: {
          source: bucket,
          target: `${bucket}-to`,
          migrationId: bucket,
          path: '/',
          autoStart: true,
        },
        [Symbol.asyncDispose]: async () => {
          urls.delete(bucket)
          await source.close()
          await target.close()
          folder[Symbol.dispose]()
        },
      }
    }
    const get = (migrationId: string) => platform.call(migrations.get, { migrationId })
    const isLive = (migrationId: string) =>
      until('it is LIVE', async () => (await get(migrationId)).state === 'LIVE')
    const isSame = async (differences: () => Promise<string[]>) => {
      // What is read may be replaced just then.
      const now = () => differences().catch((error: unknown) => [storeError(error).message])
      let left: string[] = []
      await until('all is the same', async () => (left = await now()).length === 0).catch(
        (cause: unknown) => {
          throw new Error(`seed ${seed}: ${left.join('\n')}`, { cause })
        },
      )
    }

    testUnless(
      missing,
      'all arrives by what is told, also over a restart, after which nothing is compared',
      async () => {
        await using pair = await createPair('events')
        const { source, migration } = pair
        const { migrationId } = migration
        await source.put(Buffer.from('kept'), Buffer.from('at the source'), {})
        const writer = new StoreWriter(source, Buffer.from('w'), seededRandom(seed))
        await source.makeFolder(Buffer.from('w'), {})
        relay.fates = ['sent', 'sent', 'twice', 'late', 'wrapped']
        const write = async (count: number) => {
          for (let step = 0; step < count; step++) await writer.step()
        }
        await write(20)
        await platform.call(migrations.create, { ...migration, scanOnlyMigration: false })
        await write(20)
        await isLive(migrationId)
        expect(await get(migrationId)).toMatchObject({
          changeDetection: 'notified',
          changeDetectionReason: 'notifications in the queue events (SQS)',
        })
        await write(60)
        await isSame(pair.differences)
        await until('the queue is empty', async () => (await sqs.left(pair.url)) === 0)
        expect((await platform.call(migrations.failures, { migrationId })).failedPaths).toEqual([])

        // Only a comparison would find it.
        writeFileSync(join(pair.to, 'kept'), 'something else at the target')
        await platform[Symbol.asyncDispose]()
        await write(30)
        platform = await startTestPlatform({ home })
        await write(10)
        const isKept = () => readFileSync(join(pair.to, 'kept'), 'utf8') === 'something else at the target'
        const others = async () => (await pair.differences()).filter((one) => !one.includes('kept:'))
        await isSame(others)
        await isLive(migrationId)
        await until('the queue is empty', async () => (await sqs.left(pair.url)) === 0)
        expect(isKept()).toBe(true)
        await platform.call(migrations.stop, { migrationId })
      },
      180_000,
    )

    testUnless(missing, 'what the way lost is found by a comparison', async () => {
      await using pair = await createPair('losses')
      const { migrationId } = pair.migration
      const writer = new StoreWriter(pair.source, Buffer.from('w'), seededRandom(seed))
      await pair.source.makeFolder(Buffer.from('w'), {})
      relay.fates = ['lost', 'sent']
      const live = { ...pair.migration, scanOnlyMigration: false, comparisonPeriodSeconds: 2 }
      await platform.call(migrations.create, live)
      await isLive(migrationId)
      expect((await get(migrationId)).changeDetection).toBe('notified')
      for (let step = 0; step < 40; step++) await writer.step()
      await isSame(pair.differences)
      await platform.call(migrations.stop, { migrationId })
    })

    testUnless(missing, 'a queue that is gone is told, and the bucket compared', async () => {
      await using pair = await createPair('leaving')
      const { migrationId } = pair.migration
      relay.fates = ['sent']
      const check = async () =>
        (await platform.call(filesystems['check-stored'], { fileSystemId: 'leaving' })).checks.find(
          (one) => one.check === 'changes',
        )
      expect(await check()).toMatchObject({
        result: 'yes',
        detail: 'notifications in the queue leaving (SQS) can be read',
      })
      const live = { ...pair.migration, scanOnlyMigration: false, comparisonPeriodSeconds: 1 }
      await platform.call(migrations.create, live)
      await isLive(migrationId)
      await sqs.call('DeleteQueue', { QueueUrl: pair.url })
      urls.delete('leaving')
      const compared = await until('it is compared', async () => {
        const now = await get(migrationId)
        return now.changeDetection === 'comparing' && now
      })
      expect(compared.changeDetectionReason).toMatch(/the queue leaving \(SQS\): .*check sqsQueue/)
      expect(await check()).toMatchObject({ result: 'no', detail: expect.stringMatching(/leaving \(SQS\)/) })
      await pair.source.put(Buffer.from('later'), Buffer.from('later'), {})
      await isSame(pair.differences)
      await platform.call(migrations.stop, { migrationId })
    })
  },
)
