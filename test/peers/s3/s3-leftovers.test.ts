import { CreateMultipartUploadCommand, ListMultipartUploadsCommand, S3Client } from '@aws-sdk/client-s3'
import { afterAll, beforeAll, expect } from 'vitest'
import { abandonedAfterMs } from '../../../services/drivers/paths/temporary-names.ts'
import { startInterferingProxy } from '../../support/interfering-proxy.ts'
import { noS3, openS3, type S3Server, s3Test, startS3 } from '../../support/versitygw.ts'

/** Uploads that nobody completes cost money until somebody aborts them. */
const bucket = 'leftovers'
let server: S3Server
let client: S3Client
beforeAll(async () => {
  if (noS3 !== undefined) return
  server = await startS3()
  server.createBucket(bucket)
  const { endpoint, accessKey: accessKeyId, secretKey: secretAccessKey } = server
  const credentials = { accessKeyId, secretAccessKey }
  client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true, credentials })
})
afterAll(async () => {
  client?.destroy()
  await server?.[Symbol.asyncDispose]()
})

const at = (path: string) => Buffer.from(path)
const file = (tag: string) => ({ sizeBytes: 6 * 2 ** 20, tag, attributes: {} })
const left = async () => {
  const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket }))
  return Uploads.map(({ Key = '' }) => Key).toSorted()
}

s3Test(
  'what is left of a migration is aborted, and nothing of others or with which others go on',
  async () => {
    await using driver = openS3(server.options(bucket))
    const shared = (generation: number) => ({ version: '1', shared: { generation } })
    await driver.beginUpload(at('folder/older'), file('ours'), shared(1))
    await driver.beginUpload(at('folder/now'), file('ours'), shared(2))
    await driver.beginUpload(at('folder/alone'), file('ours'), { version: '1' })
    await driver.beginUpload(at('folder/plain'), file('ours'))
    await driver.beginUpload(at('folder/of-another'), file('theirs'), shared(1))
    await driver.beginUpload(at('folder/below/older'), file('ours'), shared(1))
    // Another program's, with a part of the same number.
    const Key = 'folder/foreign'
    const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key }))
    expect(UploadId).toBeDefined()
    const kept = ['folder/below/older', Key, 'folder/of-another']
    const sweep = (tag: string, isOver: (generation?: number) => boolean) =>
      driver.leftovers.sweep(at('folder'), tag, [], ({ generation }) => isOver(generation))

    await sweep('ours', () => false)
    await sweep('nobody', () => true)
    expect(await left()).toHaveLength(7)
    await sweep('ours', (generation) => generation !== 2)
    // Those of a single process that may live on another host stay, too.
    expect(await left()).toEqual([...kept, 'folder/alone', 'folder/now', 'folder/plain'].toSorted())
    await driver.leftovers.sweep(at('folder'), 'ours', [], (upload) => upload.isOf(at('folder/now')))
    expect(await left()).toEqual([...kept, 'folder/alone', 'folder/plain'].toSorted())
  },
)

s3Test('what a single process left is aborted when nobody has written to it for long', async () => {
  await using driver = openS3(server.options(bucket))
  await driver.beginUpload(at('old/alone'), file('ours'), { version: '1' })
  await driver.beginUpload(at('old/plain'), file('ours'))
  const inOld = async () => (await left()).filter((key) => key.startsWith('old/'))
  await driver.leftovers.sweep(at('old'), 'ours', [], () => true)
  expect(await inOld()).toHaveLength(2)
  // The same uploads, as the service shows them later.
  const earlier = (time: string) => new Date(Date.parse(time) - 2 * abandonedAfterMs).toISOString()
  await using proxy = await startInterferingProxy(server.endpoint.replace('http://', ''), ({ method }) =>
    method === 'GET'
      ? {
          after: ({ headers: { 'content-length': _length, ...headers }, status, body }) => ({
            status,
            headers,
            body: Buffer.from(body.toString().replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (time) => earlier(time))),
          }),
        }
      : undefined,
  )
  await using later = openS3({ ...server.options(bucket), endpoint: `http://${proxy.endpoint}` })
  await later.leftovers.sweep(at('old'), 'ours', [], () => true)
  expect(await inOld()).toEqual([])
})
